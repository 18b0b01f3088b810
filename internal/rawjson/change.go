package rawjson

import "encoding/json"

// InStrings returns JSON with change applied to each string and each number in it. A number that
// changes becomes a string. Members are then in the order of their names. Another text stays as
// it is.
func InStrings(text string, change func(string) string) string {
	v, ok := Parse([]byte(text))
	if !ok || !valid(text) {
		return text
	}
	return Encode(inStrings(v, change))
}

func inStrings(v any, change func(string) string) any {
	switch v := v.(type) {
	case string:
		return change(v)
	case json.Number:
		if changed := change(string(v)); changed != string(v) {
			return changed
		}
	case []any:
		for i := range v {
			v[i] = inStrings(v[i], change)
		}
	case map[string]any:
		for name := range v {
			v[name] = inStrings(v[name], change)
		}
	}
	return v
}

// Clean returns JSON with clean, which removes parts of a text, applied to it as a whole. Where
// that leaves no JSON, it is applied to each string and then to the whole; where that leaves
// none either, the result is one string. A text that is not JSON is cleaned as it is.
func Clean(text string, clean func(string) string) string {
	out := clean(text)
	if out == text || valid(out) || !valid(text) {
		return out
	}
	out = clean(InStrings(text, clean))
	if valid(out) {
		return out
	}
	return Encode(out)
}

func valid(text string) bool { return Check([]byte(text)) == nil }
