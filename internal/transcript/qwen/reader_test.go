package qwen

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/rawjson"
	"github.com/hookspan/hookspan/internal/testkit/transcripttest"
	"github.com/hookspan/hookspan/internal/transcript"
)

// sessionsOf are the recorded sessions, by the name of the recording.
var sessionsOf = map[string]string{
	"hello":        "10e7a4fb-f089-4789-a63a-6043c2a077ec",
	"behave":       "5adcd396-83a6-4ac6-bbd8-1e8c8bad8d6e",
	"tools-resume": "5688186d-3a85-4674-916c-2d4924a0ef02",
	"subagent":     "3c008636-9bcd-4a71-bcbf-91acea778c88",
	"interrupt":    "45d3a3fd-1c07-4a77-8a63-287ff500c8fe",
	"api-error":    "62e1f1a8-0716-43c0-872e-8e5b08c7c267",
}

// finder finds the files of a recording as in a home folder.
func finder(t testing.TB, name string) *transcript.Files {
	t.Helper()
	if name != "" {
		name = filepath.Join("../testdata/qwen", name)
	}
	return transcripttest.Home(t, name, ".qwen")
}

func recorded(t testing.TB, name string) *hook.Transcript {
	t.Helper()
	tr, err := finder(t, name).Read(t.Context(), Agent, transcript.Query{Session: sessionsOf[name]})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return tr
}

// line is what is compared of a transcript.
func lines(tr *hook.Transcript) (out []string) {
	turn := func(id string) string { return id[strings.LastIndexByte(id, '#')+1:] }
	for _, p := range tr.Prompts {
		out = append(out, fmt.Sprintf("prompt %s %q injected %v", turn(p.Turn), p.Text, p.Injected))
	}
	for _, c := range tr.Requests {
		u := hook.Usage{}
		if c.Usage != nil {
			u = *c.Usage
		}
		out = append(out, fmt.Sprintf("call %s %s%s %d/%d/%d %s %q %v", turn(c.Turn), c.Agent, c.ID[strings.LastIndexByte(c.ID, '-'):], u.Input, u.CacheRead, u.Output, c.Error, c.Text, len(c.ToolCallIDs)))
	}
	for _, r := range tr.ToolResults {
		out = append(out, fmt.Sprintf("result %s %s%s %s %d %.30q %v", turn(r.Turn), r.Agent, r.ID[strings.LastIndexByte(r.ID, 'y'):], r.Name, r.Status, r.Text, r.At.Sub(r.Asked)))
	}
	for _, a := range tr.Agents {
		out = append(out, fmt.Sprintf("agent %s %s %s %q %q %v", turn(a.Turn), a.Type, a.CallID, a.Task, a.Result, a.End.Sub(a.Start)))
	}
	for _, e := range tr.Ends {
		out = append(out, fmt.Sprintf("end %s %s %q %q", turn(e.Turn), e.Kind, e.Result+e.Message, e.ErrorType))
	}
	return out
}

// Statuses by the real program: a failed command, a missing file, a denied call, an
// unknown tool and a failed edit among what worked.
func TestToolStatuses(t *testing.T) {
	var got []hook.ToolStatus
	for _, r := range recorded(t, "tools-resume").ToolResults {
		got = append(got, r.Status)
		if r.Input == "" || r.Text == "" || r.At.Before(r.Asked) {
			t.Errorf("result is not whole: %+v", r)
		}
	}
	const ok, failed, denied = hook.ToolOK, hook.ToolFailed, hook.ToolDenied
	if diff := cmp.Diff([]hook.ToolStatus{ok, failed, ok, ok, failed, denied, failed, failed, ok}, got); diff != "" {
		t.Errorf("statuses (-want +got):\n%s", diff)
	}
}

