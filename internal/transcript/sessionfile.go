package transcript

import (
	"cmp"
	"slices"
	"time"
)

// SessionFile is a session that a host has kept on this machine.
type SessionFile struct {
	// Session is the host's identity of the session, one plain path element.
	Session string
	// Path is the file the session is known by: ui_messages.json of a classic
	// task, the manifest or else the lead's messages of an SDK session, the
	// transcript of a Claude Code session.
	Path string
	// Size is that file's size in bytes, ModTime the time of the newest write
	// to any of the session's files that was looked at.
	Size    int64
	ModTime time.Time
	// Cwd is the session's working directory where the listing tells it.
	Cwd string
}

// sortSessions puts the newest session last and keeps one file for each: of
// several that bear one id, the one written last is the one that is read.
func sortSessions(files []SessionFile) []SessionFile {
	slices.SortStableFunc(files, func(a, b SessionFile) int {
		return cmp.Or(a.ModTime.Compare(b.ModTime), cmp.Compare(a.Session, b.Session), cmp.Compare(a.Path, b.Path))
	})
	newest := make(map[string]int, len(files))
	for i, f := range files {
		newest[f.Session] = i
	}
	kept := files[:0]
	for i, f := range files {
		if newest[f.Session] == i {
			kept = append(kept, f)
		}
	}
	return slices.Clip(kept)
}
