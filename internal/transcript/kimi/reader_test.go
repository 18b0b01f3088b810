package kimi

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

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

// Two rows report one request. It counts once if one of them is there, and if both are, in either
// order.
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

// A turn's messages are written at once when it has ended; the last is of the request that was
// interrupted. That a prompt in the queue is cancelled, too, does not undo the interruption.
func TestInterruptedRequestHasTheAnswersID(t *testing.T) {
	const step = `{"type":"context.append_loop_event","event":{"type":"step.begin","uuid":"s%"},"time":179601645000%}
{"type":"llm.request","kind":"loop","model":"m","time":179601645000%}
{"type":"usage.record","usage":{"inputOther":5,"output":1},"time":179601645000%}
{"type":"context.append_loop_event","event":{"type":"tool.call","stepUuid":"s%","toolCallId":"c%","name":"Bash","args":{}},"time":179601645000%}
`
	rows := `{"type":"turn.prompt","turnId":0,"origin":{"kind":"user"},"input":"go","time":1796016450000}` + "\n" + strings.ReplaceAll(step, "%", "1") +
		`{"type":"context.append_loop_event","event":{"type":"step.end","uuid":"s1","messageId":"m1"},"time":1796016450001}
{"type":"turn.steer","origin":{"kind":"user"},"input":"hurry","time":1796016450001}
{"type":"turn.steer","origin":{"kind":"user"},"input":"up","time":1796016450001}
` + strings.ReplaceAll(step, "%", "2") + `{"type":"turn.cancel","time":1796016450003}
{"type":"turn.cancel","target":"queued","time":1796016450004}
{"type":"context.append_loop_event","event":{"type":"tool.result","toolCallId":"c2","result":{"output":"Session closed","isError":true}},"time":1796016450004}
{"type":"context.append_loop_event","event":{"type":"step.end","uuid":"s2","finishReason":"interrupted"},"time":1796016450003}
{"type":"turn.ended","reason":"cancelled","time":1796016450003}
{"type":"agent.message.appended","message":{"meta":{"messageId":"m1"}},"time":1796016450004}
{"type":"agent.message.appended","message":{"meta":{"source":"tool"}},"time":1796016450004}
{"type":"agent.message.appended","message":{"meta":{"messageId":"m2"}},"time":1796016450004}
`
	tr, err := readText(t, "s", map[string]string{lead: rows})
	if err != nil || len(tr.Requests) != 2 || tr.Requests[0].ID != "m1" || tr.Requests[1].ID != "m2" {
		t.Errorf("%+v, %v", tr.Requests, err)
	}
	if len(tr.Prompts) != 3 {
		t.Errorf("prompts %+v", tr.Prompts)
	}
	i := slices.IndexFunc(tr.ToolResults, func(r hook.ToolResult) bool { return r.ID == "c2" })
	if i < 0 || tr.ToolResults[i].Status != hook.ToolCancelled {
		t.Errorf("results %+v", tr.ToolResults)
	}
}

