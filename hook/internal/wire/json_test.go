package wire

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
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
		{"not JSON", `{"a"`, ``},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Canonical([]byte(tt.in)); got != tt.want {
				t.Errorf("Canonical(%s) = %s, want %s", tt.in, got, tt.want)
			}
		})
	}
}

// FuzzCanonical holds that the canonical form of legal JSON is legal JSON of
// its own canonical form.
func FuzzCanonical(f *testing.F) {
	for _, seed := range []string{`{"b":1,"a":2}`, `[1e3,-0]`, "\"\xff\"", `{"<":"&\u2028"}`, `{"a":1,"a":{}}`, `nul`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got := Canonical(data)
		if !json.Valid(data) {
			return
		}
		if !json.Valid([]byte(got)) || !utf8.ValidString(got) || strings.HasSuffix(got, "\n") {
			t.Fatalf("Canonical(%q) = %q", data, got)
		}
		if again := Canonical([]byte(got)); again != got {
			t.Fatalf("a second time %s, first %s", again, got)
		}
	})
}