// TestOutputAndCost has the counts of requests as Qwen Code 0.24.4 writes them.
func TestOutputAndCost(t *testing.T) {
	for _, tt := range []struct {
		name, event string
		output      int64
		cost        float64 // negative: none
	}{
		{
			"Google's protocol", `"model":"gemini-2.5-pro","auth_type":"gemini","input_token_count":1010,"output_token_count":51,"cached_content_token_count":601,"thoughts_token_count":7,"total_token_count":1068`,
			58, (409*1.25 + 601*0.125 + 58*10) / 1e6,
		},
		{
			"OpenAI's protocol", `"model":"gpt-5.5","auth_type":"openai","input_token_count":1010,"output_token_count":51,"cached_content_token_count":601,"thoughts_token_count":5,"total_token_count":1061`,
			51, (409*5 + 601*0.5 + 51*30) / 1e6,
		},
		{
			"a model whose cache costs to write", `"model":"gpt-5.6-sol","auth_type":"openai","input_token_count":1010,"output_token_count":51,"cached_content_token_count":601,"thoughts_token_count":5,"total_token_count":1061`,
			51, -1,
		},
		{
			"Anthropic's protocol", `"model":"claude-sonnet-5","auth_type":"anthropic","input_token_count":421,"output_token_count":41,"cached_content_token_count":300,"thoughts_token_count":0,"total_token_count":462`,
			41, -1,
		},
		{
			"Qwen's own model", `"model":"qwen3-coder-plus","auth_type":"openai","input_token_count":1010,"output_token_count":51,"total_token_count":1061`,
			51, -1,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := newLog("s", 1<<16)
			var r row
			r.Parse([]byte(`{"type":"system","subtype":"ui_telemetry","timestamp":"2026-11-22T14:43:58.388Z","systemPayload":{"uiEvent":{"event.name":"qwen-code.api_response",` + tt.event + `}}}`))
			l.add(&r)
			u := l.Calls[0].Usage
			got := -1.0
			if u.CostUSD != nil {
				got = *u.CostUSD
			}
			if u.Output != tt.output || math.Abs(got-tt.cost) > 1e-12 {
				t.Errorf("output %d, cost %v; want %d, %v", u.Output, got, tt.output, tt.cost)
			}
		})
	}
}

// TestEachCallIsReadOnce has the rows of calls in the orders in which versions write them.
// Before version 0.13 a telemetry row does not say which call it is about.
func TestEachCallIsReadOnce(t *testing.T) {
	const (
		prompt = `"type":"user","message":{"parts":[{"text":"go"}]}`
		ask    = `"type":"assistant","message":{"parts":[{"functionCall":{"id":"%s","name":"sh","args":{"c":"%s"}}}]}`
		told   = `"type":"system","subtype":"ui_telemetry","systemPayload":{"uiEvent":{"event.name":"qwen-code.tool_call",%s"function_name":"sh","function_args":{"c":"%s"},"duration_ms":10,"status":"%s"}}`
		result = `"type":"tool_result","message":{"parts":[{"functionResponse":{"id":"%s","name":"sh","response":{"output":"out %[1]s"}}}]}`
	)
	row := fmt.Sprintf
	both := []string{`a {"c":"x"} 0 "out a"`, `b {"c":"y"} 1 "out b"`}
	for _, tt := range []struct {
		name string
		rows []string
		want []string
	}{
		{"telemetry without ids, in another order", []string{
			row(ask, "a", "x"), row(ask, "b", "y"), row(told, "", "y", "error"), row(told, "", "x", "success"), row(result, "a"), row(result, "b"),
		}, both},
		{"results before the telemetry", []string{
			row(ask, "a", "x"), row(ask, "b", "y"), row(result, "a"), row(result, "b"), row(told, "", "y", "error"), row(told, "", "x", "success"),
		}, both},
		{"results before telemetry with ids", []string{
			row(ask, "a", "x"), row(ask, "b", "y"), row(result, "a"), row(result, "b"), row(told, `"call_id":"b",`, "y", "error"), row(told, `"call_id":"a",`, "x", "success"),
		}, both},
		{"two equal calls", []string{
			row(ask, "a", "x"), row(ask, "b", "x"), row(told, "", "x", "success"), row(told, "", "x", "error"), row(result, "a"), row(result, "b"),
		}, []string{`a {"c":"x"} 0 "out a"`, `b {"c":"x"} 1 "out b"`}},
		{"a file that begins with what became of calls", []string{
			row(told, "", "v", "success"), row(told, "", "w", "error"), row(result, "v"), row(result, "w"),
			row(ask, "a", "x"), row(ask, "b", "y"), row(told, "", "x", "success"), row(told, "", "y", "error"), row(result, "a"), row(result, "b"),
		}, append([]string{`v {"c":"v"} 0 "out v"`, `w {"c":"w"} 1 "out w"`}, both...)},
		{"an input that the user has changed", []string{
			row(ask, "a", "x"), row(told, "", "z", "success"), row(result, "a"),
		}, []string{`a {"c":"z"} 0 "out a"`}},
		{"no telemetry", []string{row(ask, "a", "x"), row(result, "a")}, []string{`a {"c":"x"} 4 "out a"`}},
		{"telemetry without a result", []string{row(ask, "a", "x"), row(told, "", "x", "error")}, []string{`a {"c":"x"} 1 ""`}},
		{"an id that comes again", []string{
			row(ask, "a", "x"), row(told, "", "x", "success"), row(result, "a"), row(ask, "a", "x"), row(told, "", "x", "error"), row(result, "a"),
		}, []string{`a {"c":"x"} 0 "out a"`, `a {"c":"x"} 1 "out a"`}},
		{"a call without a result", []string{row(ask, "a", "x"), row(ask, "b", "y"), row(result, "b")}, []string{`b {"c":"y"} 4 "out b"`, `a {"c":"x"} unfinished`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := finder(t, "")
			tr := readRows(t, f, append([]string{prompt}, tt.rows...)...)
			var got []string
			for _, r := range tr.ToolResults {
				if r.At.IsZero() {
					got = append(got, fmt.Sprintf("%s %s unfinished", r.ID, r.Input))
					continue
				}
				got = append(got, fmt.Sprintf("%s %s %d %q", r.ID, r.Input, r.Status, r.Text))
			}
			slices.Sort(got)
			slices.Sort(tt.want)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
		})
	}
}

