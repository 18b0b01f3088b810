package rawjson

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestMarshal(t *testing.T) {
	v := Ordered{{"z", "<a & b>"}, {"a", Ordered{{"list", []any{1, nil}}}}, {"none", func() {}}, {"<", map[string]int{}}}
	got, err := Marshal(v)
	if want := `{"z":"<a & b>","a":{"list":[1,null]},"none":null,"<":{}}`; err != nil || string(got) != want {
		t.Errorf("Marshal: %v\ngot  %s\nwant %s", err, got, want)
	}
	nested := Ordered{{"half", []any{Ordered{{"a", 1}}, func() {}}}, {"nil", []any(nil)}, {"none", Ordered{}}, {"lists", []any{[]any{}, Ordered(nil), "\n\xff\u2028"}}}
	got, err = Marshal(nested)
	if want := `{"half":null,"nil":null,"none":{},"lists":[[],{},"\n\ufffd\u2028"]}`; err != nil || string(got) != want {
		t.Errorf("Marshal: %v\ngot  %s\nwant %s", err, got, want)
	}
	got, err = MarshalIndent(Ordered{{"a", []int{1}}, {"b", "&"}}, "  ")
	if want := "{\n  \"a\": [\n    1\n  ],\n  \"b\": \"&\"\n}"; err != nil || string(got) != want {
		t.Errorf("MarshalIndent: %v\ngot  %s\nwant %s", err, got, want)
	}
	if _, err := Marshal(func() {}); err == nil {
		t.Error("a function encodes")
	}
	if got := Encode(func() {}); got != "" {
		t.Errorf("Encode of a function = %q", got)
	}
}

func TestAppendStringIsEncode(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOf(rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{
			"\n", "\t", "\r", "\b", "\x00", "\x7f", `"`, `\`, "<&>", "…", "é", "\u2028", "\u2029", "\ufffd", "\xff", "\xe2\x80", "😀", "plain",
		}))).Draw(t, "parts")
		s := strings.Join(parts, "")
		want, err := MarshalIndent(s, "")
		if got := AppendString([]byte("x"), s); err != nil || string(got) != "x"+string(want) || Encode(s) != string(want) {
			t.Errorf("AppendString(%q) = %s, want %s; %v", s, got, want, err)
		}
	})
}
