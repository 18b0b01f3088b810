package redact

import (
	"regexp/syntax"
	"strings"
	"testing"
)

func TestSourceMatchesLikeItsExpression(t *testing.T) {
	patterns := []string{
		`[^x]*?`, `(?i)[^a-f]+k`, `(?i:key)=(?P<name>[a-z]+)`, `(?s)a.b`, `(?m)^a$`, `\Aa\z`, `\bfoo\B`, `a{2}b{2,}c{2,3}?`, `(?:ab|cd*|)e`,
		`[^\x00-\x{10FFFF}]`, `[]^\\-]`, `(?:)`, `(?U)a+b`, `ſ(?i)ſ`,
	}
	for _, groups := range New(nil).scanner.stages {
		for _, g := range groups {
			for _, r := range g.rules {
				patterns = append(patterns, r.pattern)
			}
		}
	}
	for _, pattern := range patterns {
		parsed, err := syntax.Parse(pattern, syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := program(t, source(parsed)), program(t, parsed.String()); got != want {
			t.Errorf("%s is written as %s and means\n%s\nwant\n%s", pattern, source(parsed), got, want)
		}
	}
}

func TestOpeningFitsEveryMatch(t *testing.T) {
	for _, c := range []struct {
		pattern, text string
		sets          int
	}{
		{`key_[a-c]+d`, "key_cd", 5},
		{`a{0,2}b`, "b", 0},
		{`a{2,}b`, "aab", 2},
		{`a{2}b`, "aab", 3},
		{`(?:ab){2}c`, "ababc", 5},
		{`(?:a|bc){2}d`, "abcd", 1},
		{`[ab]{40}c`, strings.Repeat("a", 40), longestOpening},
		{`a?b`, "b", 0},
		{`(ab)c`, "abc", 3},
		{`a*b`, "b", 0},
		{`(?:ab|c)d`, "cd", 1},
		{`(?:ab|cd)e`, "cde", 3},
		{`(?:a|)b`, "b", 0},
		{`(?i:k)a`, "Ka", 0},
		{`[^x]a`, "éa", 0},
		{`aéb`, "aéb", 1},
		{`\bab`, "ab", 0},
		{`x(?:a|b{0,3})c`, "xc", 1},
		{`.a`, "ba", 0},
	} {
		parsed, err := syntax.Parse(c.pattern, syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		sets, _ := opening(parsed)
		if len(sets) != c.sets {
			t.Errorf("%s: %d sets, want %d", c.pattern, len(sets), c.sets)
		}
		for n, set := range sets {
			if !set[c.text[n]] {
				t.Errorf("%s: %q does not fit at %d", c.pattern, c.text, n)
			}
		}
	}
}

func program(t *testing.T, pattern string) string {
	t.Helper()
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		t.Fatalf("%s: %v", pattern, err)
	}
	p, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		t.Fatalf("%s: %v", pattern, err)
	}
	return p.String()
}

// BenchmarkHeadPattern is what a process pays once for each rule that comes near
// a text's end.
func BenchmarkHeadPattern(b *testing.B) {
	for _, groups := range New(nil).scanner.stages {
		for _, g := range groups {
			for _, r := range g.rules {
				if r.name != "url-password" && r.name != "curl-password" && r.name != "private-key" {
					continue
				}
				b.Run(r.name, func(b *testing.B) {
					for b.Loop() {
						headPattern("^", r.pattern, "")
					}
				})
			}
		}
	}
}

// A rule whose test at a lower cost rejects a text must not match it.
func TestPlausibleTextsAreAllThatMatch(t *testing.T) {
	matched := 0
	for _, r := range contextRules() {
		if r.plausible == nil {
			continue
		}
		r.prepare()
		r.opening()
		for _, text := range []string{
			"login a password secret", "login a account b password secret", "login a  password secret", "login\ta\tpassword\tsecret",
			"login a\npassword secret", "login a " + strings.Repeat("é", 19) + "\n password secret",
			`login a\n+password secret`, `login a" \r\n" password secret`, "login a | \n   2 | password secret", "login " + strings.Repeat("a", 101) + " password secret",
			"login a\fb\npassword secret", "login a\fpassword secret", "login = (user, password secret", "login", "login ", "login a",
		} {
			if !r.re().MatchString(text) {
				continue
			}
			matched++
			if !r.plausible(text) {
				t.Errorf("%s: %q matches, and is not plausible", r.name, text)
			}
		}
	}
	if matched < 9 {
		t.Errorf("%d texts matched, want more", matched)
	}
}

// TestHeadsOfSecretsInCallsAndLists cuts texts within a secret that a place of a call, a list or
// a table gives away.
func TestHeadsOfSecretsInCallsAndLists(t *testing.T) {
	const secret = "Tr0ub4dor7Kx9Qm2"
	r := New(nil)
	for _, text := range []string{
		"login('bob', '~')", "INSERT INTO u (name, password) VALUES ('bob', '~')", "page.fill('#password', '~')", `[["user", "password"], ["bob", "~"]]`,
		"user | password\n-----+---------\nbob  | ~\n", "Password for the user bob: ~\n", "user,password\nbob,~\n", `{"name":"password","value":"~"}`,
	} {
		before, after, _ := strings.Cut(text, "~")
		if got := r.Tail(before + secret + after); strings.Contains(got, secret) {
			t.Errorf("the whole stays: %q", got)
		}
		for n := 12; n <= len(secret); n++ {
			for _, mark := range []string{"", "…"} {
				if got := r.Tail(before + secret[:n] + mark); strings.Contains(got, secret[:9]) {
					t.Errorf("%d characters: %q", n, got)
				}
			}
		}
	}
}