// Of the calls of unknown tools in one answer only the first has a row of its result, the others a
// message when the turn has ended. One whose message says something else stays open.
func TestUnknownToolsOfOneAnswer(t *testing.T) {
	const rows = `{"type":"turn.prompt","turnId":0,"origin":{"kind":"user"},"input":"go","time":1796016450000}
{"type":"context.append_loop_event","event":{"type":"step.begin","uuid":"s"},"time":1796016450001}
{"type":"llm.request","kind":"loop","model":"m","time":1796016450002}
{"type":"context.append_loop_event","event":{"type":"tool.call","uuid":"u0","stepUuid":"s","toolCallId":"call_0","name":"no_such_a","args":{}},"time":1796016450020}
{"type":"context.append_loop_event","event":{"type":"tool.result","parentUuid":"u0","toolCallId":"call_0","result":{"output":"Tool \"no_such_a\" not found","isError":true,"durationMs":0}},"time":1796016450040}
{"type":"context.append_loop_event","event":{"type":"tool.call","uuid":"u1","stepUuid":"s","toolCallId":"call_1","name":"no_such_b","args":{}},"time":1796016450041}
{"type":"context.append_loop_event","event":{"type":"tool.call","uuid":"u2","stepUuid":"s","toolCallId":"call_2","name":"Bash","args":{}},"time":1796016450042}
{"type":"context.append_loop_event","event":{"type":"tool.call","uuid":"u3","stepUuid":"s","toolCallId":"call_3","name":"no_such_c","args":{}},"time":1796016450043}
{"type":"context.append_loop_event","event":{"type":"step.end","uuid":"s","finishReason":"tool_use","messageId":"m"},"time":1796016450061}
{"message":{"message":{"role":"tool","content":[{"type":"text","text":"unknown tool: no_such_a"}],"toolCallId":"call_0"},"meta":{"source":"tool"}},"type":"agent.message.appended","time":1796016451000,"kind":"event"}
{"message":{"message":{"role":"tool","content":[{"type":"text","text":"unknown tool: no_such_b"}],"toolCallId":"call_1"},"meta":{"source":"tool"}},"type":"agent.message.appended","time":1796016451000,"kind":"event"}
{"message":{"message":{"role":"tool","content":[{"type":"text","text":"unknown tool: no_such_b"}],"toolCallId":"call_2"},"meta":{"source":"tool"}},"type":"agent.message.appended","time":1796016451000,"kind":"event"}
{"message":{"message":{"role":"tool","content":[{"type":"text","text":"unknown tool: no_such_c"}],"toolCallId":"call_3"},"meta":{"source":"tool"}},"type":"agent.message.appended","time":1796016451000,"kind":"event"}
{"type":"turn.ended","turnId":0,"reason":"completed","time":1796016451100}
`
	tr, err := readText(t, "s", map[string]string{lead: rows})
	if err != nil || len(tr.ToolResults) != 4 {
		t.Fatalf("%+v, %v", tr, err)
	}
	for i, want := range []struct {
		status hook.ToolStatus
		text   string
		at     int64
	}{{hook.ToolFailed, `Tool "no_such_a" not found`, 40}, {hook.ToolFailed, "unknown tool: no_such_b", 41}, {hook.ToolFailed, "unknown tool: no_such_c", 43}, {hook.ToolUnknown, "", 0}} {
		r := tr.ToolResults[i]
		if r.Status != want.status || r.Text != want.text || r.Turn != "0" || (want.at == 0) != r.At.IsZero() || want.at != 0 && r.At.UnixMilli() != 1796016450000+want.at {
			t.Errorf("result %d is %+v", i, r)
		}
	}
}

// A session that is said to be a fork of itself has copied nothing.
func TestForkOfItself(t *testing.T) {
	const rows = `{"type":"turn.prompt","turnId":0,"origin":{"kind":"user"},"input":"go","time":1796016450000}
{"type":"forked","time":1796016450001}
`
	f := transcripttest.Finder(t)
	dir := filepath.Join(f.Home, ".kimi-code/sessions/w/s")
	transcripttest.Write(t, filepath.Join(dir, "agents", lead, fileName), rows)
	transcripttest.Write(t, filepath.Join(dir, stateName), `{"forkedFrom":"s"}`)
	tr, err := f.Read(t.Context(), Agent, transcript.Query{Session: "s", Full: true})
	if err != nil || tr.Origin != "" || tr.CopiedFrom != nil || len(tr.Prompts) != 1 {
		t.Errorf("%+v, %v", tr, err)
	}
}

// A fork of a fork: its subagents belong to the turns that started them there.
func TestForkOfAFork(t *testing.T) {
	const (
		turn    = `{"type":"turn.prompt","turnId":%,"origin":{"kind":"user"},"input":"go","time":17960164500%0}` + "\n"
		spawned = `{"type":"subagent.spawned","subagentId":"agent-#","parentToolCallId":"c%","time":17960164500%1}` + "\n"
		ended   = `{"type":"turn.ended","turnId":%,"reason":"completed","time":17960164500%9}` + "\n"
		forked  = `{"type":"forked","time":17960164500%9}` + "\n"
		request = `{"type":"llm.request","kind":"loop","model":"m","time":17960164500%2}
{"type":"usage.record","usage":{"inputOther":5,"output":1},"time":17960164500%3}` + "\n"
	)
	in := func(n, agent string, rows ...string) string {
		return strings.NewReplacer("%", n, "#", agent).Replace(strings.Join(rows, ""))
	}
	f := transcripttest.Finder(t)
	dir := filepath.Join(f.Home, ".kimi-code", "sessions", "w")
	for name, text := range map[string]string{
		"a/agents/main": "{}\n", "b/agents/main": "{}\n",
		"c/agents/main": in("1", "0", turn, spawned, ended, forked) + in("2", "", turn, ended, forked) +
			in("3", "0", turn, spawned) + in("3", "1", spawned, ended),
		"c/agents/agent-0": in("1", "", turn, request, forked) + in("2", "", forked) + in("3", "", turn, request),
		"c/agents/agent-1": in("3", "", turn, request),
	} {
		transcripttest.Write(t, filepath.Join(dir, name, fileName), text)
	}
	transcripttest.Write(t, filepath.Join(dir, "c", stateName), `{"forkedFrom":"b"}`)
	tr, err := f.Read(t.Context(), Agent, transcript.Query{Session: "c", Full: true})
	if err != nil || tr.Origin != "b" || tr.OriginTurn != "2" || tr.Inherited != 1 || len(tr.Agents) != 2 || len(tr.Requests) != 2 {
		t.Fatalf("%+v, %v", tr, err)
	}
	for i, c := range tr.Requests {
		if c.Turn != "3" || tr.Agents[i].Turn != "3" || tr.Agents[i].Task != "go" {
			t.Errorf("request %+v of %+v, want turn 3", c, tr.Agents[i])
		}
	}
}

