package termtext

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestWrap(t *testing.T) {
	for _, c := range []struct {
		text  string
		width int
		want  []string
	}{
		{"", 10, []string{""}},
		{"short", 10, []string{"short"}},
		{"two words", 5, []string{"two", "words"}},
		{"the cause is here", 9, []string{"the cause", "is here"}},
		{"abcdefghij", 4, []string{"abcd", "efgh", "ij"}},
		{"a abcdefghij b", 4, []string{"a", "abcd", "efgh", "ij b"}},
		{"    indented text", 8, []string{"    inde", "nted", "text"}},
		{"日本語テスト", 4, []string{"日本", "語テ", "スト"}},
		{"a     b", 3, []string{"a", "b"}},
		{"\u200d a日", 2, []string{"\u200d", "a", "日"}},
	} {
		if got := Wrap(c.text, c.width); !slices.Equal(got, c.want) {
			t.Errorf("Wrap(%q, %d) = %q, want %q", c.text, c.width, got, c.want)
		}
	}
}

func TestFold(t *testing.T) {
	for _, c := range []struct {
		text          string
		column, width int
		want          string
	}{
		{"the cause is here", 0, 0, "the cause is here"},
		{"the cause is here", 4, 21, "the cause is here"},
		{"the cause is here", 4, 20, "the cause is\n    here"},
		{"at /a/long/path only", 2, 10, "at /a/long/path only"},
		{"no room", 8, 8, "no room"},
		{"日本 語テ", 2, 8, "日本\n  語テ"},
	} {
		if got := Fold(c.text, c.column, c.width); got != c.want {
			t.Errorf("Fold(%q, %d, %d) = %q, want %q", c.text, c.column, c.width, got, c.want)
		}
	}
}

func TestWrapKeepsEveryWordAndTheWidth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := Line(rapid.StringOf(rapid.RuneFrom([]rune("ab  é日👩‍👩‍👧-."))).Draw(t, "text"))
		width := rapid.IntRange(2, 30).Draw(t, "width")
		got := Wrap(text, width)
		for _, l := range got {
			if Width(l) > width {
				t.Fatalf("line %q takes %d columns, limit %d", l, Width(l), width)
			}
		}
		squeeze := func(s string) string { return strings.ReplaceAll(s, " ", "") }
		if squeeze(strings.Join(got, "")) != squeeze(text) {
			t.Fatalf("%q became %q", text, got)
		}
	})
}

func TestTail(t *testing.T) {
	for _, c := range []struct {
		text string
		n    int
		want string
	}{{"abc", 5, "abc"}, {"abc", 2, "bc"}, {"aé日", 2, "é日"}, {"abc", 0, ""}} {
		if got := Tail(c.text, c.n); got != c.want {
			t.Errorf("Tail(%q, %d) = %q, want %q", c.text, c.n, got, c.want)
		}
	}
}
