package kimi

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/testkit/transcripttest"
	"github.com/hookspan/hookspan/internal/transcript"
)

// readText reads a session of whose agents' files have the texts, by their names.
func readText(t *testing.T, id string, texts map[string]string) (*hook.Transcript, error) {
	t.Helper()
	f := transcripttest.Finder(t)
	for name, text := range texts {
		transcripttest.Write(t, filepath.Join(f.Home, ".kimi-code", "sessions", "w", id, "agents", name, fileName), text)
	}
	return f.Read(t.Context(), Agent, transcript.Query{Session: id, Full: true})
}

// A session that is not there, and an id that is a path, give no transcript.
func TestSessionsThatAreNotThere(t *testing.T) {
	for _, id := range []string{"session_other", "../w/session_s"} {
		f := transcripttest.Finder(t)
		transcripttest.Write(t, filepath.Join(f.Home, ".kimi-code", "sessions", "w", "session_s", "agents", lead, fileName), "{}\n")
		tr, err := f.Read(t.Context(), Agent, transcript.Query{Session: id})
		if tr != nil || err == nil || id == "session_other" && !errors.Is(err, transcript.ErrNotFound) {
			t.Errorf("%q: %+v, %v", id, tr, err)
		}
	}
}

// The folder that the environment names is searched as well.
func TestFolderOfTheEnvironment(t *testing.T) {
	f := transcripttest.Finder(t)
	other := t.TempDir()
	f.Getenv = func(name string) string { return map[string]string{"KIMI_CODE_HOME": other}[name] }
	transcripttest.Write(t, filepath.Join(other, "sessions", "w", "session_s", "agents", lead, fileName), "{}\n")
	if id := transcripttest.IDOf(t, f, Agent); id != "session_s" {
		t.Errorf("session %q", id)
	}
}

// A request is told of by two rows, and counts once whichever comes, and in whichever order.
func TestRequestCountsOnce(t *testing.T) {
	const (
		begun = `{"type":"context.append_loop_event","event":{"type":"step.begin","uuid":"s"},"time":1796016450000}
{"type":"llm.request","kind":"loop","model":"m","time":1796016450001}
`
		used  = `{"type":"usage.record","usage":{"inputOther":5,"output":1,"inputCacheRead":2,"inputCacheCreation":3},"time":1796016450101}` + "\n"
		ended = `{"type":"context.append_loop_event","event":{"type":"step.end","uuid":"s","usage":{"inputOther":5,"output":1,"inputCacheRead":2,"inputCacheCreation":3},"llmFirstTokenLatencyMs":60,"llmStreamDurationMs":40},"time":1796016459000}` + "\n"
	)
	for name, rows := range map[string]string{"both": used + ended, "the first": used, "the second": ended} {
		tr, err := readText(t, "s", map[string]string{lead: begun + rows})
		if err != nil || len(tr.Requests) != 1 {
			t.Fatalf("%s: %+v, %v", name, tr, err)
		}
		c := tr.Requests[0]
		if c.Usage == nil || c.Usage.TotalInput() != 10 || c.End.Sub(c.Start).Milliseconds() != 100 || c.Error != "" {
			t.Errorf("%s: %+v of %+v", name, c, c.Usage)
		}
	}
}

// FuzzRead reads whatever is in a session's files.
func FuzzRead(f *testing.F) {
	paths, err := filepath.Glob(filepath.Join("../testdata/kimi/*/sessions/*/*/agents/*", fileName))
	if err != nil || len(paths) < 9 {
		f.Fatal(paths, err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		tr, err := readText(t, "s", map[string]string{lead: string(text), "agent-0": string(text)})
		if tr == nil {
			t.Fatal(err)
		}
		transcripttest.CheckCalls(t, tr)
		for e := range Agent.Events("", tr) {
			if e.StoredAt.IsZero() || e.Kind == hook.KindUnknown {
				t.Errorf("event %+v", e)
			}
		}
	})
}
