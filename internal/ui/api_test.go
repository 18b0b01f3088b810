package ui

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/testkit/golden"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/internal/traces/view"
	"github.com/hookspan/hookspan/otelmap"
)

// task makes the spans of a task. Times are seconds after testTime.
type task struct {
	id    byte
	spans []*tracepb.Span
}

func (k *task) span(parent *tracepb.Span, op, name string, from, to float64, attrs ...*commonpb.KeyValue) *tracepb.Span {
	s := &tracepb.Span{
		TraceId: bytes.Repeat([]byte{k.id}, 16), SpanId: []byte{k.id, 0, 0, 0, 0, 0, 0, byte(len(k.spans) + 1)}, Name: name,
		StartTimeUnixNano: nanos(from), EndTimeUnixNano: nanos(to), Attributes: append(attrs, otlp.String(otelmap.KeyOperation, op)),
	}
	if parent != nil {
		s.ParentSpanId = parent.SpanId
	}
	k.spans = append(k.spans, s)
	return s
}

func nanos(seconds float64) uint64 {
	return otlp.UnixNano(testTime.Add(time.Duration(seconds * float64(time.Second))))
}

func (k *task) run(host, session, dir, outcome string, from, to float64, attrs ...*commonpb.KeyValue) *tracepb.Span {
	return k.span(nil, otelmap.OpInvokeAgent, "invoke_agent "+host, from, to, append(attrs,
		otlp.String(otelmap.KeyHost, host), otlp.String(otelmap.KeyConversationID, session), otlp.String(otelmap.KeyWorkingDirectory, dir), otlp.String(otelmap.KeyOutcome, outcome))...)
}

func (k *task) tool(parent *tracepb.Span, name, arguments, result string, from, to float64, attrs ...*commonpb.KeyValue) *tracepb.Span {
	s := k.span(parent, otelmap.OpExecuteTool, "execute_tool "+name, from, to, append(attrs, otlp.String(otelmap.KeyToolName, name), otlp.String(otelmap.KeyToolArguments, arguments))...)
	if result != "" {
		s.Attributes = append(s.Attributes, otlp.String(otelmap.KeyToolResult, result))
	}
	return s
}

func (k *task) chat(parent *tracepb.Span, model string, from, to float64, in, out int64, usd float64) *tracepb.Span {
	return k.span(parent, otelmap.OpChat, "chat "+model, from, to, otlp.String(otelmap.KeyRequestModel, model), otlp.Int(otelmap.KeyInputTokens, in), otlp.Int(otelmap.KeyOutputTokens, out), otlp.Float(otelmap.KeyCost, usd))
}

func failed(s *tracepb.Span, kind, message string) {
	s.Status = &tracepb.Status{Code: tracepb.Status_STATUS_CODE_ERROR, Message: message}
	s.Attributes = append(s.Attributes, otlp.String(otelmap.KeyErrorType, kind))
}

func event(s *tracepb.Span, name string, at float64, attrs ...*commonpb.KeyValue) {
	s.Events = append(s.Events, &tracepb.Span_Event{Name: name, TimeUnixNano: nanos(at), Attributes: attrs})
}

func message(key, role, text string) *commonpb.KeyValue {
	return otlp.String(key, otelmap.TextMessages(role, text))
}

