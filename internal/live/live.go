// Package live follows what agents do now: the events that their hooks append to the
// spool.
//
// It promises that each event that is stored while a Follower runs is visited once,
// those of one session in the order of its log, and that nothing is done while
// nothing happens, unless the system cannot watch all folders.
package live

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/spool"
)

const (
	// recentSessions is of how many sessions the recent events are visited, recentBytes
	// how much of each log is read for that.
	recentSessions = 32
	recentBytes    = 256 << 10
	// repeats is how many events of a session are remembered: an agent may run two
	// hooks for one event at the same time.
	repeats = 16
)

// Follower visits events.
type Follower struct {
	Spool *spool.Spool
	// Dir is the spool's folder.
	Dir string
	// Decode turns a record into events. Events with an error are visited, too.
	Decode func(*spool.Record) ([]hook.Event, error)
	// Recent asks for the events that are stored already, as far as they are among the
	// last of the newest sessions. CaughtUp is called after these, or at once; it may be
	// nil.
	Recent   bool
	CaughtUp func() error
	// Visit is called for each event. An error of either ends Run.
	Visit func(Event) error
	// Poll is how often the sessions are looked at that the system cannot watch.
	Poll time.Duration

	sessions map[spool.Key]*session
	watcher  *fsnotify.Watcher
	// unwatched is for tests: the system watches nothing.
	unwatched bool
}

// Event is a stored event.
type Event struct {
	Key spool.Key
	// Settings are those of the record.
	Settings string
	hook.Event
}

// session is what is known of one session.
type session struct {
	offset int64
	// watched reports that the system tells of its changes.
	watched bool
	// seen are the newest events.
	seen []identity
}

type identity struct {
	name string
	hash uint64
}

// Run visits the recent events and, with follow, those that are stored from then on,
// until the context ends.
func (f *Follower) Run(ctx context.Context, follow bool) (err error) {
	f.sessions = make(map[spool.Key]*session)
	if follow {
		// Without a watcher, such as where there are too many already, sessions are polled.
		if f.watcher, err = fsnotify.NewWatcher(); err == nil {
			defer func() { err = errors.Join(err, f.watcher.Close()) }()
		}
		f.watch(f.Dir)
	}
	keys, err := f.scan()
	if err != nil {
		return err
	}
	if err := f.begin(keys); err != nil {
		return err
	}
	if f.CaughtUp != nil {
		if err := f.CaughtUp(); err != nil {
			return err
		}
	}
	if !follow {
		return nil
	}
	var events chan fsnotify.Event
	var faults chan error
	if f.watcher != nil {
		events, faults = f.watcher.Events, f.watcher.Errors
	}
	for {
		var poll <-chan time.Time
		if f.polls() {
			poll = time.After(f.Poll)
		}
		changed := make(map[spool.Key]bool)
		all := false
		select {
		case <-ctx.Done():
			return nil
		case <-poll:
			all = true
		case <-faults: // events were lost
			all = true
		case e := <-events:
			all = f.note(e, changed)
			for more := true; more; {
				select {
				case e := <-events:
					all = f.note(e, changed) || all
				default:
					more = false
				}
			}
		}
		if all {
			if keys, err = f.scan(); err != nil {
				return err
			}
			for _, k := range keys {
				changed[k] = true
			}
		}
		for _, k := range slices.SortedFunc(maps.Keys(changed), func(x, y spool.Key) int { return strings.Compare(x.String(), y.String()) }) {
			if err := f.read(k); err != nil {
				return err
			}
		}
	}
}

// watch has the system report changes in a folder.
func (f *Follower) watch(dir string) bool {
	return f.watcher != nil && !f.unwatched && f.watcher.Add(dir) == nil
}

// polls reports that the system cannot watch everything.
func (f *Follower) polls() bool {
	if f.watcher == nil {
		return true
	}
	for _, s := range f.sessions {
		if !s.watched {
			return true
		}
	}
	return false
}

