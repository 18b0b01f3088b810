package hookfile

import (
	"strconv"
	"strings"
	"unicode"
)

// Describe returns one line about a handler: the event, the matcher in brackets,
// what runs, which is the text, and the handler's other settings.
func Describe(h Handler, text string) string {
	var b strings.Builder
	b.WriteString(h.Event)
	if !matchesAll(h.Matcher) {
		b.WriteString(" [" + oneLine(h.Matcher) + "]")
	}
	b.WriteString(": ")
	switch {
	case h.Type == TypeHTTP:
		b.WriteString("POST " + oneLine(h.URL))
	case h.Type != TypeCommand:
		b.WriteString("a hook of type " + strconv.Quote(h.Type))
	default:
		b.WriteString(oneLine(text))
	}
	if traits := h.Traits(); len(traits) > 0 {
		b.WriteString(" (" + strings.Join(traits, ", ") + ")")
	}
	return b.String()
}

// Traits are the handler's settings, without what it runs.
func (h Handler) Traits() []string {
	var traits []string
	for _, t := range []struct {
		has  bool
		text string
	}{
		{h.If != "", "if " + oneLine(h.If)},
		{h.Shell != "" && h.Args == nil, "with " + oneLine(h.Shell)},
		{h.Timeout > 0, "at most " + h.Timeout.String()},
		{h.Async || h.AsyncRewake, "in the background"},
		{h.Once, "once per session"},
		{h.BlockOnFailure, "blocks when it fails"},
	} {
		if t.has {
			traits = append(traits, t.text)
		}
	}
	return traits
}

// oneLine escapes a text that has line ends or control characters.
func oneLine(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool { return r != ' ' && !unicode.IsPrint(r) }) {
		quoted := strconv.Quote(s)
		return quoted[1 : len(quoted)-1]
	}
	return s
}
