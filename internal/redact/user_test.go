package redact

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseRules(t *testing.T) {
	tests := []struct {
		name, text string
		rules      []string // name and expression
		err        string
	}{
		{"empty", "", nil, ""},
		{"comments and blanks", "# c\n\n  \t\n  # d\n", nil, ""},
		{"two", "a x+\nb-2\t  (y z) #not a comment \n", []string{"a x+", "b-2 (y z) #not a comment"}, ""},
		{"byte order mark and CRLF", "\uFEFFa x\r\nb y\r\n", []string{"a x", "b y"}, ""},
		{"wrong lines are named, the others count", "a x\nB y\nc\nd (\ne z*\nf w", []string{"a x", "f w"}, "" +
			"line 2: rule name \"B\": allowed lower case letters, digits and hyphens\n" +
			"line 3: rule c: found no regular expression: allowed name, blank, expression\n" +
			"line 4: rule d: error parsing regexp: missing closing ): `(`\n" +
			"line 5: rule e: expression \"z*\" matches the empty text and so everything: allowed one that asks for a character"},
		{"too long a line", strings.Repeat("x", 70000), nil, "read redaction rules: bufio.Scanner: token too long"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			rules, err := ParseRules(strings.NewReader(tt.text))
			var got []string
			for _, r := range rules {
				got = append(got, r.Name+" "+r.Pattern.String())
			}
			if d := cmp.Diff(tt.rules, got); d != "" {
				t.Errorf("rules (-want +got):\n%s", d)
			}
			text := ""
			if err != nil {
				text = err.Error()
			}
			if d := cmp.Diff(tt.err, text); d != "" {
				t.Errorf("error (-want +got):\n%s", d)
			}
		})
	}
}

func TestUserRules(t *testing.T) {
	rules, err := ParseRules(strings.NewReader("staff INT-[0-9]{8}\ngroup card=([0-9]{4})\nwords (?:alpha|beta) one\nlong [a-z0-9]{24}\nfirst ^q\n"))
	if err != nil {
		t.Fatal(err)
	}
	r := New(rules)
	tests := []struct{ name, text, whole, tail string }{
		{"match", "a INT-12345678 b", "a [REDACTED:staff] b", "a [REDACTED:staff] b"},
		{"only the group", "card=1234;", "card=[REDACTED:group];", "card=[REDACTED:group];"},
		{"beginning at the end", "a INT-12345", "a INT-12345", "a [REDACTED:staff]"},
		{"beginning too short", "a INT-12", "a INT-12", "a INT-12"},
		{"beginning of the group", "card=123", "card=123", "card=123"},
		{"beginning without fixed text, mixed", "it is a1b2c3d4e5f6g7", "it is a1b2c3d4e5f6g7", "it is [REDACTED:long]"},
		{"a word is no beginning", "it is straightforward", "it is straightforward", "it is straightforward"},
		{"beside a built-in", "INT-12345678 " + "gh" + "p_" + strings.Repeat("aB3d", 9), "[REDACTED:staff] [REDACTED:github-token]", "[REDACTED:staff] [REDACTED:github-token]"},
		{"matches anew beside each marker", strings.Repeat("q", 5), strings.Repeat("[REDACTED:first]", 5), strings.Repeat("[REDACTED:first]", 5)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := r.String(tt.text); got != tt.whole {
				t.Errorf("String: got %q, want %q", got, tt.whole)
			}
			if got := r.Tail(tt.text); got != tt.tail {
				t.Errorf("Tail: got %q, want %q", got, tt.tail)
			}
		})
	}
}

