package otelmap

import (
	"encoding/json"
	"regexp"
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
		{"no JSON", long, 20, `"` + strings.Repeat("x", 17) + `…"`},
		{"too many values", "[" + strings.Repeat(`"aaaaaaaaaaaaaaaa",`, 50) + "1]", 30, `["aaaaaaaaaaaaaaaa",{"…":50}]`},
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

// TestArgumentsStayJSON has secrets whose removal takes the form with it.
func TestArgumentsStayJSON(t *testing.T) {
	for _, capture := range []Capture{CapturePreview, CaptureFull} {
		for name, tt := range map[string]struct{ secret, input, want string }{
			"to the end":             {`KEY.*`, `{"command":"echo KEY=1","path":"a"}`, `{"command":"echo [gone]","path":"a"}`},
			"beside one that is not": {`KEY.*|"pass":"[^"]*"`, `{"command":"KEY=1","pass":"kite"}`, `"{\"command\":\"[gone]\",[gone]}"`},
			"a name":                 {`"na`, `{"name":"x"}`, `"{[gone]me\":\"x\"}"`},
			"a short text":           {`KEY.*`, `"KEY"`, `"[gone]"`},
		} {
			o := Options{Capture: capture, MaxInput: 60, Clean: func(s string, limit int) string {
				return termtext.Cut(regexp.MustCompile(tt.secret).ReplaceAllString(s, "[gone]"), limit)
			}}.withDefaults("cline")
			if got := o.arguments(tt.input); got != tt.want {
				t.Errorf("%s, %s:\ngot  %s\nwant %s", name, capture, got, tt.want)
			}
		}
	}
}

func TestArgumentsStayWithinTheLimit(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		limit := rapid.IntRange(1, 300).Draw(rt, "limit")
		fields := rapid.MapOf(rapid.String(), rapid.String()).Draw(rt, "fields")
		input := rawjson.Encode(map[string]any{"a": fields, "b": rapid.SliceOf(rapid.String()).Draw(rt, "list")})
		o := Options{MaxInput: limit}.withDefaults("cline")
		got := o.arguments(input)
		if utf8.RuneCountInString(got) > limit || limit > 1 && !json.Valid([]byte(got)) {
			rt.Errorf("%d runes, limit %d: %s", utf8.RuneCountInString(got), limit, got)
		}
		o.MaxInput = rapid.IntRange(1, limit).Draw(rt, "less")
		if again := o.arguments(got); utf8.RuneCountInString(again) > o.MaxInput || o.MaxInput > 1 && !json.Valid([]byte(again)) {
			rt.Errorf("%d runes, limit %d: %s", utf8.RuneCountInString(again), o.MaxInput, again)
		}
	})
}
