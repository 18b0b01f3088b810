package claude

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/transcript"
)

// newFinder searches a temporary home for Linux, without environment, and
// fails the test if it waits.
func newFinder(t testing.TB) *transcript.Files {
	t.Helper()
	return &transcript.Files{
		Home:   t.TempDir(),
		GOOS:   "linux",
		Getenv: func(string) string { return "" },
		Sleep: func(context.Context, time.Duration) error {
			t.Error("the reader waited for a file that was whole")
			return nil
		},
		Now: func() time.Time { return time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC) },
	}
}

// write writes one file and the folders above it.
func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func readJSON(t *testing.T, path string, v any) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, v); err != nil {
		t.Fatal(err)
	}
}

// total is the sum over calls, as Claude Code makes it.
type total struct {
	Input, Output, CacheWrite, CacheRead int64
	Cost                                 float64
	Requests                             int
}

func sum(calls []hook.LLMCall) total {
	var s total
	for _, c := range calls {
		if c.Kind == hook.CallRequest {
			s.Requests++
		}
		if c.Usage == nil {
			continue
		}
		s.Input += c.Usage.Input
		s.Output += c.Usage.Output
		s.CacheRead += c.Usage.CacheRead
		s.CacheWrite += c.Usage.CacheWrite
		if c.Usage.CostUSD != nil {
			s.Cost += *c.Usage.CostUSD
		}
	}
	return s
}

// checkCalls holds for every transcript, whatever the files said.
func checkCalls(t *testing.T, tr *hook.Transcript) {
	t.Helper()
	for i, c := range tr.Calls {
		if i > 0 && c.Start.Before(tr.Calls[i-1].Start) {
			t.Errorf("call %d starts before the one in front of it", i)
		}
		if !c.End.IsZero() && c.End.Before(c.Start) {
			t.Errorf("call %q ends at %v before it starts at %v", c.ID, c.End, c.Start)
		}
		if c.ID == "" {
			t.Errorf("call %d has no id", i)
		}
		if u := c.Usage; u != nil {
			if u.Input < 0 || u.Output < 0 || u.CacheRead < 0 || u.CacheWrite < 0 || u.TotalInput() < u.CacheRead {
				t.Errorf("call %q has usage %+v", c.ID, *u)
			}
		}
		if y := c.Start.Year(); y > 9999 {
			t.Errorf("call %q starts in the year %d", c.ID, y)
		}
	}
}

func addFiles(f *testing.F, pattern string) {
	f.Helper()
	paths, err := filepath.Glob(filepath.FromSlash(pattern))
	if err != nil || len(paths) == 0 {
		f.Fatalf("no files match %q: %v", pattern, err)
	}
	for _, p := range paths {
		data, err := os.ReadFile(p)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
		f.Add(data[:len(data)/2])
	}
	for _, s := range []string{``, `[]`, `{}`, `[null]`, `[{}]`, `{"messages":[]}`, `[`, `{"messages":`, "\x00"} {
		f.Add([]byte(s))
	}
}
