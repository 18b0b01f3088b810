package deliver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/spool"
)

// keepDelivered is how long a session's log stays after its last event once every
// destination has it: a session that continues within this time keeps its link to
// its earlier runs.
const keepDelivered = 24 * time.Hour

// keepEnded is how long the log of a session stays after its last event if that is the
// session's end. Then the link alone stays, for a day. Until then a hook that ran beside the
// end may store its event, and a session that begins in its place reads the log.
const keepEnded = 10 * time.Minute

// endRecords is how much of a log's end is read to find such an end, in bytes.
const endRecords = 16 << 10

// keepParked is how long a session stays because of runs that a destination
// refused, by the clock while it runs evenly: its delivery file is the only note of them, and a wrong key is not
// always fixed within a day.
const keepParked = 30 * 24 * time.Hour

// Limits bound the spool.
type Limits struct {
	// MaxBytes is the size of all logs together above which the oldest finished
	// sessions are removed; if zero, there is no limit.
	MaxBytes int64
}

// stored is a session as housekeeping sees it.
type stored struct {
	key  spool.Key
	size int64
	// last is when its log was written to.
	last      time.Time
	delivered bool
	// parked reports refused runs that may still be sent again on request, given those of a
	// destination that are too old for that.
	parked bool
	given  map[string]int
	// torn is the torn record at the log's end, if any.
	torn []spool.Damage
}

// Housekeep removes the logs of sessions that every destination has and that have
// ended, or been silent for a day, or for a month if a destination refused some of it. Also
// destinations that only another process is set up for must have them, and those that
// their records were meant for. If the logs
// together are too large, it removes the oldest finished sessions, delivered ones
// first. It logs the count of what it removes undelivered.
func (d *Deliverer) Housekeep(ctx context.Context, l Limits) error {
	keys, err := d.Spool.Sessions()
	if err != nil {
		return fmt.Errorf("list sessions: %w", err)
	}
	now := d.Now()
	var kept []stored
	var total int64
	var errs []error
	for _, k := range keys {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		st, err := d.inspect(k, now)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if st.parked {
			errs = append(errs, d.countAge(k, now))
		}
		old := hook.Elapsed(now, st.last, keepDelivered)
		if st.delivered && !st.parked && (old || d.ended(st, now)) {
			// A newer hookspan's events were skipped here, and perhaps not delivered
			// by it. What cannot be read stays for a day, for people to see.
			decode := d.Sources[k.Host].Decode
			if old {
				decode = nil
			}
			c, err := d.count(k, decode)
			gone := false
			if err == nil && c.lacks != "" {
				err = d.await(k, c.lacks)
			} else if err == nil && c.newer == 0 && c.unread == 0 {
				gone, err = d.remove(st, !old)
			}
			for name, n := range st.given {
				if gone {
					d.logf("%s: removed session %s: %d refused runs were not taken within %d days", name, k.Name, n, keepParked/(24*time.Hour))
				}
			}
			if err != nil || gone {
				errs = append(errs, err)
				continue
			}
		}
		total += st.size
		kept = append(kept, st)
	}
	if l.MaxBytes > 0 && total > l.MaxBytes {
		errs = append(errs, d.evict(kept, total-l.MaxBytes, now))
	}
	return errors.Join(errs...)
}

// await gives a destination that lacks a session a position: later sweeps need not read the log.
func (d *Deliverer) await(k spool.Key, name string) error {
	if !slices.Contains(destinationNames, name) {
		return nil
	}
	return d.visit(k, func(s *spool.Session) error { return update(s, name, func(*State) bool { return true }) })
}

// update changes a destination's state, unless another process delivers the session.
func update(s *spool.Session, name string, change func(*State) bool) error {
	unlock, ok, err := s.TryLock(name)
	if err != nil || !ok {
		return err
	}
	st, err := ReadState(s, name)
	if err == nil && change(st) {
		err = st.write(s, name)
	}
	return errors.Join(err, unlock())
}

