package live

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/spool"
)

// world is a spool whose events are numbers.
type world struct {
	t   testing.TB
	dir string
	sp  *spool.Spool
}

func newWorld(t testing.TB) *world {
	w := &world{t: t, dir: filepath.Join(t.TempDir(), "spool")}
	var err error
	if w.sp, err = spool.Open(w.dir, spool.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.sp.Close() })
	return w
}

func (w *world) store(session, number int) {
	err := w.sp.Append(&spool.Record{
		Host: "cline", Session: strconv.Itoa(session), Event: "E", At: time.Unix(int64(number), 0), Payload: fmt.Appendf(nil, "[%d,%d]", session, number),
	})
	if err != nil {
		w.t.Error(err)
	}
}

func decode(r *spool.Record) ([]hook.Event, error) {
	return []hook.Event{{Session: r.Session, Name: r.Event, Hash: hook.Hash(r.Payload), Prompt: string(r.Payload), StoredAt: r.At}}, nil
}

var errEnough = errors.New("enough")

// follow starts a follower and returns once it follows. Its result has the events'
// payloads: it waits until there are so many.
func (w *world) follow(f *Follower, events int) (wait func() []string) {
	w.t.Helper()
	var got []string
	ready, done := make(chan struct{}), make(chan error, 1)
	f.Spool, f.Dir, f.Decode, f.Poll = w.sp, w.dir, decode, time.Millisecond
	f.CaughtUp = func() error { close(ready); return nil }
	f.Visit = func(e Event) error {
		if got = append(got, e.Prompt); len(got) == events {
			return errEnough
		}
		return nil
	}
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
	go func() { done <- f.Run(ctx, true) }()
	<-ready
	return func() []string {
		defer cancel()
		if err := <-done; !errors.Is(err, errEnough) {
			w.t.Errorf("ended with %v after %d events, want %d", err, len(got), events)
		}
		return got
	}
}

// TestLookIsCalledAsLongAsItAsks while nothing happens.
func TestLookIsCalledAsLongAsItAsks(t *testing.T) {
	w := newWorld(t)
	w.store(0, 1)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	looks := 0
	f := &Follower{
		Spool: w.sp, Dir: w.dir, Decode: decode, Poll: time.Millisecond, Visit: func(Event) error { return nil },
		Look: func() (bool, error) {
			if looks++; looks == 3 {
				return false, errEnough
			}
			return true, nil
		},
	}
	if err := f.Run(ctx, true); !errors.Is(err, errEnough) || looks != 3 {
		t.Errorf("%d looks, then %v", looks, err)
	}
}

// TestBusySessionsKeepNoOtherFromBeingPolled has a session that the system does not watch
// beside one whose events follow one another faster than polls.
func TestBusySessionsKeepNoOtherFromBeingPolled(t *testing.T) {
	w := newWorld(t)
	w.store(0, 0)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	const most = 5000
	f := &Follower{Spool: w.sp, Dir: w.dir, Decode: decode, Poll: 20 * time.Millisecond}
	f.CaughtUp = func() error {
		f.refuse = errors.New("too many watches")
		w.store(1, 0) // whose folder is new
		return nil
	}
	var stores sync.WaitGroup
	defer stores.Wait()
	busy := 0
	f.Visit = func(e Event) error {
		switch {
		case e.Session == "1" && e.Prompt == "[1,0]":
			w.store(0, 1)
		case e.Session == "1":
			return errEnough
		case busy == 10:
			w.store(1, 1)
			fallthrough
		default:
			if busy++; busy < most {
				next := busy + 1
				stores.Go(func() { w.store(0, next) })
			}
		}
		return nil
	}
	if err := f.Run(ctx, true); !errors.Is(err, errEnough) || busy == most {
		t.Errorf("%v after %d events of the other session", err, busy)
	}
}

func TestEachEventIsVisitedOnceAndInOrder(t *testing.T) {
	w := newWorld(t)
	w.store(0, -1) // before it follows
	const sessions, each = 16, 40
	f := &Follower{}
	wait := w.follow(f, sessions*each)
	var wg sync.WaitGroup
	for s := range sessions {
		wg.Go(func() {
			for n := range each {
				w.store(s, n)
			}
		})
	}
	got := wait()
	wg.Wait()
	next := make([]int, sessions)
	for _, text := range got {
		s, n := 0, 0
		if _, err := fmt.Sscanf(text, "[%d,%d]", &s, &n); err != nil {
			t.Fatal(err)
		}
		if next[s] != n {
			t.Fatalf("session %d: event %d, want %d", s, n, next[s])
		}
		next[s]++
	}
	if f.polling {
		t.Error("sessions are polled although the system watches them:", f.unwatched)
	}
}

