package rawjson

import "testing"

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
