package rawjson

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

// Marshal is json.Marshal without the escapes that only matter inside HTML.
func Marshal(v any) ([]byte, error) { return MarshalIndent(v, "") }

// MarshalIndent is [Marshal] with each member and element on its own line,
// indented by level. There is no line end after the value. If indent is empty,
// the value is on one line.
func MarshalIndent(v any, indent string) ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

// Encode is [Marshal] as a string, for values that always encode, such as those
// of [Parse]. A value that does not encode is empty.
func Encode(v any) string {
	out, err := Marshal(v)
	if err != nil {
		return ""
	}
	return string(out)
}

// AppendString appends a text as [Encode] writes it.
func AppendString(to []byte, s string) []byte {
	begin, from := len(to), 0
	to = append(to, '"')
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '\n':
			c = 'n'
		case c == '\t':
			c = 't'
		case c >= utf8.RuneSelf:
			r, size := utf8.DecodeRuneInString(s[i:])
			if r != utf8.RuneError && r != '\u2028' && r != '\u2029' {
				i += size - 1
				continue
			}
			fallthrough
		case c < ' ':
			return append(to[:begin], Encode(s)...) // which is rare
		case c != '"' && c != '\\':
			continue
		}
		to = append(append(to, s[from:i]...), '\\', c)
		from = i + 1
	}
	return append(append(to, s[from:]...), '"')
}

// Parse reads the JSON value that raw begins with, numbers as json.Number, as
// they are spelled.
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

// Ordered is an object to encode whose members keep their order.
type Ordered []Field

// Field is a member of an [Ordered] object. The value is anything that
// encoding/json encodes; one that it does not becomes null.
type Field struct {
	Name  string
	Value any
}

// MarshalJSON implements json.Marshaler.
func (o Ordered) MarshalJSON() ([]byte, error) {
	out := []byte{'{'}
	for i, f := range o {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(out, Encode(f.Name)...), ':')
		value := Encode(f.Value)
		if value == "" {
			value = "null"
		}
		out = append(out, value...)
	}
	return append(out, '}'), nil
}
