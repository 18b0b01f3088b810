package userhooks

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/hook/cline"
	"github.com/hookspan/hookspan/internal/files/regular"
	"github.com/hookspan/hookspan/internal/userhooks/hooksession"
	"github.com/hookspan/hookspan/spool"
)

// The user's agent waits while an event's span is looked for, and most of the
// time goes into decoding. So the end of the session's log is read, firstLook
// bytes of it; only where that does not tell even the run, four times as many each
// further time, up to parentTail.
const (
	firstLook  = 256 << 10
	parentTail = 16 * firstLook
)

// Finder finds the traceparent of the span that an event will have, and of its run's root,
// among the last records of a session's log; whole reports that they are all. about is the
// hash of the event's payload. Both are empty if they do not show it.
type Finder func(session string, records []*spool.Record, whole bool, about uint64, idle time.Duration) (own, root string)

// Parent is the traceparent of the span that an event of the session will have:
// the call's, or the run's root for any other event and for a call that comes
// late in a long run. about is the hash of the event's payload as it was stored.
// dir is the folder for what is remembered, as in Hooks; empty remembers nothing.
// The answer is empty where the span cannot be known: the event is not among the
// newest of the log, or its run began too far back. find is asked where something is
// uncertain; if it is nil, the error is ErrSpan there.
func Parent(sp *spool.Spool, find Finder, dir, session string, about uint64, idle time.Duration) (string, error) {
	k := spool.SessionKey(hook.HostCline, session)
	s, err := sp.Session(k)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer func() { _ = s.Close() }()
	l := lookup{finder: find, session: session, about: about, idle: cmp.Or(idle, defaultIdle)}
	if dir != "" {
		l.file = filepath.Join(dir, k.Host, k.Name, "run")
	}
	return l.find(s)
}

// defaultIdle is how long a run may be silent before it counts as ended, as in otelmap.
const defaultIdle = 30 * time.Minute

// lookup looks for the span of one event.
type lookup struct {
	finder  Finder
	session string
	about   uint64
	idle    time.Duration
	file    string // where the run is remembered; empty for nowhere
}

// maxKnownRun is the largest file of a knownRun, in bytes.
const maxKnownRun = 64 << 10

// knownRun is what an earlier look-up has found.
type knownRun struct {
	// Root is the root span's traceparent; empty if it could not be known.
	Root string `json:"root"`
	// Offset is that of a record in the log that belongs to the run.
	Offset int64 `json:"offset"`
	// At is when that was stored.
	At time.Time `json:"at"`
	// Late reports that no run begins or ends among the firstLook bytes before it: until
	// one does, a further look-up finds nothing but Root.
	Late bool `json:"late"`
	// Plain is what the records up to that one show; nil if it is uncertain. Another
	// meaning of its members needs another name.
	Plain *plainRun `json:"plain1,omitempty"`
}

// is reports whether a record is the one at Offset: a log can be replaced.
func (k knownRun) is(r *spool.Record) bool { return r.Offset == k.Offset && r.At.Equal(k.At) }

func (l *lookup) find(s *spool.Session) (string, error) {
	run := l.recall()
	if own := l.readOn(s, run); own != "" {
		return own, nil
	}
	if newest := l.later(s, run); newest != nil {
		l.remember(run, knownRun{Root: run.Root, Late: true}, newest)
		return run.Root, nil
	}
	var newest *spool.Record
	for limit := int64(firstLook); limit <= parentTail; limit *= 4 {
		records, whole, err := tail(s, limit)
		if err != nil {
			return "", fmt.Errorf("look for the event's span: %w", err)
		}
		if len(records) == 0 && !whole {
			continue
		}
		if whole || bounded(records) {
			own, found, err := l.span(records, whole)
			if err != nil {
				return "", err
			}
			if own != "" {
				l.remember(run, found, records[len(records)-1])
				return own, nil
			}
		}
		if whole {
			return "", nil
		}
		newest = records[len(records)-1]
		if l.goesOn(run, records) {
			l.remember(run, knownRun{Root: run.Root, Late: !bounded(records)}, newest)
			return run.Root, nil
		}
	}
	if newest != nil {
		l.remember(run, knownRun{}, newest)
	}
	return "", nil
}

// readOn reads what was stored since an earlier look-up in a plainRun.
func (l *lookup) readOn(s *spool.Session, run knownRun) (own string) {
	if run.Plain == nil || run.Plain.Made == nil || run.Plain.Waiting == nil {
		return ""
	}
	records := since(s, run)
	if len(records) == 0 || !run.is(records[0]) {
		return ""
	}
	run.Plain.read(l.session, records[1:], l.idle)
	own, root := run.Plain.span(l.session, l.about)
	if own != "" {
		l.remember(run, knownRun{Root: root, Plain: run.Plain}, records[len(records)-1])
	}
	return own
}