// largeTask has everything that the page shows.
func largeTask() *task {
	k := &task{id: 0xa1}
	root := k.run("claude-code", "s1", "/home/dev/shop", otelmap.OutcomeCompleted, 0, 100, message(otelmap.KeyInputMessages, otelmap.RoleUser, "Fix the total"), message(otelmap.KeyOutputMessages, otelmap.RoleAssistant, "It adds up."),
		otlp.String(otelmap.KeyModel, "m1"), otlp.Float(otelmap.KeyCost, 1), otlp.Int(otelmap.KeyRunInputTokens, 660), otlp.Int(otelmap.KeyRunOutputTokens, 66), otlp.Int(otelmap.KeyToolCalls, 7), otlp.Int(otelmap.KeyToolFailures, 2))
	event(root, otelmap.EventPrompt, 0, otlp.String(otelmap.KeyText, "Fix the total"))
	event(root, otelmap.EventPrompt, 40, otlp.String(otelmap.KeyText, "and the tests"))
	event(root, otelmap.EventCompaction, 50)
	chat := k.chat(root, "m1", 1, 4, 100, 10, 0.25)
	chat.Attributes = append(chat.Attributes, message(otelmap.KeyOutputMessages, otelmap.RoleAssistant, "I look first."))
	k.tool(root, "Bash", `{"command":"ls /home/dev/shop/src"}`, "a.go\nb.go", 5, 6)
	edit := k.tool(root, "Edit", `{"file_path":"/home/dev/shop/a.go","old_string":"one\ntwo","new_string":"one\n2\n3"}`, "done", 7, 20, otlp.Int(otelmap.KeyHostDuration, 3000))
	event(edit, otelmap.EventPermission, 8)
	event(edit, otelmap.EventHook, 7.5, otlp.String(otelmap.KeyHookEvent, "PreToolUse"), otlp.String(otelmap.KeyHookCommand, "guard.sh"), otlp.String(otelmap.KeyHookStatus, "ok"), otlp.Int(otelmap.KeyHookDuration, 12))
	broken := k.tool(root, "Bash", `{"command":"npm test"}`, "", 21, 25)
	failed(broken, otelmap.ErrorToolFailure, "exit code 1\nFAIL total.test.js")
	denied := k.tool(root, "Bash", `{"command":"rm -rf /"}`, "", 26, 27, otlp.String(otelmap.KeyHookDeniedBy, "guard.sh"))
	failed(denied, otelmap.ErrorToolDenied, "rm goes too far")
	event(denied, otelmap.EventHook, 26.5, otlp.String(otelmap.KeyHookEvent, "PreToolUse"), otlp.String(otelmap.KeyHookCommand, "guard.sh"), otlp.String(otelmap.KeyHookStatus, "ok"), otlp.String(otelmap.KeyHookDecision, "deny"), otlp.String(otelmap.KeyHookReason, "rm goes too far"))
	agent := k.span(root, otelmap.OpInvokeAgent, "invoke_agent explore", 28, 39, otlp.String(otelmap.KeyAgent, "a1"), otlp.String(otelmap.KeyAgentName, "explore"), otlp.Float(otelmap.KeyCost, 0.5))
	k.chat(agent, "m2", 29, 30, 500, 50, 0.25)
	k.tool(agent, "Write", `{"file_path":"/home/dev/shop/new.txt","content":"x\ny\n"}`, "", 31, 32)
	k.tool(root, "Write", `{"file_path":"/home/dev/shop/long.txt","content":"cut …"}`, "", 60, 61)
	hanging := k.tool(root, "Read", `{"file_path":"/home/dev/shop/b.go"}`, "", 62, 62)
	failed(hanging, otelmap.ErrorToolUnfinished, "")
	k.chat(root, "m1", 70, 72, 60, 6, 0.125)
	k.tool(root, "mcp__db__query", `{"sql":"SELECT 1"}`, "1", 73, 80)
	return k
}