// countAge stores how old the runs of a session are that were set aside. What another process
// delivers is left to a later sweep.
func (d *Deliverer) countAge(k spool.Key, now time.Time) error {
	return d.visit(k, func(s *spool.Session) error {
		for _, name := range d.names() {
			if st, err := d.owed(s, name); err != nil || st == nil || !st.countAge(now) {
				continue
			}
			if err := update(s, name, func(st *State) bool { return st.countAge(now) }); err != nil {
				return err
			}
		}
		return nil
	})
}

// ended reports that a session's last event is its end, that it was a while ago, and that no
// event is missing. The session in place of one that was cleared reads its log when its own
// first run ends. Runs of a host whose runs are tasks have no ids by which their events are
// known again later.
func (d *Deliverer) ended(st stored, now time.Time) (ended bool) {
	src := d.Sources[st.key.Host]
	if st.size == 0 || !src.Agent.Turns || !hook.Elapsed(now, st.last, keepEnded) {
		return false
	}
	_ = d.visit(st.key, func(s *spool.Session) error {
		// Each sweep looks at each session of a day, so a little of it is enough.
		for _, e := range src.events(s, max(0, st.size-endRecords)) {
			ended = e.Kind == hook.KindSessionEnd && hook.TextOf(e.Attrs, otelmap.KeySessionEndReason) != "clear" || ended && !begins(e)
		}
		for _, name := range d.names() {
			position, err := ReadState(s, name)
			ended = ended && err == nil && !position.Carry.Unfinished
			if err != nil {
				return err
			}
		}
		return nil
	})
	return ended
}

func (d *Deliverer) inspect(k spool.Key, now time.Time) (stored, error) {
	s, err := d.Spool.Session(k)
	if err != nil {
		return stored{}, err
	}
	defer func() { _ = s.Close() }()
	size, noSize := s.Size()
	last, noTime := s.ModTime()
	// A removal that was killed leaves positions in a log that is gone.
	logged, err := s.HasLog()
	if err := cmp.Or(noSize, noTime, err); err != nil {
		return stored{}, err
	}
	// Without any destination the session is not delivered.
	out := stored{key: k, size: size, last: last, delivered: len(d.Destinations) > 0, given: make(map[string]int)}
	for _, name := range d.names() {
		st, err := d.owed(s, name)
		if err != nil {
			return stored{}, err
		}
		if st == nil {
			continue
		}
		for _, p := range st.Parked {
			if p.Owed(now) {
				out.parked = true
			} else {
				out.given[name]++
			}
		}
		// The position does not apply to a log that was cut, whatever its size: its
		// later events were not delivered.
		follows, err := st.follows(s, size)
		if err != nil {
			return stored{}, err
		}
		if follows && st.Offset == size || !logged {
			continue
		}
		// After a day a torn record at the log's end will never be completed, and no
		// position can pass it.
		if follows && hook.Elapsed(now, last, keepDelivered) {
			if out.torn, err = tornEnd(s, st.Offset); err != nil {
				return stored{}, err
			}
			if out.torn != nil {
				continue
			}
		}
		out.delivered = false
		break
	}
	return out, nil
}

// names returns this process's destinations, then all others that exist.
func (d *Deliverer) names() []string {
	var names []string
	for i := range d.Destinations {
		names = append(names, d.Destinations[i].Name)
	}
	mine := func(n string) bool { return slices.Contains(names, n) }
	return append(names, slices.DeleteFunc(slices.Clone(destinationNames), mine)...)
}

// owed returns a destination's position, or nil if this process does not deliver to
// it and it never received anything of the session.
func (d *Deliverer) owed(s *spool.Session, name string) (*State, error) {
	if !slices.ContainsFunc(d.Destinations, func(dst Destination) bool { return dst.Name == name }) {
		if _, err := s.ReadFile(stateFile(name)); errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
	}
	return ReadState(s, name)
}

// tornEnd returns the torn record at the offset if nothing else follows.
func tornEnd(s *spool.Session, offset int64) ([]spool.Damage, error) {
	r, err := s.Reader(offset)
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }()
	if r.Next() || r.Err() != nil {
		return nil, r.Err()
	}
	if tail, ok := r.Tail(); ok && tail.Offset == offset {
		return []spool.Damage{tail}, nil
	}
	return nil, nil
}

