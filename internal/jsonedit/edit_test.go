package jsonedit

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAddAndCut(t *testing.T) {
	value := Object{{"k", Array{"<v>", 1, true}}}
	tests := map[string]struct{ text, want string }{
		"two spaces":     {"{\n  \"a\": 1\n}\n", "{\n  \"a\": 1,\n  \"new\": {\n    \"k\": [\n      \"<v>\",\n      1,\n      true\n    ]\n  }\n}\n"},
		"CRLF, tabs":     {"{\r\n\t\"a\": 1\r\n}", "{\r\n\t\"a\": 1,\r\n\t\"new\": {\r\n\t\t\"k\": [\r\n\t\t\t\"<v>\",\r\n\t\t\t1,\r\n\t\t\ttrue\r\n\t\t]\r\n\t}\r\n}"},
		"one line":       {`{"a":1}`, `{"a":1,"new":{"k":["<v>",1,true]}}`},
		"loose line":     {`{ "a": 1, "b": 2 }`, `{ "a": 1, "b": 2, "new": {"k": ["<v>", 1, true]} }`},
		"comma first":    {"{ \"a\": 1\n, \"b\": 2\n}", "{ \"a\": 1\n, \"b\": 2, \"new\": {\"k\": [\"<v>\", 1, true]}\n}"},
		"bracket at end": {"{\n  \"a\": 1}", "{\n  \"a\": 1,\n  \"new\": {\n    \"k\": [\n      \"<v>\",\n      1,\n      true\n    ]\n  }}"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			text := []byte(tt.text)
			root, err := Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			got := DetectStyle(text, root).AddMember(text, root, Field{"new", value})
			if diff := cmp.Diff(tt.want, string(got)); diff != "" {
				t.Errorf("added (-want +got):\n%s", diff)
			}
			if root, err = Parse(got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.text, string(Cut(got, root, len(root.Items)-1))); diff != "" {
				t.Errorf("cut out again (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCutAnywhere(t *testing.T) {
	const text = "[ 1, \"2\"\n,3 ]"
	for i, want := range []string{"[ \"2\"\n,3 ]", "[ 1\n,3 ]", "[ 1, \"2\" ]"} {
		root, err := Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, string(Cut([]byte(text), root, i))); diff != "" {
			t.Errorf("without element %d (-want +got):\n%s", i, diff)
		}
	}
}

func TestAddElement(t *testing.T) {
	tests := map[string]struct{ text, want string }{
		"one line":     {"[1, 2]", `[1, 2, {"k": "v"}]`},
		"lines":        {"[\n  1\n]", "[\n  1,\n  {\n    \"k\": \"v\"\n  }\n]"},
		"empty":        {"[]\n", "[\n  {\n    \"k\": \"v\"\n  }\n]\n"},
		"blank inside": {"[ \n ]", "[\n  {\n    \"k\": \"v\"\n  }\n]"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			text := []byte(tt.text)
			root, err := Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			got := DetectStyle(text, root).AddElement(text, root, Object{{"k", "v"}})
			if diff := cmp.Diff(tt.want, string(got)); diff != "" {
				t.Errorf("added (-want +got):\n%s", diff)
			}
			if string(text) != tt.text {
				t.Errorf("the old text is now %q", text)
			}
		})
	}
}

func TestAddMemberToEmptyObjectOnOneLine(t *testing.T) {
	text := []byte(`{"a":{},"b":1}`)
	root, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	got := DetectStyle(text, root).AddMember(text, root.Get("a"), Field{"k", true})
	if diff := cmp.Diff(`{"a":{"k":true},"b":1}`, string(got)); diff != "" {
		t.Errorf("added (-want +got):\n%s", diff)
	}
}

func TestPut(t *testing.T) {
	tests := map[string]struct{ text, want string }{
		"a line stays one":    {"{\n  \"a\": [ 1 ],\n  \"b\": 2\n}", "{\n  \"a\": [\"x\", 1],\n  \"b\": 2\n}"},
		"lines stay lines":    {"{\n  \"a\": [\n    1\n  ]\n}", "{\n  \"a\": [\n    \"x\",\n    1\n  ]\n}"},
		"the last one counts": {`{"a":1,"a":2}`, `{"a":1,"a":["x",1]}`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			text := []byte(tt.text)
			root, err := Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			got := DetectStyle(text, root).Put(text, root.Get("a"), Array{"x", 1})
			if diff := cmp.Diff(tt.want, string(got)); diff != "" {
				t.Errorf("put (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCutAll(t *testing.T) {
	const text = "{\"a\": [1, 2,\n3, 4 ], \"b\": [5] , \"c\": [6, 7]}"
	tests := map[string]struct {
		// gone are the indexes by the member, "" for the object itself.
		gone map[string][]int
		want string
	}{
		"nothing":         {nil, text},
		"the first two":   {map[string][]int{"a": {0, 1}}, "{\"a\": [3, 4 ], \"b\": [5] , \"c\": [6, 7]}"},
		"the last two":    {map[string][]int{"a": {2, 3}}, "{\"a\": [1, 2 ], \"b\": [5] , \"c\": [6, 7]}"},
		"every other one": {map[string][]int{"a": {0, 2}}, "{\"a\": [2, 4 ], \"b\": [5] , \"c\": [6, 7]}"},
		"all of one":      {map[string][]int{"a": {0, 1, 2, 3}, "b": {0}}, "{\"a\": [], \"b\": [] , \"c\": [6, 7]}"},
		"one in another":  {map[string][]int{"": {0, 1}, "b": {0}, "c": {0}}, "{\"c\": [7]}"},
		"everything":      {map[string][]int{"": {0, 1, 2}, "a": {1}, "c": {0, 1}}, "{}"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			root, err := Parse([]byte(text))
			if err != nil {
				t.Fatal(err)
			}
			gone := make(map[*Node][]bool)
			for key, indexes := range tt.gone {
				c := root
				if key != "" {
					c = root.Get(key)
				}
				gone[c] = make([]bool, len(c.Items))
				for _, i := range indexes {
					gone[c][i] = true
				}
			}
			out, gaps := CutGaps([]byte(text), gone)
			if diff := cmp.Diff(tt.want, string(out)); diff != "" {
				t.Errorf("text (-want +got):\n%s", diff)
			}
			if whole, ok := Fill(out, gaps); !ok || string(whole) != text {
				t.Errorf("filled again: %q, %v", whole, ok)
			}
			if _, ok := Fill(nil, gaps); ok && len(gaps) > 0 {
				t.Error("the gaps of another text are filled")
			}
		})
	}
}
