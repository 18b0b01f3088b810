package redact

import (
	"encoding/json"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/hookspan/hookspan/internal/testkit/secrets"
)

// plant makes secrets of each form.
func plant() []secrets.Secret {
	return slices.Concat(plantPrefixes(secrets.Random(7)), secrets.Anywhere(), secrets.InPlace())
}

// plantPrefixes makes a key of each service of the table.
func plantPrefixes(r func(string, int) string) []secrets.Secret {
	var out []secrets.Secret
	for _, p := range prefixes() {
		out = append(out, secrets.Secret{Rule: p[0], Lead: expand(p[2], r), Random: expand(p[3], r)})
	}
	return out
}

// expand makes the shortest text that an expression matches.
func expand(pattern string, r func(string, int) string) string {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		panic(err)
	}
	return shortest(re, r)
}

func shortest(re *syntax.Regexp, r func(string, int) string) string {
	switch re.Op {
	case syntax.OpLiteral:
		return string(re.Rune)
	case syntax.OpAlternate, syntax.OpCapture, syntax.OpPlus:
		return shortest(re.Sub[0], r)
	case syntax.OpCharClass:
		return r(members(re), 1)
	case syntax.OpRepeat:
		if re.Sub[0].Op == syntax.OpCharClass {
			return r(members(re.Sub[0]), re.Min)
		}
	case syntax.OpConcat:
		out := ""
		for _, sub := range re.Sub {
			out += shortest(sub, r)
		}
		return out
	}
	return ""
}

// members are the letters and digits of a class.
func members(re *syntax.Regexp) string {
	var b strings.Builder
	for _, c := range secrets.Alnum {
		for i := 0; i+1 < len(re.Rune); i += 2 {
			if re.Rune[i] <= c && c <= re.Rune[i+1] {
				b.WriteRune(c)
			}
		}
	}
	return b.String()
}

// settings put a text into what people and programs put it into.
var settings = map[string]func(string) string{
	"plain text":           func(s string) string { return "I will use " + s + " for this." },
	"alone":                func(s string) string { return s },
	"JSON value":           func(s string) string { return asJSON(map[string]string{"command": s, "z": "1"}) },
	"JSON inside JSON":     func(s string) string { return asJSON(map[string]string{"a": asJSON(map[string]string{"b": s})}) },
	"thrice nested":        func(s string) string { return asJSON([]string{asJSON([]string{asJSON([]string{"x " + s})})}) },
	"after a JSON \\n":     func(s string) string { return asJSON("first\n" + s + "\nlast") },
	"several lines":        func(s string) string { return "one\n" + s + "\nthree\n" },
	"shell export":         func(s string) string { return "export X='" + s + "' && run" },
	"shell without quotes": func(s string) string { return "KEY=" + s + " ./run" },
	"URL parameter":        func(s string) string { return "see https://h.example/p?k=" + s + "&z=1" },
	"percent-encoded =":    func(s string) string { return "https://h.example/p?q=k%3D" + s + "&z=1" },
	"ANSI colour":          func(s string) string { return "\x1b[31m" + s + "\x1b[0m" },
}

func asJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// leak is the first stretch of eight random characters of p that stands in s.
func leak(p secrets.Secret, s string) string {
	for i := 0; i+8 <= len(p.Random); i++ {
		if piece := p.Random[i : i+8]; strings.Contains(s, piece) {
			return piece
		}
	}
	return ""
}

func TestPlantedSecretsAreRemoved(t *testing.T) {
	r := New(nil)
	all := plant()
	if len(all) < 60 {
		t.Fatalf("only %d secrets", len(all))
	}
	for i, p := range all {
		for name, put := range settings {
			text := put(p.Text())
			got := r.String(text)
			if l := leak(p, got); l != "" {
				t.Errorf("%d %s, %s: %q stayed in %q", i, p.Rule, name, l, got)
				continue
			}
			if name == "alone" && !strings.Contains(got, markerHead+p.Rule+"]") {
				t.Errorf("%d: want rule %s in %q", i, p.Rule, got)
			}
			if again := r.String(got); again != got {
				t.Errorf("%d %s, %s: redacted again:\n%q\n%q", i, p.Rule, name, got, again)
			}
			// What stands around a secret stays.
			for _, keep := range []string{"I will use ", " for this.", "three", "&& run", "\x1b[0m", `"z":"1"`} {
				if strings.Contains(text, keep) && !strings.Contains(got, keep) {
					t.Errorf("%d %s, %s: %q was lost: %q", i, p.Rule, name, keep, got)
				}
			}
		}
	}
}

