package claude

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hookspan/hookspan/internal/testkit/skip"
	"github.com/hookspan/hookspan/internal/transcript"
)

// bigClaude is a session with many turns, which began the last of them when since
// says.
func bigClaude(t *testing.T, size int64) (f *transcript.Files, path string, since time.Time) {
	t.Helper()
	f = newFinder(t)
	path = filepath.Join(f.Home, ".claude", "projects", "-work", claudeSession+suffix)
	return f, path, writeBigClaude(t, path, size)
}

func TestReadingASessionOfClaudeCodeEndsAtALimit(t *testing.T) {
	const size = 8 << 20
	f, path, since := bigClaude(t, size)
	whole, err := f.Read(t.Context(), Agent, transcript.Query{Session: claudeSession})
	if err != nil {
		t.Fatal(err)
	}
	last, err := f.Read(t.Context(), Agent, transcript.Query{Session: claudeSession, Since: since})
	if err != nil {
		t.Fatal(err)
	}
	t.Run("the first bytes of a whole session", func(t *testing.T) {
		f.MaxBytes = size / 2
		tr, err := f.Read(t.Context(), Agent, transcript.Query{Session: claudeSession})
		if !errors.Is(err, transcript.ErrBeyond) || !strings.Contains(err.Error(), filepath.Base(path)) {
			t.Errorf("error %v, want one that names the file", err)
		}
		if n := len(tr.Requests); n < len(whole.Requests)/3 || n > len(whole.Requests)*2/3 {
			t.Errorf("%d of %d calls, want around half", n, len(whole.Requests))
		}
	})
	t.Run("the last run of a session above the limit", func(t *testing.T) {
		f.MaxBytes = size / 2
		tr, err := f.Read(t.Context(), Agent, transcript.Query{Session: claudeSession, Since: since})
		if err != nil || len(tr.Requests) != len(last.Requests) || len(tr.Requests) == 0 {
			t.Errorf("%d calls, error %v, want %d and none", len(tr.Requests), err, len(last.Requests))
		}
	})
	t.Run("the end of a run above the limit", func(t *testing.T) {
		f.MaxBytes = size / 2
		tr, err := f.Read(t.Context(), Agent, transcript.Query{Session: claudeSession, Since: sec(0)})
		if !errors.Is(err, transcript.ErrBeyond) {
			t.Errorf("error %v, want %v", err, transcript.ErrBeyond)
		}
		n, end := len(tr.Requests), whole.Requests[len(whole.Requests)-1].ID
		if n < len(whole.Requests)/8 || n > len(whole.Requests)/2 || tr.Requests[n-1].ID != end {
			t.Errorf("%d of %d calls, want around a quarter, up to %s", n, len(whole.Requests), end)
		}
	})
	t.Run("no time", func(t *testing.T) {
		f.MaxBytes, f.MaxTime = 0, time.Nanosecond
		_, err := f.Read(t.Context(), Agent, transcript.Query{Session: claudeSession})
		if !errors.Is(err, transcript.ErrBeyond) || !strings.Contains(err.Error(), "within 1ns") {
			t.Errorf("error %v, want one that names the time", err)
		}
	})
	t.Run("rows", func(t *testing.T) {
		r := reader{files: newFinder(t), block: transcript.LineBlock, maxLine: transcript.MaxLine, maxText: transcript.MaxText, maxRows: 100}
		tr, err := r.read(t.Context(), path, transcript.Query{Session: claudeSession})
		if !errors.Is(err, transcript.ErrBeyond) || !strings.Contains(err.Error(), "first 100") {
			t.Errorf("error %v, want one that names the number", err)
		}
		if n := len(tr.Requests); n == 0 || n > 100 {
			t.Errorf("%d calls", n)
		}
	})
}

// TestReadingEndsInAFileThatIsMostlyAHole makes a file of a terabyte out of a
// small one. Its end is one line, which is as long.
func TestReadingEndsInAFileThatIsMostlyAHole(t *testing.T) {
	f, path, since := bigClaude(t, 1<<20)
	whole, err := f.Read(t.Context(), Agent, transcript.Query{Session: claudeSession})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 1<<40); err != nil {
		skip.Missing(t, "no file with holes here: %v", err)
	}
	f.MaxBytes = 64 << 20
	for name, q := range map[string]transcript.Query{
		"whole": {Session: claudeSession},
		"since": {Session: claudeSession, Since: since},
		"until": {Session: claudeSession, Until: since},
	} {
		var calls int
		peak := peakHeap(func() {
			tr, err := f.Read(t.Context(), Agent, q)
			if !errors.Is(err, transcript.ErrBeyond) {
				t.Errorf("%s: error %v, want %v", name, err, transcript.ErrBeyond)
			}
			calls = len(tr.Requests)
		})
		if name == "whole" && calls != len(whole.Requests) {
			t.Errorf("%s: %d calls, want the %d in front of the hole", name, calls, len(whole.Requests))
		}
		if peak > 64<<20 {
			t.Errorf("%s: %d MiB of memory", name, peak>>20)
		}
	}
}
