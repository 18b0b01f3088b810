package translate

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestObjectKeepsOrderAndCharacters(t *testing.T) {
	o := object{{"b", "<&>"}, {"a", object{{"z", nil}, {"y", []any{1, "x"}}}}, {"\"", true}, {"e", object{}}}
	want := `{"b":"<&>","a":{"z":null,"y":[1,"x"]},"\"":true,"e":{}}`
	if got := string(o.encode()); got != want || !json.Valid([]byte(got)) {
		t.Errorf("%s, want %s", got, want)
	}
	if got := o.str("b"); got != "<&>" {
		t.Errorf("b is %q", got)
	}
	if _, ok := o.get("c"); ok {
		t.Error("a member that is not there is found")
	}
}

func TestTexts(t *testing.T) {
	tests := []struct {
		in   any
		want string
	}{
		{nil, ""},
		{"a\n", "a\n"},
		{json.Number("1.50"), "1.50"},
		{true, "true"},
		{map[string]any{"b": 1, "a": "<"}, `{"a":"<","b":1}`},
		{[]any{}, "[]"},
	}
	for _, tt := range tests {
		if got := text(tt.in); got != tt.want {
			t.Errorf("text(%#v) = %q, want %q", tt.in, got, tt.want)
		}
	}
}

func TestNumbers(t *testing.T) {
	for _, in := range []any{json.Number("12"), "12", 12, int64(12)} {
		if n, ok := number(in); !ok || n != 12 {
			t.Errorf("number(%#v) = %d, %v", in, n, ok)
		}
	}
	for _, in := range []any{nil, true, "x", "", []any{}, map[string]any{}} {
		if n, ok := number(in); ok {
			t.Errorf("number(%#v) = %d", in, n)
		}
	}
}

func TestParsedReadsJSONInTexts(t *testing.T) {
	tests := []struct{ in, want any }{
		{`["a"]`, []any{"a"}},
		{" {\"a\":\"b\"}\n", map[string]any{"a": "b"}},
		{"[a]", "[a]"},
		{`"a"`, `"a"`},
		{"", ""},
		{"{", "{"},
		{`[1] [2]`, `[1] [2]`},
		{nil, nil},
		{true, true},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, parsed(tt.in)); diff != "" {
			t.Errorf("parsed(%#v) (-want +got):\n%s", tt.in, diff)
		}
	}
}
