package cline

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hookspan/hookspan/internal/testkit/skip"
	"github.com/hookspan/hookspan/internal/transcript"
)

// tornSession puts a session whose lead messages are cut at n bytes and returns
// their path and their whole text.
func tornSession(t *testing.T, f *transcript.Files, n int) (path, whole string) {
	t.Helper()
	root := filepath.Join(f.Home, ".cline", "data", "sessions")
	copyDir(t, root, "sdk/tools")
	path = filepath.Join(root, "1795174957841_0jeru", "1795174957841_0jeru"+messagesSuffix)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	write(t, path, string(data[:n]))
	return path, string(data)
}

func TestTornFileIsReadAgainUntilWhole(t *testing.T) {
	for _, cut := range []int{0, 1, 400, 5000} {
		for wholeAfter := 1; wholeAfter < 5; wholeAfter++ {
			f := newFinder(t)
			path, whole := tornSession(t, f, cut)
			var waits []time.Duration
			f.Sleep = func(_ context.Context, d time.Duration) error {
				waits = append(waits, d)
				if len(waits) == wholeAfter {
					write(t, path, whole)
				}
				return nil
			}
			tr, err := query(t.Context(), f, DialectSDK, "1795174957841_0jeru")
			if err != nil {
				t.Fatalf("cut at %d, whole after %d: %v", cut, wholeAfter, err)
			}
			if len(tr.Requests) != 7 || len(tr.ToolResults) != 9 || len(waits) != wholeAfter {
				t.Errorf("cut at %d, whole after %d: %d calls, %d results, %d waits; want 7, 9, %d",
					cut, wholeAfter, len(tr.Requests), len(tr.ToolResults), len(waits), wholeAfter)
			}
		}
	}
}

func TestFileThatStaysTornGivesWhatItHolds(t *testing.T) {
	f := newFinder(t)
	f.Now = func() time.Time { return time.Now().Add(time.Hour) } // no program writes it any more
	path, _ := tornSession(t, f, 5000)
	var waited time.Duration
	f.Sleep = func(_ context.Context, d time.Duration) error { waited += d; return nil }
	tr, err := query(t.Context(), f, DialectSDK, "1795174957841_0jeru")
	if err != nil || len(tr.Unread) != 1 || tr.Unread[0].File != path {
		t.Errorf("error = %v, not read %+v, want the cut-off file named", err, tr.Unread)
	}
	if tr == nil || len(tr.Requests) == 0 || len(tr.Requests) >= 7 || tr.Cwd != "/home/dev/project" {
		t.Errorf("transcript = %+v, want the calls before the cut and the manifest's facts", tr)
	}
	if waited == 0 || waited > time.Second {
		t.Errorf("waited %v", waited)
	}
}

func TestDamagedNeighbourLeavesTheRest(t *testing.T) {
	for name, text := range map[string]string{
		historyFile:  `[{"role":"assistant"`,
		metadataFile: `{"model_usage":[`,
	} {
		f := newFinder(t)
		f.Sleep = func(context.Context, time.Duration) error { return nil }
		f.Now = func() time.Time { return time.Now().Add(time.Hour) }
		tasks := filepath.Join(f.Home, ".cline", "data", "tasks")
		copyDir(t, tasks, "cli2")
		write(t, filepath.Join(tasks, cli2Task, name), text)
		tr, err := query(t.Context(), f, DialectClassic, cli2Task)
		if err != nil || len(tr.Unread) != 1 || filepath.Base(tr.Unread[0].File) != name {
			t.Errorf("%s: error = %v, not read %+v, want the file named", name, err, tr.Unread)
		}
		if tr == nil || sum(tr.Requests).Input != 8100 {
			t.Errorf("%s: transcript = %+v, want all usage", name, tr)
		}
	}
}

func TestWholeFileOfAnotherShapeIsNotWaitedFor(t *testing.T) {
	for _, text := range []string{`{}`, `7`, `"x"`} {
		f := newFinder(t)
		dir := filepath.Join(f.Home, ".cline", "data", "tasks", "1")
		write(t, filepath.Join(dir, uiFile), text)
		if _, err := query(t.Context(), f, DialectClassic, "1"); !errors.Is(err, transcript.ErrForm) {
			t.Errorf("%s: error = %v, want %v", text, err, transcript.ErrForm)
		}
	}
}

func TestFilesThatMustNotBeReadAreNot(t *testing.T) {
	f := newFinder(t)
	tasks := filepath.Join(f.Home, ".cline", "data", "tasks")
	copyDir(t, tasks, "cli2")
	for _, name := range []string{uiFile, historyFile} {
		if err := os.Truncate(filepath.Join(tasks, cli2Task, name), 512<<20+1); err != nil {
			skip.Missing(t, "no file with holes here: %v", err)
		}
	}
	tr, err := query(t.Context(), f, DialectClassic, cli2Task)
	if err == nil || !strings.Contains(err.Error(), "at most 536870912") {
		t.Errorf("error = %v, want the size and the limit", err)
	}
	if tr == nil || tr.HostApp != "Cline CLI - Node.js" {
		t.Errorf("transcript = %+v, want what the small files say", tr)
	}

	dir := filepath.Join(tasks, cli2Task)
	if err := os.Remove(filepath.Join(dir, metadataFile)); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, metadataFile), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := query(t.Context(), f, DialectClassic, cli2Task); err == nil || !strings.Contains(err.Error(), "found a folder, want a file") {
		t.Errorf("error = %v, want the folder refused", err)
	}
}

func TestMissingNeighboursAreNoError(t *testing.T) {
	tr := readRows(t, []string{`{"ts":1,"type":"say","say":"task","text":"go"}`}, "", "")
	if len(tr.Sources) != 1 {
		t.Errorf("sources = %q, want the one file there is", tr.Sources)
	}
}