// scan finds the sessions and watches those that are new. These are read from their
// beginning, unless begin says otherwise.
func (f *Follower) scan() ([]spool.Key, error) {
	keys, err := f.Spool.Sessions()
	if err != nil {
		return nil, err
	}
	hosts := make(map[string]bool)
	for _, k := range keys {
		if !hosts[k.Host] {
			hosts[k.Host] = true
			f.watch(filepath.Join(f.Dir, k.Host))
		}
		f.add(k)
	}
	return keys, nil
}

func (f *Follower) add(k spool.Key) *session {
	s := f.sessions[k]
	if s == nil {
		s = &session{watched: f.watch(filepath.Join(f.Dir, k.Host, k.Name))}
		f.sessions[k] = s
	}
	return s
}

// note adds what an event of the file system may be about to the changed sessions. It
// reports whether all sessions must be looked at.
func (f *Follower) note(e fsnotify.Event, changed map[spool.Key]bool) (all bool) {
	rel, err := filepath.Rel(f.Dir, e.Name)
	if err != nil {
		return true
	}
	parts := strings.Split(filepath.ToSlash(rel), "/")
	if len(parts) < 2 {
		return e.Has(fsnotify.Create) // a new agent
	}
	k := spool.Key{Host: parts[0], Name: parts[1]}
	if len(parts) == 2 && (e.Has(fsnotify.Remove) || e.Has(fsnotify.Rename)) {
		delete(f.sessions, k) // a folder of that name must be watched anew
	}
	changed[k] = true
	return false
}

// begin visits the recent events, in the order in which they were stored, and sets all
// positions behind what is stored.
func (f *Follower) begin(keys []spool.Key) error {
	type log struct {
		key spool.Key
		at  time.Time
	}
	var logs []log
	for _, k := range keys {
		s, err := f.Spool.Session(k)
		if err != nil {
			continue
		}
		size, err := s.Size()
		at, modErr := s.ModTime()
		if err == nil && modErr == nil {
			f.sessions[k].offset = size
			logs = append(logs, log{k, at})
		}
		if err := s.Close(); err != nil {
			return err
		}
	}
	if !f.Recent {
		return nil
	}
	slices.SortFunc(logs, func(x, y log) int { return y.at.Compare(x.at) })
	var events []Event
	for _, l := range logs[:min(len(logs), recentSessions)] {
		s, err := f.Spool.Session(l.key)
		if err != nil {
			continue
		}
		r, _, err := s.Tail(recentBytes)
		if err == nil {
			f.records(l.key, r, func(e Event) error { events = append(events, e); return nil }) //nolint:errcheck // It returns none.
			err = r.Close()
		}
		if err := errors.Join(err, s.Close()); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	slices.SortStableFunc(events, func(x, y Event) int { return x.StoredAt.Compare(y.StoredAt) })
	for _, e := range events {
		if err := f.Visit(e); err != nil {
			return err
		}
	}
	return nil
}

// read visits what was appended to a session's log.
func (f *Follower) read(k spool.Key) (err error) {
	s, err := f.Spool.Session(k)
	if err != nil {
		return nil // removed, or not hookspan's
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	at := f.add(k) // before the size, so that no change is missed
	size, err := s.Size()
	if err != nil {
		return nil
	}
	if size < at.offset {
		at.offset = 0 // another log in its place
	}
	if size == at.offset {
		return nil
	}
	r, err := s.Reader(at.offset)
	if err != nil {
		return nil
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	return f.records(k, r, f.Visit)
}

// records visits the events of a reader and keeps the position behind them.
func (f *Follower) records(k spool.Key, r *spool.Reader, visit func(Event) error) error {
	s := f.add(k)
	for r.Next() {
		rec := r.Record()
		events, _ := f.Decode(rec) // what cannot be decoded is an event of an unknown kind
		for _, e := range events {
			id := identity{e.Name, e.Hash}
			if slices.Contains(s.seen, id) {
				continue
			}
			s.seen = append(s.seen[max(0, len(s.seen)-repeats+1):], id)
			if err := visit(Event{Key: k, Settings: rec.Settings, Event: e}); err != nil {
				return err
			}
		}
	}
	s.offset = max(s.offset, r.Offset())
	return nil
}
