package diagnose

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/hook/cline"
	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/spool"
)

// spool looks for events that could not be read.
func (e *exam) spool() {
	if missing(e.Setup.Config.SpoolDir()) {
		hint := "use your agent once"
		for _, h := range e.st.installed() {
			if h.Host == cline.Host {
				hint += "; if Cline stores no event then, reload the editor's window"
			}
		}
		e.add(Note, "no event has been stored yet", hint)
		return
	}
	var c spoolCounts
	sources := e.Setup.Sources()
	begin := len(e.found)
	err := e.sessions(func(sp *spool.Spool, k spool.Key) error {
		if err := c.session(sp, k, sources[k.Host].Decode); err != nil && !errors.Is(err, fs.ErrNotExist) {
			e.add(Problem, termtext.Message(err), "this session is not delivered; the others are")
		}
		return nil
	})
	var whole spoolError
	if errors.As(err, &whole) {
		e.found = e.found[:begin]
		e.add(Problem, termtext.Message(err), whole.effect)
		return
	}
	e.add(OK, termtext.Plural(c.events, "event")+" in the spool", "")
	if sp, err := spool.Open(e.Setup.Config.SpoolDir(), spool.Options{}); err == nil {
		if err := errors.Join(sp.CheckLocks(), sp.Close()); err != nil {
			e.add(Problem, termtext.Message(err)+": events are stored and delivered, but never removed, and a trace may be sent twice",
				"set XDG_STATE_HOME to a folder on a disk of this machine")
		}
	}
	for _, x := range []struct {
		n              int
		what, is, hint string
	}{
		{c.raw, "event", "of a form that is not JSON", "kept as they came; the last: " + termtext.Value(c.rawExample)},
		{c.undecoded, "event", "of a form this hookspan does not know", "kept as they came; the last: " + termtext.Value(c.undecodedExample)},
		{c.damaged, "damaged place", "in the spool", "the other records are intact; the damaged bytes stay in the log"},
		{c.newer, "event", "written by a newer hookspan", "kept untouched: upgrade to read them"},
		{c.cut, "event", "larger than HOOKSPAN_MAX_EVENT_BYTES", "stored with long texts cut"},
	} {
		if x.n > 0 {
			e.add(Note, termtext.Plural(x.n, x.what)+" "+x.is, x.hint)
		}
	}
}

// spoolCounts counts the events and the irregular ones among them.
type spoolCounts struct {
	events, raw, cut, undecoded, damaged, newer int
	rawExample, undecodedExample                string
}

// session counts one session's events. decode reads an event of its host, and is
// nil for a host that is not supported.
func (c *spoolCounts) session(sp *spool.Spool, k spool.Key, decode func(*spool.Record) ([]hook.Event, error)) error {
	s, err := sp.Session(k)
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	r, err := s.Reader(0)
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }()
	for r.Next() {
		rec := r.Record()
		c.events++
		if rec.Cut > 0 {
			c.cut++
		}
		err := fmt.Errorf("%s: the agent %q is not known", rec.Event, k.Host)
		if decode != nil {
			_, err = decode(rec)
		}
		switch {
		case rec.Raw && len(rec.Payload) > 0:
			c.raw++
			c.rawExample = cmp.Or(rec.Event, "an event without a name") + ": " + termtext.HeadBytes(string(rec.Payload[:min(len(rec.Payload), 64)]), 60)
		case err != nil:
			c.undecoded++
			c.undecodedExample = err.Error()
		}
	}
	c.damaged += len(r.Damage())
	c.newer += len(r.Unknown())
	return r.Err()
}
