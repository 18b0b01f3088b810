package cline

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/transcript"
)

// written writes a file that was last changed so many seconds after 1970.
func written(t *testing.T, path, text string, seconds int64) {
	t.Helper()
	write(t, path, text)
	if err := os.Chtimes(path, time.Unix(seconds, 0), time.Unix(seconds, 0)); err != nil {
		t.Fatal(err)
	}
}

// listing is what the tests compare of a listing: times as seconds.
func listing(home string, files []transcript.Session) [][]any {
	var out [][]any
	for _, f := range files {
		rel, err := filepath.Rel(home, f.Path)
		if err != nil {
			rel = f.Path
		}
		out = append(out, []any{f.Dialect, f.ID, filepath.ToSlash(rel), f.ModTime.Unix(), f.Cwd})
	}
	return out
}

func TestTasksOfClassicClineAreListed(t *testing.T) {
	f := newFinder(t)
	cli := filepath.Join(f.Home, ".cline", "data")
	code := filepath.Join(f.Home, ".config", "Code", "User", "globalStorage", extensionIDs[0])
	written(t, filepath.Join(cli, "tasks", "2", uiFile), "[]", 20)
	written(t, filepath.Join(code, "tasks", "1", uiFile), "[1]", 10)
	written(t, filepath.Join(code, "tasks", "2", uiFile), "[12]", 30) // the same task, moved
	written(t, filepath.Join(code, "tasks", "3", historyFile), "[]", 40)
	written(t, filepath.Join(code, "tasks", "a b", uiFile), "[]", 50)
	if err := os.MkdirAll(filepath.Join(code, "tasks", "4", uiFile), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(code, "state", "taskHistory.json"), `[{"id":"1","cwdOnTaskInitialization":"/home/dev/project"},{"id":7},{}]`)
	write(t, filepath.Join(cli, "state", "taskHistory.json"), `[{"id":"2","cwdOnTask`)
	got, err := f.Sessions(t.Context(), Agent)
	if err != nil {
		t.Fatal(err)
	}
	storage := ".config/Code/User/globalStorage/" + extensionIDs[0]
	want := [][]any{
		{DialectClassic, "1", storage + "/tasks/1/" + uiFile, int64(10), "/home/dev/project"},
		{DialectClassic, "2", storage + "/tasks/2/" + uiFile, int64(30), ""},
		{DialectClassic, "3", storage + "/tasks/3/" + historyFile, int64(40), ""},
	}
	if d := cmp.Diff(want, listing(f.Home, got)); d != "" {
		t.Errorf("tasks (-want +got):\n%s", d)
	}
	if _, err := f.Read(t.Context(), Agent, transcript.Query{Session: "3", Path: got[2].Path}); !errors.Is(err, transcript.ErrForm) {
		t.Errorf("a task without %s: error %v, want %v", uiFile, err, transcript.ErrForm)
	}
}

func TestSessionsOfTheSDKAreListed(t *testing.T) {
	f := newFinder(t)
	root := filepath.Join(f.Home, ".cline", "data", "sessions")
	other := t.TempDir()
	f.Getenv = func(name string) string {
		if name == "CLINE_SESSION_DATA_DIR" {
			return other
		}
		return ""
	}
	written(t, filepath.Join(root, "2_b", "2_b.json"), "{}", 10)
	written(t, filepath.Join(root, "2_b", "2_b"+messagesSuffix), "{} ", 40)
	written(t, filepath.Join(root, "1_a", "1_a"+messagesSuffix), "[]", 20)
	written(t, filepath.Join(other, "1_a", "1_a.json"), "{ }", 30) // Cline's own order: this one is read
	written(t, filepath.Join(root, "3_c", "agent_x"+messagesSuffix), "[]", 50)
	written(t, filepath.Join(root, "x.json"), "{}", 60)
	got, err := f.Sessions(t.Context(), Agent)
	if err != nil {
		t.Fatal(err)
	}
	want := [][]any{
		{DialectSDK, "1_a", "1_a.json", int64(30), ""},
		{DialectSDK, "2_b", "2_b.json", int64(40), ""},
	}
	rel := listing(root, got)
	if len(rel) == 2 {
		rel[0][2], rel[1][2] = filepath.Base(got[0].Path), filepath.Base(got[1].Path)
	}
	if d := cmp.Diff(want, rel); d != "" {
		t.Errorf("sessions (-want +got):\n%s", d)
	}
	if len(got) > 0 && filepath.Dir(filepath.Dir(got[0].Path)) != other {
		t.Errorf("session 1_a is listed from %s, and read from %s", got[0].Path, other)
	}
}

func TestEmptyHomeHasNoSessions(t *testing.T) {
	f := newFinder(t)
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if got, err := f.Sessions(t.Context(), Agent); len(got) > 0 || err != nil {
		t.Errorf("sessions of an empty home: %v, %v", got, err)
	}
	copyDir(t, filepath.Join(f.Home, ".cline", "data", "tasks"), "cli2")
	if _, err := f.Sessions(cancelled, Agent); !errors.Is(err, context.Canceled) {
		t.Errorf("Sessions after its context's end: %v", err)
	}
}

func TestFullReadOfASessionHasItsEnd(t *testing.T) {
	for _, c := range []struct {
		folder, id string
		want       []hook.TurnEnd
	}{
		{"sdk/tools", "1795174957841_0jeru", []hook.TurnEnd{{At: ms(1795174962496), Kind: hook.KindRunComplete}}},
		{"sdk/provider-error", "1795175034447_1mokh", []hook.TurnEnd{{At: ms(1795175035133), Kind: hook.KindRunError}}},
	} {
		f := newFinder(t)
		copyDir(t, filepath.Join(f.Home, ".cline", "data", "sessions"), c.folder)
		tr, err := full(t.Context(), f, DialectSDK, c.id)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(c.want, tr.Ends); d != "" || len(tr.Prompts) == 0 {
			t.Errorf("%s: %d prompts; ends (-want +got):\n%s", c.folder, len(tr.Prompts), d)
		}
	}
	f := newFinder(t)
	write(t, filepath.Join(f.Home, ".cline", "data", "sessions", "1_a", "1_a"+messagesSuffix), `[{"role":"user","ts":1,"content":"go"}]`)
	if tr, err := full(t.Context(), f, DialectSDK, "1_a"); err != nil || len(tr.Ends) > 0 || len(tr.Prompts) != 1 {
		t.Errorf("without a manifest: %+v, %v", tr, err)
	}
	if tr, err := full(t.Context(), f, DialectSDK, "2_b"); tr != nil || !errors.Is(err, transcript.ErrNotFound) {
		t.Errorf("a session that is not there: %+v, %v", tr, err)
	}
}
