package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func nested(depth int) string {
	return strings.Repeat("[", depth) + strings.Repeat("]", depth)
}

func TestEachMember(t *testing.T) {
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
		{name: "nothing", in: ``, fault: "byte 0: found the end, want a JSON object"},
		{name: "an array", in: `[1]`, fault: `byte 0: found "[", want a JSON object`},
		{name: "something after the object", in: `{"a":1} x`, want: []string{"a=1"}, fault: `byte 8: found "x", want nothing after the value`},
		{name: "torn in a string", in: `{"a":1,"b":"cd`, want: []string{"a=1"}, fault: "byte 14: found the end, want '\"' at the end of a string"},
		{name: "torn after a comma", in: `{"a":1,`, want: []string{"a=1"}, fault: "byte 7: found the end, want a quoted key"},
		{name: "raw control character", in: "{\"a\":\"12345678\x019\"}", fault: `byte 14: found "\x01", want no control character inside a string`},
		{name: "unknown escape", in: `{"a":"\x"}`, fault: `byte 7: found "x", want one of " \ / b f n r t u after a backslash`},
		{name: "short unicode escape", in: `{"a":"\u12"}`, fault: `byte 10: found "\"", want four hexadecimal digits`},
		{name: "bare word", in: `{"a":undefined}`, fault: `byte 5: found "u", want a JSON value`},
		{name: "half a literal", in: `{"a":tru}`, fault: `byte 5: found "t", want true`},
		{name: "minus alone", in: `{"a":-}`, fault: `byte 6: found "}", want a digit`},
		{name: "leading zero", in: `{"a":01}`, want: []string{"a=0"}, fault: `byte 6: found "1", want ',' or '}' after a member`},
		{name: "mismatched brackets", in: `{"a":[1}`, fault: `byte 7: found "}", want ',' or ']' after an element`},
		{name: "too deep", in: `{"a":` + nested(MaxDepth) + `}`, fault: `byte 10004: found a value nested too deeply, want at most 10000 levels`},
		{name: "a million levels", in: `{"a":` + nested(1_000_000) + `}`, fault: `byte 10004: found a value nested too deeply, want at most 10000 levels`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			err := EachMember([]byte(tt.in), func(key, value []byte) { got = append(got, string(key)+"="+string(value)) })
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
		})
	}
}

// The eight-byte steps must see a special byte at each of their places.
func TestScannerSeesEveryByteOfAString(t *testing.T) {
	for at := range 24 {
		for _, special := range []string{"\x00", "\x1f", `\q`, "\n"} {
			in := `{"a":"` + strings.Repeat("x", at) + special + strings.Repeat("\u00e9", 12) + `"}`
			if err := EachMember([]byte(in), func(_, _ []byte) {}); err == nil {
				t.Errorf("%q is accepted", in)
			}
		}
		for _, legal := range []string{"\x7f", " ", "!", "#", "[", "]", "\u20ac", `\"`, `\\`} {
			in := `{"a":"` + strings.Repeat("x", at) + legal + strings.Repeat("\u00e9", 12) + `"}`
			if err := EachMember([]byte(in), func(_, _ []byte) {}); err != nil {
				t.Errorf("%q: %v", in, err)
			}
		}
	}
}

func TestEachElement(t *testing.T) {
	for in, want := range map[string][]string{
		`[]`: nil, ` [ 1 , "a,b", [2,3], {"c":4} ] `: {"1", `"a,b"`, "[2,3]", `{"c":4}`},
	} {
		var got []string
		if err := EachElement([]byte(in), func(v []byte) { got = append(got, string(v)) }); err != nil {
			t.Errorf("%s: %v", in, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", in, diff)
		}
	}
	for _, in := range []string{``, `{}`, `[`, `[1,]`, `[1 2]`, `[1]]`} {
		if err := EachElement([]byte(in), func([]byte) {}); err == nil {
			t.Errorf("%q is accepted", in)
		}
	}
}

// FuzzScanner holds the scanner to encoding/json: both accept the same texts,
// and both see the same members.
func FuzzScanner(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"a":1}`, `[{"a":[1,2.5e-3,"x\u00e9\n"]},null,true]`, `"\ud800"`, `{"a":{"b":"` + strings.Repeat("y", 40) + `"}}`,
		`-0`, `01`, `1.`, `[1,]`, `{"a" 1}`, "\"\x00\"", "{\"\xff\":1}", `{"a":1,"a":2,"A":3}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if got, want := ValidWithin(data, MaxDepth), json.Valid(data); got != want {
			t.Fatalf("valid = %v, encoding/json says %v", got, want)
		}
		got := map[string]string{}
		err := EachMember(data, func(key, value []byte) { got[string(key)] = string(value) })
		object := json.Valid(data) && bytes.HasPrefix(bytes.TrimLeft(data, " \t\r\n"), []byte("{"))
		if (err == nil) != object {
			t.Fatalf("EachMember: %v; is an object: %v", err, object)
		}
		if !object || !json.Valid([]byte(strings.ToValidUTF8(string(data), ""))) || strings.ToValidUTF8(string(data), "") != string(data) {
			return
		}
		var raw map[string]json.RawMessage
		if err := json.Unmarshal(data, &raw); err != nil {
			t.Fatal(err)
		}
		want := map[string]string{}
		for key, value := range raw {
			want[key] = string(value)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("members (-want +got):\n%s", diff)
		}
	})
}