// TestANewAgentsFirstSession has an agent whose folder is seen before it holds a session.
func TestANewAgentsFirstSession(t *testing.T) {
	w := newWorld(t)
	if err := os.Mkdir(filepath.Join(w.dir, "cline"), 0o700); err != nil {
		t.Fatal(err)
	}
	f := &Follower{}
	wait := w.follow(f, 1)
	w.store(1, 1)
	if got := wait(); !slices.Equal(got, []string{"[1,1]"}) {
		t.Errorf("visited %q", got)
	}
}

// TestAnEventThatComesAgainLaterIsAnother has two hooks for one event, and one with its payload
// later: a model may number its calls anew in each reply.
func TestAnEventThatComesAgainLaterIsAnother(t *testing.T) {
	w := newWorld(t)
	wait := w.follow(&Follower{}, 2)
	for _, at := range []time.Duration{0, 20 * time.Millisecond, 4 * time.Second} {
		if err := w.sp.Append(&spool.Record{Host: "cline", Session: "1", Event: "E", At: time.Unix(1, 0).Add(at), Payload: []byte(`[1]`)}); err != nil {
			t.Fatal(err)
		}
	}
	if got := wait(); !slices.Equal(got, []string{"[1]", "[1]"}) {
		t.Errorf("visited %q", got)
	}
}

func TestEventsOfASessionThatWasRemovedAndCameAgain(t *testing.T) {
	w := newWorld(t)
	w.store(1, 1)
	wait := w.follow(&Follower{Recent: true}, 3)
	s, err := w.sp.Session(spool.SessionKey("cline", "1"))
	if err != nil {
		t.Fatal(err)
	}
	size, err := s.Size()
	if err != nil {
		t.Fatal(err)
	}
	if ok, err := s.Remove(size); err != nil || !ok {
		t.Fatalf("removed: %v, %v", ok, err)
	}
	_ = s.Close()
	w.store(1, 2)
	w.store(2, 3)
	got := strings.Join(wait(), " ")
	if !strings.HasPrefix(got, "[1,1] ") || !strings.Contains(got, "[1,2]") || !strings.Contains(got, "[2,3]") {
		t.Errorf("visited %s", got)
	}
}

