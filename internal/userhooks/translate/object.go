package translate

import (
	"maps"
	"slices"

	"github.com/hookspan/hookspan/internal/jstext"
	"github.com/hookspan/hookspan/internal/rawjson"
)

// field is a member of an object.
type field struct {
	Name  string
	Value any
}

// object is a JSON object whose members keep their order. People read what hooks
// get, and Claude's order is the one they know.
type object []field

// Ordered is what rawjson encodes.
func (o object) Ordered() rawjson.Ordered {
	ordered := make(rawjson.Ordered, len(o))
	for i, f := range o {
		ordered[i] = rawjson.Field(f)
	}
	return ordered
}

// MarshalJSON implements json.Marshaler.
func (o object) MarshalJSON() ([]byte, error) { return rawjson.Marshal(o) }

func (o object) encode() []byte {
	text, _ := rawjson.Marshal(o) // what does not encode in it is null
	return text
}

func (o object) get(key string) (any, bool) {
	for _, f := range o {
		if f.Name == key {
			return f.Value, true
		}
	}
	return nil, false
}

// str is a member's text.
func (o object) str(key string) string {
	v, _ := o.get(key)
	return text(v)
}

// text adds a text that is not empty.
func (o object) text(key, s string) object {
	if s == "" {
		return o
	}
	return append(o, field{key, s})
}

// sorted orders the members of a parsed object by name.
func sorted(m map[string]any) object {
	o := make(object, 0, len(m))
	for _, key := range slices.Sorted(maps.Keys(m)) {
		o = append(o, field{key, m[key]})
	}
	return o
}

// equal compares two values as JSON.
func equal(a, b any) bool {
	return rawjson.Canonical([]byte(rawjson.Encode(a))) == rawjson.Canonical([]byte(rawjson.Encode(b)))
}

// pick returns the first of the named members that is present and not null, with
// its name.
func pick(m map[string]any, names ...string) (value any, name string) {
	for _, name := range names {
		if v := m[name]; v != nil {
			return v, name
		}
	}
	return nil, ""
}

// text is a string itself, and the JSON of anything else but null: hooks must see
// what could not be read.
func text(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	}
	return rawjson.Encode(v)
}

// number reads a whole number that may be quoted.
func number(v any) (int64, bool) {
	switch v := v.(type) {
	case nil, bool, []any, map[string]any:
		return 0, false
	case string:
		return jstext.Int(v)
	}
	return rawjson.Int([]byte(rawjson.Encode(v)))
}

// parsed reads a text that holds a JSON object or array; anything else stays.
func parsed(v any) any {
	s, ok := v.(string)
	if !ok {
		return v
	}
	raw := rawjson.Trim([]byte(s))
	if len(raw) == 0 || raw[0] != '[' && raw[0] != '{' || !rawjson.ValidWithin(raw, maxEmbedded) {
		return v
	}
	if inner, ok := rawjson.Parse(raw); ok {
		return inner
	}
	return v
}

// maxEmbedded bounds the nesting of JSON that is found inside a text.
const maxEmbedded = 100
