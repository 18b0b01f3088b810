package live

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/spool"
)

// world is a spool whose events are numbers.
type world struct {
	t   *testing.T
	dir string
	sp  *spool.Spool
}

func newWorld(t *testing.T) *world {
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
	f.Spool, f.Dir, f.Decode, f.Poll = w.sp, w.dir, decode, 10*time.Millisecond
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
	if f.watcher != nil && f.polls() {
		t.Error("sessions are polled although the system watches them")
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
	wait := w.follow(&Follower{unwatched: true}, 1)
	w.store(1, 2)
	if got := strings.Join(wait(), " "); got != "[1,2]" {
		t.Errorf("visited %s", got)
	}
}
