package rawjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func nested(depth int) string {
	return strings.Repeat("[", depth) + strings.Repeat("]", depth)
}

func TestOpen(t *testing.T) {
	tests := []struct {
		name, in string
		want     []string
		fault    string // empty: none
	}{
		{name: "empty object", in: `{}`},
		{name: "white space everywhere", in: " {\t\"a\" :\r\n1 , \"b\": [ ] } \n", want: []string{"a=1", "b=[ ]"}},
		{
			name: "every kind of value", in: `{"s":"x","n":-1.5e+3,"t":true,"f":false,"z":null,"o":{"a":{}},"l":[1,[2,{"b":3}],[]]}`,
			want: []string{`s="x"`, "n=-1.5e+3", "t=true", "f=false", "z=null", `o={"a":{}}`, `l=[1,[2,{"b":3}],[]]`},
		},
		{name: "escaped key", in: `{"hook\u004eame":1}`, want: []string{"hookName=1"}},
		{name: "equal keys in order", in: `{"a":1,"a":2}`, want: []string{"a=1", "a=2"}},
		{name: "brackets inside strings", in: `{"a":"}]\"{","b":2}`, want: []string{`a="}]\"{"`, "b=2"}},
		{name: "bytes that are not UTF-8", in: "{\"a\":\"\xff\xfe\"}", want: []string{"a=\"\xff\xfe\""}},
		{name: "deepest legal nesting", in: `{"a":` + nested(MaxDepth-1) + `}`, want: []string{"a=" + nested(MaxDepth-1)}},
		{name: "nothing", in: ``, fault: "byte 0: the JSON text ends too early"},
		{name: "an array", in: `[1]`, fault: `byte 0: found "[", want a JSON object`},
		{name: "something after the object", in: `{"a":1} x`, want: []string{"a=1"}, fault: `byte 8: found "x" after the value, want nothing`},
		{name: "torn in a string", in: `{"a":1,"b":"cd`, want: []string{"a=1"}, fault: "byte 14: the JSON text ends too early"},
		{name: "torn after a comma", in: `{"a":1,`, want: []string{"a=1"}, fault: "byte 7: the JSON text ends too early"},
		{name: "raw control character", in: "{\"a\":\"12345678\x019\"}", fault: `byte 14: invalid character '\x01' in string (expecting non-control character)`},
		{name: "unknown escape", in: `{"a":"\x"}`, fault: "byte 6: invalid escape sequence `\\x` in string"},
		{name: "short unicode escape", in: `{"a":"\u12"}`, fault: "byte 6: invalid escape sequence `\\u12\"}` in string"},
		{name: "bare word", in: `{"a":undefined}`, fault: `byte 5: invalid character 'u' at start of value`},
		{name: "half a literal", in: `{"a":tru}`, fault: `byte 8: invalid character '}' in literal true (expecting 'e')`},
		{name: "minus alone", in: `{"a":-}`, fault: `byte 6: invalid character '}' in number (expecting digit)`},
		{name: "leading zero", in: `{"a":01}`, want: []string{"a=0"}, fault: `byte 6: invalid character '1' after object value (expecting ',' or '}')`},
		{name: "mismatched brackets", in: `{"a":[1}`, fault: `byte 7: invalid character '}' after array element (expecting ',' or ']')`},
		{name: "too deep", in: `{"a":` + nested(MaxDepth) + `}`, fault: `byte 10004: nested too deeply, want at most 10000 levels`},
		{name: "a million levels", in: `{"a":` + nested(1_000_000) + `}`, fault: `byte 10004: nested too deeply, want at most 10000 levels`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			o, err := Open([]byte(tt.in))
			for _, m := range o {
				got = append(got, string(m.name)+"="+string(m.value))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("members (-want +got):\n%s", diff)
			}
			var fault *SyntaxError
			switch {
			case tt.fault == "" && err != nil:
				t.Errorf("error %v, want none", err)
			case tt.fault != "" && (!errors.As(err, &fault) || err.Error() != tt.fault):
				t.Errorf("error %v\nwant  %s", err, tt.fault)
			}
			if valid := Check([]byte(tt.in)); valid != nil && valid.Error() != err.Error() {
				t.Errorf("Check: %v, Open: %v", valid, err)
			}
		})
	}
}

