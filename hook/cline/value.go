package cline

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"time"
	"unicode/utf8"
)

// The functions here read one JSON value that has been checked already. A nil
// slice stands for a value that is absent, and so does null.

// member is one key of an object and its value.
type member struct {
	key   string
	value []byte
}

// object is a JSON object in the order it was written.
type object []member

// members reads an object; anything else gives nil.
func members(raw []byte) object {
	if len(raw) == 0 || raw[0] != '{' {
		return nil
	}
	o := make(object, 0, 8)
	err := eachMember(raw, func(key, value []byte) {
		o = append(o, member{string(key), present(value)})
	})
	if err != nil {
		return nil
	}
	return o
}

// get returns the value of the first of names that is present. Of equal keys
// the last counts.
func (o object) get(names ...string) []byte {
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

// elements reads an array; anything else gives nil and false.
func elements(raw []byte) ([][]byte, bool) {
	if len(raw) == 0 || raw[0] != '[' {
		return nil, false
	}
	var all [][]byte
	err := eachElement(raw, func(value []byte) { all = append(all, value) })
	return all, err == nil
}

// present maps null to absent.
func present(value []byte) []byte {
	if string(value) == "null" {
		return nil
	}
	return value
}

// isString reports whether raw is a JSON string.
func isString(raw []byte) bool { return len(raw) > 0 && raw[0] == '"' }

// unquote returns the text of a JSON string. Bytes that are not UTF-8 and half
// surrogate pairs become U+FFFD.
func unquote(raw []byte) string {
	inner := raw[1 : len(raw)-1]
	if bytes.IndexByte(inner, '\\') < 0 && utf8.Valid(inner) {
		return string(inner)
	}
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		return ""
	}
	return s
}

// text returns a string's text and a number's or boolean's spelling; anything
// else is empty. Numbers count because an identifier that looks like one may
// arrive as one.
func text(raw []byte) string {
	switch {
	case len(raw) == 0 || raw[0] == '{' || raw[0] == '[':
		return ""
	case isString(raw):
		return unquote(raw)
	default:
		return string(raw)
	}
}

// known is text without the word the host writes where it does not know.
func known(raw []byte) string {
	if s := text(raw); s != "unknown" {
		return s
	}
	return ""
}

// boolean reads true and false, quoted or not; ok is false for anything else.
func boolean(raw []byte) (value, ok bool) {
	switch text(raw) {
	case "true":
		return true, true
	case "false":
		return false, true
	}
	return false, false
}

// number reads a whole number that may be quoted (proto3 quotes int64) or have
// a fraction, which is cut off.
func number(raw []byte) (int64, bool) {
	s := text(raw)
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return n, true
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(f) || math.Abs(f) >= 1<<53 {
		return 0, false
	}
	return int64(f), true
}

// unknownDuration is the Duration of a call whose host measured none.
const unknownDuration = -1

// millis reads a number of milliseconds; absent gives zero, because proto3
// leaves zero out, and nonsense gives unknownDuration.
func millis(raw []byte) time.Duration {
	if raw == nil {
		return 0
	}
	n, ok := number(raw)
	if !ok || n < 0 || n > math.MaxInt64/int64(time.Millisecond) {
		return unknownDuration
	}
	return time.Duration(n) * time.Millisecond
}

// instant reads a moment: milliseconds since 1970, quoted or not, or an
// RFC 3339 text. Anything else is the zero time.
func instant(raw []byte) time.Time {
	if n, ok := number(raw); ok {
		return plausible(time.UnixMilli(n).UTC())
	}
	t, err := time.Parse(time.RFC3339Nano, text(raw))
	if err != nil {
		return time.Time{}
	}
	return plausible(t.UTC())
}

// plausible maps moments that do not fit the nanoseconds since 1970 of
// OpenTelemetry to the zero time.
func plausible(t time.Time) time.Time {
	if t.Unix() <= 0 || t.Year() >= 2262 {
		return time.Time{}
	}
	return t
}
