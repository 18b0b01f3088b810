package rawjson

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

// Marshal is json.Marshal without the escapes that only matter inside HTML.
func Marshal(v any) ([]byte, error) {
	var e encoder
	e.json = json.NewEncoder(&e.out)
	e.json.SetEscapeHTML(false)
	if err := e.value(v); err != nil {
		return nil, err
	}
	return e.out.Bytes(), nil
}

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
			rare, _ := MarshalIndent(s, "") // Texts always encode.
			return append(to[:begin], rare...)
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
func (o Ordered) MarshalJSON() ([]byte, error) { return Marshal(o) }

// encoder writes ordered objects member by member: encoding/json would read the text of
// each of them again, once for every level above it.
type encoder struct {
	out  bytes.Buffer
	json *json.Encoder // writes to out
}

// value writes a value, and nothing if it does not encode.
func (e *encoder) value(v any) error {
	begin := e.out.Len()
	switch v := v.(type) {
	case string:
		e.out.Write(AppendString(e.out.AvailableBuffer(), v))
		return nil
	case Ordered:
		e.object(v)
		return nil
	case interface{ Ordered() Ordered }:
		e.object(v.Ordered())
		return nil
	case []any:
		if v == nil {
			break
		}
		for i, element := range v {
			e.out.WriteByte("[,"[min(i, 1)])
			if err := e.value(element); err != nil {
				e.out.Truncate(begin)
				return err
			}
		}
		e.out.WriteString("[]"[min(len(v), 1):])
		return nil
	}
	if err := e.json.Encode(v); err != nil {
		return err
	}
	e.out.Truncate(e.out.Len() - len("\n"))
	return nil
}

func (e *encoder) object(o Ordered) {
	for i, f := range o {
		e.out.WriteByte("{,"[min(i, 1)])
		_ = e.value(f.Name) // texts always encode
		e.out.WriteByte(':')
		if e.value(f.Value) != nil {
			e.out.WriteString("null")
		}
	}
	e.out.WriteString("{}"[min(len(o), 1):])
}