func TestElements(t *testing.T) {
	for in, want := range map[string][]string{
		`[]`: nil, ` [ 1 , "a,b", [2,3], {"c":4} ] `: {"1", `"a,b"`, "[2,3]", `{"c":4}`},
	} {
		all, ok := Elements([]byte(in))
		var got []string
		for _, v := range all {
			got = append(got, string(v))
		}
		if diff := cmp.Diff(want, got); !ok || diff != "" {
			t.Errorf("%s: an array: %v (-want +got):\n%s", in, ok, diff)
		}
	}
	for _, in := range []string{``, `{}`, `[`, `[1,]`, `[1 2]`, `[1]]`} {
		if _, ok := Elements([]byte(in)); ok {
			t.Errorf("%q is accepted", in)
		}
	}
}

func TestEachMember(t *testing.T) {
	for _, tt := range []struct {
		name, data string
		want       map[string]string // nil: no object
	}{
		{"none", `{}`, map[string]string{}},
		{"of every kind", `{"a":1,"b":"x","c":[1,"]"],"d":{"e":"}"},"f":null,"g":true,"h":-1.5e3}`, map[string]string{
			"a": "1", "b": `"x"`, "c": `[1,"]"]`, "d": `{"e":"}"}`, "f": "null", "g": "true", "h": "-1.5e3",
		}},
		{"white space", " { \"a\" : 1 ,\t\"b\" :[ ] } \r\n", map[string]string{"a": "1", "b": "[ ]"}},
		{"quotes inside", `{"a":"say \"hi\" \\","b":"\\\\\""}`, map[string]string{"a": `"say \"hi\" \\"`, "b": `"\\\\\""`}},
		{"escaped name", `{"hook\u004eame":1}`, map[string]string{"hookName": "1"}},
		{"the last of equal names", `{"a":1,"a":2}`, map[string]string{"a": "2"}},
		{"values are not examined", `{"a":{"b":nope},"c":01}`, map[string]string{"a": `{"b":nope}`, "c": "01"}},
		{"null", `null`, nil},
		{"an array", `[]`, nil},
		{"nothing", ``, nil},
		{"torn in a string", `{"a":"x`, nil},
		{"torn in an array", `{"a":[1`, nil},
		{"torn after a member", `{"a":1`, nil},
		{"torn after a name", `{"a"`, nil},
		{"torn after a colon", `{"a":`, nil},
		{"two objects", `{"a":1}{"b":2}`, nil},
		{"a comma too many", `{"a":1,}`, nil},
		{"words", `not json`, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := map[string]string{}
			ok := EachMember([]byte(tt.data), func(name, value []byte) { got[string(name)] = string(value) })
			if ok != (tt.want != nil) {
				t.Fatalf("is an object: %v", ok)
			}
			if diff := cmp.Diff(tt.want, got); ok && diff != "" {
				t.Errorf("members (-want +got):\n%s", diff)
			}
			for name, want := range tt.want {
				if got := Member([]byte(tt.data), name); string(got) != want {
					t.Errorf("Member %s = %s, want %s", name, got, want)
				}
			}
		})
	}
}

