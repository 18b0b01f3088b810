package termtext

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// texts draws strings with characters that steer a terminal.
var texts = rapid.Custom(func(t *rapid.T) string {
	return strings.Join(rapid.SliceOf(rapid.OneOf(
		rapid.SampledFrom([]string{"\x1b[2J", "\r", "\n", "\t", " ", "\u202e", "\u009b", "\xff", "👩‍💻", "日本", "e\u0301", "\u200d", "a"}),
		rapid.String(),
	)).Draw(t, "parts"), "")
})

func TestLine(t *testing.T) {
	for name, tt := range map[string]struct{ in, want string }{
		"plain":                    {"npm test -- --watch", "npm test -- --watch"},
		"empty":                    {"", ""},
		"white space":              {"  a \t\n b\u00a0c\u2028d ", "a b c d"},
		"escape sequence":          {"\x1b[31mred\x1b[0m", "�[31mred�[0m"},
		"operating system command": {"\x1b]8;;http://x\x07y", "�]8;;http://x�y"},
		"CSI of one byte":          {"\u009b2J", "�2J"},
		"invalid UTF-8":            {"a\x9bb", "a�b"},
		"bidirectional override":   {"a\u202eb\u2066c\u061cd", "a�b�c�d"},
		"carriage return":          {"good\rbad", "good bad"},
		"backspace":                {"a\bb\x7f", "a�b�"},
		"zero-width space":         {"a\u200bb", "a�b"},
		"tag character":            {"a\U000e0041", "a�"},
		"emoji of several":         {"👩‍💻 done", "👩‍💻 done"},
		"scripts":                  {"日本語 العربية", "日本語 العربية"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Line(tt.in); got != tt.want {
				t.Errorf("Line(%q): got %q, want %q", tt.in, got, tt.want)
			}
		})
	}
}

func TestShapeIsKept(t *testing.T) {
	const hostile = "a\x1b[31m\u009b\u202eb\u2028c\nd\te\u200c\u200d\U000e0041\U0001f600\xff"
	if got, want := Value(hostile), "a�[31m��b�c�d�e\u200c\u200d�\U0001f600�"; got != want {
		t.Errorf("Value: got %q, want %q", got, want)
	}
	if got, want := Screen(hostile), "a�[31m��b�c\nd\te\u200c\u200d�\U0001f600�"; got != want {
		t.Errorf("Screen: got %q, want %q", got, want)
	}
	want := []string{"a", "    b  c", "�[2J�d"}
	if d := cmp.Diff(want, Lines("a\r\n\tb  c \n\x1b[2J\rd\n\n")); d != "" {
		t.Errorf("Lines (-want +got):\n%s", d)
	}
}

func TestLinesDropsEndOfTabs(t *testing.T) {
	if got := strings.Join(Lines("a\n\t"), "|"); got != "a" {
		t.Errorf("Lines = %q, want the first line only", got)
	}
}

func TestResultsAreSafeAndStable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := texts.Draw(t, "text")
		for name, f := range map[string]func(string) string{
			"Value": Value, "Line": Line, "Screen": Screen,
			"Lines": func(s string) string { return strings.Join(Lines(s), "\n") },
		} {
			got := f(s)
			if again := f(got); again != got {
				t.Errorf("%s twice: got %q, then %q", name, got, again)
			}
			for _, r := range got {
				keeps := (name == "Screen" || name == "Lines") && r == '\n' || name == "Screen" && r == '\t' || r == '\u200c' || r == '\u200d'
				if !keeps && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) {
					t.Errorf("%s(%q) leaves %U", name, s, r)
				}
			}
			if !utf8.ValidString(got) {
				t.Errorf("%s(%q) is not UTF-8", name, s)
			}
		}
	})
}

func TestJSONKeepsItsMeaning(t *testing.T) {
	const hostile = "a\x1b[31m\u009b\u202eb\u2028c\nd\te\u200c\u200d\U000e0041\U0001f600\x7f"
	text, err := json.MarshalIndent(map[string]string{hostile: hostile}, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	out := JSON(text)
	if Screen(string(out)) != string(out) {
		t.Errorf("an unsafe character is left in %q", out)
	}
	var back map[string]string
	if err := json.Unmarshal(out, &back); err != nil || back[hostile] != hostile {
		t.Errorf("read back %q, %v", back, err)
	}
}

func TestCutsToCharactersAndBytes(t *testing.T) {
	for _, tt := range []struct {
		in                   string
		n                    int
		cut, head, headBytes string
	}{
		{"abc", 3, "abc", "abc", "abc"},
		{"abcd", 3, "ab…", "abc", "abc"},
		{"äöü", 3, "äöü", "äöü", "ä"},
		{"äöüß", 3, "äö…", "äöü", "ä"},
		{"日本", 1, "…", "日", ""},
		{"abc", 0, "abc", "", ""},
		{"abc", -1, "abc", "", ""},
		{"", 2, "", "", ""},
		{"\xff\xff\xff", 2, "\xff…", "\xff\xff", "\xff\xff"},
	} {
		got := [3]string{Cut(tt.in, tt.n), Head(tt.in, tt.n), HeadBytes(tt.in, tt.n)}
		if want := [3]string{tt.cut, tt.head, tt.headBytes}; got != want {
			t.Errorf("%q to %d: got %q, want %q", tt.in, tt.n, got, want)
		}
	}
}

func TestCutIsTheLongestThatFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, n := texts.Draw(t, "text"), rapid.IntRange(1, 30).Draw(t, "characters")
		got := Cut(s, n)
		if utf8.RuneCountInString(s) <= n {
			if got != s {
				t.Errorf("Cut(%q, %d) cut what fits: %q", s, n, got)
			}
			return
		}
		head, ok := strings.CutSuffix(got, "…")
		if !ok || !strings.HasPrefix(s, head) || utf8.RuneCountInString(got) != n {
			t.Errorf("Cut(%q, %d) = %q", s, n, got)
		}
	})
}

func TestCutWidth(t *testing.T) {
	for _, tt := range []struct {
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
		if got := CutWidth(tt.in, tt.n, "…"); got != tt.want {
			t.Errorf("CutWidth(%q, %d): got %q, want %q", tt.in, tt.n, got, tt.want)
		}
	}
}

func TestCutWidthFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, n := Line(texts.Draw(t, "text")), rapid.IntRange(1, 30).Draw(t, "columns")
		for _, mark := range []string{"…", "...", ""} {
			got := CutWidth(s, n, mark)
			if Width(got) > n {
				t.Errorf("CutWidth(%q, %d) takes %d columns: %q", s, n, Width(got), got)
			}
			if Width(s) <= n && got != s {
				t.Errorf("CutWidth(%q, %d) cut what fits: %q", s, n, got)
			}
		}
	})
}

func TestPlural(t *testing.T) {
	got := []string{Plural(0, "run"), Plural(1, "run"), Plural(int64(2), "run"), Plural(-1, "run")}
	if want := []string{"0 runs", "1 run", "2 runs", "-1 runs"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestMessagePutsJoinedErrorsOnOneLine(t *testing.T) {
	one, two := errors.New("first"), errors.New("second")
	for want, err := range map[string]error{
		"first":                          one,
		"first; second":                  errors.Join(one, two),
		"rules: first; second":           fmt.Errorf("rules: %w", errors.Join(one, two)),
		"first; more: second; first":     errors.Join(one, fmt.Errorf("more: %w", errors.Join(two, one))),
		"first and second":               fmt.Errorf("%w and %w", one, two),
		"a file named \"x\\ny\": second": fmt.Errorf("a file named %q: %w", "x\ny", two),
	} {
		if got := Message(err); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
