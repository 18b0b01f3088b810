package calltext

import (
	"cmp"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/redact"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/internal/traces/view"
	"github.com/hookspan/hookspan/internal/transcript"
	"github.com/hookspan/hookspan/internal/transcript/claude"
	"github.com/hookspan/hookspan/internal/transcript/cline"
	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/spool"
)

var t0 = time.Date(2026, 3, 4, 10, 0, 0, 0, time.UTC)

func at(seconds int) time.Time { return t0.Add(time.Duration(seconds) * time.Second) }

func TestChoose(t *testing.T) {
	rec := func(id, name, result string, seconds int) Record {
		return Record{ID: id, Name: name, Text: view.CallText{Result: result}, At: at(seconds)}
	}
	records := []Record{
		rec("call_1", "read", "first", 1), rec("call_1", "read", "second", 50),
		rec("", "run", "exit 0", 10), rec("", "run", "exit 1", 20), rec("", "run", "exit 1 again", 40),
		rec("call_9", "run", "other", 20),
		{Name: "ask", At: at(31), Text: view.CallText{Arguments: "{}"}},
		{ID: "call_2", Began: at(77), At: at(99), Text: view.CallText{Result: "allowed"}},
		{ID: "call_2", Began: at(60), At: at(60), Text: view.CallText{Arguments: "denied"}},
		{ID: "call_2", Began: at(70), At: at(80), Text: view.CallText{Result: "its result came late"}},
		{ID: "call_2", Agent: "a", Began: at(71), At: at(78), Text: view.CallText{Result: "a subagent's"}},
	}
	for _, c := range []struct {
		name string
		w    Wanted
		want string
	}{
		{"by its id", Wanted{ID: "call_9", Ended: at(9)}, "other"},
		{"of several with one id, the nearest", Wanted{ID: "call_1", Ended: at(49)}, "second"},
		{"one that has no end", Wanted{ID: "call_2", Started: at(61), Ended: at(95), Open: true}, "denied"},
		{"one whose result was written late", Wanted{ID: "call_2", Started: at(71), Ended: at(72)}, "its result came late"},
		{"one after a late result", Wanted{ID: "call_2", Started: at(78), Ended: at(81)}, "allowed"},
		{"one that the files date a little later", Wanted{ID: "call_2", Started: at(77).Add(-50 * time.Millisecond), Ended: at(79)}, "allowed"},
		{"one just before another", Wanted{ID: "call_2", Started: at(76), Ended: at(98)}, "its result came late"},
		{"one of a subagent", Wanted{ID: "call_2", Agent: "a", Started: at(77), Ended: at(78)}, "a subagent's"},
		{"one that began before all records", Wanted{ID: "call_2", Started: at(20), Ended: at(79)}, "its result came late"},
		{"an unknown id", Wanted{ID: "call_7", Name: "read", Ended: at(1)}, ""},
		{"without an id, the nearest", Wanted{Name: "run", Ended: at(12)}, "exit 0"},
		{"without an id, one that fits the preview", Wanted{Name: "run", Ended: at(12), Preview: view.CallText{Result: "exit 1…"}}, "exit 1"},
		{"a preview in which a secret was removed", Wanted{Name: "run", Ended: at(39), Preview: view.CallText{Result: "exit [REDACTED:key] more"}}, "exit 1 again"},
		{"no record fits the preview", Wanted{Name: "run", Ended: at(12), Preview: view.CallText{Result: "exit 2"}}, ""},
		{"another tool", Wanted{Name: "write", Ended: at(12)}, ""},
		{"an hour away", Wanted{Name: "run", Ended: at(3600)}, ""},
		{"one that never ended, by its start", Wanted{Name: "ask", Started: at(30), Ended: at(3600), Open: true, Preview: view.CallText{Error: "the tool never reported an end"}}, "{}"},
		{"not one that ended", Wanted{Name: "run", Started: at(10), Ended: at(3600), Open: true}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := ""
			if r := Choose(records, c.w); r != nil {
				got = cmp.Or(r.Text.Result, r.Text.Arguments)
			}
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// TestEventsOfOneCallAreJoined has a call that was denied, which has no end, one with its id in the
// next reply, and one of a subagent meanwhile.
func TestEventsOfOneCallAreJoined(t *testing.T) {
	event := func(seconds int, k hook.Kind, agent, input, output string) hook.Event {
		return hook.Event{Kind: k, StoredAt: at(seconds), Agent: agent, Tool: &hook.Tool{ID: "call_0", Name: "Bash", Input: input, Output: output, Duration: 2 * time.Second}}
	}
	alone := event(19, hook.KindToolEnd, "", "pwd", "/w")
	alone.Tool.ID = "call_1"
	exact := alone
	exact.Tool = &hook.Tool{ID: "call_1", Name: "Bash", Input: "id", Started: at(16), Ended: at(18)}
	got := FromTool([]hook.Event{
		event(1, hook.KindToolStart, "", "rm", ""),
		event(5, hook.KindToolStart, "", "ls", ""),
		event(6, hook.KindToolStart, "a", "ls", ""),
		event(8, hook.KindToolEnd, "", "ls", "files"),
		event(9, hook.KindToolEnd, "a", "ls", "a's files"),
		alone, exact,
	})
	record := func(agent, input, output string, began, ended int) Record {
		return Record{ID: "call_0", Name: "Bash", Agent: agent, Text: view.CallText{Arguments: input, Result: output}, Began: at(began), At: at(ended)}
	}
	want := []Record{record("", "rm", "", 1, 1), record("", "ls", "files", 5, 8), record("a", "ls", "a's files", 6, 9), record("", "pwd", "/w", 17, 19), record("", "id", "", 16, 19)}
	want[3].ID, want[4].ID = "call_1", "call_1"
	if d := gocmp.Diff(want, got); d != "" {
		t.Errorf("records (-want +got):\n%s", d)
	}
}

// TestTextsAreThoseOfTheAgentThatMadeTheCall has calls with one id of an agent and its subagent.
func TestTextsAreThoseOfTheAgentThatMadeTheCall(t *testing.T) {
	f := finder(t, claude.Agent, nil)
	f.Agent = func(string) (transcript.Reader, func(*spool.Record) ([]hook.Event, error)) {
		return transcript.Reader{Read: func(context.Context, *transcript.Files, transcript.Query) (*hook.Transcript, error) {
			return &hook.Transcript{ToolResults: []hook.ToolResult{
				{ID: "call_0", Name: "Bash", Asked: at(1), At: at(9), Text: "the main agent's"},
				{ID: "call_0", Name: "Bash", Asked: at(5), At: at(7), Text: "the main agent's next"},
				{ID: "call_0", Name: "Bash", Agent: "a", Asked: at(2), At: at(4), Text: "the subagent's"},
			}}, nil
		}}, nil
	}
	task := trace("claude-code", "s", "claude")
	add := func(n, parent byte, from, to int, pairs ...string) {
		s := &tracepb.Span{
			SpanId: []byte{1, 0, 0, 0, 0, 0, 0, n}, StartTimeUnixNano: otlp.UnixNano(at(from)), EndTimeUnixNano: otlp.UnixNano(at(to)), Attributes: otlpTexts(pairs...),
		}
		if parent > 0 {
			s.ParentSpanId = []byte{1, 0, 0, 0, 0, 0, 0, parent}
		}
		scope := task.ResourceSpans[0].ScopeSpans[0]
		scope.Spans = append(scope.Spans, s)
	}
	call := []string{otelmap.KeyOperation, otelmap.OpExecuteTool, otelmap.KeyToolName, "Bash", otelmap.KeyToolCallID, "call_0"}
	add(1, 0, 0, 9, otelmap.KeyOperation, otelmap.OpInvokeAgent, otelmap.KeyHost, "claude-code")
	add(2, 1, 3, 6, call...)
	add(3, 1, 2, 8, otelmap.KeyOperation, otelmap.OpInvokeAgent, otelmap.KeyAgent, "a")
	add(4, 3, 3, 4, call...)
	var rows []*view.Row
	for _, r := range view.Rows(task) {
		if r.Kind == view.KindTool {
			rows = append(rows, &r)
		}
	}
	want := map[string]string{"0100000000000002": "the main agent's", "0100000000000004": "the subagent's"}
	inRows, err := f.Rows(t.Context(), task, rows...)
	if err != nil {
		t.Fatal(err)
	}
	got := make(map[string]string)
	for i, r := range rows {
		got[r.SpanID()] = inRows[i].Result
	}
	if d := gocmp.Diff(want, got); d != "" {
		t.Errorf("results (-want +got):\n%s", d)
	}
}

// span is a tool call of a trace.
func span(id, name, preview string, end time.Time) *tracepb.Span {
	return &tracepb.Span{
		EndTimeUnixNano: otlp.UnixNano(end),
		Attributes:      otlpTexts(otelmap.KeyToolCallID, id, otelmap.KeyToolName, name, otelmap.KeyToolResult, preview),
	}
}

func finder(t *testing.T, a transcript.Reader, folders map[string]string) *Finder {
	t.Helper()
	home := t.TempDir()
	for from, to := range folders {
		err := os.CopyFS(filepath.Join(home, filepath.FromSlash(to)), os.DirFS(filepath.Join("..", "..", "transcript", "testdata", filepath.FromSlash(from))))
		if err != nil {
			t.Fatal(err)
		}
	}
	return &Finder{
		Files: &transcript.Files{Home: home}, Home: home,
		Agent:  func(string) (transcript.Reader, func(*spool.Record) ([]hook.Event, error)) { return a, nil },
		Redact: redact.New(nil),
	}
}

func trace(host, session, dialect string) *store.Trace {
	return &store.Trace{
		Summary: store.Summary{Host: host, Session: session},
		ResourceSpans: []*tracepb.ResourceSpans{{ScopeSpans: []*tracepb.ScopeSpans{{Spans: []*tracepb.Span{
			{Attributes: otlpTexts(otelmap.KeyDialect, dialect)},
		}}}}},
	}
}

func TestTextsOfRecordedSessions(t *testing.T) {
	const claudeSession, sdkSession = "7c1f0e52-9a4d-4b63-8f21-5d0b6a2e9c17", "1795174957841_0jeru"
	claudeFiles := finder(t, claude.Agent, map[string]string{"claude/2.1.240/projects": ".claude/projects"})
	clineFiles := finder(t, cline.Agent, map[string]string{
		"sdk/tools": ".cline/data/sessions", "../../demo/task": ".cline/data/tasks/1795175957341",
	})
	ms := func(n int64) time.Time { return time.UnixMilli(n).UTC() }
	for _, c := range []struct {
		name                      string
		f                         *Finder
		t                         *store.Trace
		s                         *tracepb.Span
		arguments, result, source string
	}{
		{
			name: "Claude Code", f: claudeFiles, t: trace("claude-code", claudeSession, "claude"),
			s:         span(bashCall(t, claudeFiles, claudeSession), "Bash", "Exit code 1…", at(0)),
			arguments: `"command":"go test ./..."`, result: "--- FAIL: TestLoginEmptyPassword (0.00s)", source: ".jsonl, line 14",
		},
		{
			name: "Cline's SDK", f: clineFiles, t: trace("cline", sdkSession, "sdk"),
			s:         span("call_6_0", "editor", "", at(0)),
			arguments: `"old_text":"true"`, source: sdkSession + ".messages.json, message ",
		},
		{
			name: "classic Cline without ids", f: clineFiles, t: trace("cline", "1795175957341", "classic"),
			s:         span("", "read_file", "", ms(1795175958020)),
			arguments: `"path":"src/login.ts"`, source: "api_conversation_history.json, message ",
		},
		{
			name: "a call that the files do not have", f: claudeFiles, t: trace("claude-code", claudeSession, "claude"),
			s: span("toolu_none", "Bash", "the preview", at(0)), result: "the preview", source: "only the preview is left: the agent's files do not have this call",
		},
		{
			name: "a session that is gone", f: claudeFiles, t: trace("claude-code", "11111111-9a4d-4b63-8f21-5d0b6a2e9c17", "claude"),
			s: span("toolu_none", "Bash", "the preview", at(0)), result: "the preview", source: "only the preview is left: the agent's files are gone",
		},
		{
			name: "a session id that leads elsewhere", f: claudeFiles, t: trace("claude-code", "../../etc/passwd", "claude"),
			s: span("toolu_none", "Bash", "the preview", at(0)), result: "the preview", source: "only the preview is left: the agent's files cannot be read",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := c.f.Find(t.Context(), c.t, []Wanted{WantedOf(c.s)})
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(got[0].Arguments, c.arguments) || !strings.Contains(got[0].Result, c.result) || !strings.Contains(got[0].Source, c.source) {
				t.Errorf("got %+v", got[0])
			}
		})
	}
}

// bashCall is the id of the session's first failed command.
func bashCall(t *testing.T, f *Finder, session string) string {
	t.Helper()
	tr, err := f.Files.Read(t.Context(), claude.Agent, transcript.Query{Session: session, Full: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range tr.ToolResults {
		if r.Name == "Bash" && r.Status.Failed() {
			return r.ID
		}
	}
	t.Fatal("no failed command")
	return ""
}

// TestTextsFromTheSpool looks a call up whose session has no files any more.
func TestTextsFromTheSpool(t *testing.T) {
	f := finder(t, claude.Agent, nil)
	sp, err := spool.Open(filepath.Join(t.TempDir(), "spool"), spool.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = sp.Close() }()
	f.Spool = sp
	f.Agent = func(string) (transcript.Reader, func(*spool.Record) ([]hook.Event, error)) {
		return claude.Agent, func(r *spool.Record) ([]hook.Event, error) {
			var e hook.Event
			err := json.Unmarshal(r.Payload, &e)
			e.StoredAt = r.At
			return []hook.Event{e}, err
		}
	}
	const key = "sk-ant-api03-Zx8Qw3Er5Ty7Ui9Op1As2Df4Gh6Jk8Lz0Xc2Vb4Nm6Qw8Er0Ty2Ui4Op6As8Df0Gh2Jk4Lz6-Xc8Vb0NmAA"
	for i, e := range []hook.Event{
		{Kind: hook.KindToolStart, Tool: &hook.Tool{ID: "c1", Name: "Bash", Input: `{"command":"make"}`}},
		{Kind: hook.KindToolStart, Tool: &hook.Tool{ID: "c2", Name: "Bash", Input: `{"command":"make test"}`}},
		{Kind: hook.KindToolEnd, Tool: &hook.Tool{ID: "c1", Name: "Bash", Input: `{"command":"make"}`, Output: "the whole output, " + key, Status: hook.ToolFailed}},
	} {
		payload, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		if err := sp.Append(&spool.Record{Host: "claude-code", Session: "s", Event: "E", At: at(i), Payload: payload}); err != nil {
			t.Fatal(err)
		}
	}
	got, err := f.Find(t.Context(), trace("claude-code", "s", "claude"), []Wanted{{ID: "c2"}, {ID: "c1", Preview: view.CallText{Result: "the w…"}}})
	if err != nil {
		t.Fatal(err)
	}
	if got[0].Arguments != `{"command":"make test"}` || got[0].Result != "" || got[0].Source != "from the spool" {
		t.Errorf("got %+v", got[0])
	}
	if !strings.HasPrefix(got[1].Result, "the whole output, [REDACTED:") || got[1].Place != view.PlaceSpool {
		t.Errorf("got %+v", got[1])
	}
}

// TestTextsLoseWhatTheTaskRemovedOnce looks a call up whose result has a value that only an
// answer of the same task shows to be a secret, and one that is a folder's name in the task.
func TestTextsLoseWhatTheTaskRemovedOnce(t *testing.T) {
	const session, secret, name = "7c1f0e52-9a4d-4b63-8f21-5d0b6a2e9c17", "Xk29vQ7wLp3z", "Rt81mN4bVc6y"
	call := hook.ToolResult{ID: "c1", Name: "Bash", At: at(1), Input: `{"command":"cat notes"}`, Text: "connected with " + secret + " in " + name + " as Zq55hJ8kWd2f"}
	f := finder(t, claude.Agent, nil)
	f.Agent = func(string) (transcript.Reader, func(*spool.Record) ([]hook.Event, error)) {
		return transcript.Reader{Read: func(_ context.Context, _ *transcript.Files, q transcript.Query) (*hook.Transcript, error) {
			tr := &hook.Transcript{ToolResults: []hook.ToolResult{call}}
			if q.Whole == nil { // a reading of whole texts need not have others
				tr.Prompts = []hook.Prompt{{At: at(0), Text: "deploy with password=" + secret + " and password=" + name}}
				tr.Requests = []hook.Request{{Start: at(9000), Text: "password=Zq55hJ8kWd2f"}} // a later task's
			}
			return tr, nil
		}}, nil
	}
	task := trace("claude-code", session, "claude")
	task.Started, task.Ended = at(0), at(2)
	task.ResourceSpans[0].ScopeSpans[0].Spans[0].Attributes = otlpTexts(otelmap.KeyWorkingDirectory, "/src/"+name)
	got, err := f.Find(t.Context(), task, []Wanted{{ID: "c1"}})
	if err != nil {
		t.Fatal(err)
	}
	if want := "connected with [REDACTED:assigned-secret] in " + name + " as Zq55hJ8kWd2f"; got[0].Result != want {
		t.Errorf("got %q, want %q", got[0].Result, want)
	}
}

func TestTextsAreBounded(t *testing.T) {
	got := bounded(strings.Repeat("é", MaxText))
	if !strings.HasSuffix(got, "é\n… 16777216 bytes more") || len(got) > MaxText+100 {
		t.Errorf("%d bytes, end %q", len(got), got[len(got)-40:])
	}
}

func otlpTexts(pairs ...string) (out []*commonpb.KeyValue) {
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			out = append(out, otlp.String(pairs[i], pairs[i+1]))
		}
	}
	return out
}
