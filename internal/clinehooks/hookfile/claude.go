package hookfile

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// Import reads the hooks of a settings.json of Claude Code, for use on Cline.
// Entries of hookspan's own are left out: they report Claude Code's events. once
// is dropped, since Claude Code ignores it in settings files. notes say, one line
// each, what else will not be as it is there, besides the Problems of the file.
func Import(settings []byte, path string) (*File, []string, error) {
	r, err := read(path, withoutMark(settings))
	if err != nil {
		return nil, nil, err
	}
	var notes []string
	if r.disabled {
		notes = append(notes, disableKey+" is set there: Claude Code does not run these hooks; Cline will")
		r.disabled = false
	}
	own := r.dropRecorders()
	f := r.finish()
	if own > 0 {
		notes = append(notes, fmt.Sprintf("left out what hookspan itself has there to record Claude Code: %d of the hooks", own))
	}
	for i := range f.Handlers {
		if h := &f.Handlers[i]; h.Once {
			h.Once = false
			notes = append(notes, fmt.Sprintf("line %d: \"once\" is dropped: Claude Code ignores it in settings", h.Line))
		}
	}
	return f, notes, nil
}

// dropRecorders leaves out what hookspan itself has in the file, and counts it.
// hookspan records more events than Cline gives, so that an event with nothing
// else in it is no problem.
func (r *reading) dropRecorders() int {
	n := len(r.places)
	dropped := make(map[string]bool)
	r.places = slices.DeleteFunc(r.places, func(p place) bool {
		own := recorder(p.handler)
		if own {
			dropped[p.handler.Event] = true
		}
		return own
	})
	for _, p := range r.places {
		delete(dropped, p.handler.Event)
	}
	r.problems = slices.DeleteFunc(r.problems, func(f found) bool { return f.never && dropped[f.problem.Event] })
	return n - len(r.places)
}

// recorder reports a handler that starts claude-hook as hookspan installs it: by
// name, with an event or nothing after it. One with flags is somebody's own.
func recorder(h Handler) bool {
	if h.Type != TypeCommand {
		return false
	}
	words := append([]string{h.Command}, h.Args...)
	switch {
	case h.Args == nil:
		words = Words(h.Command)
	case path.Base(h.Command) == "env" && len(h.Args) > 0:
		words = h.Args
	}
	// What hookspan sets in front of its program are variables without a value.
	for len(words) > 1 && (words[0] == "exec" || strings.HasSuffix(words[0], "=")) {
		words = words[1:]
	}
	if len(words) == 0 || len(words) > 2 {
		return false
	}
	program := path.Base(strings.ReplaceAll(words[0], `\`, "/"))
	// A later hookspan may record events that this one does not know.
	return (program == "claude-hook" || program == "claude-hook.exe") &&
		(len(words) == 1 || !strings.HasPrefix(words[1], "-"))
}

// Words splits a command line as a shell would, without expanding anything.
// A backslash quotes only what would need it, so that a path of Windows stays
// one.
func Words(line string) []string {
	var words []string
	var b strings.Builder
	quote, in := byte(0), false
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '\'' || c == '"'):
			quote, in = c, true
		case quote == 0 && (c == ' ' || c == '\t' || c == '\n'):
			if in {
				words = append(words, b.String())
				b.Reset()
			}
			in = false
		case c == '\\' && quote != '\'' && i+1 < len(line) && strings.IndexByte(" \t'\"\\$`", line[i+1]) >= 0:
			i++
			in = true
			b.WriteByte(line[i])
		default:
			in = true
			b.WriteByte(c)
		}
	}
	if in {
		words = append(words, b.String())
	}
	return words
}
