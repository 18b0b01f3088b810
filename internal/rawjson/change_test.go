package rawjson

import (
	"strings"
	"testing"
)

func TestCleanKeepsJSON(t *testing.T) {
	remove := func(old string) func(string) string {
		return func(s string) string {
			before, _, found := strings.Cut(s, old)
			if found {
				before += "-"
			}
			return before
		}
	}
	for _, tt := range []struct{ name, old, text, want string }{
		{"nothing", "x", `{"a": 1}`, `{"a": 1}`},
		{"in a string", "KEY", `{"b":["a KEY b",true],"a":null}`, `{"a":null,"b":["a -",true]}`},
		{"a number", "12", `{"a":12,"b":3}`, `{"a":"-","b":3}`},
		{"a name", "na", `{"name":"x"}`, `"{\"-"`},
		{"no JSON", "x", `{"a":"x`, `{"a":"-`},
		{"more than a value", "x", `{"a":"x"} {}`, `{"a":"-`},
	} {
		if got := Clean(tt.text, remove(tt.old)); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}
	}
}
