package otelmap

import (
	"encoding/json"
	"maps"
	"slices"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"
)

// argumentWindow is how much of one value is kept, in bytes beyond the preview
// limit, before secrets are looked for: a secret that begins within the preview
// is then whole, or is cut where the preview ends long before.
const argumentWindow = 8 << 10

// shortest is the least a value is cut to, in runes, before the text is cut as
// a whole.
const shortest = 12

// arguments prepares a tool's input for its span. Where it is too long, it is
// the long values that are cut and not the end, so that the path of a file
// stays beside the content that was written to it.
func (o *Options) arguments(input string) string {
	if o.Capture != CapturePreview || len(input) <= o.MaxInput {
		return o.text(input, o.MaxInput)
	}
	v, ok := decode(input)
	if !ok {
		return o.text(input, o.MaxInput)
	}
	whole := compact(v, o.MaxInput+argumentWindow)
	clean := o.Clean(whole, 0)
	if utf8.RuneCountInString(clean) <= o.MaxInput {
		return clean
	}
	if clean != whole {
		if v, ok = decode(clean); !ok {
			return cut(clean, o.MaxInput)
		}
	}
	// The longest values that fit: one rune more for each and they would not.
	most := shortest + sort.Search(max(0, o.MaxInput-shortest), func(n int) bool {
		return width(v, shortest+n, o.MaxInput) > o.MaxInput
	}) - 1
	if most < shortest {
		return cut(clean, o.MaxInput)
	}
	return compact(v, most)
}

// decode reads JSON and leaves numbers as they are written.
func decode(s string) (any, bool) {
	var v any
	d := json.NewDecoder(strings.NewReader(s))
	d.UseNumber()
	return v, d.Decode(&v) == nil
}

// compact writes a decoded value as JSON on one line, every text in it cut to
// keep runes.
func compact(v any, keep int) string { return string(appendValue(nil, v, keep)) }

func appendValue(b []byte, v any, keep int) []byte {
	switch v := v.(type) {
	case string:
		return appendText(b, cut(v, keep))
	case json.Number:
		return append(b, v...)
	case bool:
		return strconv.AppendBool(b, v)
	case []any:
		b = append(b, '[')
		for i := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendValue(b, v[i], keep)
		}
		return append(b, ']')
	case map[string]any:
		b = append(b, '{')
		for i, k := range slices.Sorted(maps.Keys(v)) {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(appendText(b, k), ':')
			b = appendValue(b, v[k], keep)
		}
		return append(b, '}')
	}
	return append(b, "null"...)
}

// appendText writes a JSON string with no more escapes than JavaScript needs.
func appendText(b []byte, s string) []byte {
	b = append(b, '"')
	for i, r := range s {
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case r < ' ' || r == '\u2028' || r == '\u2029':
			if at := strings.IndexRune(controls, r); at >= 0 {
				b = append(b, '\\', letters[at])
				break
			}
			const hex = "0123456789abcdef"
			b = append(b, '\\', 'u', hex[r>>12&15], hex[r>>8&15], hex[r>>4&15], hex[r&15])
		case r == utf8.RuneError:
			if strings.HasPrefix(s[i:], "\ufffd") {
				b = append(b, "\ufffd"...)
				break
			}
			b = append(b, `\ufffd`...)
		default:
			b = utf8.AppendRune(b, r)
		}
	}
	return append(b, '"')
}

// The control characters that have an escape of their own, and its letter.
const controls, letters = "\b\f\n\r\t", "bfnrt"

// width is the length of compact's text in runes, or some number above limit.
// It allocates nothing, for it is asked several times for each event.
func width(v any, keep, limit int) int {
	switch v := v.(type) {
	case string:
		return textWidth(v, keep, limit)
	case json.Number:
		return len(v)
	case bool:
		if v {
			return len("true")
		}
		return len("false")
	case []any:
		n := max(2, len(v)+1)
		for i := range v {
			if n > limit {
				break
			}
			n += width(v[i], keep, limit)
		}
		return n
	case map[string]any:
		n := max(2, 2*len(v)+1)
		for k := range v {
			if n > limit {
				break
			}
			n += textWidth(k, 0, limit) + width(v[k], keep, limit)
		}
		return n
	}
	return len("null")
}

// textWidth is the length of a text in runes with its quotes and escapes, once
// it was cut to keep runes.
func textWidth(s string, keep, limit int) int {
	n, runes, before := 2, 0, 0
	for i := 0; i < len(s); {
		if runes++; keep > 0 && runes > keep {
			return before + 1
		}
		before = n
		if c := s[i]; c < utf8.RuneSelf {
			n += asciiWidth(c)
			i++
		} else {
			r, size := utf8.DecodeRuneInString(s[i:])
			if r == '\u2028' || r == '\u2029' || r == utf8.RuneError && size == 1 {
				n += 5
			}
			n++
			i += size
		}
		if n > limit && runes != keep {
			return n
		}
	}
	return n
}

// asciiWidth is the length of what appendText makes of a byte below
// utf8.RuneSelf.
func asciiWidth(c byte) int {
	switch {
	case c == '"' || c == '\\':
		return 2
	case c >= ' ':
		return 1
	case strings.IndexByte(controls, c) >= 0:
		return 2
	}
	return 6
}
