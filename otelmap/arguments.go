package otelmap

import (
	"sort"
	"unicode/utf8"

	"github.com/hookspan/hookspan/internal/rawjson"
	"github.com/hookspan/hookspan/internal/termtext"
)

// argumentWindow is how much of one value is kept, in runes beyond the preview
// limit, before secrets are looked for. A secret that begins within the preview
// is then whole, or is cut long after the preview ends.
const argumentWindow = 8 << 10

// minValue is the length in runes below which no value is cut. If the text is
// then still too long, it is cut as a whole.
const minValue = 12

// arguments prepares a tool's input for its span. If it is too long, the long
// values in it are cut and not its end, so that a file's path stays beside the
// content that was written to it.
func (o *Options) arguments(input string) string {
	if o.Capture != CapturePreview || len(input) <= o.MaxInput {
		return o.text(input, o.MaxInput)
	}
	v, ok := rawjson.Parse([]byte(input))
	if !ok {
		return o.text(input, o.MaxInput)
	}
	whole := compact(v, o.MaxInput+argumentWindow)
	clean := o.Clean(whole, 0)
	if utf8.RuneCountInString(clean) <= o.MaxInput {
		return clean
	}
	if clean != whole {
		if v, ok = rawjson.Parse([]byte(clean)); !ok {
			return termtext.Cut(clean, o.MaxInput)
		}
	}
	tooLong := func(keep int) bool { return utf8.RuneCountInString(compact(v, keep)) > o.MaxInput }
	if tooLong(minValue) {
		return termtext.Cut(clean, o.MaxInput)
	}
	// Cut at the greatest length that fits.
	more := sort.Search(o.MaxInput-minValue, func(n int) bool { return tooLong(minValue + n + 1) })
	return compact(v, minValue+more)
}

// compact returns a value as JSON on one line, each text in it cut to keep runes.
func compact(v any, keep int) string { return rawjson.Encode(cutTexts(v, keep)) }

func cutTexts(v any, keep int) any {
	switch v := v.(type) {
	case string:
		return termtext.Cut(v, keep)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = cutTexts(v[i], keep)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for name := range v {
			out[name] = cutTexts(v[name], keep)
		}
		return out
	}
	return v
}
