package infinium

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestCut(t *testing.T) {
	tests := map[string]struct {
		in   string
		n    int
		want string
	}{
		"fits":                           {"abc", 3, "abc"},
		"one too many":                   {"abcd", 3, "ab…"},
		"characters, not bytes":          {"äöü", 3, "äöü"},
		"cut between characters":         {"äöüß", 3, "äö…"},
		"four-byte characters":           {"😀😀😀", 2, "😀…"},
		"no room but for the mark":       {"abc", 1, "…"},
		"no room":                        {"abc", 0, ""},
		"empty":                          {"", 5, ""},
		"space before the mark goes":     {"ab   cdef", 5, "ab…"},
		"a mark is not doubled":          {"abc…def", 5, "abc…"},
		"a text cut before is left":      {"ab…", 3, "ab…"},
		"broken bytes count as one each": {"\xff\xff\xff", 2, "\xff…"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := cut(tt.in, tt.n); got != tt.want {
				t.Errorf("cut(%q, %d) = %q, want %q", tt.in, tt.n, got, tt.want)
			}
		})
	}
}

func TestOneLine(t *testing.T) {
	if got, want := oneLine(" a\r\n\tb\x1b[0m\u2028c\u0085 "), "a b [0m c"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func FuzzCut(f *testing.F) {
	f.Add("abc äöü 😀", 5)
	f.Add("…………", 2)
	f.Add("\xff\x00", 1)
	f.Fuzz(func(t *testing.T, s string, n int) {
		s = clean(s)
		got := cut(s, n)
		if !utf8.ValidString(got) || strings.ContainsRune(got, 0) {
			t.Fatalf("cut(%q, %d) = %q is not clean", s, n, got)
		}
		if c := utf8.RuneCountInString(got); c > max(n, 0) {
			t.Fatalf("cut(%q, %d) = %q has %d characters", s, n, got, c)
		}
		if utf8.RuneCountInString(s) <= n && got != s {
			t.Fatalf("cut(%q, %d) = %q changed a text that fits", s, n, got)
		}
		if got != s && n > 0 && !strings.HasSuffix(got, "…") {
			t.Fatalf("cut(%q, %d) = %q hides the cut", s, n, got)
		}
	})
}
