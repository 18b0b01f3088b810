package rawjson

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestCanonical(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"keys sorted, spaces gone", `{ "b": 1, "a" : [ 2, {"d":3,"c":4} ] }`, `{"a":[2,{"c":4,"d":3}],"b":1}`},
		{"numbers keep their spelling", `[1e3,10000000000000000001,-0,1.50]`, `[1e3,10000000000000000001,-0,1.50]`},
		{"HTML stays readable", `"<b> & c"`, `"<b> & c"`},
		{"last of equal keys", `{"a":1,"a":2}`, `{"a":2}`},
		{"half surrogates", `"\ud800"`, "\"\ufffd\""},
		{"null", `null`, `null`},
		{"nothing", ``, ``},
		{"cut off", `{"a"`, ``},
		{"escaped names sort by their characters", `{"\u0062":1,"a\n":2,"a!":3,"a":4}`, `{"a":4,"a\n":2,"a!":3,"b":1}`},
		{
			"deeper than it is copied", strings.Repeat(`{"b":1,"a":`, maxWalked+1) + `{}` + strings.Repeat(`}`, maxWalked+1),
			strings.Repeat(`{"a":`, maxWalked+1) + `{}` + strings.Repeat(`,"b":1}`, maxWalked+1),
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Canonical([]byte(tt.in)); got != tt.want {
				t.Errorf("Canonical(%s) = %s, want %s", tt.in, got, tt.want)
			}
		})
	}
}

// built is the canonical form by way of the value: slow and plain.
func built(raw []byte) string {
	v, ok := Parse(raw)
	if !ok {
		return ""
	}
	return Encode(v)
}

// FuzzCanonical compares what is copied with what is built. The canonical form of
// JSON is JSON and its own canonical form.
func FuzzCanonical(f *testing.F) {
	for _, seed := range []string{
		`{"b":1,"a":2}`, `[1e3,-0]`, "\"\xff\"", `{"<":"&\u2028"}`, `{"a":1,"a":{}}`, `nul`, `{"a!":1,"a":[{}, [ ] ,{"":null}]} x`, "\"\u2028\u2029\x7f\"",
		`{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6,"h":7,"g":8,"i":"\n\/"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got := Canonical(data)
		if !json.Valid(data) {
			return // it does not panic
		}
		if want := built(data); got != want {
			t.Fatalf("Canonical(%q)\ngot  %s\nwant %s", data, got, want)
		}
		if !json.Valid([]byte(got)) || !utf8.ValidString(got) || strings.HasSuffix(got, "\n") {
			t.Fatalf("Canonical(%q) = %q", data, got)
		}
		if again := Canonical([]byte(got)); again != got {
			t.Fatalf("a second time %s, first %s", again, got)
		}
	})
}

// TestCanonicalOfDrawnTexts draws texts that are JSON, or nearly.
func TestCanonicalOfDrawnTexts(t *testing.T) {
	piece := rapid.SampledFrom([]string{
		`{`, `}`, `[`, `]`, `,`, `:`, ` `, "\n", `"a"`, `"b"`, `"a\n"`, `"a!"`, `"\u0061"`, `"\/"`, "\"\u2028\"", "\"\xff\"", "\"\x01\"", `""`, `1`, `-0.5e+7`, `true`, `null`,
	})
	var value func(depth int) *rapid.Generator[string]
	value = func(depth int) *rapid.Generator[string] {
		return rapid.Custom(func(t *rapid.T) string {
			kind := rapid.IntRange(0, 3).Draw(t, "kind")
			if depth == 0 || kind < 2 {
				return rapid.SampledFrom([]string{`"a"`, `"b c"`, `"\\\""`, `"é"`, `"\t"`, `"\u00e9"`, "\"\u2029\"", `1e400`, `-0`, `false`, `null`, `12`}).Draw(t, "leaf")
			}
			space := rapid.SampledFrom([]string{"", " ", "\r\n"})
			var parts []string
			for range rapid.IntRange(0, 10).Draw(t, "members") {
				v := space.Draw(t, "space") + value(depth-1).Draw(t, "value") + space.Draw(t, "space")
				if kind == 3 {
					v = rapid.SampledFrom([]string{`"a"`, `"b"`, `"a "`, `"a!"`, `"\u0061"`, `"B"`, `"é"`, `""`, `"c\t"`, `"d"`, `"e"`}).Draw(t, "key") + space.Draw(t, "space") + ":" + v
				}
				parts = append(parts, v)
			}
			if kind == 3 {
				return "{" + strings.Join(parts, ",") + "}"
			}
			return "[" + strings.Join(parts, ",") + "]"
		})
	}
	text := rapid.OneOf(value(3), rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(piece, 0, 12).Draw(t, "pieces"), "")
	}))
	copied := 0
	rapid.Check(t, func(rt *rapid.T) {
		raw := []byte(text.Draw(rt, "text"))
		got := Canonical(raw)
		if err := Check(raw); (err == nil) != json.Valid(raw) {
			rt.Errorf("Check(%q): %v", raw, err)
		}
		if !json.Valid(raw) {
			return
		}
		if want := built(raw); got != want {
			rt.Errorf("Canonical(%q)\ngot  %s\nwant %s", raw, got, want)
		}
		copied++
	})
	if copied == 0 {
		t.Error("no drawn text was JSON")
	}
}
