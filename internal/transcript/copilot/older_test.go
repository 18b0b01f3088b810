package copilot

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/testkit/opencodetest"
	"github.com/hookspan/hookspan/internal/transcript"
)

const oldSession = "ffffffff-0000-4000-8000-000000000001"

// readRows reads a session of rows "SECONDS TYPE DATA", as an import does.
func readRows(t *testing.T, rows ...string) *hook.Transcript {
	t.Helper()
	f := finder(t, "")
	var b strings.Builder
	for _, r := range rows {
		part := strings.SplitN(r, " ", 3)
		var seconds float64
		_, _ = fmt.Sscan(part[0], &seconds)
		at := time.Date(2026, 4, 3, 10, 0, 0, 0, time.UTC).Add(time.Duration(seconds * float64(time.Second)))
		fmt.Fprintf(&b, "{\"type\":%q,\"timestamp\":%q,\"data\":%s}\n", part[1], at.Format(time.RFC3339Nano), part[2])
	}
	path := filepath.Join(f.Home, ".copilot", folder, oldSession, fileName)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	tr, err := f.Read(t.Context(), Agent, transcript.Query{Session: oldSession, Full: true})
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// told is what a transcript says.
func told(tr *hook.Transcript) (out []string) {
	for _, p := range tr.Prompts {
		out = append(out, "prompt "+p.Text)
	}
	for _, c := range tr.Requests {
		tokens := "-"
		if u := c.Usage; u != nil {
			tokens = fmt.Sprint(u.Input, u.Output, u.CacheRead)
		}
		kind := "request"
		if c.Kind == hook.RequestsUnlisted {
			kind = "sum"
		}
		out = append(out, fmt.Sprintf("%s %s %s %q %v", kind, c.Model, tokens, c.Text, c.ToolCallIDs))
	}
	for _, r := range tr.ToolResults {
		out = append(out, fmt.Sprintf("call %s %s %s %d %v", r.ID, r.Name, r.Input, r.Status, !r.At.IsZero()))
	}
	for _, e := range tr.Ends {
		out = append(out, fmt.Sprintf("%v %q", e.Kind, e.Result+e.Message))
	}
	return out
}

// TestHostMessages are no prompts; what the user typed between them is.
func TestHostMessages(t *testing.T) {
	tr := readRows(t,
		`0 session.start {"copilotVersion":"1.0.72"}`, `1 user.message {"content":"go"}`, `1 user.message {"content":"","source":"system"}`,
		`2 assistant.message {"messageId":"m1","content":"","outputTokens":1,"toolRequests":[{"toolCallId":"t1","name":"bash","arguments":{}}]}`,
		`3 tool.execution_complete {"toolCallId":"t1","success":true,"result":{"content":"a"}}`,
		`4 user.message {"content":"<system_reminder>x</system_reminder>","source":"instruction-discovery"}`, `5 user.message {"content":" "}`,
		`6 user.message {"content":"<system_notification>x</system_notification>"}`, `6 user.message {"content":"go on","source":"autopilot"}`,
		`7 assistant.message {"messageId":"m2","content":"","outputTokens":2,"toolRequests":[{"toolCallId":"t2","name":"task_complete","arguments":{"summary":"All done."}}]}`,
		`8 tool.execution_complete {"toolCallId":"t2","success":true,"result":{"content":"ok"}}`,
		`9 user.message {"content":"","attachments":[{"type":"file"}]}`, `10 session.task_complete {"summary":"Twice."}`,
	)
	var got []string
	for _, line := range told(tr) {
		if !strings.HasPrefix(line, "call") && !strings.HasPrefix(line, "request") {
			got = append(got, line)
		}
	}
	want := []string{"prompt go", "prompt ", fmt.Sprintf("%v %q", hook.KindRunComplete, "All done."), fmt.Sprintf("%v %q", hook.KindRunComplete, "Twice.")}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestAnAnswerInSeveralMessages counts the tokens of each, once.
func TestAnAnswerInSeveralMessages(t *testing.T) {
	part := func(at int, id, text string, tokens int) string {
		return fmt.Sprintf(`%d assistant.message {"messageId":%q,"apiCallId":"a1","content":%q,"outputTokens":%d,"toolRequests":[]}`, at, id, text, tokens)
	}
	rows := []string{`0 session.start {}`, `1 user.message {"content":"go"}`, part(2, "m1", "One.", 30), part(3, "m2", "Two.", 20), part(3, "m2", "Two.", 20)}
	record := `4 session.usage_record {"usage":{"apiCallId":"a1","model":"x","inputTokens":7,"outputTokens":51}}`
	for want, rows := range map[string][]string{"0 50 0": rows, "7 51 0": append(rows[:5:5], record)} {
		c := readRows(t, rows...).Requests
		if len(c) != 1 || c[0].Text != "One.\nTwo." || fmt.Sprint(c[0].Usage.Input, c[0].Usage.Output, c[0].Usage.CacheRead) != want {
			t.Errorf("want one request of %s tokens, got %+v", want, c)
		}
	}
}

// TestASubagentNamedByItsCall is one of versions that do not name the agent in a row.
func TestASubagentNamedByItsCall(t *testing.T) {
	tr := readRows(t, `0 session.start {}`, `1 user.message {"content":"go"}`,
		`2 assistant.message {"messageId":"m1","content":"","toolRequests":[{"toolCallId":"t1","name":"task","arguments":{}}]}`,
		`3 subagent.started {"toolCallId":"t1","agentName":"explore"}`,
		`4 assistant.message {"messageId":"m2","content":"","parentToolCallId":"t1","toolRequests":[{"toolCallId":"t2","name":"view","arguments":{}}]}`,
		`5 tool.execution_complete {"toolCallId":"t2","success":true,"result":{"content":"a"},"parentToolCallId":"t1"}`,
		`6 subagent.completed {"toolCallId":"t1","agentName":"explore"}`,
		`7 assistant.message {"messageId":"m3","content":"Done.","toolRequests":[]}`)
	var got []string
	for _, c := range tr.Requests {
		got = append(got, c.ID+"@"+c.Agent)
	}
	for _, r := range tr.ToolResults {
		got = append(got, r.ID+"@"+r.Agent)
	}
	for _, a := range tr.Agents {
		got = append(got, a.ID+" "+a.Type+" of "+a.CallID+" "+fmt.Sprint(!a.End.IsZero()))
	}
	if diff := cmp.Diff([]string{"m1@", "m3@", "m2@t1", "t2@t1", "t1@", "t1 explore of t1 true"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestAFlatFile is that of a version of 2025.
func TestAFlatFile(t *testing.T) {
	f := finder(t, "")
	path := filepath.Join(f.Home, ".copilot", folder, oldSession+suffix)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(`{"type":"user.message","timestamp":"2026-04-03T10:00:00Z","data":{"content":"hello"}}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	all, err := f.Sessions(t.Context(), Agent)
	if err != nil || len(all) != 1 || all[0].ID != oldSession || all[0].Path != path {
		t.Fatalf("sessions %+v, %v", all, err)
	}
	for _, named := range []string{"", path} {
		tr, err := f.Read(t.Context(), Agent, transcript.Query{Session: oldSession, Path: named})
		if err != nil || len(tr.Prompts) != 1 {
			t.Errorf("read %q: %+v, %v", named, tr, err)
		}
	}
}

// TestOlderVersions has the forms of files before 1.0.102, and what an older one may lack.
func TestOlderVersions(t *testing.T) {
	start := `0 session.start {"copilotVersion":"1.0.14"}`
	typed := `1 user.message {"content":"go"}`
	called := `2 assistant.message {"messageId":"m1","content":"I look.","outputTokens":40,"toolRequests":[{"toolCallId":"t1","name":"bash","arguments":{"command":"ls"}}]}`
	ran := `3 tool.execution_start {"toolCallId":"t1","toolName":"bash","arguments":{"command":"ls"}}`
	result := `4 tool.execution_complete {"toolCallId":"t1","success":true,"result":{"content":"a"}}`
	answered := `5 assistant.message {"messageId":"m2","content":"One.","toolRequests":[],"outputTokens":10}`
	metrics := func(at int, models ...string) string {
		return fmt.Sprintf(`%d session.shutdown {"modelMetrics":{%s}}`, at, strings.Join(models, ","))
	}
	model := func(name string, in, out, read int) string {
		return fmt.Sprintf(`%q:{"requests":{"count":2},"usage":{"inputTokens":%d,"outputTokens":%d,"cacheReadTokens":%d,"cacheWriteTokens":0}}`, name, in, out, read)
	}
	ls := `call t1 bash {"command":"ls"} 0 true`
	for name, tt := range map[string]struct{ rows, want []string }{
		"tokens of the answers, and of the session at its end": {
			[]string{start, typed, called, ran, result, answered, metrics(9, model("m", 900, 50, 300))},
			[]string{"prompt go", `request m 0 40 0 "I look." [t1]`, `request m 0 10 0 "One." []`, `sum m 900 0 300 "" []`, ls, `run_complete "One."`},
		},
		"no end of the session": {
			[]string{start, typed, called, ran, result, answered},
			[]string{"prompt go", `request  0 40 0 "I look." [t1]`, `request  0 10 0 "One." []`, ls, `run_complete "One."`},
		},
		"tokens at the end alone, twice": {
			[]string{
				start, typed, `2 assistant.message {"messageId":"m1","content":"a","apiCallId":"a1"}`, metrics(3, model("m", 100, 5, 0)),
				`4 session.resume {}`, `5 user.message {"content":"on"}`, `6 assistant.message {"messageId":"m2","content":"b","apiCallId":"a2"}`, metrics(7, model("m", 200, 7, 0)),
			},
			[]string{
				"prompt go", "prompt on", `request m - "a" []`, `sum m 100 5 0 "" []`, `request m - "b" []`, `sum m 200 7 0 "" []`, `run_complete "a"`, `run_complete "b"`,
			},
		},
		"the end of the session is written twice": {
			[]string{start, typed, called, ran, result, answered, metrics(9, model("m", 900, 50, 300)), metrics(9, model("m", 900, 50, 300))},
			[]string{"prompt go", `request m 0 40 0 "I look." [t1]`, `request m 0 10 0 "One." []`, `sum m 900 0 300 "" []`, ls, `run_complete "One."`},
		},
		"two models": {
			[]string{
				start, `0 session.model_change {"newModel":"m"}`, typed, called, ran, result, `4.5 session.model_change {"newModel":"n"}`, answered,
				metrics(9, model("m", 900, 45, 300), model("n", 20, 10, 0)),
			},
			[]string{
				"prompt go", `request m 0 40 0 "I look." [t1]`, `request n 0 10 0 "One." []`, `sum m 900 5 300 "" []`, `sum n 20 0 0 "" []`, ls, `run_complete "One."`,
			},
		},
		"records are all there is to count": {
			[]string{
				start, typed, `2 session.usage_record {"usage":{"apiCallId":"a1","model":"m","inputTokens":100,"outputTokens":5}}`,
				`2 assistant.message {"messageId":"m1","content":"a","apiCallId":"a1","outputTokens":5}`, metrics(3, model("m", 100, 5, 0)),
			},
			[]string{"prompt go", `request m 100 5 0 "a" []`, `run_complete "a"`},
		},
		"sums of the whole session, resumed for a request that fails": {
			[]string{
				start, typed, `2 session.usage_record {"usage":{"apiCallId":"a1","model":"m","inputTokens":100,"outputTokens":5}}`,
				`2 assistant.message {"messageId":"m1","content":"a","apiCallId":"a1"}`, metrics(3, model("m", 100, 5, 0)),
				`4 session.resume {}`, `5 user.message {"content":"on"}`, `6 session.error {"errorType":"query","message":"400"}`, metrics(7, model("m", 100, 5, 0)),
			},
			[]string{"prompt go", "prompt on", `request m 100 5 0 "a" []`, `run_complete "a"`, `run_error "400"`},
		},
		"a record after its answer": {
			[]string{
				start, typed, `2 assistant.message {"messageId":"m1","content":"a","apiCallId":"a1"}`,
				`2 session.usage_record {"usage":{"apiCallId":"a1","model":"m","inputTokens":100,"outputTokens":5}}`, metrics(3, model("m", 100, 5, 0)),
			},
			[]string{"prompt go", `request m 100 5 0 "a" []`, `run_complete "a"`},
		},
		"errors beside the turns": {
			[]string{
				start, `0.5 session.error {"errorType":"query","message":"no such file"}`, typed, `1.5 session.error {"errorType":"mcp","message":"no server"}`,
				called, ran, result, answered, `6 session.error {"errorType":"query","message":"later"}`,
			},
			[]string{"prompt go", `request  0 40 0 "I look." [t1]`, `request  0 10 0 "One." []`, ls, `run_complete "One."`},
		},
		"an error that ends a turn": {
			[]string{start, typed, called, ran, result, `5 session.error {"errorType":"query","message":"400"}`},
			[]string{"prompt go", `request  0 40 0 "I look." [t1]`, ls, `run_error "400"`},
		},
		"calls without a result": {
			[]string{start, typed, called, ran, `3 assistant.message {"messageId":"m2","content":"","toolRequests":[{"toolCallId":"t2","name":"view","arguments":{}}]}`},
			[]string{
				"prompt go", `request  0 40 0 "I look." [t1]`, `request  - "" [t2]`, `call t1 bash {"command":"ls"} 4 false`, `call t2 view {} 4 false`,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, told(readRows(t, tt.rows...))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestDamagedLines has the whole rows of lines that a killed writer, a power cut and other
// programs left.
func TestDamagedLines(t *testing.T) {
	rows := []string{
		`{"type":"session.start","timestamp":"2026-04-03T10:00:00Z","data":{"copilotVersion":"1.0.14"}}`,
		`{"type":"user.message","timestamp":"2026-04-03T10:00:01Z","data":{"content":"go"}}`,
		`{"type":"assistant.message","timestamp":"2026-04-03T10:00:02Z","data":{"messageId":"m1","content":"One.","outputTokens":5}}`,
	}
	for name, text := range map[string]string{
		"byte order mark": "\ufeff" + strings.Join(rows, "\n"),
		"CRLF":            strings.Join(rows, "\r\n") + "\r\n",
		"NUL":             rows[0] + "\n\x00\x00" + rows[1] + "\n" + rows[2] + "\x00\n",
		"torn rows":       rows[0][:30] + rows[0] + "\n" + rows[2][:70] + rows[1] + "\n" + rows[1][:20] + rows[2],
	} {
		f := finder(t, "")
		path := filepath.Join(f.Home, ".copilot", folder, oldSession, fileName)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
		tr, err := f.Read(t.Context(), Agent, transcript.Query{Session: oldSession, Full: true})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"prompt go", `request  0 5 0 "One." []`, `run_complete "One."`}, told(tr)); diff != "" || tr.HostVersion != "1.0.14" {
			t.Errorf("%s: version %q (-want +got):\n%s", name, tr.HostVersion, diff)
		}
	}
}

// TestTokensOfTheStore counts a session without an end: what the store has, and else nothing.
func TestTokensOfTheStore(t *testing.T) {
	rows := []string{
		`0 session.start {"copilotVersion":"1.0.72"}`, `1 user.message {"content":"go"}`,
		`2 assistant.message {"messageId":"m1","content":"One.","outputTokens":40,"toolRequests":[{"toolCallId":"t1","name":"task","arguments":{}}]}`,
		`3 subagent.started {"toolCallId":"t1","agentName":"explore"}`,
		`4 assistant.message {"messageId":"m2","content":"Sub.","parentToolCallId":"t1","outputTokens":40,"toolRequests":[]}`,
		`5 assistant.message {"messageId":"m3","content":"Two.","outputTokens":7,"toolRequests":[]}`,
	}
	tr := readRows(t, rows...)
	if u := tr.Requests[0].Usage; u == nil || !u.InputUnknown || u.Output != 40 || len(tr.Unread) != 1 || !strings.Contains(tr.Unread[0].Reason, "3 requests") {
		t.Errorf("tokens %+v, not read %+v; want that the input is not known", u, tr.Unread)
	}
	f := finder(t, "")
	home := filepath.Join(f.Home, ".copilot")
	if err := os.MkdirAll(home, 0o700); err != nil {
		t.Fatal(err)
	}
	opencodetest.Exec(t, filepath.Join(home, storeName), `
CREATE TABLE assistant_usage_events (id INTEGER PRIMARY KEY, session_id TEXT, agent_id TEXT, parent_tool_call_id TEXT, input_tokens INTEGER, output_tokens INTEGER, cache_read_tokens INTEGER, cache_write_tokens INTEGER, reasoning_tokens INTEGER);
INSERT INTO assistant_usage_events VALUES (1, 'other', NULL, NULL, 1, 40, 0, 0, 0), (2, 's1', NULL, NULL, 1000, 40, 900, 5, 3), (3, 's1', NULL, 't1', 500, 40, 0, 0, 0), (4, 's1', NULL, NULL, 9, 9, 0, 0, 0);`)
	var b strings.Builder
	for _, r := range rows {
		part := strings.SplitN(r, " ", 3)
		fmt.Fprintf(&b, "{\"type\":%q,\"timestamp\":\"2026-04-03T10:00:0%sZ\",\"data\":%s}\n", part[1], part[0], part[2])
	}
	path := filepath.Join(home, folder, "s1", fileName)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(b.String()), 0o600)); err != nil {
		t.Fatal(err)
	}
	tr, err := f.Read(t.Context(), Agent, transcript.Query{Session: "s1", Full: true})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range tr.Requests {
		got = append(got, fmt.Sprint(c.ID, " ", c.Usage.Input, " ", c.Usage.CacheRead, " ", c.Usage.InputUnknown))
	}
	if diff := cmp.Diff([]string{"m1 1000 900 false", "m3 0 0 true", "m2 500 0 false"}, got); diff != "" || len(tr.Unread) != 1 || !strings.Contains(tr.Unread[0].Reason, "1 requests") {
		t.Errorf("(-want +got):\n%s\nnot read %+v", diff, tr.Unread)
	}
}
