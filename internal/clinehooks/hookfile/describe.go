package hookfile

import (
	"strconv"
	"strings"
	"unicode"
)

// Describe is a handler in one line, for people: the event, the matcher in
// brackets, what runs, and what is special about it.
func Describe(h Handler) string {
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
		b.WriteString(oneLine(h.Text()))
	}
	if special := h.Traits(); len(special) > 0 {
		b.WriteString(" (" + strings.Join(special, ", ") + ")")
	}
	return b.String()
}

// Traits are what is special about the handler.
func (h Handler) Traits() []string {
	var list []string
	if h.If != "" {
		list = append(list, "if "+oneLine(h.If))
	}
	if h.Shell != "" && h.Args == nil {
		list = append(list, "with "+oneLine(h.Shell))
	}
	if h.Timeout > 0 {
		list = append(list, "at most "+h.Timeout.String())
	}
	if h.Async || h.AsyncRewake {
		list = append(list, "in the background")
	}
	if h.Once {
		list = append(list, "once per session")
	}
	if h.BlockOnFailure {
		list = append(list, "blocks when it fails")
	}
	return list
}

// oneLine keeps a text from breaking the line, or doing things to the terminal.
func oneLine(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool { return r != ' ' && !unicode.IsPrint(r) }) {
		quoted := strconv.Quote(s)
		return quoted[1 : len(quoted)-1]
	}
	return s
}
