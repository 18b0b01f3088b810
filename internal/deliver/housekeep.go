package deliver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/spool"
)

// keepDelivered is how long a session's log stays after its last event once
// every destination has everything: a session that goes on within it keeps its
// link to what came before.
const keepDelivered = 24 * time.Hour

// keepParked is how long a session stays for the sake of runs that a
// destination refused: its delivery file is the only note of them, and a wrong
// key is not always mended within a day.
const keepParked = 30 * 24 * time.Hour

// Limits bound the spool.
type Limits struct {
	// MaxBytes is the size of all logs together above which the oldest finished
	// sessions are removed; if zero, there is no limit.
	MaxBytes int64
}

// resting is a session as housekeeping sees it.
type resting struct {
	key       spool.Key
	size      int64
	last      time.Time
	delivered bool
	// parked reports refused runs that may still be sent again on request.
	parked bool
	// tail is what a dead process left at the log's end, empty if nothing.
	tail []spool.Damage
}

// Housekeep removes the logs of sessions that every destination has whole, also
// one that only another process is set up for, and that have been silent for a
// day; what a destination refused keeps them for a month. When the logs together
// are too large, the oldest finished sessions go: delivered ones first. What is
// removed undelivered is logged with its count; nothing is removed silently.
func (d *Deliverer) Housekeep(ctx context.Context, l Limits) error {
	keys, err := d.Spool.Sessions()
	if err != nil {
		return fmt.Errorf("list sessions: %w", err)
	}
	now := d.Now()
	var rest []resting
	var total int64
	var errs []error
	for _, k := range keys {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		r, err := d.rests(k, now)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			errs = append(errs, err)
			continue
		}
		if r.delivered && !r.parked && now.Sub(r.last) > keepDelivered {
			if gone, err := d.retire(r); err != nil || gone {
				errs = append(errs, err)
				continue
			}
		}
		total += r.size
		rest = append(rest, r)
	}
	if l.MaxBytes > 0 && total > l.MaxBytes {
		errs = append(errs, d.evict(rest, total-l.MaxBytes, now))
	}
	return errors.Join(errs...)
}

// retire removes a session that everybody has. Events that a newer hookspan
// wrote were read over here and may have reached nobody: they keep the log.
func (d *Deliverer) retire(r resting) (gone bool, err error) {
	if _, newer, err := d.count(r.key); err != nil || newer > 0 {
		return false, err
	}
	return d.remove(r)
}

func (d *Deliverer) rests(k spool.Key, now time.Time) (resting, error) {
	s, err := d.Spool.Session(k)
	if err != nil {
		return resting{}, err
	}
	defer func() { _ = s.Close() }()
	size, err := s.Size()
	if err != nil {
		return resting{}, err
	}
	last, err := s.ModTime()
	if err != nil {
		return resting{}, err
	}
	// With no destination at all nobody has anything.
	r := resting{key: k, size: size, last: last, delivered: len(d.Destinations) > 0}
	for _, name := range d.names() {
		st, err := d.owed(s, name)
		if err != nil {
			return resting{}, err
		}
		if st == nil {
			continue
		}
		r.parked = r.parked || slices.ContainsFunc(st.Parked, func(p Parked) bool { return now.Sub(p.At) < keepParked })
		// A log that was cut is not the one of the position, whatever its size: what
		// has come since was not delivered.
		follows, err := st.follows(s, size)
		if err != nil {
			return resting{}, err
		}
		if !follows {
			r.delivered = false
			return r, nil
		}
		if st.Offset == size {
			continue
		}
		if now.Sub(last) <= keepDelivered {
			r.delivered = false
			return r, nil
		}
		// After a day what is still no record at the log's end will never be
		// one, and no position can pass it.
		tail, ok, err := tornEnd(s, st.Offset)
		if err != nil {
			return resting{}, err
		}
		if !ok {
			r.delivered = false
			return r, nil
		}
		r.tail = []spool.Damage{tail}
	}
	return r, nil
}

// names are the destinations of this process, then all others there can be.
func (d *Deliverer) names() []string {
	var names []string
	for i := range d.Destinations {
		names = append(names, d.Destinations[i].Name)
	}
	for _, n := range destinationNames {
		if !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	return names
}

// owed returns a destination's position, nil of one that this process does not
// deliver to and that never had anything of the session.
func (d *Deliverer) owed(s *spool.Session, name string) (*State, error) {
	if !slices.ContainsFunc(d.Destinations, func(dst Destination) bool { return dst.Name == name }) {
		if _, err := s.ReadFile(stateFile(name)); errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
	}
	return ReadState(s, name)
}

// tornEnd reports that no record follows the offset, only a torn one.
func tornEnd(s *spool.Session, offset int64) (tail spool.Damage, ok bool, err error) {
	r, err := s.Reader(offset)
	if err != nil {
		return tail, false, err
	}
	defer func() { _ = r.Close() }()
	if r.Next() || r.Err() != nil {
		return tail, false, r.Err()
	}
	tail, ok = r.Tail()
	return tail, ok && tail.Offset == offset, nil
}

// remove takes every destination's lock first: whoever delivers the session
// now would write its position beside a later log, which would then look
// delivered. It reports false when the session is in use.
func (d *Deliverer) remove(r resting) (gone bool, err error) {
	s, err := d.Spool.Session(r.key)
	if err != nil {
		return false, err
	}
	defer func() { _ = s.Close() }()
	for _, name := range d.names() {
		unlock, ok, err := s.TryLock(name)
		if err != nil || !ok {
			return false, err
		}
		defer func() { err = errors.Join(err, unlock()) }()
	}
	if len(r.tail) > 0 {
		if err := s.Quarantine(r.tail); err != nil {
			return false, err
		}
	}
	return s.Remove(r.size)
}

// evict removes sessions until excess bytes are gone.
func (d *Deliverer) evict(rest []resting, excess int64, now time.Time) error {
	slices.SortFunc(rest, func(x, y resting) int {
		if x.delivered != y.delivered {
			if x.delivered {
				return -1
			}
			return 1
		}
		return x.last.Compare(y.last)
	})
	var errs []error
	for _, r := range rest {
		if excess <= 0 {
			break
		}
		if now.Sub(r.last) <= cmp.Or(d.Map.IdleTimeout, otelmap.DefaultIdleTimeout) {
			continue // still at work
		}
		events, newer, err := d.count(r.key)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		gone, err := d.remove(r)
		if err != nil || !gone {
			errs = append(errs, err)
			continue
		}
		excess -= r.size
		what := "delivered"
		if !r.delivered {
			what = "NOT DELIVERED"
		}
		d.logf("spool over its limit: removed session %s, last event %s: %d events, %d bytes, %s",
			r.key.Name, r.last.UTC().Format(time.RFC3339), events+newer, r.size, what)
	}
	return errors.Join(errs...)
}

// count returns how many records a session has, and how many more of a version
// that this hookspan does not know.
func (d *Deliverer) count(k spool.Key) (n, newer int, err error) {
	s, err := d.Spool.Session(k)
	if err != nil {
		return 0, 0, err
	}
	defer func() { _ = s.Close() }()
	r, err := s.Reader(0)
	if err != nil {
		return 0, 0, err
	}
	defer func() { _ = r.Close() }()
	for r.Next() {
		n++
	}
	return n, r.Unknown(), r.Err()
}