// Where no telemetry row counts a request, its answer does.
func TestRequestsWithoutTelemetry(t *testing.T) {
	f := finder(t, "")
	answer := func(id string, tokens int) string {
		return fmt.Sprintf(`"uuid":%q,"type":"assistant","model":"coder-model","message":{"parts":[{"text":"%s"}]},"usageMetadata":{"promptTokenCount":%d,"candidatesTokenCount":2,"thoughtsTokenCount":1,"totalTokenCount":%d}`, "-"+id, id, tokens, tokens+2)
	}
	tr := readRows(t, f, `"type":"user","message":{"parts":[{"text":"go"}]}`, answer("a", 10), answer("b", 20))
	want := []string{`prompt  "go" injected false`, `call  -a 10/0/2  "a" 0`, `call  -b 20/0/2  "b" 0`, `end  run_complete "b" ""`}
	if diff := cmp.Diff(want, lines(tr)); diff != "" {
		t.Errorf("transcript (-want +got):\n%s", diff)
	}
	const told = `"type":"system","subtype":"ui_telemetry","systemPayload":{"uiEvent":{"event.name":"qwen-code.api_response","response_id":"-r","input_token_count":10,"output_token_count":2}}`
	for _, rows := range [][]string{{told, answer("a", 10)}, {answer("a", 10), told}} {
		if tr := readRows(t, f, rows...); len(tr.Requests) != 1 || tr.Requests[0].ID != "-r" {
			t.Errorf("requests %+v, want the one of the telemetry row", tr.Requests)
		}
	}
}

// A session of which only a subagent's file is left is that subagent's.
func TestASessionWhoseFileIsGone(t *testing.T) {
	f := finder(t, "")
	path := filepath.Join(f.Home, ".qwen/projects/p/subagents/s/agent-a"+suffix)
	rows := `{"sessionId":"s","timestamp":"2026-03-22T10:00:00Z","type":"user","message":{"parts":[{"text":"look"}]}}` + "\n" +
		`{"sessionId":"s","timestamp":"2026-03-22T10:00:01Z","uuid":"-x","type":"assistant","model":"m","message":{"parts":[{"text":"Found."}]},"usageMetadata":{"promptTokenCount":1}}` + "\n"
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(rows), 0o600)); err != nil {
		t.Fatal(err)
	}
	all, err := f.Sessions(t.Context(), Agent)
	if err != nil || len(all) != 1 || all[0].ID != "s" || all[0].Path != path {
		t.Fatalf("sessions %+v, %v", all, err)
	}
	tr, err := f.Read(t.Context(), Agent, transcript.Query{Session: "s", Path: path, Full: true})
	if err != nil || len(tr.Prompts) != 0 || len(tr.Agents) != 1 || len(tr.Requests) != 1 || tr.Requests[0].Agent != "a" || len(tr.Unread) != 1 {
		t.Errorf("%+v, %v; want the subagent alone", tr, err)
	}
}