// apiStore has four tasks: two of one session, the second of which failed, and two of
// another agent, one that was cancelled and one whose last call was denied.
func apiStore(t *testing.T) *store.Store {
	t.Helper()
	s, _ := emptyStore(t)
	s.Now = func() time.Time { return testTime.Add(24 * time.Hour) }
	second := &task{id: 0xb2}
	root := second.run("claude-code", "s1", "/home/dev/shop", otelmap.OutcomeFailed, 3600, 3700, message(otelmap.KeyInputMessages, otelmap.RoleUser, "Again"), otlp.Int(otelmap.KeyToolCalls, 2))
	failed(root, "overloaded", "the model is\noverloaded")
	second.tool(root, "Bash", `{"command":"npm test"}`, "ok", 3605, 3608)
	second.tool(root, "Edit", `{"file_path":"/home/dev/shop/a.go","old_string":"one\ntwo","new_string":"one\n2\n3"}`, "done", 3610, 3611)
	second.tool(root, "Edit", `{"file_path":"/home/dev/shop/a.go","old_string":"2","new_string":"4"}`, "done", 3612, 3613)
	failed(second.tool(root, "Write", `{"file_path":"/home/dev/shop/no.txt","content":"x"}`, "", 3614, 3615), otelmap.ErrorToolFailure, "read-only")
	second.chat(root, "m1", 3620, 3630, 40, 4, 0.0625)
	third := &task{id: 0xc3}
	root = third.run("codex", "s2", "/", otelmap.OutcomeCancelled, 90_000, 90_060, message(otelmap.KeyInputMessages, otelmap.RoleUser, "Wait \u202e for it"))
	third.span(root, "other", "something", 90_001, 90_002)
	fourth := &task{id: 0xe5}
	root = fourth.run("codex", "s4", "/home/dev/shop", otelmap.OutcomeCompleted, 95_000, 95_060, message(otelmap.KeyInputMessages, otelmap.RoleUser, "Publish"), otlp.Int(otelmap.KeyToolCalls, 1))
	failed(fourth.tool(root, "Bash", `{"command":"npm publish"}`, "", 95_010, 95_011), otelmap.ErrorToolDenied, "not today")
	for _, k := range []*task{largeTask(), second, third, fourth} {
		if err := s.UploadTraces(t.Context(), []*tracepb.ResourceSpans{{ScopeSpans: []*tracepb.ScopeSpans{{Spans: k.spans}}}}); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// runningTask is a task that runs and waits for the user.
func runningTask() *store.Trace {
	k := &task{id: 0xd4}
	root := k.run("cline", "s3", "/home/dev/shop", "", 100_000, 0, message(otelmap.KeyInputMessages, otelmap.RoleUser, "Under way"))
	root.EndTimeUnixNano = 0
	k.tool(root, "read_file", `{"path":"a.go"}`, "one", 100_001, 100_002)
	k.tool(root, "execute_command", `{"command":"sleep 1"}`, "", 100_003, 0, otlp.String(otelmap.KeyToolOutcome, otelmap.ToolOutcomeRunning)).EndTimeUnixNano = 0
	return &store.Trace{
		Summary: store.Summary{
			TraceID: strings.Repeat("d4", 16), Host: "cline", Session: "s3", Title: "Under way", Directory: "/home/dev/shop", Outcome: otelmap.OutcomeRunning, Runs: 1,
			Started: testTime.Add(100_000 * time.Second), Spans: 3, Waiting: true,
		},
		ResourceSpans: []*tracepb.ResourceSpans{{ScopeSpans: []*tracepb.ScopeSpans{{Spans: k.spans}}}},
	}
}

// apiOptions are what the page has of a machine.
func apiOptions(t *testing.T) Options {
	return Options{
		Store: apiStore(t), Token: testToken, Version: "1.2.3", NoTraces: "use your agent", Agents: map[string]string{"cline": "Cline"},
		Running: func(context.Context) ([]*store.Trace, error) { return []*store.Trace{runningTask()}, nil },
		Resume:  func(_ context.Context, t *store.Summary) string { return t.Host + " --resume " + t.Session },
		Whole: func(_ context.Context, tr *store.Trace, rows ...*view.Row) (out []view.CallText, err error) {
			for _, r := range rows {
				text := view.CallText{Arguments: fmt.Sprintf(`{"file_path":"/home/dev/shop/long.txt","content":"whole\nof %s of %s"}`, r.Label, tr.Session), Result: "whole", Place: "file", Source: "the agent's files"}
				if r.Label == "Read" {
					text = r.Texts()
				}
				out = append(out, text)
			}
			return out, nil
		},
		Status:   func(context.Context) (any, error) { return map[string]string{"recording": "on"}, nil },
		Findings: func(context.Context) (any, error) { return []string{"everything works"}, nil },
		Hooked:   func(context.Context) []string { return []string{"Claude Code"} },
	}
}

var storeSizes = regexp.MustCompile(`"bytes": [0-9]+`)

// answerTo is the answer to a call of the API, indented.
func answerTo(t *testing.T, addr, path string) string {
	t.Helper()
	status, answer := send(t, addr, strings.Replace(apiCall, "sessions", path, 1)+"\n")
	var out bytes.Buffer
	if json.Indent(&out, []byte(answer), "", " ") != nil {
		return fmt.Sprintf("%d %s\n", status, answer)
	}
	return fmt.Sprintf("%d %s\n", status, storeSizes.ReplaceAllString(out.String(), `"bytes": SIZE`))
}

// TestAnswersOfTheAPI asks for everything that the page may ask for.
func TestAnswersOfTheAPI(t *testing.T) {
	a, b, c, d := strings.Repeat("a1", 16), strings.Repeat("b2", 16), strings.Repeat("c3", 16), strings.Repeat("d4", 16)
	for _, part := range []struct {
		name  string
		paths []string
	}{
		{"lists", []string{
			"about", "agents", "status", "sessions", "sessions?limit=1", "sessions?failed", "sessions?denied", "sessions?agent=codex", "sessions?model=m2", "sessions?tool=Edit", "sessions?outcome=failed",
			"sessions?project=/home/dev/shop", "sessions?session=s2", "sessions?text=overloaded", "sessions?since=2026-05-04T10:30:00Z", "sessions?until=2026-05-04T10:30:00Z", "sessions?min-cost=0.5", "sessions?sort=cost", "sessions?sort=title",
			"facets", "session/s1", "session/s1?agent=codex", "session/none", "search?text=total", "search?text=rm&limit=1", "waiting", "usage?tz=UTC", "usage?tz=Asia/Tokyo&agent=codex", "work", "work?agent=codex",
		}},
		{"tasks", []string{
			"traces/" + a, "traces/" + a + "/rows", "traces/" + a + "/lines", "traces/" + a + "/lines?from=15", "traces/" + a + "/conversation", "traces/" + a + "/conversation?from=8", "traces/" + a + "/changes", "traces/" + a + "/changes?from=9", "traces/" + a + "/cost",
			"traces/" + b, "traces/" + b + "/lines", "traces/" + c, "traces/" + c + "/lines", "traces/" + strings.Repeat("e5", 16), "traces/" + d, "traces/" + d + "/rows", "traces/" + d + "/lines", "traces/" + d + "/conversation", "traces/" + d + "/cost", "traces/" + d + "/find?text=sleep",
			"traces/" + a + "/find?text=TOTAL.test", "traces/" + a + "/find?text=bash", "traces/" + a + "/find?text=%C3%A4", "traces/" + a + "/find?text=+", "traces/" + a + "/find?text=a&version=77", "traces/" + a + "/find?text=npm&version=1",
			"traces/" + a[:8], "traces/" + strings.Repeat("f", 32) + "/rows", "traces/" + strings.Repeat("f", 32) + "/cost", "traces/" + a[:3] + "/cost",
		}},
		{"rows", []string{
			"traces/" + a + "/row/0", "traces/" + a + "/row/a100000000000003", "traces/" + a + "/row/a100000000000004", "traces/" + a + "/row/a100000000000004.1", "traces/" + a + "/row/a100000000000004.2", "traces/" + a + "/row/a100000000000004.3", "traces/" + a + "/row/a100000000000005",
			"traces/" + a + "/row/a100000000000006", "traces/" + a + "/row/a100000000000007", "traces/" + a + "/row/a10000000000000a?whole", "traces/" + a + "/row/a100000000000005?whole", "traces/" + a + "/row/2?whole", "traces/" + a + "/row/19", "traces/" + a + "/row/-1", "traces/" + a + "/row/x", "traces/" + d + "/row/2",
		}},
		{"calls", []string{
			"calls", "calls?limit=2", "calls?limit=1&first", "calls?tool=Bash", "calls?failed", "calls?denied", "calls?edits", "calls?command=npm", "calls?file=a.go", "calls?file=%5B", "calls?slower=5", "calls?slower=0", "calls?slower=x", "calls?min-cost=1", "calls?dearer=1", "calls?dearer=0", "calls?since=x", "calls?tool=%zz",
			"compare?a=" + a + "&b=" + b, "compare?a=" + c + "&b=" + c, "compare?b=" + b, "hooks", "hooks?tool=Bash", "hooks/calls", "hooks/calls?agent=claude-code", "hooks/calls?tool=Bash", "hooks/call/" + a + "/a100000000000005", "hooks/call/" + a + "/a10000000000000b", "hooks/call/" + a + "/a100000000000002", "hooks/call/zz/x", "nothing",
		}},
	} {
		addr := listening(t, apiOptions(t))
		var out strings.Builder
		for _, path := range part.paths {
			fmt.Fprintf(&out, "== %s\n%s", path, answerTo(t, addr, path))
		}
		golden.Check(t, "api-"+part.name+".txt", out.String())
	}
}

// TestAnswersWithoutAMachine asks a server that has nothing but a store, and one whose
// machine cannot be asked.
func TestAnswersWithoutAMachine(t *testing.T) {
	var out strings.Builder
	s, _ := emptyStore(t)
	bad := func(context.Context) (any, error) { return nil, errors.New("cannot be asked") }
	for _, o := range []Options{{Store: s, Token: testToken}, {Store: s, Token: testToken, Status: bad, Hooked: func(context.Context) []string { return nil }, Past: func(context.Context) []string { return []string{"2 sessions of Codex"} }}, {Store: s, Token: testToken, Findings: bad, Running: func(context.Context) ([]*store.Trace, error) { return nil, errors.New("no") }}} {
		addr := listening(t, o)
		for _, path := range []string{"about", "status", "sessions", "facets", "session/s1", "waiting", "usage", "work", "calls", "hooks", "hooks/calls", "search?text=a"} {
			fmt.Fprintf(&out, "== %s\n%s", path, answerTo(t, addr, path))
		}
	}
	golden.Check(t, "api-empty.txt", out.String())
}

func TestCostsHaveTheBudgetsOfAllTasks(t *testing.T) {
	s, _ := emptyStore(t)
	text := "day $4.10 of $5.00 (82 %)"
	addr := listening(t, Options{Store: s, Token: testToken, Budgets: func(context.Context) (any, error) { return []map[string]string{{"text": text}}, nil }})
	for range 2 { // the second time the sums are kept
		if got := answerTo(t, addr, "usage?agent=cline"); !strings.Contains(got, text) {
			t.Errorf("no %q in %s", text, got)
		}
		text = "day $5.10 of $5.00 (102 %)"
	}
}

// TestWholeAnswers has the headers and the bodies of what is no JSON, and of refusals.
func TestWholeAnswers(t *testing.T) {
	addr := started(t)
	var out strings.Builder
	get := func(what string, change func(*http.Request), path string) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+addr+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if change != nil {
			change(req)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		var body bytes.Buffer
		if _, err := body.ReadFrom(res.Body); err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		res.Header.Del("Date")
		text := body.String()
		if res.StatusCode == http.StatusOK && strings.Contains(text, "integrity=") {
			text = "the shell\n"
			res.Header.Del("Content-Length")
		}
		fmt.Fprintf(&out, "== %s %s\n%s\n", what, path, res.Status)
		for _, name := range slices.Sorted(maps.Keys(res.Header)) {
			fmt.Fprintf(&out, "%s: %s\n", name, strings.Join(res.Header[name], ", "))
		}
		out.WriteString(text + "\n")
	}
	for _, view := range []string{"/", Opening, "/s/x", "/t/x", "/search", "/calls", "/changes", "/cost", "/compare", "/hooks", "/status"} {
		get("a view", nil, view)
	}
	get("the proof", nil, Here+"?nonce=n")
	get("another address", func(r *http.Request) { r.Host = "localhost:1" }, "/")
	get("another address", func(r *http.Request) { r.Host = "localhost:1" }, "/api/v1/sessions")
	get("another origin", func(r *http.Request) { r.Header.Set("Origin", "http://a") }, "/")
	get("another site", func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") }, "/")
	get("no token", nil, "/api/v1/about")
	get("no method", func(r *http.Request) { r.Method = http.MethodPut }, "/")
	get("no file", nil, "/assets/x/none.js")
	golden.Check(t, "answers.txt", strings.ReplaceAll(out.String(), addr, "ADDR"))
}

// TestStartedPageIsFound writes the opening page of servers and finds those that still
// listen and know their token.
func TestStartedPageIsFound(t *testing.T) {
	s, _ := emptyStore(t)
	addr := listening(t, Options{Store: s, Token: testToken})
	u, err := url.Parse("http://" + addr + "/open#token=" + testToken)
	if err != nil {
		t.Fatal(err)
	}
	right := Started{Dir: filepath.Join(t.TempDir(), "ui"), Port: 3044, Process: 42, Edit: true, Address: u.String()}
	write := func(p Started) Started {
		t.Helper()
		if err := p.Write(); err != nil {
			t.Fatal(err)
		}
		return p
	}
	for _, c := range []struct {
		name    string
		prepare func() Started
		any     bool
		want    bool
	}{
		{"no folder", func() Started { return right }, true, false},
		{"the page", func() Started { return write(right) }, false, true},
		{"another port", func() Started { p := right; p.Port = 3045; return p }, false, false},
		{"any port", func() Started { p := right; p.Port = 3045; return p }, true, true},
		{"the page at an IP address", func() Started { p := right; p.IP = true; return write(p) }, false, true},
		{"a page that does not edit", func() Started { p := right; p.Edit = false; return write(p) }, false, true},
		{"another token", func() Started { p := right; p.Address = strings.ReplaceAll(p.Address, "0", "1"); return write(p) }, false, false},
		{"no address", func() Started { p := right; p.Address = "http://%zz/"; return write(p) }, false, false},
		{"a file that is no page", func() Started {
			if err := os.WriteFile(right.File(), []byte("x"), 0o600); err != nil {
				t.Fatal(err)
			}
			return right
		}, false, false},
	} {
		p := c.prepare()
		got := Started{Dir: p.Dir, Port: p.Port, IP: p.IP}
		if found := got.Find(t.Context(), c.any); found != c.want {
			t.Errorf("%s: found %t, want %t", c.name, found, c.want)
		}
		if want := p; c.want && (got.Process != 42 || got.Edit != want.Edit || got.Address != want.Address) {
			t.Errorf("%s: found %+v, want %+v", c.name, got, want)
		}
	}
	if name := filepath.Base((&Started{IP: true}).File()); name != "ip.html" {
		t.Errorf("the file at an IP address is %s", name)
	}
}

// TestRecentTracesAreKept: eight are, the last first.
func TestRecentTracesAreKept(t *testing.T) {
	s, _ := emptyStore(t)
	tasksIn(t, s, make([][2]string, 12)...)
	server := New(Options{Store: s, Token: testToken})
	get := func(n int) *loaded {
		l, err := server.traces.get(t.Context(), server, fmt.Sprintf("%x", fmt.Sprintf("%016d", n)))
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	var first []*loaded
	for n := 1; n <= recentTraces; n++ {
		first = append(first, get(n))
	}
	for n := recentTraces; n >= 1; n-- {
		if get(n) != first[n-1] {
			t.Errorf("trace %d of %d is not kept", n, recentTraces)
		}
	}
	get(recentTraces + 1)
	if get(1) != first[0] || get(recentTraces) == first[recentTraces-1] {
		t.Error("it is not the one that was asked for longest ago that is let go")
	}
	if _, err := server.traces.get(t.Context(), server, ""); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("no id: %v", err)
	}
}

// TestLongTextsAreCut: where a list shows the beginning, it shows as much as it says.
func TestLongTextsAreCut(t *testing.T) {
	long := strings.Repeat("x", 1000)
	s, l := loadedTask(t, Options{}, ranCall{"Bash", `{"command":"` + long + `"}`, otelmap.ErrorToolFailure, long, 0})
	all, err := l.problems(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	call := rowOfCall(store.Call{Tool: "Bash", Arguments: `{"command":"` + long + `"}`, Error: long, Status: otelmap.EndFailed}, false)
	lines := ask[[]lineOf](t, listening(t, Options{Store: s.opts.Store, Token: testToken}), "traces/"+l.TraceID+"/lines")
	for what, c := range map[string]struct {
		text string
		want int
	}{
		"a problem's call": {all[0].Detail, 200}, "its message": {all[0].Message, 400}, "a call": {call.What, 300}, "its reason": {call.Reason, 300}, "a line": {lines[1].Text, 200}, "its note": {lines[1].Note, 200},
	} {
		if n := len([]rune(c.text)); n != c.want {
			t.Errorf("%s has %d characters, want %d", what, n, c.want)
		}
	}
	if got := string(visible([]byte("a\u0080b"))); got != "a⟨U+0080⟩b" {
		t.Errorf("visible: %q", got)
	}
}
