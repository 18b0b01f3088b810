package otelmap

import "github.com/hookspan/hookspan/internal/rawjson"

// argumentWindow is how much of one string is kept, in characters beyond the preview limit,
// before secrets are looked for. A secret that begins within the preview is then whole, or is
// cut long after the preview ends.
const argumentWindow = 8 << 10

// arguments prepares a tool's input for its span, as JSON. If it is too long, the long strings
// in it are cut and not its end, so that a file's path stays beside the content that was
// written to it.
func (o *Options) arguments(input string) string {
	var window, limit rawjson.Limit
	switch o.Capture {
	case CaptureNone:
		return ""
	case CapturePreview:
		window = rawjson.Limit{Each: o.MaxInput + argumentWindow, Characters: true}
		limit = rawjson.Limit{Max: o.MaxInput, Characters: true}
	}
	input, _ = rawjson.Shorten(input, window)
	clean := rawjson.Clean(input, func(s string) string { return o.Clean(s, 0) })
	if clean != input || len(input) > limit.Max {
		input, _ = rawjson.Shorten(clean, limit)
	}
	return input
}