// TestSubagentsInTheTelemetryAlone are those of a version without files for them. What works for
// Qwen Code itself is in no turn.
func TestSubagentsInTheTelemetryAlone(t *testing.T) {
	told := func(agent, id string) string {
		return fmt.Sprintf(`"type":"system","subtype":"ui_telemetry","systemPayload":{"uiEvent":{"event.name":"qwen-code.api_response","prompt_id":"s#%s#0","response_id":"-%s","input_token_count":10,"output_token_count":2}}`, agent, id)
	}
	ask := func(id string) string {
		return fmt.Sprintf(`"type":"assistant","message":{"parts":[{"functionCall":{"id":%q,"name":"agent","args":{"prompt":"task of %s","subagent_type":"code-reviewer"}}}]}`, id, id)
	}
	result := func(id, status string) string {
		return fmt.Sprintf(`"type":"tool_result","message":{"parts":[{"functionResponse":{"id":%q,"name":"agent","response":{"output":"of %s"}}}]},"toolCallResult":{"callId":%q,"status":%q}`, id, id, id, status)
	}
	tr := readRows(t, finder(t, ""), `"type":"user","message":{"parts":[{"text":"go"}]}`,
		ask("yd"), result("yd", "error"), ask("ya"), ask("yb"), told("code-reviewer-one", "1"), told("code-reviewer-two", "2"), told("memory-keeper-x", "m"), told("code-reviewer-one", "3"),
		result("ya", "success"), result("yb", "success"))
	var got []string
	for _, line := range lines(tr) {
		if strings.HasPrefix(line, "agent") || strings.HasPrefix(line, "call") {
			got = append(got, line)
		}
	}
	want := []string{
		`call  code-reviewer-one-1 10/0/2  "" 0`, `call  code-reviewer-two-2 10/0/2  "" 0`, `call  code-reviewer-one-3 10/0/2  "" 0`,
		`agent  code-reviewer ya "task of ya" "of ya" 3s`, `agent  code-reviewer yb "task of yb" "of yb" 0s`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Telemetry may be switched on later.
func TestRequestsBeforeTelemetry(t *testing.T) {
	answer := func(id string, tokens int) string {
		return fmt.Sprintf(`"uuid":%q,"type":"assistant","model":"coder-model","message":{"parts":[{"text":"%s"}]},"usageMetadata":{"promptTokenCount":%d,"candidatesTokenCount":2,"totalTokenCount":%d}`, "-"+id, id, tokens, tokens+2)
	}
	tr := readRows(t, finder(t, ""), `"type":"user","message":{"parts":[{"text":"go"}]}`, answer("a", 10), `"type":"user","message":{"parts":[{"text":"on"}]}`,
		`"type":"system","subtype":"ui_telemetry","systemPayload":{"uiEvent":{"event.name":"qwen-code.api_response","prompt_id":"x########1","response_id":"-r","input_token_count":30,"output_token_count":2}}`, answer("b", 30))
	want := []string{
		`prompt  "go" injected false`, `prompt 1 "on" injected false`, `call  -a 10/0/2  "a" 0`, `call 1 -r 30/0/2  "b" 0`, `end  run_complete "a" ""`, `end 1 run_complete "b" ""`,
	}
	if diff := cmp.Diff(want, lines(tr)); diff != "" {
		t.Errorf("transcript (-want +got):\n%s", diff)
	}
}

// A refusal has the time of the end that a hook refused: what follows may be mapped alone,
// and the refusal is then of no end in it.
func TestRefusalHasTheTimeOfTheEnd(t *testing.T) {
	const request = `"type":"system","subtype":"ui_telemetry","systemPayload":{"uiEvent":{"event.name":"qwen-code.api_response","prompt_id":"x########1","response_id":"-%d"}}`
	const answer = `"type":"assistant","message":{"parts":[{"text":"%d"}]}`
	tr := readRows(t, finder(t, ""), `"type":"user","message":{"parts":[{"text":"go"}]}`,
		fmt.Sprintf(request, 1), fmt.Sprintf(answer, 1), fmt.Sprintf(request, 2), fmt.Sprintf(answer, 2))
	if len(tr.Ends) != 2 || tr.Ends[0].Kind != hook.KindRunResume || tr.Ends[0].At.Second() != 2 || tr.Ends[1].At.Second() != 4 {
		t.Errorf("ends %+v, want a refusal after 2 s and an end after 4 s", tr.Ends)
	}
}

// TestEndIsUndecided while a hook of the user's may refuse it.
func TestEndIsUndecided(t *testing.T) {
	const prompt, answer = `"type":"user","message":{"parts":[{"text":"go"}]}`, `"type":"assistant","message":{"parts":[{"text":"done"}]}`
	at := time.Date(2026, 3, 22, 10, 0, 1, 0, time.UTC)
	exit := func(session string, at time.Time) string {
		return fmt.Sprintf(`{"version":1,"sessionId":%q,"timestamp":%d}`+"\n", session, at.UnixMilli())
	}
	for name, tt := range map[string]struct {
		rows  []string
		exits string
		later time.Duration
		want  bool
	}{
		"an answer":                               {[]string{prompt, answer}, "", 0, true},
		"an answer, another program has ended":    {[]string{prompt, answer}, exit("other", at.Add(time.Second)), 0, true},
		"an answer, an earlier program has ended": {[]string{prompt, answer}, exit("s", at.Add(-time.Second)), 0, true},
		"the program has ended":                   {[]string{prompt, answer}, exit("s", at.Add(time.Second)), 0, false},
		"the program has ended, and then another": {[]string{prompt, answer}, exit("s", at) + exit("other", at.Add(time.Hour)), 0, false},
		"a call":          {[]string{prompt, `"type":"assistant","message":{"parts":[{"functionCall":{"id":"a","name":"sh","args":{}}}]}`}, "", 0, false},
		"the next prompt": {[]string{prompt, answer, prompt}, "", 0, false},
		"a program that was killed, and long gone": {[]string{prompt, answer}, "", transcript.PendingAge, false},
	} {
		t.Run(name, func(t *testing.T) {
			f := finder(t, "")
			f.Now = func() time.Time { return at.Add(time.Second + tt.later) }
			path := filepath.Join(f.Home, ".qwen", exits)
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(tt.exits), 0o600)); err != nil {
				t.Fatal(err)
			}
			if got := readRows(t, f, tt.rows...).Undecided; got != tt.want {
				t.Errorf("undecided is %v, want %v", got, tt.want)
			}
		})
	}
}

