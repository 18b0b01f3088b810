package backlog

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/hook/claude"
	"github.com/hookspan/hookspan/hook/cline"
	"github.com/hookspan/hookspan/internal/testkit/agentstest"
	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/spool"
)

// TestSessionsAreAsHooksStoreThem reads each dialect's session back: every event
// is there, as it was meant, and maps to the spans that were foretold.
func TestSessionsAreAsHooksStoreThem(t *testing.T) {
	for _, dialect := range []Dialect{Classic, SDK, Claude} {
		t.Run(string(dialect), func(t *testing.T) {
			s := Session{Dialect: dialect, Turns: 3, Turn: 20, End: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)}
			dir := filepath.Join(t.TempDir(), "spool")
			size, err := s.Write(dir)
			if err != nil {
				t.Fatal(err)
			}
			var want []spool.Record
			for rec := range s.Records() {
				c := *rec
				c.Payload = append([]byte(nil), rec.Payload...)
				want = append(want, c)
			}
			got, read := stored(t, dir, s.Key())
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("records (-want +got):\n%s", diff)
			}
			if len(got) != s.Events() || read != size {
				t.Errorf("%d records, read up to %d; want %d and %d", len(got), read, s.Events(), size)
			}
			spans, runs := mapped(t, s, got)
			if runs != s.Turns || spans != s.Spans() {
				t.Errorf("%d runs and %d spans, want %d and %d", runs, spans, s.Turns, s.Spans())
			}
		})
	}
}

func TestWriteRefusesOddTurns(t *testing.T) {
	for _, s := range []Session{{Turns: 0, Turn: 10}, {Turns: 1, Turn: 4}, {Turns: 1, Turn: 7}} {
		if _, err := s.Write(t.TempDir()); err == nil {
			t.Errorf("%d turns of %d events were written", s.Turns, s.Turn)
		}
	}
}

// stored are the log's records without their places, and where reading ended.
func stored(t *testing.T, dir string, key spool.Key) (all []spool.Record, end int64) {
	t.Helper()
	sp, err := spool.Open(dir, spool.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = sp.Close() }()
	session, err := sp.Session(key)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = session.Close() }()
	r, err := session.Reader(0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	for r.Next() {
		rec := *r.Record()
		rec.Payload = append([]byte(nil), rec.Payload...)
		rec.Offset, rec.End = 0, 0
		all = append(all, rec)
	}
	if r.Err() != nil || len(r.Damage()) > 0 {
		t.Fatalf("read: %v, damage %v", r.Err(), r.Damage())
	}
	return all, r.Offset()
}

func mapped(t *testing.T, s Session, records []spool.Record) (spans, runs int) {
	t.Helper()
	b := otelmap.NewBuilder(s.host(), s.ID(), otelmap.Options{Agent: agentstest.Mapping(s.host())}, otelmap.Carry{})
	decode := cline.Decode
	if s.Dialect == Claude {
		decode = claude.Decode
	}
	for i, rec := range records {
		events, err := decode(hook.Raw{Payload: rec.Payload, Event: rec.Event, StoredAt: rec.At, Offset: int64(i), Cwd: rec.Cwd})
		if err != nil || len(events) != 1 {
			t.Fatalf("%s: %d events, %v", rec.Payload, len(events), err)
		}
		b.Add(events[0])
	}
	for _, r := range b.Runs(s.End.Add(time.Minute)) {
		if !r.Ended || r.Outcome != "completed" {
			t.Errorf("run %s: ended %v, %s", r.ID, r.Ended, r.Outcome)
		}
		runs++
		spans += len(b.Spans(r, nil).GetScopeSpans()[0].GetSpans())
	}
	return spans, runs
}
