package cline

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/testkit/transcripttest"
	"github.com/hookspan/hookspan/internal/transcript"
)

// The sessions in testdata.
const (
	classicTask = "1795175957341"
	cli2Task    = "1795174833149"
)

// The helpers of all readers' tests.
var (
	newFinder  = transcripttest.Finder
	write      = transcripttest.Write
	addFiles   = transcripttest.Add
	sum        = transcripttest.Sum
	checkCalls = transcripttest.CheckCalls
)

type total = transcripttest.Total

// query reads a session, full with its tool calls and ends too.
func query(ctx context.Context, f *transcript.Files, dialect, id string) (*hook.Transcript, error) {
	return f.Read(ctx, Agent, transcript.Query{Session: id, Dialect: dialect})
}

func full(ctx context.Context, f *transcript.Files, dialect, id string) (*hook.Transcript, error) {
	return f.Read(ctx, Agent, transcript.Query{Session: id, Dialect: dialect, Full: true})
}

// copyDir copies a folder of testdata.
func copyDir(t testing.TB, dst, src string) {
	t.Helper()
	if err := os.CopyFS(dst, os.DirFS(filepath.Join("..", "testdata", filepath.FromSlash(src)))); err != nil {
		t.Fatal(err)
	}
}

func TestHostileIDsAreRefused(t *testing.T) {
	f := newFinder(t)
	// What a path that escaped would find.
	write(t, filepath.Join(f.Home, ".cline", "data", "tasks", "..", "ui_messages.json"), "[]")
	write(t, filepath.Join(f.Home, ".cline", "data", "evil.json"), "{}")
	ids := []string{
		"", ".", "..", "../..", "a/b", `a\b`, "/etc", "C:", "a\x00b", "tasks/../x", "a b", "ä", "a.b",
		"..%2f", "\n", strings.Repeat("a", 129),
	}
	reads := map[string]func(string) (*hook.Transcript, error){
		"classic": func(id string) (*hook.Transcript, error) { return query(t.Context(), f, DialectClassic, id) },
		"sdk":     func(id string) (*hook.Transcript, error) { return query(t.Context(), f, DialectSDK, id) },
		"next": func(id string) (*hook.Transcript, error) {
			return f.Read(t.Context(), Agent, transcript.Query{Session: id, Dialect: DialectNext, Cwd: "/home/dev/project"})
		},
	}
	for name, read := range reads {
		for _, id := range ids {
			tr, err := read(id)
			if err == nil || errors.Is(err, transcript.ErrNotFound) || !strings.Contains(err.Error(), "refused") || tr != nil {
				t.Errorf("%s(%q) = %v, %v; want the id refused", name, id, tr, err)
			}
		}
	}
}

func TestMissingSessionsAreNotFound(t *testing.T) {
	f := newFinder(t)
	if err := os.MkdirAll(filepath.Join(f.Home, ".cline", "data", "sessions", "1795175660887_empty"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, read := range map[string]func() (*hook.Transcript, error){
		"classic":              func() (*hook.Transcript, error) { return query(t.Context(), f, DialectClassic, "1") },
		"sdk":                  func() (*hook.Transcript, error) { return query(t.Context(), f, DialectSDK, "1795175660887_none0") },
		"sdk, an empty folder": func() (*hook.Transcript, error) { return query(t.Context(), f, DialectSDK, "1795175660887_empty") },
		"next": func() (*hook.Transcript, error) {
			return f.Read(t.Context(), Agent, transcript.Query{Session: "conv_1795175967104_abc", Dialect: DialectNext, Cwd: "/p"})
		},
		"no home at all": func() (*hook.Transcript, error) { return query(t.Context(), &transcript.Files{}, DialectClassic, "1") },
	} {
		if tr, err := read(); !errors.Is(err, transcript.ErrNotFound) || tr != nil {
			t.Errorf("%s: got %v, %v; want ErrNotFound", name, tr, err)
		}
	}
	_, err := query(t.Context(), f, DialectClassic, "1")
	if err == nil || !strings.Contains(err.Error(), filepath.Join("tasks", "1", "ui_messages.json")) ||
		!strings.Contains(err.Error(), filepath.Join(f.Home, ".cline", "data")) {
		t.Errorf("error %q does not say what was looked for and where", err)
	}
}

func TestNewestCopyOfATaskWins(t *testing.T) {
	f := newFinder(t)
	old := filepath.Join(f.Home, ".config", "Code", "User", "globalStorage", "saoudrizwan.claude-dev", "tasks", "7", uiFile)
	recent := filepath.Join(f.Home, ".config", "Cursor", "User", "globalStorage", "saoudrizwan.claude-dev", "tasks", "7", uiFile)
	write(t, old, `[{"ts":1,"type":"say","say":"task","text":"old"}]`)
	write(t, recent, `[{"ts":1,"type":"say","say":"task","text":"recent"}]`)
	for i, want := range []string{"recent", "old"} {
		now := time.Now()
		for path, at := range map[string]time.Time{old: now.Add(time.Duration(i) * time.Hour), recent: now.Add(time.Minute)} {
			if err := os.Chtimes(path, at, at); err != nil {
				t.Fatal(err)
			}
		}
		tr, err := query(t.Context(), f, DialectClassic, "7")
		if err != nil {
			t.Fatal(err)
		}
		if len(tr.Prompts) != 1 || tr.Prompts[0].Text != want {
			t.Errorf("prompts = %v, want %q", tr.Prompts, want)
		}
	}
}

func TestCancelledContextStopsReading(t *testing.T) {
	f := newFinder(t)
	copyDir(t, filepath.Join(f.Home, ".cline", "data", "tasks"), "cli2")
	copyDir(t, filepath.Join(f.Home, ".cline", "data", "sessions"), "sdk/tools")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := query(ctx, f, DialectClassic, cli2Task); !errors.Is(err, context.Canceled) {
		t.Errorf("Classic = %v, want context.Canceled", err)
	}
	if _, err := query(ctx, f, DialectSDK, "1795174957841_0jeru"); !errors.Is(err, context.Canceled) {
		t.Errorf("SDK = %v, want context.Canceled", err)
	}
}