func TestTailOfTextCutAnywhere(t *testing.T) {
	r := New(nil)
	for i, p := range plant() {
		for name, put := range settings {
			text := put(p.Text())
			start := strings.Index(text, p.Random[:4])
			if start < 0 {
				start = 0
			}
			// Far inside a long secret one place is like the next.
			for end := start; end <= len(text); end += 1 + (end-start)/100 {
				for _, mark := range []string{"", "…", "...", "\n... [truncated]", "… [40032 bytes cut]\", and more\""} {
					got := r.Tail(text[:end] + mark)
					if l := leak(p, got); l != "" {
						t.Fatalf("%d %s, %s, mark %q: %q stayed in %q", i, p.Rule, name, mark, l, got)
					}
					if again := r.Tail(got); again != got {
						t.Fatalf("%d %s, %s: redacted again:\n%q\n%q", i, p.Rule, name, got, again)
					}
				}
			}
		}
	}
}

func TestPreviewCutAnywhere(t *testing.T) {
	r := New(nil)
	for i, p := range plant() {
		for _, name := range []string{"plain text", "JSON inside JSON", "shell export", "several lines"} {
			text := settings[name](p.Text())
			for max := 1; max <= len(text)+1; max++ {
				got := r.Preview(text, max)
				if l := leak(p, got); l != "" {
					t.Fatalf("%d %s, %s, max %d: %q stayed in %q", i, p.Rule, name, max, l, got)
				}
				if n := utf8.RuneCountInString(got); n > max {
					t.Fatalf("%d: %d runes, want at most %d", i, n, max)
				}
			}
		}
	}
}

// TestPreviewWindowEdge puts a secret across the end of what Preview looks at,
// behind one that shrinks so much that the edge comes into sight.
func TestPreviewWindowEdge(t *testing.T) {
	r := New(nil)
	const max = 200
	big := "export BIG_" + "TOKEN=" + strings.Repeat("a1b2c3d4", (max+edge)/8-25)
	for i, p := range plant() {
		for shift := 0; shift < 120; shift += 5 {
			pad := max + edge - len(big) - len(p.Before+p.Lead) - shift
			if pad < 0 {
				continue
			}
			text := big + strings.Repeat("\n", pad) + p.Text() + strings.Repeat(" tail", 4000)
			got := r.Preview(text, max)
			if l := leak(p, got); l != "" {
				t.Fatalf("%d %s, shift %d: %q stayed in %q", i, p.Rule, shift, l, got)
			}
			if !strings.HasSuffix(got, "…") {
				t.Fatalf("no mark of the cut at the end of %q", got)
			}
		}
	}
}

func TestPreview(t *testing.T) {
	r := New(nil)
	key := "gh" + "p_" + strings.Repeat("aB3d", 9)
	tests := []struct {
		name, text string
		max        int
		want       string
	}{
		{"short text is whole", "abc", 3, "abc"},
		{"long text is cut", "abcd", 3, "ab…"},
		{"runes, not bytes", "äöüß", 4, "äöüß"},
		{"runes, not bytes, cut", "äöüßé", 4, "äöü…"},
		{"one", "ab", 1, "…"},
		{"one of one", "a", 1, "a"},
		{"no limit", strings.Repeat("x", 20000), 0, strings.Repeat("x", 20000)},
		{"no limit either", "a " + key, -1, "a [REDACTED:github-token]"},
		{"empty", "", 5, ""},
		{"secret that the cut would split", "use " + key, 10, "use [REDA…"},
		{"secret shrinks into the limit", "use " + key + "!", 30, "use [REDACTED:github-token]!"},
		{"invalid UTF-8", "a\xffb", 5, "a\uFFFDb"},
		{"limit beyond the text", "abc", 1 << 30, "abc"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := r.Preview(tt.text, tt.max); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestEveryRuleIsPlanted(t *testing.T) {
	// The beginnings of keys that their end gives away have no form of their own; a
	// Secret of Kubernetes, a pipe and what is in the line before a secret are not one
	// piece: see TestString. What is left of a mnemonic at a cut are words: see TestKindsOfForms.
	have := map[string]bool{"maxmind-key": true, "azure-devops-token": true, "mailchimp-key": true, "kubernetes-secret": true, "piped-password": true, "printed-secret": true, "encoded-password": true, "new-password": true, "mnemonic": true}
	for _, p := range plant() {
		have[p.Rule] = true
	}
	name := regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	for _, rule := range slices.Concat(keyRules(), tokenRules(), serviceRules(), prefixRules(), contextRules()) {
		if !have[rule.name] {
			t.Errorf("no planted secret for %s", rule.name)
		}
		if !name.MatchString(rule.name) {
			t.Errorf("name %q", rule.name)
		}
		if rule.read == nil && regexp.MustCompile("^(?:"+rule.pattern+")").MatchString("") {
			t.Errorf("%s matches the empty text", rule.name)
		}
	}
}

func ExampleRedactor_String() {
	fmt.Println(New(nil).String("git clone https://me:" + "q8Zt51xWm@git.example.com/repo"))
	// Output: git clone https://me:[REDACTED:url-password]@git.example.com/repo
}
