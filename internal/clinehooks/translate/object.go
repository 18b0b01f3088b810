package translate

import (
	"maps"
	"slices"

	"github.com/hookspan/hookspan/internal/rawjson"
)

// field is one member of an object. The value is anything encoding/json writes.
type field struct {
	key   string
	value any
}

// object is a JSON object whose members keep their order. Hooks are read by
// people when they fail, and Claude's order is the one they know.
type object []field

// MarshalJSON writes the members in their order, without escapes for HTML.
func (o object) MarshalJSON() ([]byte, error) { return o.encode(), nil }

func (o object) encode() []byte {
	fields := make(rawjson.Ordered, len(o))
	for i, f := range o {
		fields[i] = rawjson.Field{Name: f.key, Value: f.value}
	}
	return []byte(rawjson.Encode(fields))
}

func (o object) get(key string) (any, bool) {
	for _, f := range o {
		if f.key == key {
			return f.value, true
		}
	}
	return nil, false
}

// str is a member's text.
func (o object) str(key string) string {
	v, _ := o.get(key)
	return text(v)
}

// sorted gives a parsed object an order.
func sorted(m map[string]any) object {
	o := make(object, 0, len(m))
	for _, key := range slices.Sorted(maps.Keys(m)) {
		o = append(o, field{key, m[key]})
	}
	return o
}

// equal compares two values by what they say.
func equal(a, b any) bool {
	return rawjson.Canonical([]byte(rawjson.Encode(a))) == rawjson.Canonical([]byte(rawjson.Encode(b)))
}

// pick returns the first of names that is there and not null, with its name.
func pick(m map[string]any, names ...string) (value any, name string) {
	for _, name := range names {
		if v, ok := m[name]; ok && v != nil {
			return v, name
		}
	}
	return nil, ""
}

// text is a string itself, a number's or boolean's spelling, and the JSON of
// anything else: what is not understood is still to be seen.
func text(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	default:
		return rawjson.Encode(v)
	}
}

// number reads a whole number that may be quoted.
func number(v any) (int64, bool) {
	switch v.(type) {
	case nil, bool, []any, map[string]any:
		return 0, false
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
