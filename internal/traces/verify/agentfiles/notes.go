package agentfiles

import (
	"maps"
	"slices"
	"time"
)

// Notes are what readings noted of files, by their paths.
type Notes map[string]Note

// Note is what a reading noted of a file that had a size and a time.
type Note struct {
	Size, At int64
	// Of are the sessions and threads of which the file may have something.
	Of []string
	// Again reports that something of it was not read, may be work of an unknown kind, or has no
	// trace: each reading names it.
	Again bool `json:",omitempty"`
}

// Name reports that files were noted to be read again.
func (n Notes) Name(paths map[string]bool) bool {
	for path := range paths {
		if !n[path].Again {
			return false
		}
	}
	return true
}

// hold reports that a file is as it was noted.
func (n Notes) hold(f found) bool {
	note, ok := n[f.path]
	return ok && note.Size == f.size && note.At == f.at.UnixNano()
}

// note is which sessions and threads the file has something of, and whether it is read again.
func (r *file) note() Note {
	ids := append([]string{r.owner, r.session}, r.origins...)
	ids = slices.AppendSeq(ids, maps.Keys(r.sessions))
	slices.Sort(ids)
	return Note{
		Of:    slices.DeleteFunc(slices.Compact(ids), func(id string) bool { return id == "" }),
		Again: len(r.unread) > 0 || slices.ContainsFunc(r.unknown, func(u Unknown) bool { return u.Counts }),
	}
}

// Noted are the notes after a reading: of the files that were written before a time. Those of
// which it reports something are read again, and so are some others.
func (l *Files) Noted(read *Reading, old Notes, before time.Time, others map[string]bool) Notes {
	out := make(Notes)
	for _, f := range l.all {
		note, isRead := read.notes[f.path]
		switch {
		case !f.at.Before(before):
		case isRead:
			note.Size, note.At, note.Again = f.size, f.at.UnixNano(), note.Again || others[f.path]
			out[f.path] = note
		case old.hold(f):
			out[f.path] = old[f.path]
		}
	}
	return out
}