// TestDamagedFiles reads what is whole of a recorded session whose lines were damaged.
func TestDamagedFiles(t *testing.T) {
	want := lines(recorded(t, "hello"))
	for name, damage := range map[string]func(text []byte) []byte{
		"a byte order mark":    func(text []byte) []byte { return append([]byte("\ufeff"), text...) },
		"line ends of Windows": func(text []byte) []byte { return bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n")) },
		"a block of NUL": func(text []byte) []byte {
			return bytes.Replace(text, []byte("\n"), append([]byte("\n"), make([]byte, 4096)...), 2)
		},
		"a torn row with the next one": func(text []byte) []byte { return append([]byte(`{"uuid":"x","type":"assistant","mess`), text...) },
		"raw line breaks in a text":    func(text []byte) []byte { return append([]byte("{\"type\":\"system\",\"x\":\"a\nb\tc\"}\n"), text...) },
	} {
		t.Run(name, func(t *testing.T) {
			f := finder(t, "hello")
			path := filepath.Join(f.Home, ".qwen/projects/-home-dev-ws/chats", sessionsOf["hello"]+suffix)
			text, err := os.ReadFile(path)
			if err == nil {
				err = os.WriteFile(path, damage(text), 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			tr, err := f.Read(t.Context(), Agent, transcript.Query{Session: sessionsOf["hello"]})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, lines(tr)); diff != "" {
				t.Errorf("transcript (-want +got):\n%s", diff)
			}
		})
	}
}

// TestSessionsOfBefore05 reads a session in one JSON object.
func TestSessionsOfBefore05(t *testing.T) {
	f := finder(t, "")
	path := filepath.Join(f.Home, ".qwen/tmp/0a/chats/session-2025-10-01T10-00-0a000001.json")
	const text = `{
  "sessionId": "0a000001-x",
  "messages": [
    {"id": "1", "timestamp": "2025-10-01T10:00:00Z", "type": "user", "content": "go"},
    {"id": "2", "timestamp": "2025-10-01T10:00:02Z", "type": "qwen", "content": "done", "model": "coder-model", "tokens": {"input": 7, "output": 2, "cached": 3}}
  ]
}`
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
	list, err := f.Sessions(t.Context(), Agent)
	if err != nil || len(list) != 1 || list[0].ID != "0a000001-x" || list[0].Dialect != "qwen" {
		t.Fatalf("sessions %+v, %v", list, err)
	}
	tr, err := f.Read(t.Context(), Agent, transcript.Query{Session: list[0].ID, Path: list[0].Path, Full: true})
	if err != nil {
		t.Fatal(err)
	}
	tr.Requests[0].ID = "-" + tr.Requests[0].ID // as lines cuts it
	want := []string{`prompt  "go" injected false`, `call  -2 7/3/2  "done" 0`, `end  run_complete "done" ""`}
	if diff := cmp.Diff(want, lines(tr)); diff != "" {
		t.Errorf("transcript (-want +got):\n%s", diff)
	}
}

// readRows reads a session of rows that are a second apart.
func readRows(t *testing.T, f *transcript.Files, rows ...string) *hook.Transcript {
	t.Helper()
	var b bytes.Buffer
	for i, members := range rows {
		fmt.Fprintf(&b, `{"sessionId":"s","timestamp":"2026-03-22T10:00:%02d.000Z",%s}`+"\n", i, members)
	}
	path := filepath.Join(f.Home, ".qwen/projects/p/chats/s"+suffix)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, b.Bytes(), 0o600)); err != nil {
		t.Fatal(err)
	}
	tr, err := f.Read(t.Context(), Agent, transcript.Query{Session: "s", Full: true})
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

func TestTheEndOfASession(t *testing.T) {
	for name, want := range map[string]hook.Kind{
		"hello": hook.KindUnknown, "tools-resume": hook.KindUnknown, "interrupt": hook.KindSessionEnd, "api-error": hook.KindSessionEnd,
	} {
		kind, at, err := finder(t, name).End(t.Context(), Agent, transcript.Query{Session: sessionsOf[name]})
		if err != nil || kind != want || at.IsZero() != (want == hook.KindUnknown) {
			t.Errorf("%s: %v at %v, %v, want %v", name, kind, at, err, want)
		}
	}
}

// A request that the provider was too busy for is tried again.
func TestAnErrorThatMayPassEndsNoTurn(t *testing.T) {
	f := finder(t, "api-error")
	path := filepath.Join(f.Home, ".qwen/projects/-home-dev-ws/chats", sessionsOf["api-error"]+suffix)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, bytes.ReplaceAll(text, []byte(`"status_code": 400`), []byte(`"status_code": 429`)), 0o600); err != nil {
		t.Fatal(err)
	}
	for age, want := range map[time.Duration]hook.Kind{time.Minute: hook.KindUnknown, time.Hour: hook.KindSessionEnd} {
		f.Now = func() time.Time { return time.Date(2026, 11, 22, 14, 44, 43, 0, time.UTC).Add(age) }
		if kind, _, err := f.End(t.Context(), Agent, transcript.Query{Session: sessionsOf["api-error"]}); err != nil || kind != want {
			t.Errorf("%v after the error: %v, %v, want %v", age, kind, err, want)
		}
	}
}

