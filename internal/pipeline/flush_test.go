package pipeline

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/hookspan/hookspan/config"
	"github.com/hookspan/hookspan/internal/deliver"
	"github.com/hookspan/hookspan/spool"
)

func TestFlushMakesTheFullTextAndKeepsTheLimit(t *testing.T) {
	s := newSetup(t)
	var log []string
	s.Log = func(line string) { log = append(log, line) }
	p, err := s.Open(t.Context(), config.ExporterStore)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = p.Close() }()
	trace, _ := p.TestTrace()
	if err := p.Store.UploadTraces(t.Context(), trace); err != nil {
		t.Fatal(err)
	}
	flush := func() int64 {
		t.Helper()
		if _, err := p.Flush(t.Context(), deliver.Pass{}); err != nil {
			t.Fatal(err)
		}
		st, err := p.Store.Stats(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return st.Traces
	}
	if left, err := p.Store.Index(t.Context(), 1); left != 1 || err != nil {
		t.Fatalf("%d traces wait for the full text, %v, want 1", left, err)
	}
	if n := flush(); n != 1 || len(log) > 0 {
		t.Errorf("%d traces are left, log %q, want 1 within the limit", n, log)
	}
	if left, err := p.Store.Index(t.Context(), 1); left != 0 || err != nil {
		t.Errorf("%d traces wait for the full text, %v", left, err)
	}
	s.Config.StoreMaxBytes = 1
	if n := flush(); n != 0 || !strings.Contains(strings.Join(log, "\n"), "HOOKSPAN_STORE_MAX_BYTES: removed 1 trace") {
		t.Errorf("%d traces are left, log %q, want none above the limit", n, log)
	}
}

// TestSweepEndsWhenTheSpoolIsGone removes the home folder while a sweep waits: it ends without a word, and
// nothing is made anew.
func TestSweepEndsWhenTheSpoolIsGone(t *testing.T) {
	for name, sessions := range map[string][]spool.Key{"of all": nil, "of a session": {spool.SessionKey("cline", "17")}} {
		t.Run(name, func(t *testing.T) {
			s := newSetup(t)
			s.Log = func(line string) { t.Error(line) }
			remove := func() {
				if err := os.RemoveAll(s.Config.StateDir); err != nil {
					t.Fatal(err)
				}
			}
			slept := 0
			s.Sleep = func(context.Context, time.Duration) error {
				slept++
				remove()
				return nil
			}
			s.RemoveOld = func() error { t.Error("looks for what is old"); return nil }
			p, err := s.Open(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if sessions != nil {
				remove()
			}
			if err := errors.Join(p.Sweep(t.Context(), sessions), p.Close()); err != nil || slept > 1 {
				t.Errorf("slept %d times, %v", slept, err)
			}
			if _, err := os.Stat(s.Config.StateDir); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the state folder: %v, want none", err)
			}
		})
	}
}
