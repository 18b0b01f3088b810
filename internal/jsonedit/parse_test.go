package jsonedit

import (
	"encoding/json"
	"errors"
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
		"after a mark":         {ByteOrderMark + "{x}", "line 1, column 2: "},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := Parse([]byte(tt.text))
			var syntax *SyntaxError
			if !errors.As(err, &syntax) {
				t.Fatalf("error %v, want a *SyntaxError", err)
			}
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

// TestSpans holds every span against what the standard library reads there.
func TestSpans(t *testing.T) {
	const text = "\ufeff { \"a\" : [ 1 , -2e3,true,null, \"x\\\"]\" ] ,\n\"b\\u0063\":{\"\":{},\"d\":[]} } "
	root, err := Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	var walk func(n *Node)
	walk = func(n *Node) {
		got = append(got, string(n.Raw([]byte(text))))
		for _, i := range n.Items {
			if i.KeyEnd > 0 {
				got = append(got, i.Key+"=")
			}
			walk(i.Value)
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

func TestNode(t *testing.T) {
	text := []byte(`{"o":{"a":1,"b":2,"a":3},"l":[],"s":"","t":true,"f":false,"n":null,"d":-1}`)
	root, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{
		"o": "an object", "l": "an array", "s": "a string", "t": "true or false", "f": "true or false", "n": "null", "d": "a number",
	} {
		if got := root.Get(key).Kind(text); got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
	o := root.Get("o")
	if got := o.Member("a"); got != 2 {
		t.Errorf("of two members the one with the index %d, want 2", got)
	}
	if got := o.Inner(text); got != `"a":1,"b":2,"a":3` {
		t.Errorf("inner text %s", got)
	}
	if o.Member("c") != -1 || o.Get("c") != nil || o.Get("c").Is(text, '{') || !o.Is(text, '{') {
		t.Error("a member that is not there is found, or an object is none")
	}
}

func TestPosition(t *testing.T) {
	text := []byte(ByteOrderMark + "äb\r\nüc")
	for at, want := range map[int][2]int{0: {1, 1}, 3: {1, 1}, 5: {1, 2}, 6: {1, 3}, 8: {2, 1}, 10: {2, 2}} {
		line, column := Position(text, at)
		if got := [2]int{line, column}; got != want {
			t.Errorf("byte %d is at %v, want %v", at, got, want)
		}
	}
}

func TestParseRejectsDeepTexts(t *testing.T) {
	deep := func(n int) []byte { return []byte(strings.Repeat("[", n) + strings.Repeat("]", n)) }
	if _, err := Parse(deep(10_000)); err != nil {
		t.Errorf("10,000 levels: %v", err)
	}
	if _, err := Parse(deep(1_000_000)); err == nil {
		t.Error("1,000,000 levels are taken")
	}
}

// FuzzParse holds the scanner against the standard library: what that takes
// has spans inside the text, each of them valid by itself.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{`{}`, `[1,{"a":"\\\""}]`, " null ", `{"a":{"a":[]},"a":""}`, ByteOrderMark + `"x"`, "{\"a\":1,}"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		root, err := Parse(text)
		if err != nil {
			if json.Valid(text) {
				t.Fatalf("valid and refused: %v", err)
			}
			if !strings.HasPrefix(err.Error(), "line ") {
				t.Errorf("error without a line: %v", err)
			}
			return
		}
		var walk func(n *Node)
		walk = func(n *Node) {
			if !json.Valid(n.Raw(text)) {
				t.Errorf("span %d:%d is no value: %q", n.Start, n.End, n.Raw(text))
			}
			at := n.Start
			for _, i := range n.Items {
				if i.Start <= at || i.End() >= n.End {
					t.Errorf("element %d:%d outside of %d:%d or out of order", i.Start, i.End(), at, n.End)
				}
				at = i.End()
				walk(i.Value)
			}
		}
		walk(root)
	})
}
