package bridge

import (
	"context"
	"errors"
	"io/fs"
	"sync"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/spool"
)

// Recorder records events as the agents' own hooks do. It is a Sink.
type Recorder struct {
	spool *spool.Spool
	store func(host string, e *Event) (bool, error)

	mu sync.Mutex
	// fromCline are sessions whose Claude-format events Cline's hooks post. It is
	// emptied when it has grown large; the spool knows most of them anyway.
	fromCline map[string]bool
}

// maxSessions is how many sessions a recorder remembers.
const maxSessions = 10_000

// NewRecorder returns a recorder. store stores an event of a host and reports
// whether it did.
func NewRecorder(sp *spool.Spool, store func(host string, e *Event) (bool, error)) *Recorder {
	return &Recorder{spool: sp, store: store, fromCline: make(map[string]bool)}
}

// Take implements Sink. It ignores Claude-format events that Cline's hooks post:
// cline-hook has already stored the original event.
func (r *Recorder) Take(_ context.Context, e *Event) (bool, error) {
	switch {
	case e.Provider == Cline && e.Native:
		return r.store(hook.HostCline, e)
	case e.Provider == Cline:
		r.remember(e.Session)
		return false, nil
	case e.Native || e.Name == "":
		return false, nil
	}
	fromCline, err := r.cline(e.Session)
	if err != nil || fromCline {
		return false, err
	}
	return r.store(hook.HostClaude, e)
}

func (r *Recorder) remember(session string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.fromCline) >= maxSessions {
		clear(r.fromCline)
	}
	r.fromCline[session] = true
}

// cline reports whether the session is a Cline session. Its events can arrive on
// Claude Code's path: a claude-hook in Cline's hooks.json posts there.
func (r *Recorder) cline(session string) (bool, error) {
	r.mu.Lock()
	known := r.fromCline[session]
	r.mu.Unlock()
	if known {
		return true, nil
	}
	s, err := r.spool.Session(spool.SessionKey(hook.HostCline, session))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	r.remember(session)
	return true, s.Close()
}
