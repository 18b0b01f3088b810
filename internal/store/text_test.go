package store

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestClean(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"plain":               {"npm test -- --watch", "npm test -- --watch"},
		"nothing":             {"", ""},
		"white space":         {"  a \t\n b\u00a0c\u2028d ", "a b c d"},
		"an escape sequence":  {"\x1b[31mred\x1b[0m", "�[31mred�[0m"},
		"an operating system": {"\x1b]8;;http://x\x07y", "�]8;;http://x�y"},
		"a one-byte CSI":      {"\u009b2J", "�2J"},
		"bytes, not UTF-8":    {"a\x9bb", "a�b"},
		"a bidi override":     {"a\u202eb\u2066c\u061cd", "a�b�c�d"},
		"a carriage return":   {"good\rbad", "good bad"},
		"a backspace":         {"a\bb\x7f", "a�b�"},
		"a zero-width space":  {"a\u200bb", "a�b"},
		"an emoji of several": {"👩‍💻 done", "👩‍💻 done"},
		"a script of its own": {"日本語 العربية", "日本語 العربية"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := clean(c.in); got != c.want {
				t.Errorf("clean(%q): got %q, want %q", c.in, got, c.want)
			}
		})
	}
}

func TestCleanLinesKeepTheirShape(t *testing.T) {
	got := cleanLines("a\r\n\tb  c \n\x1b[2J\rd\n\n")
	want := []string{"a", "    b  c", "�[2J�d"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("lines (-want +got):\n%s", d)
	}
}

// texts draws strings with what terminals obey among them.
var texts = rapid.Custom(func(t *rapid.T) string {
	return strings.Join(rapid.SliceOf(rapid.OneOf(
		rapid.SampledFrom([]string{"\x1b[2J", "\r", "\n", "\t", " ", "\u202e", "\u009b", "\xff", "👩‍💻", "日本", "e\u0301", "\u200d", "a"}),
		rapid.String(),
	)).Draw(t, "parts"), "")
})

func TestCleanTextIsSafeAndStays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := texts.Draw(t, "text")
		got := clean(s)
		if again := clean(got); again != got {
			t.Errorf("clean twice: got %q, then %q", got, again)
		}
		if bad := controls(got); strings.ContainsAny(bad, "\x1b\r\n\t\u009b\u202e") || strings.ContainsRune(got, '\n') {
			t.Errorf("clean(%q) leaves %q", s, bad)
		}
	})
}

func TestCutWidthFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := clean(texts.Draw(t, "text"))
		n := rapid.IntRange(1, 30).Draw(t, "columns")
		for _, mark := range []string{"…", "...", ""} {
			got := cutWidth(s, n, mark)
			if width(got) > n {
				t.Errorf("cutWidth(%q, %d) takes %d columns: %q", s, n, width(got), got)
			}
			if width(s) <= n && got != s {
				t.Errorf("cutWidth(%q, %d) cut what fits: %q", s, n, got)
			}
		}
	})
}

func TestCutWidth(t *testing.T) {
	for _, c := range []struct {
		in   string
		n    int
		want string
	}{
		{"abcdef", 6, "abcdef"},
		{"abcdef", 5, "abcd…"},
		{"abc def", 5, "abc…"},
		{"日本語", 6, "日本語"},
		{"日本語", 5, "日本…"},
		{"日本語", 4, "日…"},
		{"👩‍💻👩‍💻", 3, "👩‍💻…"},
		{"e\u0301e\u0301e\u0301", 2, "e\u0301…"},
		{"abc", 1, "…"},
		{"abc", 0, ""},
		{"abc", -1, ""},
	} {
		if got := cutWidth(c.in, c.n, "…"); got != c.want {
			t.Errorf("cutWidth(%q, %d): got %q, want %q", c.in, c.n, got, c.want)
		}
	}
}

func TestFiguresForPeople(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0ms", 1: "<1ms", 999 * time.Microsecond: "<1ms", time.Millisecond: "1ms", 999 * time.Millisecond: "999ms",
		time.Second: "1.0s", 9999 * time.Millisecond: "9.9s", 10 * time.Second: "10s", 59999 * time.Millisecond: "59s",
		time.Minute: "1m00s", time.Hour - 1: "59m59s", time.Hour: "1h00m", 24*time.Hour - 1: "23h59m",
		49 * time.Hour: "2d01h", -time.Second: "-1.0s",
	} {
		if got := duration(d); got != want {
			t.Errorf("duration(%d): got %q, want %q", d, got, want)
		}
	}
	for n, want := range map[int64]string{
		0: "0", 999: "999", 1000: "1.0k", 12_345: "12.3k", 99_949: "99.9k", 99_950: "100k", 999_499: "999k", 999_500: "1.0M",
		12_345_678: "12.3M", -5: "0",
	} {
		if got := tokens(n); got != want {
			t.Errorf("tokens(%d): got %q, want %q", n, got, want)
		}
	}
	for usd, want := range map[float64]string{0: "$0.0000", 0.01234: "$0.0123", 1: "$1.00", 12.345: "$12.35", 1e9: "$1000000000.00"} {
		if got := dollars(usd); got != want {
			t.Errorf("dollars(%v): got %q, want %q", usd, got, want)
		}
	}
}
