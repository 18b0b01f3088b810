package bridge

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"testing"

	"github.com/hookspan/hookspan/internal/rawjson"
)

func TestEqualValuesHaveEqualHashes(t *testing.T) {
	groups := [][]string{
		{`1`, ` 1 `},
		{`1.0`},
		{`"1"`, `"\u0031"`},
		{`true`},
		{`false`},
		{`null`},
		{`"null"`},
		{`""`},
		{`[]`, "[ \n]"},
		{`{}`, `{ }`},
		{`[[]]`},
		{`[{}]`},
		{`[1,2]`, "[ 1\t,2 ]"},
		{`[2,1]`},
		{`[12]`},
		{`[[1],2]`},
		{`[1,[2]]`},
		{`{"a":1,"b":[1,{"c":"\"}"}]}`, ` {"b" : [1, {"\u0063":"\u0022}"}], "a":1}`},
		{`{"a":[1,{"c":"\"}"}],"b":1}`},
		{`{"a":{"b":1}}`},
		{`{"a":{},"b":1}`, `{"b":1,"a":{}}`},
		{`"\\"`},
		{`"\\\""`},
		{`"é"`, `"\u00e9"`},
	}
	seen := make(map[[sha256.Size]byte]string)
	for _, group := range groups {
		var first [sha256.Size]byte
		for i, text := range group {
			c := hashJSON([]byte(text))
			if i == 0 {
				first = c
				if other, ok := seen[c]; ok {
					t.Errorf("%s and %s have one hash", text, other)
				}
				seen[c] = text
			}
			if c != first {
				t.Errorf("%s and %s have two hashes", text, group[0])
			}
		}
	}
}

// FuzzCanonical holds the hash to encoding/json's idea of a value: equal once it
// has decoded and encoded both.
func FuzzCanonical(f *testing.F) {
	f.Add([]byte(`{"b":{"d":1,"c":[]},"a":"\u0061"}`))
	f.Add([]byte(`{"a":[1,"\u0022",null,{"":-1e5}],"b":"x"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var v any
		dec := json.NewDecoder(bytes.NewReader(text))
		dec.UseNumber()
		if !json.Valid(text) || dec.Decode(&v) != nil {
			return
		}
		again, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if hashJSON(text) != hashJSON(again) && rawjson.ValidWithin(text, maxHashed) && tokens(text) == tokens(again) && bytes.Equal(text, bytes.ToValidUTF8(text, nil)) {
			t.Errorf("%q and %q have two hashes", text, again)
		}
	})
}

// tokens counts what a value is made of. There are fewer once it was decoded where
// an object has a member twice, of which encoding/json keeps one.
func tokens(text []byte) (n int) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	for {
		if _, err := dec.Token(); err != nil {
			return n
		}
		n++
	}
}
