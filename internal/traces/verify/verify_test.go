package verify

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/agents"
	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/otlp/otlpjson"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/internal/traces/verify/second"
	"github.com/hookspan/hookspan/internal/transcript"
	"github.com/hookspan/hookspan/otelmap"
)

// recordedFolders are the recorded sessions and where their agents keep them.
var recordedFolders = map[string]string{
	"claude/*/projects":       ".claude/projects",
	"classic/1*":              ".cline/data/tasks",
	"sdk/*":                   ".cline/data/sessions",
	"qwen/*/projects":         ".qwen/projects",
	"copilot/*/session-state": ".copilot/session-state",
	"gemini/*/tmp":            ".gemini/tmp",
}

// session is a recorded session: its traces as they are mapped, and its files.
type session struct {
	id    string
	spans []*tracepb.ResourceSpans
	files *hook.Transcript
}

// recorded reads all recorded sessions.
func recorded(t *testing.T) map[string]*session {
	t.Helper()
	home := t.TempDir()
	for pattern, to := range recordedFolders {
		folders, err := filepath.Glob(filepath.Join("..", "..", "transcript", "testdata", filepath.FromSlash(pattern)))
		if err != nil {
			t.Fatal(err)
		}
		for _, from := range folders {
			target := filepath.Join(home, filepath.FromSlash(to))
			if strings.HasPrefix(pattern, "classic") {
				target = filepath.Join(target, filepath.Base(from))
			}
			if err := copyTree(target, from); err != nil {
				t.Fatal(err)
			}
		}
	}
	files := &transcript.Files{Home: home}
	all := make(map[string]*session)
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
			one := &session{id: s.ID, files: tr}
			for _, r := range b.Runs(time.Now()) {
				one.spans = append(one.spans, b.Spans(r, tr))
			}
			all[s.ID] = one
		}
	}
	return all
}

// copyTree copies a folder into one that may have some of its files.
func copyTree(to, from string) error {
	return filepath.WalkDir(from, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			return os.MkdirAll(filepath.Join(to, rel), 0o755)
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, rel), b, 0o600)
	})
}