// A reading that begins at a later turn has what a subagent does in that turn, and nothing of what
// it did in turns before.
func TestSubagentOfLaterTurns(t *testing.T) {
	const (
		asked   = `{"type":"turn.prompt","turnId":%,"origin":{"kind":"user"},"input":"go","time":17960%0000000}` + "\n"
		spawned = `{"type":"subagent.spawned","subagentId":"agent-0","time":17960%#000200}` + "\n"
		again   = `{"type":"turn.prompt","turnId":#,"origin":{"kind":"system_trigger","name":"subagent"},"input":"look","time":17960%#000100}
{"type":"llm.request","kind":"loop","model":"m","time":17960%#000300}
{"type":"usage.record","usage":{"inputOther":5,"output":1},"time":17960%#000400}` + "\n"
		ended = `{"type":"turn.ended","turnId":%,"reason":"completed","time":17960%9000000}` + "\n"
	)
	in := func(turn, start, rows string) string {
		return strings.NewReplacer("%", turn, "#", start).Replace(rows)
	}
	filler := strings.Repeat(`{"type":"token_counting.measured","time":17960%#000500}`+"\n", 100)
	f := transcripttest.Finder(t)
	dir := filepath.Join(f.Home, ".kimi-code/sessions/w/s/agents")
	transcripttest.Write(t, filepath.Join(dir, lead, fileName), in("2", "1", asked+spawned)+in("2", "2", spawned+filler+ended)+in("3", "1", asked+spawned+ended))
	transcripttest.Write(t, filepath.Join(dir, "agent-0", fileName), in("2", "1", again)+in("2", "2", again+filler)+in("3", "1", again))
	tr, err := f.Read(t.Context(), Agent, transcript.Query{Session: "s", Since: time.UnixMilli(1796029000000)})
	if err != nil || len(tr.Requests) != 1 || tr.Requests[0].Turn != "3" {
		t.Errorf("%+v, %v", tr, err)
	}
}

// A turn's answer is that of its last request, of which the end of a turn without hooks has all.
func TestAnswerOfATurn(t *testing.T) {
	const (
		asked = `{"type":"turn.prompt","turnId":%,"origin":{"kind":"user"},"input":"go","time":179601645%000}
{"type":"context.append_loop_event","event":{"type":"step.begin","uuid":"s%"},"time":179601645%001}
{"type":"llm.request","kind":"loop","model":"m","time":179601645%002}` + "\n"
		said  = `{"type":"context.append_loop_event","event":{"type":"content.part","uuid":"#","stepUuid":"s%","part":{"type":"text","text":"#"}},"time":179601645%003}` + "\n"
		ended = `{"type":"turn.ended","turnId":%,"reason":"completed","time":179601645%009}` + "\n"
	)
	first := strings.ReplaceAll(asked+strings.ReplaceAll(said, "#", "one")+strings.ReplaceAll(said, "#", "two")+ended, "%", "1")
	tr, err := readText(t, "s", map[string]string{lead: first + strings.ReplaceAll(asked+ended, "%", "2")})
	if err != nil || len(tr.Ends) != 2 || tr.Ends[0].Result != "one\ntwo" || tr.Ends[1].Result != "" {
		t.Errorf("%+v, %v", tr, err)
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
