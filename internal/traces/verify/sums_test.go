package verify

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/agents"
	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/testkit/opencodetest"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/internal/traces/verify/agentfiles"
	"github.com/hookspan/hookspan/internal/transcript"
	"github.com/hookspan/hookspan/otelmap"
)

// recording is a recorded session as its agent's reader has it, with the second reading
// of the agent's files.
type recording struct {
	host, id string
	spans    []*tracepb.ResourceSpans
	home     string
	// other is a store without traces.
	other *store.Store
}

// recordedFolders are the recorded sessions and where their agents keep them.
func recordedFolders() map[string]string {
	folders := map[string]string{"../../demo/task": ".cline/data/tasks/1795175957341", "sdk/*": ".cline/data/sessions"}
	for _, a := range hook.Agents() {
		if a.Plugin == "" && a.Host != hook.HostCline {
			folders[a.Word+"/*"] = a.Folder
		}
	}
	return folders
}

// recordings reads the recorded sessions of all agents.
func recordings(t *testing.T) (all []recording) {
	t.Helper()
	other, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "traces.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = other.Close() })
	folders := recordedFolders()
	for _, pattern := range slices.Sorted(maps.Keys(folders)) {
		found, err := filepath.Glob(filepath.Join("..", "..", "transcript", "testdata", filepath.FromSlash(pattern)))
		if err != nil {
			t.Fatal(err)
		}
		for _, from := range found {
			home := t.TempDir() // each its own, so that little is read again and again
			if err := os.CopyFS(filepath.Join(home, filepath.FromSlash(folders[pattern])), os.DirFS(from)); err != nil {
				t.Fatal(err)
			}
			all = append(all, read(t, home)...)
		}
	}
	statements, err := filepath.Glob(filepath.Join("..", "..", "transcript", "testdata", "*", "*", "*.sql"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range statements {
		home := t.TempDir()
		opencodetest.Write(t, home, path)
		all = append(all, read(t, home)...)
	}
	for i := range all {
		all[i].other = other
	}
	return all
}

// read reads the sessions of all agents below a home.
func read(t *testing.T, home string) (all []recording) {
	t.Helper()
	files := (&transcript.Files{Home: home}).Remember()
	for _, a := range agents.All() {
		list, err := files.Sessions(t.Context(), a.Transcript)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range list {
			tr, err := files.Read(t.Context(), a.Transcript, transcript.Query{Session: s.ID, Dialect: s.Dialect, Path: s.Path, Full: true})
			if err != nil {
				t.Fatalf("%s: %v", s.ID, err)
			}
			tr.Session = s.ID
			b := otelmap.NewBuilder(a.Host, s.ID, otelmap.Options{Agent: a.Mapping}, otelmap.Carry{})
			for e := range a.Transcript.Events(s.Dialect, tr) {
				b.Add(e)
			}
			r := recording{host: a.Host, id: s.ID, home: home}
			for _, run := range b.Runs(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)) {
				r.spans = append(r.spans, b.Spans(run, tr))
			}
			all = append(all, r)
		}
	}
	return all
}

// differences compares the spans of a session with the second reading.
func (r *recording) differences(t *testing.T, spans []*tracepb.ResourceSpans) []Difference {
	t.Helper()
	files, err := agentfiles.Read(t.Context(), r.host, agentfiles.Env{Home: r.home})
	if err != nil {
		t.Fatal(err)
	}
	sums := new(Sums)
	sums.Add(spans...)
	c := Check{Host: r.host, Files: files, Store: r.other, Sums: map[string]*Sums{r.id: sums}, Some: map[string]bool{r.id: true}, Now: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)}
	found, err := c.Sessions(t.Context(), []string{r.id})
	if err != nil {
		t.Fatal(err)
	}
	var out []Difference
	for _, s := range found {
		out = append(out, s.Differences...)
	}
	return out
}

// TestRecordedSessionsHaveNoDifference has every recorded session, as the mapping makes traces
// of it.
func TestRecordedSessionsHaveNoDifference(t *testing.T) {
	hosts := make(map[string]bool)
	for _, r := range recordings(t) {
		hosts[r.host] = true
		for _, d := range r.differences(t, r.spans) {
			t.Errorf("%s session %s: %s", r.host, r.id, d)
		}
	}
	if len(hosts) != len(agents.All()) {
		t.Errorf("sessions of %d agents were compared, want %d", len(hosts), len(agents.All()))
	}
}

