package verify

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/hookspan/hookspan/internal/agents"
	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/internal/traces/verify/second"
	"github.com/hookspan/hookspan/internal/transcript"
	"github.com/hookspan/hookspan/otelmap"
)

// recording is a recorded session as its agent's reader tells it, with the second reading
// of the agent's files.
type recording struct {
	host, id string
	spans    []*tracepb.ResourceSpans
	home     string
}

// recordings reads the recorded sessions of all agents.
func recordings(t *testing.T) (all []recording) {
	t.Helper()
	home := t.TempDir()
	folders := maps.Clone(recordedFolders)
	folders["codex/*/sessions"] = ".codex/sessions"
	for pattern, to := range folders {
		found, err := filepath.Glob(filepath.Join("..", "..", "transcript", "testdata", filepath.FromSlash(pattern)))
		if err != nil {
			t.Fatal(err)
		}
		for _, from := range found {
			target := filepath.Join(home, filepath.FromSlash(to))
			if strings.HasPrefix(pattern, "classic") {
				target = filepath.Join(target, filepath.Base(from))
			}
			if err := copyTree(target, from); err != nil {
				t.Fatal(err)
			}
		}
	}
	return read(t, home)
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
			for _, e := range a.Transcript.Events(s.Dialect, tr) {
				b.Add(e)
			}
			r := recording{host: a.Host, id: s.ID, home: home}
			for _, run := range b.Runs(time.Now()) {
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
	files, err := second.Read(t.Context(), r.host, second.EnvOf(r.home, nil))
	if err != nil {
		t.Fatal(err)
	}
	st, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "traces.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = st.Close() }()
	sums := NewSums()
	sums.Add(spans...)
	c := Check{Host: r.host, Files: files, Store: st, Sums: map[string]*Sums{r.id: sums}, Now: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)}
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

func TestSecondReadingAgreesWithRecordedSessions(t *testing.T) {
	requests := 0
	for _, r := range recordings(t) {
		for _, d := range r.differences(t, r.spans) {
			t.Errorf("%s session %s: %s", r.host, r.id, d)
		}
		for s := range otlp.Spans(r.spans) {
			if store.RoleOf(s.GetAttributes()) == store.RoleChat {
				requests++
			}
		}
	}
	if requests < 100 {
		t.Errorf("%d requests were compared, want most of the recorded ones", requests)
	}
}

// TestSecondReadingNamesEachLoss takes something from the traces of recorded sessions of
// each agent, as a reader does that does not know a form.
func TestSecondReadingNamesEachLoss(t *testing.T) {
	all := recordings(t)
	losses := []struct {
		name string
		want []Kind
		// lose changes one span, or asks to drop it.
		lose func(s *tracepb.Span) (done, drop bool)
	}{
		{"a request", []Kind{Missing, Output, Model}, func(s *tracepb.Span) (bool, bool) {
			lost := store.RoleOf(s.GetAttributes()) == store.RoleChat && store.UsageOf(s.GetAttributes()) != nil
			return lost, lost
		}},
		{"tokens of a session", []Kind{Output, Input}, func(s *tracepb.Span) (bool, bool) {
			for _, a := range s.GetAttributes() {
				if store.RoleOf(s.GetAttributes()) == store.RoleRoot && (a.GetKey() == otelmap.KeyRunOutputTokens || a.GetKey() == otelmap.KeyOutputTokens) {
					a.Value = otlp.Int("", 1).GetValue()
					return true, false
				}
			}
			return false, false
		}},
		{"input tokens of a session", []Kind{Input}, func(s *tracepb.Span) (bool, bool) {
			for _, a := range s.GetAttributes() {
				if store.RoleOf(s.GetAttributes()) == store.RoleRoot && (a.GetKey() == otelmap.KeyRunInputTokens || a.GetKey() == otelmap.KeyInputTokens) {
					a.Value = otlp.Int("", 1).GetValue()
					return true, false
				}
			}
			return false, false
		}},
		{"a call", []Kind{Missing}, func(s *tracepb.Span) (bool, bool) {
			lost := store.RoleOf(s.GetAttributes()) == store.RoleTool && otlp.Text(s.GetAttributes(), otelmap.KeyToolCallID) != ""
			return lost, lost
		}},
		{"the end of a call", []Kind{Status}, func(s *tracepb.Span) (bool, bool) {
			a := s.GetAttributes()
			if store.RoleOf(a) != store.RoleTool || otlp.Text(a, otelmap.KeyToolCallID) == "" || statusOf(s) != ok {
				return false, false
			}
			s.Attributes = append(a, otlp.String(otelmap.KeyErrorType, otelmap.ErrorToolUnfinished))
			s.Status = &tracepb.Status{Code: tracepb.Status_STATUS_CODE_ERROR}
			return statusOf(s) == unfinished, false
		}},
		{"a prompt", []Kind{Missing}, func(s *tracepb.Span) (bool, bool) {
			i := slices.IndexFunc(s.GetEvents(), func(e *tracepb.Span_Event) bool {
				return e.GetName() == otelmap.EventPrompt && otlp.Find(e.GetAttributes(), otelmap.KeyPromptInjected) == nil
			})
			if i < 0 {
				return false, false
			}
			s.Events = slices.Delete(s.Events, i, i+1)
			return true, false
		}},
		{"the end of a turn", []Kind{Outcome}, func(s *tracepb.Span) (bool, bool) {
			for _, a := range s.GetAttributes() {
				if a.GetKey() == otelmap.KeyOutcome && a.GetValue().GetStringValue() == otelmap.OutcomeCompleted {
					a.Value = otlp.String("", otelmap.OutcomeInterrupted).GetValue()
					return true, false
				}
			}
			return false, false
		}},
	}
	named, hosts := 0, make(map[string]int)
	for _, loss := range losses {
		done := make(map[string]bool) // one session an agent
		for _, r := range all {
			// A task of Cline may end in many ways that its files do not tell apart.
			if done[r.host] || r.host == "cline" && loss.name == "the end of a turn" ||
				r.host == "cline" && loss.name == "input tokens of a session" {
				continue
			}
			spans := make([]*tracepb.ResourceSpans, len(r.spans))
			lost := false
			for i, m := range r.spans {
				spans[i] = proto.CloneOf(m)
				for _, scope := range spans[i].ScopeSpans {
					for k := 0; k < len(scope.Spans) && !lost; k++ {
						var drop bool
						if lost, drop = loss.lose(scope.Spans[k]); drop {
							scope.Spans = slices.Delete(scope.Spans, k, k+1)
						}
					}
				}
			}
			if !lost {
				continue
			}
			done[r.host] = true
			found := r.differences(t, spans)
			ok := slices.ContainsFunc(found, func(d Difference) bool { return slices.Contains(loss.want, d.Kind) && d.File != "" })
			if !ok {
				t.Errorf("%s without %s, session %s: found %v", r.host, loss.name, r.id, found)
				continue
			}
			named++
			hosts[r.host]++
		}
	}
	if named < 30 || len(hosts) < 6 {
		t.Errorf("%d losses of %v were named, want 30 of six agents", named, hosts)
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
	got, err := second.Read(t.Context(), "claude-code", second.EnvOf(home, nil))
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
		s := NewSums()
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
		files, err := second.Read(t.Context(), "claude-code", second.EnvOf(home, nil))
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
