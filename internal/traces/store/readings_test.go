package store

import (
	"testing"
	"time"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/otelmap"
)

// TestNotesOfAReadingHoldForOneVersion has notes of two readers.
func TestNotesOfAReadingHoldForOneVersion(t *testing.T) {
	s := open(t)
	note := func(reader, version, notes string) {
		t.Helper()
		if err := s.NoteReading(t.Context(), "codex", reader, version, notes); err != nil {
			t.Fatal(err)
		}
	}
	note("a", "1", "old")
	note("a", "1", "x")
	note("b", "2", "y")
	for _, c := range []struct{ host, reader, version, want string }{
		{"codex", "a", "1", "x"}, {"codex", "a", "2", ""}, {"codex", "b", "2", "y"}, {"cline", "a", "1", ""},
	} {
		if got, err := s.Reading(t.Context(), c.host, c.reader, c.version); got != c.want || err != nil {
			t.Errorf("%+v: got %q, %v", c, got, err)
		}
	}
}

// TestStateOfASessionChangesWithItsTraces stores, deletes and stores again a trace of one of two
// sessions.
func TestStateOfASessionChangesWithItsTraces(t *testing.T) {
	s := open(t)
	states := func() map[string]string {
		t.Helper()
		got, err := s.Written(t.Context(), "cline")
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	rooted(t, s, "a", "/p", 0, time.Minute)
	first := rooted(t, s, "b", "/p", 0, time.Minute)
	seen := []map[string]string{states()}
	if n, err := s.Delete(t.Context(), []string{first.Trace}); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	seen = append(seen, states())
	rooted(t, s, "b", "/p", 0, time.Minute)
	seen = append(seen, states())
	rooted(t, s, "b", "/p", time.Hour, time.Minute)
	seen = append(seen, states())
	for i, now := range seen[1:] {
		if last := seen[i]; now["a"] != last["a"] || now["b"] == last["b"] {
			t.Errorf("the states were %v, and are %v", last, now)
		}
	}
}

// TestStateOfASessionWithinAnothersTrace writes a trace with a run of another session, whose trace
// came from outside.
func TestStateOfASessionWithinAnothersTrace(t *testing.T) {
	s := open(t)
	states := func() map[string]string {
		t.Helper()
		got, err := s.Written(t.Context(), "cline")
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	b := newBuild("outer")
	root := b.Root("task", otelmap.OutcomeCompleted, time.Minute)
	call := b.Tool(root, "Bash", `{"command":"cline x"}`, 0, time.Minute)
	run := b.Add(call, "invoke_agent cline", time.Second, 2*time.Second,
		otlp.String(otelmap.KeyOperation, otelmap.OpInvokeAgent), otlp.String(otelmap.KeyHost, "cline"), otlp.String(otelmap.KeyConversationID, "inner"), otlp.String(otelmap.KeyOutcome, otelmap.OutcomeCompleted))
	upload(t, s, b.Messages())
	before := states()
	b.Add(run, "execute_tool read_file", time.Second, 2*time.Second, otlp.String(otelmap.KeyOperation, otelmap.OpExecuteTool), otlp.String(otelmap.KeyConversationID, "inner"))
	upload(t, s, b.Messages())
	if after := states(); before["inner"] == "" || after["inner"] == before["inner"] {
		t.Errorf("the state was %v, and is %v", before, after)
	}
}
