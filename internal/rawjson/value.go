package rawjson

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Present maps null to absent.
func Present(value []byte) []byte {
	if string(value) == "null" {
		return nil
	}
	return value
}

// IsString reports whether raw is a JSON string.
func IsString(raw []byte) bool { return len(raw) > 1 && raw[0] == '"' }

// Unquote returns the text of a JSON string. Bytes that are not UTF-8 and half
// surrogate pairs become U+FFFD, and control characters stay; anything but a string is
// empty.
func Unquote(raw []byte) string {
	if !IsString(raw) {
		return ""
	}
	inner := raw[1 : len(raw)-1]
	if bytes.IndexByte(inner, '\\') < 0 && utf8.Valid(inner) {
		return string(inner)
	}
	if text, ok := unescape(inner); ok {
		return text
	}
	raw = EscapeControls(raw)
	if text, err := jsontext.AppendUnquote(nil, raw); err == nil {
		return string(text)
	}
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// unescape replaces the escapes of two characters, which are all that most texts have.
// ok is false for a text with others, or with bytes that are not UTF-8.
func unescape(inner []byte) (text string, ok bool) {
	if hasControl(inner) || !utf8.Valid(inner) {
		return "", false
	}
	var b strings.Builder
	b.Grow(len(inner))
	for {
		plain, rest, escaped := bytes.Cut(inner, []byte(`\`))
		if bytes.IndexByte(plain, '"') >= 0 {
			return "", false
		}
		b.Write(plain)
		if !escaped {
			return b.String(), true
		}
		at := -1
		if len(rest) > 0 {
			at = strings.IndexByte(`"\/bfnrt`, rest[0])
		}
		if at < 0 {
			return "", false
		}
		b.WriteByte("\"\\/\b\f\n\r\t"[at])
		inner = rest[1:]
	}
}

// hasControl reports a byte below the blank. It looks at eight bytes at once.
func hasControl(text []byte) bool {
	const blanks, highBits = 0x2020202020202020, 0x8080808080808080
	for ; len(text) >= 8; text = text[8:] {
		if eight := binary.LittleEndian.Uint64(text); (eight-blanks)&^eight&highBits != 0 {
			return true
		}
	}
	return slices.ContainsFunc(text, func(c byte) bool { return c < ' ' })
}

// Text returns a string's text and a number's or boolean's spelling; anything
// else is empty. Numbers count because an identifier that looks like one may
// arrive as one.
func Text(raw []byte) string {
	switch {
	case len(raw) == 0 || raw[0] == '{' || raw[0] == '[':
		return ""
	case raw[0] == '"':
		return Unquote(raw)
	}
	return string(raw)
}

// spelling is [Text] without a copy unless the text has escapes.
func spelling(raw []byte) []byte {
	if IsString(raw) && bytes.IndexByte(raw, '\\') < 0 && utf8.Valid(raw) {
		return raw[1 : len(raw)-1]
	}
	if len(raw) > 0 && raw[0] != '"' && raw[0] != '{' && raw[0] != '[' {
		return raw
	}
	return []byte(Text(raw))
}

// Bool reads true and false, quoted or not; ok is false for anything else.
func Bool(raw []byte) (value, ok bool) {
	switch string(spelling(raw)) {
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
	s := spelling(raw)
	if len(s) == 0 { // most members that are asked for are not there
		return 0, false
	}
	if n, err := strconv.ParseInt(string(s), 10, 64); err == nil {
		return n, true
	}
	f, err := strconv.ParseFloat(string(s), 64)
	if err != nil || math.IsNaN(f) || math.Abs(f) >= 1<<53 {
		return 0, false
	}
	return int64(f), true
}

// Float reads a finite number that may be quoted.
func Float(raw []byte) (float64, bool) {
	s := spelling(raw)
	if len(s) == 0 {
		return 0, false
	}
	f, err := strconv.ParseFloat(string(s), 64)
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
		return 0, false
	}
	return f, true
}

// Millis reads a number of milliseconds that is not negative.
func Millis(raw []byte) (time.Duration, bool) {
	n, ok := Int(raw)
	if !ok || n < 0 || n > math.MaxInt64/int64(time.Millisecond) {
		return 0, false
	}
	return time.Duration(n) * time.Millisecond, true
}

// Instant reads a time: milliseconds since 1970, quoted or not, or an RFC 3339
// text. Anything else, and a time that is not [Plausible], is the zero time.
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

// Plausible maps times that do not fit OpenTelemetry's nanoseconds since 1970 to
// the zero time.
func Plausible(t time.Time) time.Time {
	if t.Unix() <= 0 || t.Year() >= 2262 {
		return time.Time{}
	}
	return t
}