// FuzzReaders compares the readers with encoding/json: both accept the same texts
// and find the same members.
func FuzzReaders(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"a":1}`, `[{"a":[1,2.5e-3,"x\u00e9\n"]},null,true]`, `"\ud800"`, `{"a":{"b":"` + strings.Repeat("y", 40) + `"}}`,
		`-0`, `01`, `1.`, `[1,]`, `{"a" 1}`, "\"\x00\"", "{\"\xff\":1}", `{"a":1,"a":2,"A":3}`, `{} {}`, ``, ` `, "\u00a0{}", `{"a":1]}`,
		`{"a":1,"b":[{"c":"]\""}]}`, `{"a":"\\"}`, ` {"a" : null } `, `{"a":{"b":{}},"c":tru`, `{"é":"\u00e9"}`, `{"`, `["\`, "{\"a\\n\":\"\n\"}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		valid := json.Valid(data)
		if got := Check(data); (got == nil) != valid {
			t.Fatalf("Check: %v, encoding/json says %v", got, valid)
		}
		object := valid && bytes.HasPrefix(bytes.TrimLeft(data, " \t\r\n"), []byte("{"))
		o, err := Open(data)
		if (err == nil) != object {
			t.Fatalf("Open: %v; is an object: %v", err, object)
		}
		got := map[string]string{}
		whole := EachMember(data, func(name, value []byte) { got[string(name)] = string(value) })
		for _, m := range o {
			if err == nil && got[string(m.name)] != string(o.Lookup(string(m.name))) {
				t.Fatalf("member %q: Open and EachMember differ", m.name)
			}
			if !json.Valid(m.value) {
				t.Fatalf("member %q is %q", m.name, m.value)
			}
		}
		if !valid {
			return
		}
		texts := slices.Collect(Strings(data))
		value, _ := Parse(data)
		for _, text := range textsIn(value) {
			if !slices.Contains(texts, text) {
				t.Fatalf("Strings finds %q, not %q", texts, text)
			}
		}
		if whole != object {
			t.Fatalf("EachMember reports %v; is an object: %v", whole, object)
		}
		if !object || !utf8.Valid(data) {
			return
		}
		var raw map[string]json.RawMessage
		if err := json.Unmarshal(data, &raw); err != nil {
			t.Fatal(err)
		}
		want := map[string]string{}
		for name, value := range raw {
			want[name] = string(value)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("members (-want +got):\n%s", diff)
		}
	})
}

// textsIn returns the texts in a value of Parse.
func textsIn(v any) (out []string) {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		for _, e := range v {
			out = append(out, textsIn(e)...)
		}
	case map[string]any:
		for _, e := range v {
			out = append(out, textsIn(e)...)
		}
	}
	return out
}

func TestStrings(t *testing.T) {
	for in, want := range map[string][]string{
		`{"a":"b","c":["d\n\u00e9",{"e" : "f\"}"},null,1],"a":"g"}`: {"b", "d\n\u00e9", `f"}`, "g"},
		`"a"`: {"a"}, `1`: nil, ``: nil, `["a","b`: {"a"}, `["a"] "b"`: {"a", "b"},
	} {
		if diff := cmp.Diff(want, slices.Collect(Strings([]byte(in)))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", in, diff)
		}
	}
}

func TestValidWithin(t *testing.T) {
	for _, tt := range []struct {
		in    string
		limit int
		want  bool
	}{
		{nested(3), 3, true},
		{nested(4), 3, false},
		{`{"[[[[":[1]}`, 2, true},
		{`[1`, 5, false},
		{`"\"[[["`, 0, true},
		{nested(MaxDepth), MaxDepth, true},
		{nested(MaxDepth + 1), MaxDepth + 1, false},
	} {
		if got := ValidWithin([]byte(tt.in), tt.limit); got != tt.want {
			t.Errorf("ValidWithin(%.20s, %d) = %v", tt.in, tt.limit, got)
		}
	}
}

func TestTrim(t *testing.T) {
	for in, want := range map[string]string{
		"": "", " \r\n\t": "", "\ufeff": "", "\ufeff {}\r\n": "{}", "{} \ufeff": "{} \ufeff", "\v{}": "\v{}",
	} {
		if got := string(Trim([]byte(in))); got != want {
			t.Errorf("Trim(%q) = %q, want %q", in, got, want)
		}
	}
}
