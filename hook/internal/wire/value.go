package wire

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"time"
	"unicode/utf16"
	"unicode/utf8"
)

// The functions here read one JSON value that has been checked already. A nil
// slice stands for a value that is absent, and so does null.

// member is one key of an object and its value.
type member struct {
	key   string
	value []byte
}

// Object is a JSON object's members in the order they were written.
type Object []member

// Open reads the outermost object of a payload that nobody has checked so far.
// After an error, which is a *SyntaxError, the object holds what came before
// the fault.
func Open(payload []byte) (Object, error) {
	o := make(Object, 0, 8)
	err := EachMember(payload, func(key, value []byte) {
		o = append(o, member{string(key), Present(value)})
	})
	return o, err
}

// Members reads an object; anything else gives nil.
func Members(raw []byte) Object {
	if len(raw) == 0 || raw[0] != '{' {
		return nil
	}
	o, err := Open(raw)
	if err != nil {
		return nil
	}
	return o
}

// Get returns the value of the first of names that is present. Of equal keys
// the last counts, as in JavaScript; names match in their exact case.
func (o Object) Get(names ...string) []byte {
	for _, name := range names {
		for i := len(o) - 1; i >= 0; i-- {
			if o[i].key == name {
				if o[i].value != nil {
					return o[i].value
				}
				break
			}
		}
	}
	return nil
}

// Elements reads an array; anything else gives nil and false.
func Elements(raw []byte) ([][]byte, bool) {
	if len(raw) == 0 || raw[0] != '[' {
		return nil, false
	}
	var all [][]byte
	err := EachElement(raw, func(value []byte) { all = append(all, value) })
	return all, err == nil
}

// Present maps null to absent.
func Present(value []byte) []byte {
	if string(value) == "null" {
		return nil
	}
	return value
}

// IsString reports whether raw is a JSON string.
func IsString(raw []byte) bool { return len(raw) > 0 && raw[0] == '"' }

// Unquote returns the text of raw, which must be a JSON string. Bytes that are not UTF-8 and half
// surrogate pairs become U+FFFD.
func Unquote(raw []byte) string {
	inner := raw[1 : len(raw)-1]
	if bytes.IndexByte(inner, '\\') < 0 && utf8.Valid(inner) {
		return string(inner)
	}
	if utf8.Valid(inner) {
		if text, ok := unescape(inner); ok {
			return string(text)
		}
	}
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		return ""
	}
	return s
}

// unescape writes what stands between a string's quotes without its escapes, in
// one pass where the library takes three: most of a payload is the text of a file
// or of a program. It reports false for what is no JSON string.
func unescape(s []byte) ([]byte, bool) {
	out := make([]byte, 0, len(s))
	from := 0
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c < ' ' || c == '"':
			return nil, false
		case c != '\\':
			continue
		}
		out = append(out, s[from:i]...)
		if i++; i >= len(s) {
			return nil, false
		}
		switch s[i] {
		case '"', '\\', '/':
			out = append(out, s[i])
		case 'b':
			out = append(out, '\b')
		case 'f':
			out = append(out, '\f')
		case 'n':
			out = append(out, '\n')
		case 'r':
			out = append(out, '\r')
		case 't':
			out = append(out, '\t')
		case 'u':
			r := unit(s[i-1:])
			if r < 0 {
				return nil, false
			}
			i += 4
			if utf16.IsSurrogate(r) {
				if r = utf16.DecodeRune(r, unit(s[i+1:])); r != utf8.RuneError {
					i += 6
				}
			}
			out = utf8.AppendRune(out, r)
		default:
			return nil, false
		}
		from = i + 1
	}
	return append(out, s[from:]...), true
}

// unit is the UTF-16 unit that s begins with as an escape, -1 if it does not.
func unit(s []byte) rune {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return -1
	}
	n, err := strconv.ParseUint(string(s[2:6]), 16, 16)
	if err != nil {
		return -1
	}
	return rune(n)
}

// Text returns a string's text and a number's or boolean's spelling; anything
// else is empty. Numbers count because an identifier that looks like one may
// arrive as one.
func Text(raw []byte) string {
	switch {
	case len(raw) == 0 || raw[0] == '{' || raw[0] == '[':
		return ""
	case IsString(raw):
		return Unquote(raw)
	default:
		return string(raw)
	}
}

// Bool reads true and false, quoted or not; ok is false for anything else.
func Bool(raw []byte) (value, ok bool) {
	switch Text(raw) {
	case "true":
		return true, true
	case "false":
		return false, true
	}
	return false, false
}

// Int reads a whole number that may be quoted (proto3 quotes int64) or have a
// fraction, which is cut off.
func Int(raw []byte) (int64, bool) {
	s := Text(raw)
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return n, true
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(f) || math.Abs(f) >= 1<<53 {
		return 0, false
	}
	return int64(f), true
}

// Float reads a finite number that may be quoted.
func Float(raw []byte) (float64, bool) {
	f, err := strconv.ParseFloat(Text(raw), 64)
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
		return 0, false
	}
	return f, true
}

// UnknownDuration is the Duration of a call whose host measured none.
const UnknownDuration = -1

// Millis reads a number of milliseconds; absent and nonsense give
// UnknownDuration.
func Millis(raw []byte) time.Duration {
	n, ok := Int(raw)
	if !ok || n < 0 || n > math.MaxInt64/int64(time.Millisecond) {
		return UnknownDuration
	}
	return time.Duration(n) * time.Millisecond
}

// Instant reads a moment: milliseconds since 1970, quoted or not, or an
// RFC 3339 text. Anything else is the zero time.
func Instant(raw []byte) time.Time {
	if n, ok := Int(raw); ok {
		return Plausible(time.UnixMilli(n).UTC())
	}
	t, err := time.Parse(time.RFC3339Nano, Text(raw))
	if err != nil {
		return time.Time{}
	}
	return Plausible(t.UTC())
}

// Plausible maps moments that do not fit the nanoseconds since 1970 of
// OpenTelemetry to the zero time.
func Plausible(t time.Time) time.Time {
	if t.Unix() <= 0 || t.Year() >= 2262 {
		return time.Time{}
	}
	return t
}
