package hookfile

import (
	"fmt"
	"slices"
)

// Import reads the hooks of a settings.json of Claude Code, for use on Cline.
// Handlers that records reports are left out: they record Claude Code. once is
// dropped, since Claude Code ignores it in settings files. Each of notes is a line
// about another difference, besides the Problems of the file.
func Import(settings []byte, path string, records func(Handler) bool) (*File, []string, error) {
	r, err := read(path, withoutMark(settings))
	if err != nil {
		return nil, nil, err
	}
	var notes []string
	if r.disabled {
		notes = append(notes, disableKey+" is set there: Claude Code does not run these hooks; Cline will")
		r.disabled = false
	}
	own := r.drop(records)
	f := r.finish()
	if own > 0 {
		notes = append(notes, fmt.Sprintf("left out %d of the hooks, with which hookspan records Claude Code", own))
	}
	for i := range f.Handlers {
		if h := &f.Handlers[i]; h.Once {
			h.Once = false
			notes = append(notes, fmt.Sprintf("line %d: \"once\" is dropped: Claude Code ignores it in settings", h.Line))
		}
	}
	return f, notes, nil
}

// drop removes handlers and counts them. hookspan records more events than Cline
// has: an event whose handlers are all removed is no problem.
func (r *reading) drop(records func(Handler) bool) int {
	n := len(r.places)
	dropped := make(map[string]bool)
	r.places = slices.DeleteFunc(r.places, func(p place) bool {
		out := records(p.handler)
		if out {
			dropped[p.handler.Event] = true
		}
		return out
	})
	for _, p := range r.places {
		delete(dropped, p.handler.Event)
	}
	r.problems = slices.DeleteFunc(r.problems, func(f found) bool { return f.never && dropped[f.problem.Event] })
	return n - len(r.places)
}
