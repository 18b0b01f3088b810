package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/otelmap"
)

func TestRemoveTakesOneTraceAndItsSpans(t *testing.T) {
	s := open(t)
	b := newBuild("to go")
	b.Root("to go", otelmap.OutcomeCompleted, time.Second)
	upload(t, s, b.Messages())
	upload(t, s, clineTrace().Messages())
	if err := s.Remove(t.Context(), traceID(b)); err != nil {
		t.Fatal(err)
	}
	left := everything(t, s)
	if len(left) != 1 || left[0].TraceID == traceID(b) {
		t.Errorf("left are %d traces", len(left))
	}
	var spans int
	if err := s.db.QueryRowContext(t.Context(), `SELECT count(*) FROM spans`).Scan(&spans); err != nil || spans != otlp.Count(left[0].ResourceSpans) {
		t.Errorf("%d spans are left, want %d; %v", spans, otlp.Count(left[0].ResourceSpans), err)
	}
	if err := s.Remove(t.Context(), traceID(b)); !errors.Is(err, ErrNotFound) {
		t.Errorf("a second time: %v, want %v", err, ErrNotFound)
	}
	upload(t, s, b.Messages())
	if n := len(everything(t, s)); n != 2 {
		t.Errorf("%d traces after it came again, want 2", n)
	}
}

func TestPrune(t *testing.T) {
	s := open(t)
	// Several batches, the oldest first.
	const n = 10*pruneBatch + 5
	ids := series(t, s, n)
	size := func() (n int64) {
		for _, suffix := range []string{"", "-wal"} {
			fi, err := os.Stat(s.path + suffix)
			if err != nil {
				t.Fatal(err)
			}
			n += fi.Size()
		}
		return n
	}
	before := size()
	// Every trace ends one second after its start.
	got, err := s.Prune(t.Context(), at(time.Second))
	if got != 0 || err != nil {
		t.Errorf("nothing ended before the first end: got %d, %v", got, err)
	}
	got, err = s.Prune(t.Context(), at((n-2)*time.Minute+time.Second))
	if want := n - 2; got != want || err != nil {
		t.Errorf("got %d, %v, want %d", got, err, want)
	}
	var left []string
	for _, tr := range everything(t, s) {
		left = append(left, tr.TraceID)
		if otlp.Count(tr.ResourceSpans) != 1 {
			t.Errorf("trace %s has %d spans, want 1", tr.TraceID, otlp.Count(tr.ResourceSpans))
		}
	}
	slices.Reverse(left)
	if d := cmp.Diff(ids[n-2:], left); d != "" {
		t.Errorf("left are (-want +got):\n%s", d)
	}
	if after := size(); after > before/3 { // an empty store has some thirty pages
		t.Errorf("the store has %d bytes, before it had %d", after, before)
	}
	// A removed trace can be stored again.
	series(t, s, 1)
	if n := len(everything(t, s)); n != 3 {
		t.Errorf("got %d traces, want 3", n)
	}
	var origins int
	if _, err := s.Prune(t.Context(), at(24*365*time.Hour)); err != nil {
		t.Error(err)
	}
	if err := s.db.QueryRowContext(t.Context(), `SELECT count(*) FROM origins`).Scan(&origins); err != nil || origins != 0 {
		t.Errorf("%d resources are left, %v", origins, err)
	}
}

func TestRetentionCountsFromWhenATraceWasStored(t *testing.T) {
	const day = 24 * time.Hour
	s := open(t)
	now := at(100 * day)
	s.Now = func() time.Time { return now }
	b := newBuild("imported")
	b.Root("imported", otelmap.OutcomeCompleted, time.Minute)
	upload(t, s, b.Messages())
	prune := func(want int) {
		t.Helper()
		if n, err := s.Prune(t.Context(), now.Add(-30*day)); n != want || err != nil {
			t.Errorf("at %v: removed %d, %v, want %d", now, n, err, want)
		}
	}
	prune(0)
	now = at(129 * day)
	prune(0)
	// An upload that changes nothing does not extend the retention.
	upload(t, s, b.Messages())
	now = at(131 * day)
	prune(1)
	if n := len(everything(t, s)); n != 0 {
		t.Errorf("%d traces are left", n)
	}
}

func TestPrunedRunsAreRememberedForAYear(t *testing.T) {
	const day = 24 * time.Hour
	s := open(t)
	now := t0
	s.Now = func() time.Time { return now }
	gone := rooted(t, s, "conv_1", "/a", 0, 10*time.Second)
	roots := func(want ...Root) {
		t.Helper()
		got, err := s.Conversations(t.Context(), "conv_1")
		if err != nil {
			t.Fatal(err)
		}
		beside, err := s.Beside(t.Context(), Place{"cline", "/a", "conv_", at(time.Second), at(2 * time.Second)})
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("of the session (-want +got):\n%s", d)
		}
		if d := cmp.Diff(want, beside); d != "" {
			t.Errorf("of the place (-want +got):\n%s", d)
		}
	}
	roots(gone)
	if n, err := s.Prune(t.Context(), at(day)); n != 1 || err != nil {
		t.Fatalf("removed %d, %v", n, err)
	}
	removed := gone
	removed.Removed = true
	roots(removed)
	// A run that is stored again is both stored and removed.
	rooted(t, s, "conv_1", "/a", 0, 10*time.Second)
	roots(gone, removed)
	if _, err := s.Prune(t.Context(), at(2*day)); err != nil {
		t.Fatal(err)
	}
	roots(removed)
	now = at(400 * day)
	if _, err := s.Prune(t.Context(), at(2*day)); err != nil {
		t.Fatal(err)
	}
	roots()
}