// Errors that the same request may not have again are not tried again.
func TestErrorsThatAreTriedAgain(t *testing.T) {
	for status, want := range map[string]bool{"": true, "399": true, "400": false, "401": false, "408": true, "409": true, "410": false, "429": true, "430": false, "499": false, "500": true, "503": true} {
		row := `{"event.name":"qwen-code.api_error"}`
		if status != "" {
			row = `{"status_code":` + status + `}`
		}
		if got := mayRetry(rawjson.Members([]byte(row))); got != want {
			t.Errorf("status %q: %t, want %t", status, got, want)
		}
	}
}

func TestSessionsAreListed(t *testing.T) {
	f := finder(t, "subagent")
	list, err := f.Sessions(t.Context(), Agent)
	if err != nil || len(list) != 1 || list[0].ID != sessionsOf["subagent"] || list[0].Dialect != "qwen" {
		t.Fatalf("sessions %+v, %v", list, err)
	}
	if files, err := parts(list[0]); err != nil || len(files) != 2 {
		t.Errorf("parts %q, %v; want the subagent's two files", files, err)
	}
	if _, err := f.Read(t.Context(), Agent, transcript.Query{Session: "another"}); !errors.Is(err, transcript.ErrNotFound) {
		t.Errorf("another session: %v", err)
	}
	if _, err := f.Read(t.Context(), Agent, transcript.Query{Session: "../x"}); err == nil {
		t.Error("an id that is a path is read")
	}
}