// compare stores the spans and compares what is in the store with the files.
func compare(t *testing.T, spans []*tracepb.ResourceSpans, files *hook.Transcript) []Result {
	t.Helper()
	s, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "traces.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	if err := s.UploadTraces(t.Context(), spans); err != nil {
		t.Fatal(err)
	}
	var c Comparison
	if err := s.Each(t.Context(), store.Filter{Limit: -1}, func(t *store.Trace) error {
		c.Add(t)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return c.Results(files)
}

func TestRecordedSessionsHaveNoDifference(t *testing.T) {
	calls, requests := 0, 0
	for id, s := range recorded(t) {
		for _, r := range compare(t, s.spans, s.files) {
			calls, requests = calls+r.Calls, requests+r.Requests
			for _, d := range r.Differences {
				t.Errorf("session %s: %s", id, d)
			}
		}
	}
	if calls < 40 || requests < 60 {
		t.Errorf("%d calls and %d requests were compared, want most of the recorded ones", calls, requests)
	}
}

// TestTracesOfHooksHaveNoDifference compares the traces that hooks' payloads gave, which
// are the goldens of the mapping, with the files of the same sessions.
func TestTracesOfHooksHaveNoDifference(t *testing.T) {
	all := recorded(t)
	docs, err := filepath.Glob(filepath.Join("..", "..", "..", "tests", "golden", "testdata", "*.otlp.json"))
	if err != nil {
		t.Fatal(err)
	}
	calls, requests, sessions := 0, 0, 0
	for _, path := range docs {
		doc, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var spans []*tracepb.ResourceSpans
		for dec := json.NewDecoder(bytes.NewReader(doc)); dec.More(); {
			var one json.RawMessage
			if err := dec.Decode(&one); err != nil {
				t.Fatal(err)
			}
			some, err := otlpjson.Decode(one)
			if err != nil {
				t.Fatal(err)
			}
			spans = append(spans, some...)
		}
		var s *session
		for span := range otlp.Spans(spans) {
			s = all[otlp.Text(span.Attributes, otelmap.KeyConversationID)]
			break
		}
		if s == nil {
			continue // only the payloads of the session were recorded
		}
		sessions++
		for _, r := range compare(t, spans, s.files) {
			calls, requests = calls+r.Calls, requests+r.Requests
			for _, d := range r.Differences {
				t.Errorf("%s, trace %s: %s", filepath.Base(path), r.Trace, d)
			}
		}
	}
	t.Logf("%d sessions, %d calls, %d requests", sessions, calls, requests)
}

// The sessions with planted differences: Claude Code's with a subagent, an SDK session
// and a classic task of Cline.
const (
	claudeSession  = "7c1f0e52-9a4d-4b63-8f21-5d0b6a2e9c17"
	sdkSession     = "1795174957841_0jeru"
	classicSession = "1795175957341"
)

// set replaces an attribute.
func set(s *tracepb.Span, kv *commonpb.KeyValue) {
	for _, a := range s.Attributes {
		if a.GetKey() == kv.GetKey() {
			a.Value = kv.GetValue()
			return
		}
	}
	s.Attributes = append(s.Attributes, kv)
}

func drop(s *tracepb.Span, key string) {
	s.Attributes = slices.DeleteFunc(s.Attributes, func(a *commonpb.KeyValue) bool { return a.GetKey() == key })
}

// add changes a number of an attribute.
func add(key string, n int64) func(*tracepb.Span) {
	return func(s *tracepb.Span) { set(s, otlp.Int(key, otlp.Number(s.Attributes, key)+n)) }
}

func tool(name string) func(*tracepb.Span) bool {
	return func(s *tracepb.Span) bool { return otlp.Text(s.Attributes, otelmap.KeyToolName) == name }
}

func role(r store.Role) func(*tracepb.Span) bool {
	return func(s *tracepb.Span) bool { return store.RoleOf(s.Attributes) == r }
}

func model(part string) func(*tracepb.Span) bool {
	return func(s *tracepb.Span) bool {
		return role(store.RoleChat)(s) && strings.Contains(otlp.Text(s.Attributes, otelmap.KeyRequestModel), part)
	}
}

func failedSpan(is func(*tracepb.Span) bool) func(*tracepb.Span) bool {
	return func(s *tracepb.Span) bool {
		return is(s) && s.GetStatus().GetCode() == tracepb.Status_STATUS_CODE_ERROR
	}
}

func succeed(s *tracepb.Span) {
	s.Status = nil
	drop(s, otelmap.KeyErrorType)
}

func fail(kind string) func(*tracepb.Span) {
	return func(s *tracepb.Span) {
		s.Status = &tracepb.Status{Code: tracepb.Status_STATUS_CODE_ERROR}
		set(s, otlp.String(otelmap.KeyErrorType, kind))
	}
}

// shift moves a span.
func shift(d time.Duration) func(*tracepb.Span) {
	return func(s *tracepb.Span) {
		s.StartTimeUnixNano = otlp.UnixNano(otlp.Start(s).Add(d))
		s.EndTimeUnixNano = otlp.UnixNano(otlp.End(s).Add(d))
	}
}

func costs(usd float64) func(*tracepb.Span) {
	return func(s *tracepb.Span) { set(s, otlp.Float(otelmap.KeyCost, usd)) }
}

func TestPlantedDifferencesAreFoundAndNamed(t *testing.T) {
	all := recorded(t)
	// The first span for which is returns true is changed, dropped or doubled.
	for _, c := range []struct {
		name, session string
		is            func(*tracepb.Span) bool
		change        func(*tracepb.Span)
		drop, double  bool
		// want are the kinds of all differences, what is in the first of them.
		want []Kind
		what string
	}{
		{name: "a dropped call", session: claudeSession, is: tool("Grep"), drop: true, want: []Kind{Missing}, what: "call Grep toolu_"},
		{name: "a dropped call of a subagent", session: claudeSession, is: func(s *tracepb.Span) bool {
			return tool("Read")(s) && strings.Contains(otlp.Text(s.Attributes, otelmap.KeyToolArguments), "handlers")
		}, drop: true, want: []Kind{Missing}, what: "call Read toolu_"},
		{name: "a dropped last call", session: sdkSession, is: tool("editor"), drop: true, want: []Kind{Missing}, what: "call editor call_6_0"},
		{name: "a dropped call of a classic task", session: classicSession, is: tool("read_file"), drop: true, want: []Kind{Missing}, what: "call read_file"},
		{name: "a dropped request", session: claudeSession, is: model("sonnet"), drop: true, want: []Kind{Missing}, what: "request msg_"},
		{name: "a dropped request of a subagent", session: claudeSession, is: model("haiku"), drop: true, want: []Kind{Missing}, what: "request msg_"},
		{name: "a dropped request of a classic task", session: classicSession, is: role(store.RoleChat), drop: true, want: []Kind{Missing}, what: "request req-"},
		{name: "a doubled call", session: claudeSession, is: tool("Edit"), double: true, want: []Kind{Double}, what: "call Edit toolu_"},
		{name: "a doubled call of Cline", session: sdkSession, is: tool("search_codebase"), double: true, want: []Kind{Double}, what: "call search_codebase"},
		{name: "a doubled request", session: claudeSession, is: model("sonnet"), double: true, want: []Kind{Double}, what: "request msg_"},
		{name: "a doubled request of a classic task", session: classicSession, is: role(store.RoleChat), double: true, want: []Kind{Double}, what: "request req-"},
		{name: "a call that was never made", session: claudeSession, is: tool("Grep"), change: func(s *tracepb.Span) {
			set(s, otlp.String(otelmap.KeyToolCallID, "toolu_invented"))
		}, want: []Kind{Extra, Missing}, what: "call Grep"},
		{name: "a request that was never made", session: sdkSession, is: role(store.RoleChat), change: func(s *tracepb.Span) {
			set(s, otlp.String(otelmap.KeyResponseID, "msg_invented"))
		}, want: []Kind{Extra, Missing}, what: "request msg_"},
		{name: "a failure that became a success", session: claudeSession, is: failedSpan(tool("Bash")), change: succeed, want: []Kind{Status}, what: "call Bash toolu_"},
		{name: "a success that became a failure", session: claudeSession, is: tool("Read"), change: fail(otelmap.ErrorToolFailure), want: []Kind{Status}, what: "call Read toolu_"},
		{name: "a failure that became a denial", session: sdkSession, is: failedSpan(tool("run_commands")), change: fail(otelmap.ErrorToolDenied), want: []Kind{Status}, what: "call run_commands"},
		{name: "a denial that became a failure", session: claudeSession, is: func(s *tracepb.Span) bool {
			return tool("Bash")(s) && otlp.Text(s.Attributes, otelmap.KeyErrorType) == otelmap.ErrorToolDenied
		}, change: fail(otelmap.ErrorToolFailure), want: []Kind{Status}, what: "call Bash toolu_"},
		{name: "a call that has an end and lost it", session: sdkSession, is: tool("read_files"), change: fail(otelmap.ErrorToolUnfinished), want: []Kind{Status}, what: "call read_files"},
		{name: "a failed request that became a success", session: claudeSession, is: failedSpan(role(store.RoleChat)), change: succeed, want: []Kind{Status}, what: "request"},
		{name: "a request that succeeded and became a failure", session: sdkSession, is: role(store.RoleChat), change: fail("overloaded"), want: []Kind{Status}, what: "request"},
		{name: "another tool", session: claudeSession, is: tool("Edit"), change: func(s *tracepb.Span) {
			set(s, otlp.String(otelmap.KeyToolName, "Write"))
		}, want: []Kind{Name}, what: "call Write toolu_"},
		{name: "another model", session: claudeSession, is: model("haiku"), change: func(s *tracepb.Span) {
			set(s, otlp.String(otelmap.KeyRequestModel, "claude-opus-4-5"))
		}, want: []Kind{Model}, what: "request msg_"},
		{name: "input tokens", session: claudeSession, is: model("sonnet"), change: add(otelmap.KeyInputTokens, 1), want: []Kind{Input}, what: "request msg_"},
		{name: "output tokens", session: sdkSession, is: role(store.RoleChat), change: add(otelmap.KeyOutputTokens, -1), want: []Kind{Output}, what: "request"},
		{name: "cache read tokens", session: classicSession, is: role(store.RoleChat), change: add(otelmap.KeyCacheReadTokens, 100), want: []Kind{CacheRead}, what: "request req-"},
		{name: "cache write tokens", session: claudeSession, is: model("haiku"), change: add(otelmap.KeyCacheWriteTokens, 7), want: []Kind{CacheWrite}, what: "request msg_"},
		{name: "a cost", session: classicSession, is: role(store.RoleChat), change: costs(0.05291), want: []Kind{Cost}, what: "request req-"},
		{name: "a cost that is gone", session: claudeSession, is: model("sonnet"), change: func(s *tracepb.Span) { drop(s, otelmap.KeyCost) }, want: []Kind{Cost}, what: "request msg_"},
		{name: "a total of tokens", session: claudeSession, is: role(store.RoleRoot), change: add(otelmap.KeyInputTokens, 1000), want: []Kind{Input}, what: "total"},
		{name: "a total cost", session: classicSession, is: role(store.RoleRoot), change: costs(1), want: []Kind{Cost}, what: "total"},
		{name: "a number of calls", session: sdkSession, is: role(store.RoleRoot), change: add(otelmap.KeyToolCalls, 1), want: []Kind{Total}, what: "total of calls"},
		{name: "a call before what it followed", session: claudeSession, is: tool("Edit"), change: shift(-24 * time.Second), want: []Kind{Order}, what: "call Edit toolu_"},
		{name: "a request before what it followed", session: sdkSession, is: func(s *tracepb.Span) bool {
			return role(store.RoleChat)(s) && strings.Contains(otelmap.Answer(s.Attributes), "Edit.")
		}, change: shift(-3500 * time.Millisecond), want: []Kind{Order}, what: "request"},
		{name: "a call of another agent", session: claudeSession, is: func(s *tracepb.Span) bool {
			return tool("Grep")(s) && strings.Contains(otlp.Text(s.Attributes, otelmap.KeyToolArguments), "Login")
		}, change: nil, want: []Kind{Agent}, what: "call Grep toolu_"},
		{name: "a sum of requests", session: classicSession, is: role(store.RoleRoot), change: func(s *tracepb.Span) {
			for _, e := range s.Events {
				if e.Name == otelmap.EventUsage {
					e.Attributes = []*commonpb.KeyValue{otlp.String(otelmap.KeyUsageSource, "subagents"), otlp.Int(otelmap.KeyInputTokens, 1)}
				}
			}
		}, want: []Kind{CacheRead, Cost, Input, Output}, what: "sum of requests (subagents)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := all[c.session]
			if s == nil {
				t.Fatalf("no session %s", c.session)
			}
			spans := make([]*tracepb.ResourceSpans, len(s.spans))
			for i, m := range s.spans {
				spans[i] = proto.CloneOf(m)
			}
			var agent []byte
			for span := range otlp.Spans(spans) {
				if role(store.RoleAgent)(span) {
					agent = span.SpanId
				}
			}
			done := false
			for _, m := range spans {
				for _, scope := range m.ScopeSpans {
					i := slices.IndexFunc(scope.Spans, c.is)
					if i < 0 || done {
						continue
					}
					done = true
					switch {
					case c.drop:
						scope.Spans = slices.Delete(scope.Spans, i, i+1)
					case c.double:
						twin := proto.CloneOf(scope.Spans[i])
						twin.SpanId = []byte("doubled!")
						scope.Spans = append(scope.Spans, twin)
					case c.change == nil:
						span := scope.Spans[i]
						if string(span.ParentSpanId) == string(agent) {
							span.ParentSpanId = scope.Spans[0].SpanId
						} else {
							span.ParentSpanId = agent
						}
					default:
						c.change(scope.Spans[i])
					}
				}
			}
			if !done {
				t.Fatal("the session has no such span")
			}
			var kinds []Kind
			var found []string
			for _, r := range compare(t, spans, s.files) {
				for _, d := range r.Differences {
					kinds, found = append(kinds, d.Kind), append(found, d.String())
				}
			}
			slices.Sort(kinds)
			if !slices.Equal(slices.Compact(kinds), c.want) || !strings.Contains(found[0], c.what) {
				t.Errorf("found %q of the kinds %q, want the kinds %q and %q", found, kinds, c.want, c.what)
			}
		})
	}
}

// TestReportIsCleaned has names in an agent's files that hold a secret and the
// characters that move a cursor.
func TestReportIsCleaned(t *testing.T) {
	const bad = "call mcp__\x1b[2J\nsecret\u202e toolu_1"
	sessions := func() []Session {
		return []Session{{Session: bad, Differences: []Difference{{What: bad, InTrace: bad, InFiles: bad, File: bad, IDs: []string{bad}}}}}
	}
	r := Report{
		Traces: []Trace{{
			Result: Result{Trace: "1", Differences: []Difference{{Trace: "1", Kind: Missing, What: bad, InTrace: bad, InFiles: bad}}},
			Host:   bad, Session: bad, Title: bad, Unverified: bad,
		}},
		Sessions: sessions(), Untold: sessions(), Unread: []second.Unread{{File: bad, Reason: bad, Session: bad}},
	}
	text := func(v any) string {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	before := text(r)
	r.Clean(func(text string) string { return strings.ReplaceAll(text, "secret", "[REDACTED]") })
	want := strings.ReplaceAll(before, text(bad), text("call mcp__\uFFFD[2J [REDACTED]\uFFFD toolu_1"))
	if got := text(r); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
