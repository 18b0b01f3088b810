package otelmap

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/hookspan/hookspan/internal/rawjson"
)

func TestArgumentsKeepWhatIsShort(t *testing.T) {
	long := strings.Repeat("x", 5000)
	tests := []struct {
		name, input string
		limit       int
		want        string
	}{
		{"short enough", `{"path":"a.go"}`, 200, `{"path":"a.go"}`},
		{
			"the path stays beside the content", `{"content":"` + long + `","path":"src/a.go"}`, 60,
			`{"content":"` + strings.Repeat("x", 27) + `…","path":"src/a.go"}`,
		},
		{"in lists as well", `{"files":["` + long + `","b"]}`, 40, `{"files":["` + strings.Repeat("x", 21) + `…","b"]}`},
		{"no JSON", long, 20, strings.Repeat("x", 19) + "…"},
		{"too many values", "[" + strings.Repeat(`"aaaaaaaaaaaaaaaa",`, 50) + "1]", 30, `["aaaaaaaaaaaaaaaa","aaaaaaaa…`},
		{"numbers are not touched", `{"a":1e400,"b":"` + long + `"}`, 30, `{"a":1e400,"b":"` + strings.Repeat("x", 11) + `…"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := Options{MaxInput: tt.limit}.withDefaults("cline")
			if got := o.arguments(tt.input); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestArgumentsAreCleanedBeforeTheyAreCut(t *testing.T) {
	secret := "key-" + strings.Repeat("s", 40)
	o := Options{MaxInput: 50, Clean: func(s string, limit int) string {
		return cut(strings.ReplaceAll(s, secret, "[gone]"), limit)
	}}.withDefaults("cline")
	for pad := range 80 {
		got := o.arguments(`{"content":"` + strings.Repeat("x", pad) + secret + strings.Repeat("y", 9000) + `","path":"a"}`)
		if strings.Contains(got, "key-") {
			t.Errorf("behind %d characters the head of a secret is left: %s", pad, got)
		}
	}
}

func TestArgumentsStayWithinTheLimit(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		limit := rapid.IntRange(1, 300).Draw(rt, "limit")
		fields := rapid.MapOf(rapid.String(), rapid.String()).Draw(rt, "fields")
		input := compact(map[string]any{"a": fields, "b": rapid.SliceOf(rapid.String()).Draw(rt, "list")}, 0)
		o := Options{MaxInput: limit}.withDefaults("cline")
		if got := o.arguments(input); utf8.RuneCountInString(got) > limit {
			rt.Errorf("%d runes, limit %d: %s", utf8.RuneCountInString(got), limit, got)
		}
	})
}

// TestCompactWritesAsEncodingJSONDoes holds the writer to the library's, for
// every rune and for drawn values, and the width to what is written.
func TestCompactWritesAsEncodingJSONDoes(t *testing.T) {
	standard := rawjson.Encode
	check := func(t rapid.TB, v any) {
		if got, want := compact(v, 0), standard(v); got != want {
			t.Errorf("%#v:\ngot  %s\nwant %s", v, got, want)
		}
	}
	for first := rune(0); first < utf8.MaxRune; first += 0x100 {
		var all []rune
		for r := first; r < first+0x100; r++ {
			all = append(all, r)
		}
		check(t, string(all))
	}
	for _, v := range []any{nil, true, false, json.Number("1e400"), []any{}, map[string]any{}, "\xff\x80", map[string]any{"b": []any{nil}, "a": "x"}} {
		check(t, v)
	}
	texts := rapid.OneOf(rapid.String(), rapid.StringOf(rapid.RuneFrom([]rune("\x00\n\"\\\u2028a€\ufffd"))))
	rapid.Check(t, func(rt *rapid.T) {
		m := make(map[string]any)
		for k, s := range rapid.MapOf(texts, texts).Draw(rt, "fields") {
			m[k] = s
		}
		v := []any{m, texts.Draw(rt, "text"), json.Number("12"), rapid.Bool().Draw(rt, "bool"), nil}
		check(rt, v)
		keep := rapid.IntRange(0, 40).Draw(rt, "keep")
		text := compact(v, keep)
		runes := utf8.RuneCountInString(text)
		if got := width(v, keep, math.MaxInt); got != runes {
			rt.Errorf("width %d at %d, want %d: %s", got, keep, runes, text)
		}
		limit := rapid.IntRange(0, 200).Draw(rt, "limit")
		if got := width(v, keep, limit); (got > limit) != (runes > limit) {
			rt.Errorf("width %d at %d, limit %d; it is %d: %s", got, keep, limit, runes, text)
		}
	})
}
