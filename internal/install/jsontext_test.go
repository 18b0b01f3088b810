package install

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSyntaxErrorsSayWhere(t *testing.T) {
	tests := map[string]struct{ text, want string }{
		"empty":              {"", "line 1, column 1: the file is empty"},
		"blank":              {" \n\t\n", "the file is empty"},
		"cut short":          {"{\n  \"a\": [1,", "line 2, column 11: the file ends too early"},
		"comma before brace": {"{\n  \"a\": 1,\n}", "line 3, column 1: found \"}\" after a comma"},
		"comma before bracket": {
			`{"a": [1, 2, ]}`, "line 1, column 14: found \"]\" after a comma",
		},
		"line comment":         {"{\n  // why\n  \"a\": 1\n}", "line 2, column 3: found a comment"},
		"block comment":        {"{\"a\": /* why */ 1}", "line 1, column 7: found a comment"},
		"two values":           {"{}\n{}", "line 2, column 1: "},
		"column in characters": {`{"äöü": x}`, "line 1, column 9: "},
		"after a mark":         {byteOrderMark + "{x}", "line 1, column 2: "},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := parseJSON([]byte(tt.text))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

// TestSpans holds every span against what the standard library reads there.
func TestSpans(t *testing.T) {
	const text = "\ufeff { \"a\" : [ 1 , -2e3,true,null, \"x\\\"]\" ] ,\n\"b\\u0063\":{\"\":{},\"d\":[]} } "
	root, err := parseJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	var walk func(n *node)
	walk = func(n *node) {
		got = append(got, string(n.raw([]byte(text))))
		for _, i := range n.items {
			if i.keyEnd > 0 {
				got = append(got, i.key+"=")
			}
			walk(i.value)
		}
	}
	walk(root)
	want := []string{
		"{ \"a\" : [ 1 , -2e3,true,null, \"x\\\"]\" ] ,\n\"b\\u0063\":{\"\":{},\"d\":[]} }",
		"a=", `[ 1 , -2e3,true,null, "x\"]" ]`, "1", "-2e3", "true", "null", `"x\"]"`,
		"bc=", `{"":{},"d":[]}`, "=", "{}", "d=", "[]",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("spans (-want +got):\n%s", diff)
	}
}

func TestDetectStyle(t *testing.T) {
	tests := map[string]struct {
		text string
		want style
	}{
		"two spaces":      {"{\n  \"a\": 1\n}\n", style{"\n", "  ", ": ", ", "}},
		"four spaces":     {"{\n    \"a\": 1\n}", style{"\n", "    ", ": ", ", "}},
		"tabs":            {"{\n\t\"a\": {\n\t\t\"b\": 1\n\t}\n}", style{"\n", "\t", ": ", ", "}},
		"not indented":    {"{\n\"a\":1\n}", style{"\n", "", ":", ","}},
		"CRLF":            {"{\r\n  \"a\" : 1\r\n}\r\n", style{"\r\n", "  ", " : ", ", "}},
		"one line":        {`{"a":1,"b":2}` + "\n", style{"", "  ", ":", ","}},
		"one line, loose": {`{ "a": 1, "b": 2 }`, style{"", "  ", ": ", ", "}},
		"empty":           {"{}", style{"\n", "  ", ": ", ", "}},
		"opened late":     {"{\"a\": {\n   \"b\": 1}}", style{"\n", "   ", ": ", ", "}},
		"value on a line of its own": {
			"{\n  \"a\":\n    1\n}", style{"\n", "  ", ": ", ", "},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			root, err := parseJSON([]byte(tt.text))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, detectStyle([]byte(tt.text), root), cmp.AllowUnexported(style{})); diff != "" {
				t.Errorf("style (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAddAndCut(t *testing.T) {
	value := object{{"k", array{"<v>", 1, true}}}
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
			root, err := parseJSON(text)
			if err != nil {
				t.Fatal(err)
			}
			got := detectStyle(text, root).addMember(text, root, field{"new", value})
			if diff := cmp.Diff(tt.want, string(got)); diff != "" {
				t.Errorf("added (-want +got):\n%s", diff)
			}
			if root, err = parseJSON(got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.text, string(cut(got, root, len(root.items)-1))); diff != "" {
				t.Errorf("cut out again (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCutAnywhere(t *testing.T) {
	const text = "[ 1, \"2\"\n,3 ]"
	for i, want := range []string{"[ \"2\"\n,3 ]", "[ 1\n,3 ]", "[ 1, \"2\" ]"} {
		root, err := parseJSON([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, string(cut([]byte(text), root, i))); diff != "" {
			t.Errorf("without element %d (-want +got):\n%s", i, diff)
		}
	}
}

// FuzzParseJSON holds the scanner against the standard library: what that takes
// has spans inside the text, each of them valid by itself.
func FuzzParseJSON(f *testing.F) {
	for _, seed := range []string{`{}`, `[1,{"a":"\\\""}]`, " null ", `{"a":{"a":[]},"a":""}`, byteOrderMark + `"x"`, "{\"a\":1,}"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		root, err := parseJSON(text)
		if err != nil {
			if json.Valid(text) {
				t.Fatalf("valid and refused: %v", err)
			}
			if !strings.HasPrefix(err.Error(), "line ") {
				t.Errorf("error without a line: %v", err)
			}
			return
		}
		var walk func(n *node)
		walk = func(n *node) {
			if !json.Valid(n.raw(text)) {
				t.Errorf("span %d:%d is no value: %q", n.start, n.end, n.raw(text))
			}
			at := n.start
			for _, i := range n.items {
				if i.start <= at || i.end() >= n.end {
					t.Errorf("element %d:%d outside of %d:%d or out of order", i.start, i.end(), at, n.end)
				}
				at = i.end()
				walk(i.value)
			}
		}
		walk(root)
	})
}
