package otelmap

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/hookspan/hookspan/internal/rawjson"
	"github.com/hookspan/hookspan/internal/termtext"
)

func TestArgumentsCutOnlyLongValues(t *testing.T) {
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

func TestArgumentsAreCleanedBeforeCutting(t *testing.T) {
	secret := "key-" + strings.Repeat("s", 40)
	o := Options{MaxInput: 50, Clean: func(s string, limit int) string {
		return termtext.Cut(strings.ReplaceAll(s, secret, "[gone]"), limit)
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
		input := rawjson.Encode(map[string]any{"a": fields, "b": rapid.SliceOf(rapid.String()).Draw(rt, "list")})
		o := Options{MaxInput: limit}.withDefaults("cline")
		if got := o.arguments(input); utf8.RuneCountInString(got) > limit {
			rt.Errorf("%d runes, limit %d: %s", utf8.RuneCountInString(got), limit, got)
		}
	})
}