// remove removes a session, or all but its link, and reports false if it is in use. It
// takes every destination's lock first: a delivery would write its position beside a later
// log, which would then look delivered.
func (d *Deliverer) remove(st stored, link bool) (gone bool, err error) {
	s, err := d.Spool.Session(st.key)
	if err != nil {
		return false, err
	}
	defer func() { _ = s.Close() }()
	for _, name := range d.names() {
		unlock, ok, lockErr := s.TryLock(name)
		if lockErr != nil || !ok {
			return false, lockErr
		}
		defer func() { err = errors.Join(err, unlock()) }()
	}
	if len(st.torn) > 0 {
		if err := s.Quarantine(st.torn); err != nil {
			return false, err
		}
	}
	if !link {
		return s.Remove(st.size)
	}
	if gone, err = s.RemoveLog(st.size); !gone || err != nil {
		return gone, err
	}
	// If this ends in between, a later log is read from its start without the link.
	for _, name := range d.names() {
		if _, none := s.ReadFile(stateFile(name)); none != nil {
			continue
		}
		position, err := ReadState(s, name)
		if err != nil {
			return true, err
		}
		position.begin()
		if err := position.write(s, name); err != nil {
			return true, err
		}
	}
	return true, nil
}

// evict removes sessions until excess bytes are gone.
func (d *Deliverer) evict(all []stored, excess int64, now time.Time) error {
	// A session that was written to within the idle time is at work; a link is not in excess.
	all = slices.DeleteFunc(all, func(st stored) bool { return st.size == 0 || !hook.Elapsed(now, st.last, d.idle()) })
	counts := make(map[spool.Key]counted, len(all))
	var errs []error
	all = slices.DeleteFunc(all, func(st stored) bool {
		c, err := d.count(st.key, nil)
		errs = append(errs, err)
		counts[st.key] = c
		return err != nil
	})
	for i := range all {
		st := &all[i]
		st.delivered = st.delivered && !st.parked && counts[st.key].lacks == ""
	}
	order := map[bool]int{true: -1} // what is delivered goes first
	slices.SortFunc(all, func(x, y stored) int {
		return cmp.Or(order[x.delivered]-order[y.delivered], x.last.Compare(y.last))
	})
	for _, st := range all {
		if excess <= 0 {
			break
		}
		gone, err := d.remove(st, false)
		if err != nil || !gone {
			errs = append(errs, err)
			continue
		}
		excess -= st.size
		c, what := counts[st.key], "delivered"
		switch {
		case st.parked:
			what = "NOT DELIVERED: refused runs among them"
		case c.lacks != "":
			what = "NOT DELIVERED to " + c.lacks
		case !st.delivered:
			what = "NOT DELIVERED"
		}
		d.logf("spool over its limit: removed session %s, last event %s: %d events, %d bytes, %s",
			st.key.Name, st.last.UTC().Format(time.RFC3339), c.n+c.newer, st.size, what)
	}
	return errors.Join(errs...)
}

// counted is what a session's log holds.
type counted struct {
	// n is the number of records, newer that of further ones of a version that this
	// hookspan does not know.
	n, newer int
	// unread is the number of those that decode cannot read, if there is one.
	unread int
	// lacks is a destination that a record was meant for and that never got anything of
	// the session: none of the processes that delivered it was set up for it.
	lacks string
}

// count reads a session's log. decode may be nil.
func (d *Deliverer) count(k spool.Key, decode func(*spool.Record) ([]hook.Event, error)) (c counted, err error) {
	s, err := d.Spool.Session(k)
	if err != nil {
		return c, err
	}
	defer func() { _ = s.Close() }()
	r, err := s.Reader(0)
	if err != nil {
		return c, err
	}
	defer func() { _ = r.Close() }()
	to := ""
	for r.Next() {
		c.n++
		if decode != nil {
			if _, err := decode(r.Record()); err != nil {
				c.unread++
			}
		}
		if r.Record().To == to {
			continue
		}
		to = r.Record().To
		for name := range strings.SplitSeq(to, ",") {
			if st, err := ReadState(s, name); name != "" && c.lacks == "" && (err != nil || st.Host == "") {
				c.lacks = name
			}
		}
	}
	c.newer = len(r.Unknown())
	return c, r.Err()
}
