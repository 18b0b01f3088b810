package hookfile

import "fmt"

// Import reads the hooks of a settings.json of Claude Code, for use on Cline.
// Handlers that records reports are left out: they record Claude Code. once is
// dropped, since Claude Code ignores it in settings files. Each of notes is a line
// about another difference, besides the Problems of the file.
func Import(settings []byte, path string, records func(Handler) bool) (*File, []string, error) {
	r, err := read(path, withoutMark(settings), records)
	if err != nil {
		return nil, nil, err
	}
	var notes []string
	if r.file.Disabled {
		notes = append(notes, disableKey+" is set there: Claude Code does not run these hooks; Cline will")
		r.file.Disabled = false
	}
	f := r.finish()
	if r.skipped > 0 {
		notes = append(notes, fmt.Sprintf("left out %d of the hooks, with which hookspan records Claude Code", r.skipped))
	}
	for i := range f.Handlers {
		if h := &f.Handlers[i]; h.Once {
			h.Once = false
			notes = append(notes, fmt.Sprintf("line %d: \"once\" is dropped: Claude Code ignores it in settings", h.Line))
		}
	}
	return f, notes, nil
}