// What a query with a beginning gives is the end of what a full one gives.
func TestReadingFromATime(t *testing.T) {
	full := recorded(t, "tools-resume")
	f := finder(t, "tools-resume")
	for _, p := range full.Prompts {
		tr, err := f.Read(t.Context(), Agent, transcript.Query{Session: full.Session, Since: p.At})
		if err != nil {
			t.Fatal(err)
		}
		want := 0
		for _, c := range full.Requests {
			if !c.End.Before(p.At) {
				want++
			}
		}
		if diff := cmp.Diff(full.Requests[len(full.Requests)-want:], tr.Requests); diff != "" {
			t.Errorf("calls since %v (-want +got):\n%s", p.At, diff)
		}
	}
}

// TestTurnsThatOpenLongFiles reads the last turn of a long session without its
// beginning.
func TestTurnsThatOpenLongFiles(t *testing.T) {
	const session, n = "long", 3000
	f := finder(t, "")
	var b bytes.Buffer
	day := time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC)
	row := func(at int, members string) {
		fmt.Fprintf(&b, `{"sessionId":%q,"timestamp":%q,%s}`+"\n", session, day.Add(time.Duration(at)*time.Second).Format(time.RFC3339Nano), members)
	}
	for i := range n {
		row(10*i, fmt.Sprintf(`"type":"user","provenance":"real_user","message":{"parts":[{"text":"prompt %d"}]}`, i))
		row(10*i+2, fmt.Sprintf(`"type":"system","subtype":"ui_telemetry","systemPayload":{"uiEvent":{"event.name":"qwen-code.api_response","response_id":"r-%d","duration_ms":500,"input_token_count":7,"output_token_count":1,"prompt_id":"long########%d"}}`, i, i))
		row(10*i+2, `"type":"assistant","message":{"parts":[{"text":"done"}]}`)
	}
	path := filepath.Join(f.Home, ".qwen/projects/p/chats", session+suffix)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, b.Bytes(), 0o600)); err != nil {
		t.Fatal(err)
	}
	f.MaxBytes = int64(b.Len() / 4)
	since := day.Add(10 * (n - 1) * time.Second)
	tr, err := f.Read(t.Context(), Agent, transcript.Query{Session: session, Path: path, Since: since})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{`prompt 2999 "prompt 2999" injected false`, `call 2999 -2999 7/0/1  "done" 0`, `end 2999 run_complete "done" ""`}
	if diff := cmp.Diff(want, lines(tr)); diff != "" {
		t.Errorf("last turn (-want +got):\n%s", diff)
	}
	if _, err := f.Read(t.Context(), Agent, transcript.Query{Session: session}); !errors.Is(err, transcript.ErrBeyond) {
		t.Errorf("all of it, beyond the limit: %v", err)
	}
}

// FuzzRows takes in rows of any content.
func FuzzRows(f *testing.F) {
	for name, id := range sessionsOf {
		text, err := os.ReadFile(filepath.Join("../testdata/qwen", name, "projects/-home-dev-ws/chats", id+suffix))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		l := newLog("fuzzed", 1<<16)
		var r row
		for line := range bytes.Lines(text) {
			if r.Parse(bytes.TrimSpace(line)) {
				l.add(&r)
			}
		}
		l.flush()
		tr := &hook.Transcript{Session: "fuzzed", Prompts: l.Prompts, Requests: l.Calls, ToolResults: l.Results, Ends: l.Ends}
		for e := range Agent.Events("qwen", tr) {
			if e.StoredAt.IsZero() || e.Kind == hook.KindUnknown {
				t.Fatalf("event %+v", e)
			}
		}
	})
}
