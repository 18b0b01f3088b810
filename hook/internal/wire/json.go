package wire

import (
	"bytes"
	"encoding/json"
)

// Parse reads one JSON value, numbers as json.Number, as they are spelled.
func Parse(raw []byte) (any, bool) {
	if len(raw) == 0 {
		return nil, false
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, false
	}
	return v, true
}

// Encode writes a value from Parse compactly, with sorted keys and without the
// escapes that only matter inside HTML.
func Encode(v any) string {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return ""
	}
	return string(bytes.TrimSuffix(out.Bytes(), []byte("\n")))
}
