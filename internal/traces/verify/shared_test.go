package verify

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/internal/traces/verify/agentfiles"
)

// TestSessionsOfOneTraceHaveNoDifferences verifies sessions that were started in one context.
func TestSessionsOfOneTraceHaveNoDifferences(t *testing.T) {
	home := t.TempDir()
	dir := filepath.Join(home, ".claude", "projects", "-w")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for i, session := range []string{"one", "two", "three"} {
		text := reportedTurn(session, 8*i) + reportedTurn(session, 8*i+1)
		if err := os.WriteFile(filepath.Join(dir, session+".jsonl"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	st, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "traces.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = st.Close() }()
	for _, r := range read(t, home) {
		for s := range otlp.Spans(r.spans) {
			s.TraceId = []byte("0123456789abcdef")
			if len(s.GetParentSpanId()) == 0 {
				s.ParentSpanId = []byte("01234567")
			}
		}
		if err := st.UploadTraces(t.Context(), r.spans); err != nil {
			t.Fatal(err)
		}
	}
	sums, err := st.List(t.Context(), store.Filter{Limit: -1})
	if err != nil || len(sums) != 3 || sums[0].Runs != 2 {
		t.Fatalf("%+v, %v; want the tasks of 3 sessions", sums, err)
	}
	v := Verifier{Store: st, Env: agentfiles.Env{Home: home}, All: true}
	rep, err := v.Verify(t.Context(), sums)
	if err != nil || rep.Verified != 3 || rep.Different != 0 || len(rep.Sessions)+len(rep.Untraced) > 0 {
		t.Errorf("%+v, %v; want no differences", rep, err)
	}
}