func TestRecentEventsComeFirstInTheirOrder(t *testing.T) {
	w := newWorld(t)
	for n := range 6 {
		w.store(n%2, n)
	}
	w.store(0, 4) // an agent that runs two hooks for one event
	var got []string
	f := &Follower{
		Spool: w.sp, Dir: w.dir, Decode: decode, Recent: true,
		Visit: func(e Event) error { got = append(got, e.Prompt); return nil },
	}
	if err := f.Run(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	if want := "[0,0] [1,1] [0,2] [1,3] [0,4] [1,5]"; strings.Join(got, " ") != want {
		t.Errorf("visited %s, want %s", got, want)
	}
}

func TestDamageHidesNoLaterEvent(t *testing.T) {
	w := newWorld(t)
	w.store(1, 1)
	path := filepath.Join(w.dir, spool.SessionKey("cline", "1").String(), "events.json-seq")
	log, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := log.WriteString("\x1e{\"v\":1,torn"); err != nil {
		t.Fatal(err)
	}
	_ = log.Close()
	wait := w.follow(&Follower{Recent: true}, 2)
	w.store(1, 2)
	if got := strings.Join(wait(), " "); got != "[1,1] [1,2]" {
		t.Errorf("visited %s", got)
	}
}

func TestSessionsThatCannotBeWatchedArePolled(t *testing.T) {
	w := newWorld(t)
	w.store(1, 1)
	full := errors.New("no space left")
	polling := make(chan error, 1)
	wait := w.follow(&Follower{refuse: full, Polling: func(reason error) { polling <- reason }}, 2)
	if reason := <-polling; !errors.Is(reason, full) {
		t.Errorf("the reason is %v, want %v", reason, full)
	}
	w.store(1, 2)
	w.store(2, 3)
	if got := strings.Join(wait(), " "); got != "[1,2] [2,3]" && got != "[2,3] [1,2]" {
		t.Errorf("visited %s", got)
	}
}

func TestNothingIsDoneWhileNothingHappens(t *testing.T) {
	w := newWorld(t)
	for n := range 200 {
		w.store(n, n)
	}
	f := &Follower{}
	wait := w.follow(f, 1)
	started := time.Now()
	w.store(7, 1000)
	if got := wait(); len(got) != 1 || got[0] != "[7,1000]" {
		t.Errorf("visited %s, want [7,1000]", got)
	}
	// An append is one or two changes of the file system. With a poll each millisecond
	// there would be more.
	if f.polling || f.wakeups > 4 {
		t.Errorf("woken %d times in %s, polling: %v (%v)", f.wakeups, time.Since(started), f.polling, f.unwatched)
	}
}

func TestAnotherLogInPlaceOfOneThatWasReadIsReadFromItsBeginning(t *testing.T) {
	for name, readBefore := range map[string]bool{"read": true, "not read": false} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.store(1, 1)
			f := &Follower{Spool: w.sp, Dir: w.dir, Decode: decode}
			var got []string
			f.Visit = func(e Event) error { got = append(got, e.Prompt); return nil }
			f.sessions = make(map[spool.Key]*session)
			k := spool.SessionKey("cline", "1")
			f.add(k)
			if !readBefore {
				if err := f.begin([]spool.Key{k}); err != nil {
					t.Fatal(err)
				}
			} else if err := f.read(k); err != nil {
				t.Fatal(err)
			}
			read := func() {
				t.Helper()
				if err := f.read(k); err != nil {
					t.Fatal(err)
				}
			}
			// The folder stays, as with a quarantine in it; the new log is larger.
			log := filepath.Join(w.dir, k.String(), logName)
			if err := os.Remove(log); err != nil {
				t.Fatal(err)
			}
			w.store(1, 2)
			w.store(1, 3)
			if readBefore {
				read() // before the removal is reported
			}
			if f.note(fsnotify.Event{Name: log, Op: fsnotify.Remove}, map[spool.Key]bool{}) {
				t.Error("all sessions are read for one log")
			}
			f.note(fsnotify.Event{Name: filepath.Dir(log), Op: fsnotify.Remove}, map[spool.Key]bool{})
			read()
			read()
			want := "[1,2] [1,3]"
			if readBefore {
				want = "[1,1] " + want
			}
			if strings.Join(got, " ") != want {
				t.Errorf("visited %s, want %s", got, want)
			}
		})
	}
}

func TestRemovedSessionsAreForgotten(t *testing.T) {
	w := newWorld(t)
	w.store(1, 1)
	f := &Follower{Spool: w.sp, Dir: w.dir, Decode: decode, sessions: make(map[spool.Key]*session)}
	for range 2 {
		if _, err := f.scan(); err != nil {
			t.Fatal(err)
		}
		if err := os.RemoveAll(filepath.Join(w.dir, "cline")); err != nil {
			t.Fatal(err)
		}
	}
	if len(f.sessions) > 0 {
		t.Errorf("%d sessions are known after their removal", len(f.sessions))
	}
}

func TestRecentEventsOfASessionKeepTheOrderOfItsLog(t *testing.T) {
	w := newWorld(t)
	w.store(1, 5)
	w.store(1, 3) // its hook received it before the other, and stored it after
	w.store(2, 4)
	var got []string
	f := &Follower{
		Spool: w.sp, Dir: w.dir, Decode: decode, Recent: true,
		Visit: func(e Event) error { got = append(got, e.Prompt); return nil },
	}
	if err := f.Run(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	if want := "[2,4] [1,5] [1,3]"; strings.Join(got, " ") != want {
		t.Errorf("visited %s, want %s", got, want)
	}
}

// TestALogThatCannotBeOpenedKeepsNoOtherFromBeingShown has two logs that are no files
// beside one that is read.
func TestALogThatCannotBeOpenedKeepsNoOtherFromBeingShown(t *testing.T) {
	w := newWorld(t)
	for session := range 3 {
		w.store(session, 1)
	}
	log := func(session int) string {
		return filepath.Join(w.dir, "cline", spool.SessionKey("cline", strconv.Itoa(session)).Name, logName)
	}
	for session := range 2 {
		if err := errors.Join(os.Remove(log(session)), os.Mkdir(log(session), 0o700)); err != nil {
			t.Fatal(err)
		}
	}
	var skipped []error
	f := &Follower{Recent: true, Skipped: func(err error) { skipped = append(skipped, err) }}
	wait := w.follow(f, 2)
	w.store(2, 2)
	if got := wait(); !slices.Equal(got, []string{"[2,1]", "[2,2]"}) || len(skipped) != 2 {
		t.Errorf("events %v, skipped %v, want those of the log that is read and two logs", got, skipped)
	}
}
