package agentfiles

import (
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
	// Again reports that something of it was not read, or has no trace: each reading names it.
	Again bool `json:",omitempty"`
}

// Name reports that files were noted to be read again.
func (n Notes) Name(paths []string) bool {
	return !slices.ContainsFunc(paths, func(path string) bool { return !n[path].Again })
}

// hold reports that a file is as it was noted.
func (n Notes) hold(f found) bool {
	note, ok := n[f.path]
	return ok && note.Size == f.size && note.At == f.at.UnixNano()
}

// selection chooses the files to read by notes: those that have changed, and those that may have
// something of the same sessions.
type selection struct {
	// rest are the files that are not chosen, of the places with each session of theirs.
	rest map[string]found
	with map[string][]string
	// seen are the sessions whose files are all chosen.
	seen  map[string]bool
	notes Notes
}

func (l *Files) selection(notes Notes) *selection {
	s := &selection{make(map[string]found), make(map[string][]string), make(map[string]bool), notes}
	for _, f := range l.all {
		s.rest[f.path] = f
		for _, id := range notes[f.path].Of {
			s.with[id] = append(s.with[id], f.path)
		}
	}
	return s
}

// changed chooses the files without a note that holds, but for those before a time.
func (s *selection) changed(since time.Time) (chosen []found) {
	for path, f := range s.rest {
		if !s.notes.hold(f) && !f.at.Before(since) || s.notes[path].Again {
			chosen = append(chosen, f)
			delete(s.rest, path)
		}
	}
	return chosen
}

// of chooses the files of sessions.
func (s *selection) of(ids []string) (chosen []found) {
	for _, id := range ids {
		if s.seen[id] {
			continue
		}
		s.seen[id] = true
		for _, path := range s.with[id] {
			if f, ok := s.rest[path]; ok {
				chosen = append(chosen, f)
				delete(s.rest, path)
			}
		}
	}
	return chosen
}

// gone are the sessions of files that are no longer there, or were changed.
func (l *Files) gone(notes Notes) (ids []string) {
	held := make(map[string]bool)
	for _, f := range l.all {
		held[f.path] = notes.hold(f)
	}
	for path, n := range notes {
		if !held[path] {
			ids = append(ids, n.Of...)
		}
	}
	return ids
}

// about are the sessions and threads of which the file has something.
func (r *file) about() []string {
	ids := append([]string{r.owner, r.session}, r.origins...)
	for id, s := range r.sessions {
		ids = append(append(ids, id), s.holders...)
	}
	slices.Sort(ids)
	return slices.DeleteFunc(slices.Compact(ids), func(id string) bool { return id == "" })
}

// Noted are the notes after a reading: of the files that were written before a time. Those of
// which something was not read are read again, and so are some others.
func (l *Files) Noted(read *Reading, old Notes, before time.Time, others []string) Notes {
	out, again := make(Notes), make(map[string]bool)
	for _, path := range others {
		again[path] = true
	}
	for _, u := range read.Unread {
		again[u.File] = true
	}
	for _, f := range l.all {
		of, isRead := read.about[f.path]
		switch {
		case !f.at.Before(before):
		case isRead:
			out[f.path] = Note{f.size, f.at.UnixNano(), of, again[f.path]}
		case old.hold(f):
			out[f.path] = old[f.path]
		}
	}
	return out
}
