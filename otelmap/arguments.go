package otelmap

import (
	"bytes"
	"encoding/json"
	"sort"
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
	clean := o.Clean(compact(clip(v, o.MaxInput+argumentWindow)), 0)
	if utf8.RuneCountInString(clean) <= o.MaxInput {
		return clean
	}
	if v, ok = decode(clean); !ok {
		return cut(clean, o.MaxInput)
	}
	// The longest values that fit: one rune more for each and they would not.
	most := shortest + sort.Search(max(0, o.MaxInput-shortest), func(n int) bool {
		return utf8.RuneCountInString(compact(clip(v, shortest+n))) > o.MaxInput
	}) - 1
	if most < shortest {
		return cut(clean, o.MaxInput)
	}
	return compact(clip(v, most))
}

// decode reads JSON and leaves numbers as they are written.
func decode(s string) (any, bool) {
	var v any
	d := json.NewDecoder(strings.NewReader(s))
	d.UseNumber()
	return v, d.Decode(&v) == nil
}

// clip cuts every text in a decoded value to keep runes.
func clip(v any, keep int) any {
	switch v := v.(type) {
	case string:
		return cut(v, keep)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = clip(v[i], keep)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k := range v {
			out[k] = clip(v[k], keep)
		}
		return out
	}
	return v
}

// compact writes a decoded value as JSON on one line.
func compact(v any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(v) != nil {
		return ""
	}
	return string(bytes.TrimRight(b.Bytes(), "\n"))
}
