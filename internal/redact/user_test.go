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
