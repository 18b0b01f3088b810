package golden_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/agents"
	"github.com/hookspan/hookspan/internal/testkit/golden"
	"github.com/hookspan/hookspan/internal/testkit/hooktest"
	"github.com/hookspan/hookspan/internal/testkit/opencodetest"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/internal/traces/verify"
	"github.com/hookspan/hookspan/internal/traces/verify/agentfiles"
	"github.com/hookspan/hookspan/internal/transcript"
	"github.com/hookspan/hookspan/otelmap"
)

// recordings are the folders of sessions in which something went wrong: a request
// failed, a turn was cut off, an output was misleading. Each has the payloads of the
// hooks and the agent's files as in a home folder.
const recordings = "testdata/recordings"

// TestRecordingsOfTrouble maps each recording by its hooks and by import, and holds
// both against what a reader of its script and the model's log expects. verify finds no
// difference in either.
func TestRecordingsOfTrouble(t *testing.T) {
	dirs, err := filepath.Glob(filepath.Join(recordings, "*", "home"))
	if err != nil || len(dirs) < 10 {
		t.Fatalf("recordings %v, error %v", dirs, err)
	}
	for _, home := range dirs {
		name := filepath.Base(filepath.Dir(home))
		word, _, _ := strings.Cut(name, "-")
		agent, _ := agents.All().Named(word)
		t.Run(name, func(t *testing.T) {
			abs, err := filepath.Abs(home)
			if err != nil {
				t.Fatal(err)
			}
			files := &transcript.Files{Home: abs, GOOS: "linux"}
			if statements := filepath.Join(home, word+".sql"); agent.Plugin != "" {
				files.Home = t.TempDir()
				opencodetest.Write(t, files.Home, statements)
			}
			var got bytes.Buffer
			for _, s := range recordedSessions(t, filepath.Dir(home), agent, files) {
				tr, err := files.Read(t.Context(), agent.Transcript, transcript.Query{Session: s.id, Dialect: s.dialect, Path: s.path, Full: true})
				if err != nil {
					t.Fatal(err)
				}
				tr.Session = s.id
				for _, by := range []struct {
					way    string
					events []hook.Event
				}{{"hooks", s.hooks}, {"import", slices.Collect(agent.Transcript.Events(s.dialect, tr))}} {
					way, events := by.way, by.events
					if events == nil {
						continue // the recording has the files alone
					}
					b, _ := build(events, nil)
					for i, r := range b.Runs(events[len(events)-1].StoredAt.Add(2 * time.Second)) {
						if !r.Ended {
							t.Errorf("%s: run %d has not ended, so that it is not delivered", way, i+1)
						}
					}
					b, runs := build(events, tr)
					fmt.Fprintf(&got, "session %s by %s:\n%s", s.id, way, outline(t, b, runs, tr))
					var spans []*tracepb.ResourceSpans
					for _, r := range runs {
						wellFormed(t, spansOf(b, r, tr))
						spans = append(spans, b.Spans(r, tr))
					}
					for _, d := range differences(t, agent.Host, files.Home, s.id, spans) {
						t.Errorf("%s: verify: %s", way, d)
					}
				}
			}
			golden.Check(t, "recordings/"+name+"/spans.txt", got.Bytes())
		})
	}
}

// recordedSession is a session of a recording.
type recordedSession struct {
	id, dialect, path string
	hooks             []hook.Event
}

func recordedSessions(t *testing.T, dir string, agent agents.Agent, files *transcript.Files) (out []*recordedSession) {
	t.Helper()
	found, err := files.Sessions(t.Context(), agent.Transcript)
	if err != nil || len(found) == 0 {
		t.Fatalf("sessions %v, error %v", found, err)
	}
	for _, s := range found {
		out = append(out, &recordedSession{id: s.ID, dialect: s.Dialect, path: s.Path})
	}
	raws, err := hooktest.Lines(filepath.Join(dir, "hooks.ndjson"))
	if os.IsNotExist(err) {
		return out
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range raws {
		r.Cwd = "/"
		evs, err := agent.Decode(r)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range evs {
			i := slices.IndexFunc(out, func(s *recordedSession) bool { return s.id == e.Session })
			if i < 0 {
				t.Fatalf("an event of session %q, which the files do not have", e.Session)
			}
			e.Offset = int64(len(out[i].hooks))
			out[i].hooks = append(out[i].hooks, e)
		}
	}
	return out
}

// differences compares spans, by way of a store, with the agent's files.
func differences(t *testing.T, host, home, session string, spans []*tracepb.ResourceSpans) (out []verify.Difference) {
	t.Helper()
	s, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "traces.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	if err := s.UploadTraces(t.Context(), spans); err != nil {
		t.Fatal(err)
	}
	files, err := agentfiles.Read(t.Context(), host, agentfiles.Env{Home: home})
	if err != nil {
		t.Fatal(err)
	}
	c := verify.Check{Host: host, Files: files, Store: s, Now: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)}
	differ, err := c.Sessions(t.Context(), []string{session})
	if err != nil || len(c.Gone) > 0 {
		t.Fatalf("not compared: %q, error %v", c.Gone, err)
	}
	for _, s := range differ {
		out = append(out, s.Differences...)
	}
	return out
}

// TestVerifyFindsATurnInTwoTraces splits a turn at the failure of a request that was sent
// again, as if that were its end.
func TestVerifyFindsATurnInTwoTraces(t *testing.T) {
	dir, err := filepath.Abs(filepath.Join(recordings, "copilot-retried-request"))
	if err != nil {
		t.Fatal(err)
	}
	agent, _ := agents.All().Named("copilot")
	files := &transcript.Files{Home: filepath.Join(dir, "home"), GOOS: "linux"}
	s := recordedSessions(t, dir, agent, files)[0]
	tr, err := files.Read(t.Context(), agent.Transcript, transcript.Query{Session: s.id, Path: s.path, Full: true})
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(s.hooks, func(e hook.Event) bool { return e.Kind == hook.KindRequestError }) + 1
	s.hooks[at-1].Kind = hook.KindRunError
	var spans []*tracepb.ResourceSpans
	var carry otelmap.Carry
	for _, part := range [][]hook.Event{s.hooks[:at], s.hooks[at:]} {
		b := otelmap.NewBuilder(agent.Host, s.id, otelmap.Options{Agent: agent.Mapping}, carry)
		for _, e := range part {
			b.Add(e)
		}
		for _, r := range b.Runs(part[len(part)-1].StoredAt.Add(time.Hour)) {
			spans = append(spans, b.Spans(r, tr))
		}
		_, carry = b.Boundary(func(otelmap.RunID) bool { return true }, 0)
	}
	found := differences(t, agent.Host, files.Home, s.id, spans)
	if len(spans) != 2 || len(found) != 1 || found[0].Kind != verify.Double {
		t.Errorf("%d traces, differences %+v; want a turn that is there twice", len(spans), found)
	}
}