// TestSecondReadingNamesWhatIsNoRow has torn rows, a row of another session, and a file
// that is no JSON.
func TestSecondReadingNamesWhatIsNoRow(t *testing.T) {
	home := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(home, ".claude", "projects", "-p", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	answer := func(session, id string) string {
		return fmt.Sprintf(`{"type":"assistant","sessionId":%q,"timestamp":"2026-01-01T00:00:01Z","message":{"id":%q,"model":"m","usage":{"input_tokens":1,"output_tokens":2},"content":[]}}`, session, id)
	}
	write("s1.jsonl", answer("s1", "m1")+"\n{\"type\":\"assis\n"+answer("s2", "m2")+"\n\x00\x00\x00\n")
	write("sub/deep/anything.jsonl", answer("s1", "m3")+"\n")
	write("broken.json", "{")
	got, err := agentfiles.Read(t.Context(), "claude-code", agentfiles.Env{Home: home})
	if err != nil {
		t.Fatal(err)
	}
	var places []string
	for _, u := range got.Unread {
		places = append(places, fmt.Sprintf("%s:%d", filepath.Base(u.File), u.Line))
	}
	if want := []string{"broken.json:0", "s1.jsonl:2", "s1.jsonl:4"}; !slices.Equal(places, want) {
		t.Errorf("not read: %q, want %q", places, want)
	}
	// The other session has no file of its own.
	if s := got.Sessions["s1"]; s == nil || len(s.Requests) != 3 || got.Sessions["s2"] != nil {
		t.Errorf("sessions %v", got.Sessions)
	}
}

// TestSecondReadingCountsACopyOnce has an answer in the files of two sessions, of which the
// store gives it to one or the other.
func TestSecondReadingCountsACopyOnce(t *testing.T) {
	home := t.TempDir()
	dir := filepath.Join(home, ".claude", "projects", "-p")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	row := func(session, id, at string) string {
		return fmt.Sprintf(`{"type":"assistant","sessionId":%q,"timestamp":%q,"message":{"id":%q,"model":"m","usage":{"input_tokens":1,"output_tokens":2},"content":[]}}`+"\n", session, at, id)
	}
	for name, text := range map[string]string{
		"old.jsonl": row("old", "m1", "2026-01-01T00:00:01Z"),
		"new.jsonl": row("new", "m1", "2026-01-01T00:00:01Z") + row("new", "m2", "2026-01-02T00:00:01Z"),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	chat := func(id string) *tracepb.Span {
		return &tracepb.Span{Attributes: []*commonpb.KeyValue{
			otlp.String(otelmap.KeyOperation, otelmap.OpChat), otlp.String(otelmap.KeyResponseID, id), otlp.String(otelmap.KeyRequestModel, "m"),
			otlp.Int(otelmap.KeyInputTokens, 1), otlp.Int(otelmap.KeyOutputTokens, 2),
		}}
	}
	sums := func(ids ...string) *Sums {
		s := new(Sums)
		var spans []*tracepb.Span
		for _, id := range ids {
			spans = append(spans, chat(id))
		}
		s.Add(&tracepb.ResourceSpans{ScopeSpans: []*tracepb.ScopeSpans{{Spans: spans}}})
		s.usage = store.Usage{Input: int64(len(ids)), Output: int64(2 * len(ids))}
		return s
	}
	for _, c := range []struct {
		name      string
		old, new  *Sums
		different bool
	}{
		{"the first session has it", sums("m1"), sums("m2"), false},
		{"the copy has it", sums(), sums("m1", "m2"), false},
		{"both have it", sums("m1"), sums("m1", "m2"), true},
		{"none has it", sums(), sums("m2"), true},
	} {
		files, err := agentfiles.Read(t.Context(), "claude-code", agentfiles.Env{Home: home})
		if err != nil {
			t.Fatal(err)
		}
		check := Check{Host: "claude-code", Files: files, Sums: map[string]*Sums{"old": c.old, "new": c.new}}
		differ, err := check.Sessions(t.Context(), []string{"new", "old"})
		if err != nil {
			t.Fatal(err)
		}
		if (len(differ) > 0) != c.different {
			t.Errorf("%s: %v", c.name, differ)
		}
	}
}

// TestASpanThatComesAgainCountsOnce has a request with the id of another one, as the store keeps one
// of them, and a call behind it.
func TestASpanThatComesAgainCountsOnce(t *testing.T) {
	child := func(id, operation string) *tracepb.Span {
		return &tracepb.Span{SpanId: []byte(id), ParentSpanId: []byte("00000000"), Attributes: []*commonpb.KeyValue{otlp.String(otelmap.KeyOperation, operation)}}
	}
	sums := new(Sums)
	sums.Add(resource(rootSpan(0, 9, otelmap.OutcomeCompleted), child("00000001", otelmap.OpChat), child("00000001", otelmap.OpChat), child("00000002", otelmap.OpExecuteTool)))
	if len(sums.requests) != 1 || len(sums.calls) != 1 || sums.calls[0].agent != "" {
		t.Errorf("%d requests and %d calls, want one each", len(sums.requests), len(sums.calls))
	}
}