// span finds the event's span among records, and what is remembered of its run.
func (l *lookup) span(records []*spool.Record, whole bool) (own string, run knownRun, err error) {
	plain := &plainRun{Fresh: whole}
	plain.read(l.session, records, l.idle)
	own, run.Root = plain.span(l.session, l.about)
	if own != "" {
		run.Plain = plain
		return own, run, nil
	}
	if l.finder == nil {
		return "", run, ErrSpan
	}
	own, run.Root = l.finder(l.session, records, whole, l.about, l.idle)
	return own, run, nil
}

// recall returns what an earlier look-up has found, or what fits no record.
func (l *lookup) recall() knownRun {
	run := knownRun{Offset: -1}
	if l.file == "" {
		return run
	}
	data, err := regular.Read(l.file, regular.Options{Max: maxKnownRun})
	if err != nil || json.Unmarshal(data, &run) != nil {
		return knownRun{Offset: -1}
	}
	return run
}

// later reads what was stored since an earlier look-up, if that suffices, and returns the
// newest record.
func (l *lookup) later(s *spool.Session, run knownRun) *spool.Record {
	if !run.Late {
		return nil
	}
	if records := since(s, run); l.goesOn(run, records) && !bounded(records) {
		return records[len(records)-1]
	}
	return nil
}

// since reads the records from the remembered one on, if these are not many.
func since(s *spool.Session, run knownRun) []*spool.Record {
	size, err := s.Size()
	if n := size - run.Offset; err != nil || run.Offset < 0 || n < 0 || n > firstLook {
		return nil
	}
	records, _, err := tail(s, size-run.Offset)
	if err != nil {
		return nil
	}
	return records
}

// remember notes the run that the newest record belongs to, where it is time:
// writing takes as long as decoding a step. Failing at it costs the next look-up time.
func (l *lookup) remember(before, run knownRun, newest *spool.Record) {
	const step = firstLook / 16
	since := newest.Offset
	if before.Offset >= 0 && before.Offset <= newest.Offset && before.Root == run.Root {
		since -= before.Offset
	}
	if l.file == "" || since < step || boundary(newest) {
		return
	}
	run.Offset, run.At = newest.Offset, newest.At
	if b, err := json.Marshal(run); err == nil && len(b) <= maxKnownRun {
		_ = hooksession.Replace(l.file, b)
	}
}

// goesOn reports that the run that was found earlier has gone on to the newest of
// the records: nothing has begun or ended since, and it was never silent so long
// that it counts as ended.
func (l *lookup) goesOn(run knownRun, records []*spool.Record) bool {
	at := slices.IndexFunc(records, run.is)
	if at < 0 {
		return false
	}
	last, rest := run.At, records[at+1:]
	for i, r := range rest {
		// The end of the run is the last that belongs to it.
		ends := cline.Peek(nil, r.Event).Kind.Terminal() && i == len(rest)-1
		if r.At.Sub(last) > l.idle || boundary(r) && !ends {
			return false
		}
		last = r.At
	}
	return true
}

// tail reads the last records of a log and reports whether they are all.
func tail(s *spool.Session, limit int64) (records []*spool.Record, whole bool, err error) {
	r, whole, err := s.Tail(limit)
	if err != nil {
		return nil, false, err
	}
	for r.Next() {
		records = append(records, r.Record())
	}
	return records, whole, errors.Join(r.Err(), r.Close())
}

// bounded reports that a run may begin or end among the records, which spares
// decoding those of a run that began before them all.
func bounded(records []*spool.Record) bool { return slices.ContainsFunc(records, boundary) }

// boundary reports that a run may begin or end with the record, by its name alone.
func boundary(r *spool.Record) bool {
	kind := cline.Peek(nil, r.Event).Kind
	return kind == hook.KindRunStart || kind == hook.KindRunResume || kind.Terminal()
}

// below is the environment in which further spans go below that one. What
// another tracer said of its own parent goes with that parent.
func below(env []string, traceparent string) []string {
	if traceparent == "" {
		return env
	}
	env = slices.DeleteFunc(slices.Clone(env), func(kv string) bool {
		return strings.HasPrefix(kv, "TRACEPARENT=") || strings.HasPrefix(kv, "TRACESTATE=")
	})
	return append(env, "TRACEPARENT="+traceparent)
}
