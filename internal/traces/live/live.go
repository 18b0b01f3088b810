// Package live follows what agents do now: the events that their hooks append to the
// spool.
//
// It promises that each event that is stored while a Follower runs is visited once,
// those of one session in the order of its log, and that nothing is done while
// nothing happens, unless the system cannot watch all folders or Look asks for it.
package live

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
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
	// hooks for one event at the same time. What is stored later than repeatWithin is
	// another event, such as an equal call whose id comes again.
	repeats      = 16
	repeatWithin = time.Second
	// logName is the log in a session's folder (spool/FORMAT.md).
	logName = "events.json-seq"
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
	// Skipped is called for a log with recent events that cannot be read. It may be nil.
	Skipped func(error)
	// Visit is called for each event. An error of either ends Run.
	Visit func(Event) error
	// Look looks for what no event reports. It is called after CaughtUp and, as long as it
	// asks for that, every Poll. It may be nil.
	Look func() (again bool, err error)
	// Poll is how often all sessions are read where the system cannot watch them.
	Poll time.Duration
	// Polling is called when that begins, with the reason. It may be nil.
	Polling func(reason error)

	sessions map[spool.Key]*session
	watcher  *fsnotify.Watcher
	// unwatched is why the system does not watch a folder, nil if it watches all.
	unwatched error
	polling   bool
	// wakeups counts how often Run had something to do.
	wakeups int
	// refuse is for tests: watching fails with it.
	refuse error
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
	// offset is the position behind what was visited. sum is the log's checksum there,
	// empty as long as nothing was read: another log has another one.
	offset int64
	sum    string
	// watched reports that the system tells of its changes.
	watched bool
	// seen are the newest events.
	seen []identity
}

type identity struct {
	name string
	hash uint64
	at   time.Time
}