func TestPrunedTextIsGoneFromTheDisk(t *testing.T) {
	s := open(t)
	b := newBuild("secret")
	b.Root("the needle in the haystack", otelmap.OutcomeCompleted, time.Second)
	upload(t, s, b.Messages())
	upload(t, s, clineTrace().Messages())
	if _, err := s.Prune(t.Context(), at(10*time.Second)); err != nil {
		t.Fatal(err)
	}
	for _, suffix := range []string{"", "-wal"} {
		data, err := os.ReadFile(s.path + suffix)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(data), "the needle in the haystack") {
			t.Errorf("the text is still in the file%s", suffix)
		}
	}
	if n := len(everything(t, s)); n != 1 {
		t.Errorf("got %d traces, want 1", n)
	}
}

func TestPruneStopsWhenCancelled(t *testing.T) {
	s := open(t)
	series(t, s, 3)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if n, err := s.Prune(ctx, at(time.Hour)); n != 0 || !errors.Is(err, context.Canceled) {
		t.Errorf("got %d, %v, want 0, %v", n, err, context.Canceled)
	}
}

func TestLimitRemovesTheOldestTraces(t *testing.T) {
	s := open(t)
	ids := series(t, s, 8*pruneBatch)
	before, err := s.used(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if n, err := s.Limit(t.Context(), before); n != 0 || err != nil {
		t.Errorf("within the limit: removed %d, %v", n, err)
	}
	if n, err := s.Limit(t.Context(), 0); n != 0 || err != nil {
		t.Errorf("without a limit: removed %d, %v", n, err)
	}
	most := before * 2 / 3
	n, err := s.Limit(t.Context(), most)
	if n < pruneBatch || n >= len(ids)*3/4 || err != nil {
		t.Errorf("removed %d of %d, %v", n, len(ids), err)
	}
	if after, err := s.used(t.Context()); after > most || err != nil {
		t.Errorf("%d bytes, %v, want at most %d", after, err, most)
	}
	if size, err := s.Size(t.Context()); size > most+1<<16 || err != nil {
		t.Errorf("%d bytes on the disk, %v, want about %d", size, err, most)
	}
	list, err := s.List(t.Context(), Filter{Limit: -1})
	if err != nil || len(list) != len(ids)-n || list[len(list)-1].TraceID != ids[n] {
		t.Errorf("%d traces are left, %v, want the newest", len(list), err)
	}
	if got, err := s.Removals(t.Context()); got != (Removals{int64(n), t0}) || err != nil {
		t.Errorf("counted %+v, %v, want %d", got, err, n)
	}
	// A limit that nothing fits ends.
	if n, err := s.Limit(t.Context(), 1); n != len(list) || err != nil {
		t.Errorf("removed %d, %v, want %d", n, err, len(list))
	}
}

// Years that nanoseconds since 1970 cannot have select nothing before, and everything
// after.
func TestTimesOutsideTheRangeSelectAndDelete(t *testing.T) {
	s := open(t)
	series(t, s, 5)
	year := func(y int) time.Time { return time.Date(y, 10, 31, 0, 0, 0, 0, time.UTC) }
	for _, y := range []int{2, 1026, 1602, 1677, 1969} {
		if n, err := s.Prune(t.Context(), year(y)); n != 0 || err != nil {
			t.Errorf("Prune before %d: %d, %v", y, n, err)
		}
		if n, err := s.Delete(t.Context(), selected(t, s, Filter{Until: year(y)})); n != 0 || err != nil {
			t.Errorf("Delete until %d: %d, %v", y, n, err)
		}
		if n, err := s.Count(t.Context(), Filter{Since: year(y)}); n != 5 || err != nil {
			t.Errorf("since %d: %d, %v", y, n, err)
		}
	}
	for _, y := range []int{2263, 2554, 9999} {
		if n, err := s.Count(t.Context(), Filter{Until: year(y)}); n != 5 || err != nil {
			t.Errorf("until %d: %d, %v", y, n, err)
		}
		if n, err := s.Count(t.Context(), Filter{Since: year(y)}); n != 0 || err != nil {
			t.Errorf("since %d: %d, %v", y, n, err)
		}
	}
}

// meanwhile counts the traces, up to ten, that other stores while f works.
func meanwhile(t *testing.T, other *Store, f func() error) (stored int, err error) {
	var began, ended atomic.Bool
	between := make(chan int)
	go func() {
		n := 0
		for i := 0; n < 10 && !ended.Load(); i++ { // f may wait for the last
			b := newBuild(fmt.Sprint("beside ", i))
			b.Root("beside", otelmap.OutcomeCompleted, 2*time.Hour)
			during := began.Load()
			if err := other.UploadTraces(context.Background(), b.Messages()); err != nil {
				t.Error(err)
			}
			if during && !ended.Load() {
				n++
			}
		}
		between <- n
	}()
	began.Store(true)
	err = f()
	ended.Store(true)
	return <-between, err
}

// TestLongWorkLetsOthersWrite has another process store traces while a task of many
// spans is removed or indexed.
func TestLongWorkLetsOthersWrite(t *testing.T) {
	big := func(t *testing.T, batches int, indexed bool) (*Store, string) {
		s := open(t)
		b := newBuild("large")
		b.Root("task", otelmap.OutcomeCompleted, time.Second)
		for i := range batches * indexBatch {
			b.Tool(1, "Read", fmt.Sprintf(`{"path":"file%dx"}`, i), 0, time.Second)
		}
		upload(t, s, b.Messages())
		upload(t, s, clineTrace().Messages())
		if indexed {
			if _, err := s.Index(t.Context(), 0); err != nil {
				t.Fatal(err)
			}
		}
		return s, traceID(b)
	}
	for name, c := range map[string]struct {
		indexed bool
		f       func(s *Store, id string) error
	}{
		"index":  {false, func(s *Store, _ string) error { _, err := s.Index(t.Context(), 0); return err }},
		"delete": {true, func(s *Store, id string) error { _, err := s.Delete(t.Context(), []string{id}); return err }},
		"prune":  {true, func(s *Store, _ string) error { _, err := s.Prune(t.Context(), at(time.Hour)); return err }},
		"limit":  {true, func(s *Store, _ string) error { _, err := s.Limit(t.Context(), 1); return err }},
		"remove": {true, func(s *Store, id string) error { return s.Remove(t.Context(), id) }},
	} {
		t.Run(name, func(t *testing.T) {
			// Where the machine has little time for the other process the work is longer.
			var n int
			for batches := 3; n < 3 && batches < 200; batches *= 4 {
				s, id := big(t, batches, c.indexed)
				var err error
				if n, err = meanwhile(t, openAt(t, s.path), func() error { return c.f(s, id) }); err != nil {
					t.Fatal(err)
				}
			}
			if n < 3 {
				t.Errorf("another process stored %d traces meanwhile, want several", n)
			}
		})
	}
}

// TestInterruptedRemovalIsCompleted cancels a removal when its traces are hidden.
func TestInterruptedRemovalIsCompleted(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // not for secrets
	s := open(t)
	secret := prose(r, 20)
	b := newBuild("secret")
	b.Root(secret, otelmap.OutcomeCompleted, time.Second)
	for range 2 * fewSpans {
		b.Tool(1, "Bash", secret, 0, time.Second)
	}
	b.Event(1, otelmap.EventHook, 0, str(otelmap.KeyHookCommand, "guard.sh"))
	upload(t, s, b.Messages())
	upload(t, s, clineTrace().Messages())
	if _, err := s.Index(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	err := s.write(t.Context(), "test", func(tx *sql.Tx) error { return hide(t.Context(), &prepared{on: tx}, 1) })
	if err != nil {
		t.Fatal(err)
	}
	again := newBuild("secret") // It comes again before it is gone.
	again.Root("harmless", otelmap.OutcomeCompleted, time.Second)
	upload(t, s, again.Messages())
	word := strings.Fields(secret)[7]
	for range 2 {
		if list, err := s.List(t.Context(), Filter{}); len(list) != 2 || err != nil {
			t.Errorf("%d traces, %v, want two", len(list), err)
		}
		if hits, err := s.Search(t.Context(), Filter{Text: word}); len(hits) != 0 || err != nil {
			t.Errorf("found %d times, %v", len(hits), err)
		}
		if runs, err := s.HookRuns(t.Context(), Filter{}); len(runs) != 0 || err != nil {
			t.Errorf("%d hook runs, %v", len(runs), err)
		}
		if tr, err := s.Trace(t.Context(), traceID(b)); err != nil || otlp.Count(tr.ResourceSpans) != 1 {
			t.Errorf("what came again has %d spans, %v", otlp.Count(tr.ResourceSpans), err)
		}
		if _, err := s.Index(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
	}
	if strings.Contains(onDisk(t, s), word[4:]) {
		t.Error("the word is still in the file")
	}
	if n, err := number(t.Context(), s.db, `SELECT count(*) FROM spans WHERE trace NOT IN (SELECT id FROM traces)`); n != 0 || err != nil {
		t.Errorf("%d spans of no trace, %v", n, err)
	}
}