// TestUserRulesBeforeCutMarks has beginnings of secrets in the middle of texts,
// where a part of them was cut.
func TestUserRulesBeforeCutMarks(t *testing.T) {
	rules, err := ParseRules(strings.NewReader("staff INT-[0-9]{8}\ngroup card=([0-9]{12})\nlong [a-z0-9]{24}\ndots KEY:[a-z.]{12}\n"))
	if err != nil {
		t.Fatal(err)
	}
	r := New(rules)
	tests := []struct{ name, text, tail string }{
		{"payload limit", `{"a":"INT-12345… [123 bytes cut]","b":1}`, `{"a":"[REDACTED:staff]… [123 bytes cut]","b":1}`},
		{"dots", "a INT-12345... b", "a [REDACTED:staff]... b"},
		{"ellipsis", "a INT-12345… b", "a [REDACTED:staff]… b"},
		{"escaped ellipsis", `a INT-12345\u2026 b`, `a [REDACTED:staff]\u2026 b`},
		{"words, blanks in front", "a INT-12345\n\n[Truncated: 12 lines] b", "a [REDACTED:staff]\n\n[Truncated: 12 lines] b"},
		{"brackets", "INT-12345<truncated>INT-54321(truncated) b", "[REDACTED:staff]<truncated>[REDACTED:staff](truncated) b"},
		{"many, and the end", "INT-12345… x INT-23456… INT-12345678 y… INT-34567", "[REDACTED:staff]… x [REDACTED:staff]… [REDACTED:staff] y… [REDACTED:staff]"},
		{"the group only", "card=123456789… b", "card=[REDACTED:group]… b"},
		{"without fixed text, mixed", "it is a1b2c3d4e5f6g7… b", "it is [REDACTED:long]… b"},
		{"behind a match", "it is abcdefgh1234567890abcdefzz9… b abcdefgh1234567890abcdefzz9", "it is [REDACTED:long]zz9… b [REDACTED:long]zz9"},
		{"a word is no beginning", "it is straightforward… b", "it is straightforward… b"},
		{"too short a beginning", "a INT-12… b", "a INT-12… b"},
		{"not at the mark", "a INT-12345 and… b", "a INT-12345 and… b"},
		{"not a mark", "a INT-12345 [x] b. c.. d", "a INT-12345 [x] b. c.. d"},
		{"a match around a mark", "KEY:abc...defghi b", "[REDACTED:dots] b"},
		{"a beginning around a mark", "x KEY:abc...def", "x [REDACTED:dots]"},
		{"beside a marker", "[REDACTED:x]INT-12345… b[REDACTED:y]", "[REDACTED:x][REDACTED:staff]… b[REDACTED:y]"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := r.Tail(tt.text); got != tt.tail {
				t.Errorf("Tail: got %q, want %q", got, tt.tail)
			}
			if got := r.Tail(tt.tail); got != tt.tail {
				t.Errorf("Tail again: got %q, want %q", got, tt.tail)
			}
		})
	}
}

// TestNextMark finds what cutAt takes for a mark, and nothing else.
func TestNextMark(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "abc": "", "a.b..c": "", "a…b": "…", "a....b": "...", "a [cut] b": "[cut", "a [ cut": "", "é(TRUNCATED)": "(TRUNC",
		`\u2025 \u2026`: `\u2026`, "[Output truncated]": "[Output trunc", "–": "",
	} {
		lo, hi := nextMark(text, 0)
		if got := ""; lo >= 0 {
			got = text[lo:hi]
			if got != want || !cutAt(text, lo, false) {
				t.Errorf("%q: found %q, want %q", text, got, want)
			}
			continue
		}
		if want != "" {
			t.Errorf("%q: found nothing, want %q", text, want)
		}
	}
}

// BenchmarkUserRulesManyMarks is the text that asks for the most.
func BenchmarkUserRulesManyMarks(b *testing.B) {
	rules, err := ParseRules(strings.NewReader("corp CORP-[A-Z0-9]{32}\n"))
	if err != nil {
		b.Fatal(err)
	}
	r := New(rules)
	for name, text := range map[string]string{"marks": strings.Repeat("CORP-A…", 20_000), "none": strings.Repeat("CORP-A, ", 20_000)} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				r.Tail(text)
			}
		})
	}
}

func TestHeadPatternMatchesEveryBeginning(t *testing.T) {
	tests := []struct{ pattern, match string }{
		{"abc", "abc"},
		{"(?i:key)=([a-z]+)", "KEY=abc"},
		{"a{3}b{2,}c?", "aaabbbc"},
		{"(?:ab){2,3}x", "ababx"},
		{"(?:ab)*c", "ababc"},
		{"(?:ab|ac+d)e", "accde"},
		{`\bfoo\b.[^x]$`, "foo -"},
		{"(?s).(a|b)?z", "\nbz"},
	}
	for _, tt := range tests {
		re := headPattern("^", tt.pattern, "$")
		if re == nil {
			t.Fatalf("%s: no expression", tt.pattern)
		}
		for i := range len(tt.match) + 1 {
			if !re.MatchString(tt.match[:i]) {
				t.Errorf("%s does not match %q by %s", tt.pattern, tt.match[:i], re)
			}
		}
		if re.MatchString("?" + tt.match) {
			t.Errorf("%s matches everything by %s", tt.pattern, re)
		}
	}
	if headPattern("", "(?:a{1000}b){1000}", "") != nil {
		t.Error("an expression that is too big gave one for its beginnings")
	}
}
