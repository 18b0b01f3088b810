package diagnose

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/deliver"
	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/spool"
)

// spool looks for events that could not be read.
func (e *exam) spool() {
	if missing(e.Setup.Config.SpoolDir()) {
		hint := "use your agent once"
		for _, h := range e.st.installed() {
			if h.Agent.Host == hook.HostCline {
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

// sessions calls f for each session in the spool, up to the first error. A
// session that is removed meanwhile is skipped.
func (m *Machine) sessions(f func(*spool.Spool, spool.Key) error) error {
	if missing(m.Setup.Config.SpoolDir()) {
		return nil
	}
	sp, err := spool.Open(m.Setup.Config.SpoolDir(), spool.Options{})
	if err != nil {
		return spoolError{err, "events are lost until the spool can be opened"}
	}
	defer func() { _ = sp.Close() }()
	keys, err := sp.Sessions()
	if err != nil {
		return spoolError{err, "nothing is delivered until the spool can be read"}
	}
	for _, k := range keys {
		if err := f(sp, k); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// spoolError is a fault of the whole spool, with what it causes.
type spoolError struct {
	error
	effect string
}

func (e spoolError) Unwrap() error { return e.error }

func (st *Status) addSession(sp *spool.Spool, k spool.Key) error {
	s, err := sp.Session(k)
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	size, err := s.Size()
	if err != nil {
		return err
	}
	if logged, err := s.HasLog(); err != nil || logged { // Otherwise it is the link of an ended session.
		st.Sessions++
		st.SpoolBytes += size
		if at, err := s.ModTime(); err == nil && at.After(st.LastEvent) {
			st.LastEvent = at
		}
	}
	for i := range st.Destinations {
		d := &st.Destinations[i]
		ds, err := deliver.ReadState(s, d.Name)
		if err != nil {
			return err
		}
		d.Runs += ds.Runs
		d.Spans += ds.Spans
		d.Rejected += ds.Rejected
		behind, failing := ds.Offset < size, ds.Attempts > 0
		for _, p := range ds.Parked {
			switch {
			case p.Elsewhere:
				behind = true
			case p.NextTry.IsZero():
				d.Parked = append(d.Parked, p)
			default:
				behind, failing = true, true
				if ds.NextTry.IsZero() || p.NextTry.Before(ds.NextTry) {
					ds.NextTry, ds.LastError = p.NextTry, p.Error
				}
			}
		}
		if behind {
			d.Behind++
		}
		if failing {
			d.Failing++
			if d.NextTry.IsZero() || ds.NextTry.Before(d.NextTry) {
				d.NextTry, d.LastError = ds.NextTry, ds.LastError
			}
		}
	}
	return nil
}