// Run visits the recent events and, with follow, those that are stored from then on,
// until the context ends.
func (f *Follower) Run(ctx context.Context, follow bool) (err error) {
	f.sessions = make(map[spool.Key]*session)
	if follow {
		// Without a watcher, such as where there are too many already, sessions are polled.
		w, watchErr := fsnotify.NewWatcher()
		if watchErr != nil {
			f.refuse = watchErr
		} else {
			f.watcher = w
			defer func() { err = errors.Join(err, w.Close()) }()
		}
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
	again := f.Look != nil
	if again {
		if again, err = f.Look(); err != nil {
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
	var poll <-chan time.Time
	for {
		if f.unwatched != nil && poll == nil { // which other sessions' events do not put off
			if !f.polling && f.Polling != nil {
				f.Polling(f.unwatched)
			}
			f.polling = true
			poll = time.After(f.Poll)
		}
		var look <-chan time.Time
		if again {
			look = time.After(f.Poll)
		}
		changed := make(map[spool.Key]bool)
		all := false
		select {
		case <-ctx.Done():
			return nil
		case <-look:
		case <-poll:
			poll, all = nil, true
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
		f.wakeups++
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
		if f.Look != nil {
			if again, err = f.Look(); err != nil {
				return err
			}
		}
	}
}

// watch has the system report changes in a folder.
func (f *Follower) watch(dir string) bool {
	err := f.refuse
	if err == nil && f.watcher != nil {
		err = f.watcher.Add(dir)
	}
	if err != nil {
		f.unwatched = err
	}
	return err == nil
}

// scan finds the sessions, watches those that are not watched, and forgets those that
// were removed. New ones are read from their beginning, unless begin sets another
// position.
func (f *Follower) scan() ([]spool.Key, error) {
	f.unwatched = nil
	// Each folder is watched before it is listed, so that nothing comes in between.
	f.watch(f.Dir)
	hosts, err := f.Spool.Hosts()
	if err != nil {
		return nil, err
	}
	for _, host := range hosts {
		f.watch(filepath.Join(f.Dir, host))
	}
	keys, err := f.Spool.Sessions()
	if err != nil {
		return nil, err
	}
	found := make(map[spool.Key]bool, len(keys))
	for _, k := range keys {
		found[k] = true
		f.add(k)
	}
	maps.DeleteFunc(f.sessions, func(k spool.Key, _ *session) bool { return !found[k] })
	return keys, nil
}

// add returns the session, and has the system watch it.
func (f *Follower) add(k spool.Key) *session {
	s := f.sessions[k]
	if s == nil {
		s = &session{}
		f.sessions[k] = s
	}
	if !s.watched {
		s.watched = f.watch(filepath.Join(f.Dir, k.Host, k.Name))
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
	if s := f.sessions[k]; s != nil && (e.Has(fsnotify.Remove) || e.Has(fsnotify.Rename)) {
		// A new folder of that name must be watched, a new log be read from its beginning,
		// unless that was done since: then the checksum tells.
		if len(parts) == 2 {
			s.watched = false
		}
		if s.sum == "" && (len(parts) == 2 || parts[2] == logName) {
			s.offset = 0
		}
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
		// Opening each session takes ten times as long. What is read is opened.
		fi, err := os.Lstat(filepath.Join(f.Dir, k.Host, k.Name, logName))
		if err == nil {
			f.sessions[k].offset = fi.Size()
			logs = append(logs, log{k, fi.ModTime()})
		}
	}
	if !f.Recent {
		return nil
	}
	slices.SortFunc(logs, func(x, y log) int { return y.at.Compare(x.at) })
	type arrival struct {
		Event
		at time.Time
	}
	var events []arrival
	for _, l := range logs[:min(len(logs), recentSessions)] {
		s, err := f.Spool.Session(l.key)
		if err != nil {
			continue
		}
		r, _, err := s.Tail(recentBytes)
		if err != nil && !errors.Is(err, fs.ErrNotExist) && f.Skipped != nil {
			f.Skipped(err)
		}
		if err == nil {
			var at time.Time // never before the session's earlier ones
			_ = f.records(l.key, r, func(e Event) error {
				if e.StoredAt.After(at) {
					at = e.StoredAt
				}
				events = append(events, arrival{e, at})
				return nil
			})
			_ = r.Close()
		}
		_ = s.Close()
	}
	slices.SortStableFunc(events, func(x, y arrival) int { return x.at.Compare(y.at) })
	for _, e := range events {
		if err := f.Visit(e.Event); err != nil {
			return err
		}
	}
	return nil
}

// read visits what was appended to a session's log. What cannot be read now may be after its next
// change.
func (f *Follower) read(k spool.Key) error {
	s, err := f.Spool.Session(k)
	if err != nil {
		delete(f.sessions, k)
		return nil // removed, or not hookspan's
	}
	defer func() { _ = s.Close() }()
	at := f.add(k) // before the log is read, so that no change is missed
	r, err := open(s, at)
	if err != nil {
		return nil
	}
	defer func() { _ = r.Close() }()
	err = f.records(k, r, f.Visit)
	if sum, bad := r.Check(); bad == nil {
		at.sum = sum
	}
	return err
}

// open returns a Reader from the session's position on, or from the beginning if the
// log is another one.
func open(s *spool.Session, at *session) (*spool.Reader, error) {
	r, err := s.Reader(at.offset)
	if err == nil && at.sum != "" {
		sum, err := r.Check()
		if err == nil && sum == at.sum {
			return r, nil
		}
		_ = r.Close()
		return s.Reader(0)
	}
	if errors.Is(err, spool.ErrPastEnd) {
		return s.Reader(0)
	}
	return r, err
}

// records visits the events of a reader and keeps the position behind them.
func (f *Follower) records(k spool.Key, r *spool.Reader, visit func(Event) error) error {
	s := f.add(k)
	for r.Next() {
		rec := r.Record()
		events, _ := f.Decode(rec) // what cannot be decoded is an event of an unknown kind
		for _, e := range events {
			id := identity{e.Name, e.Hash, e.StoredAt}
			if slices.ContainsFunc(s.seen, func(o identity) bool {
				return o.name == id.name && o.hash == id.hash && id.at.Sub(o.at).Abs() <= repeatWithin
			}) {
				continue
			}
			s.seen = append(s.seen[max(0, len(s.seen)-repeats+1):], id)
			if err := visit(Event{Key: k, Settings: rec.Settings, Event: e}); err != nil {
				return err
			}
		}
	}
	s.offset = r.Offset()
	return nil
}
