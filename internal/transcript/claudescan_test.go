package transcript

import (
	"bytes"
	"encoding/json"
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func membersOf(data []byte) (map[string]string, bool) {
	found := make(map[string]string)
	ok := eachMember(data, func(key, value []byte) { found[string(key)] = string(value) })
	return found, ok
}

func TestMembersOfARow(t *testing.T) {
	for _, tt := range []struct {
		name, data string
		want       map[string]string // nil: no object
	}{
		{"none", `{}`, map[string]string{}},
		{"of every kind", `{"a":1,"b":"x","c":[1,"]"],"d":{"e":"}"},"f":null,"g":true,"h":-1.5e3}`, map[string]string{
			"a": "1", "b": `"x"`, "c": `[1,"]"]`, "d": `{"e":"}"}`, "f": "null", "g": "true", "h": "-1.5e3",
		}},
		{"with space about", " { \"a\" : 1 ,\t\"b\" :[ ] } \r\n", map[string]string{"a": "1", "b": "[ ]"}},
		{"with quotes inside", `{"a":"say \"hi\" \\","b":"\\\\\""}`, map[string]string{"a": `"say \"hi\" \\"`, "b": `"\\\\\""`}},
		{"the last of two", `{"a":1,"a":2}`, map[string]string{"a": "2"}},
		{"null", `null`, nil},
		{"a list", `[]`, nil},
		{"nothing", ``, nil},
		{"torn in a string", `{"a":"x`, nil},
		{"torn in a list", `{"a":[1`, nil},
		{"torn after a member", `{"a":1`, nil},
		{"torn after a key", `{"a"`, nil},
		{"torn after a colon", `{"a":`, nil},
		{"two objects", `{"a":1}{"b":2}`, nil},
		{"a comma too many", `{"a":1,}`, nil},
		{"words", `not json`, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, ok := membersOf([]byte(tt.data))
			if ok != (tt.want != nil) {
				t.Fatalf("is an object: %v", ok)
			}
			if diff := cmp.Diff(tt.want, got); ok && diff != "" {
				t.Errorf("members (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRawValues(t *testing.T) {
	for raw, want := range map[string]string{`"x"`: "x", `"a\nb\u00e9"`: "a\nbé", `""`: "", `null`: "", `1`: "", ``: "", `"\x"`: ""} {
		if got := rawString([]byte(raw)); got != want {
			t.Errorf("rawString(%s) = %q, want %q", raw, got, want)
		}
	}
	for raw, want := range map[string]float64{`1`: 1, `"10"`: 10, `-5`: -5, `1.5`: 1.5, `null`: -1, `"x"`: -1, `{}`: -1, ``: -1, `"Inf"`: -1, `"NaN"`: -1, `true`: -1} {
		got, ok := rawNumber([]byte(raw))
		if !ok {
			got = -1
		}
		if got != want {
			t.Errorf("rawNumber(%s) = %v, want %v", raw, got, want)
		}
	}
}

// Of JSON objects, encoding/json finds the same members.
func FuzzMembers(f *testing.F) {
	for _, s := range []string{
		`{}`, `{"a":1,"b":[{"c":"]\""}]}`, `{"a":"\\"}`, ` {"a" : null } `, `{"a":{"b":{}},"c":tru`, `[1]`, `{"a":1]}`, `{"é":"\u00e9"}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got, ok := membersOf(data)
		for key, value := range got {
			if value == "" || !bytes.Contains(data, []byte(value)) || !bytes.Contains(data, []byte(key)) {
				t.Errorf("member %q has the value %q", key, value)
			}
		}
		if !json.Valid(data) {
			return
		}
		if object := bytes.HasPrefix(bytes.TrimLeft(data, " \t\r\n"), []byte("{")); ok != object {
			t.Fatalf("is an object: %v, want %v", ok, object)
		}
		if !ok || bytes.IndexByte(data, '\\') >= 0 || bytes.IndexByte(data, 0) >= 0 {
			return // keys with escapes come as they stand
		}
		var want map[string]json.RawMessage
		if json.Unmarshal(data, &want) != nil {
			return // nested deeper than encoding/json goes
		}
		texts := make(map[string]string)
		for key, value := range want {
			texts[key] = string(value)
		}
		if !bytes.ContainsRune(data, '�') && !maps.Equal(texts, got) && validText(data) {
			t.Errorf("members (-json +got):\n%s", cmp.Diff(texts, got))
		}
	})
}

// validText reports that encoding/json takes the bytes as they are.
func validText(data []byte) bool { return bytes.Equal(bytes.ToValidUTF8(data, nil), data) }
