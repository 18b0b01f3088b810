package cline

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/hook"
)

func readSession(t *testing.T, folder, id string) *hook.Transcript {
	t.Helper()
	f := newFinder(t)
	copyDir(t, filepath.Join(f.Home, ".cline", "data", "sessions"), "sdk/"+folder)
	tr, err := query(t.Context(), f, DialectSDK, id)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// A manifest counts the lead agent alone; a subagent's figures come on top.
func TestLeadSumsEqualTheManifest(t *testing.T) {
	for folder, want := range map[string]struct {
		id    string
		calls int
	}{
		"tools":          {"1795174957841_0jeru", 7},
		"subagent":       {"1795175660887_ibxt7", 2},
		"provider-error": {"1795175034447_1mokh", 0},
	} {
		t.Run(folder, func(t *testing.T) {
			var m struct {
				Metadata struct {
					Usage struct {
						Input      int64   `json:"inputTokens"`
						Output     int64   `json:"outputTokens"`
						CacheRead  int64   `json:"cacheReadTokens"`
						CacheWrite int64   `json:"cacheWriteTokens"`
						Cost       float64 `json:"totalCost"`
					} `json:"usage"`
				} `json:"metadata"`
			}
			readJSON(t, filepath.Join("..", "testdata", "sdk", folder, want.id, want.id+".json"), &m)
			var lead []hook.Request
			for _, c := range readSession(t, folder, want.id).Requests {
				if c.Agent == "" {
					lead = append(lead, c)
				}
			}
			u := m.Metadata.Usage
			if diff := cmp.Diff(total{
				Input: u.Input, Output: u.Output, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite, Cost: u.Cost,
				Requests: want.calls,
			}, sum(lead)); diff != "" {
				t.Errorf("sums (-Cline +ours):\n%s", diff)
			}
		})
	}
}

func TestSubagentsHaveCallsOfTheirOwn(t *testing.T) {
	tr := readSession(t, "subagent", "1795175660887_ibxt7")
	const agent = "agent_1795175661490_n5dcj3"
	type call struct {
		ID, Agent  string
		Start, End int64
		Text       string
		Tools      []string
	}
	var got []call
	for _, c := range tr.Requests {
		got = append(got, call{c.ID, c.Agent, c.Start.UnixMilli() - 1795175660000, c.End.UnixMilli() - 1795175660000, c.Text, c.ToolCallIDs})
	}
	if diff := cmp.Diff([]call{
		{"msg_lSBxlLlq", "", 981, 1400, "Delegating.", []string{"call_1_0"}},
		{"msg_TsgKZ3mq", agent, 1732, 2081, "sub working", []string{"call_2_0"}},
		{"msg_uuEGFkGs", agent, 2202, 2462, "sub finished: hi", nil},
		{"msg_cPlHBWN2", "", 2523, 2770, "Lead done.", nil},
	}, got); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(total{Input: 5000, Output: 210, CacheRead: 1200, Requests: 4}, sum(tr.Requests)); diff != "" {
		t.Errorf("sums (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]hook.ToolResult{
		{
			ID: "call_1_0", Name: "spawn_agent", Input: `{"systemPrompt":"You are a helper","task":"Run echo hi"}`,
			Text: `{"text":"sub finished: hi","iterations":2,"finishReason":"completed","usage":{"inputTokens":2500,"outputTokens":105}}`,
			At:   time.UnixMilli(1795175662523).UTC(),
		},
		{
			ID: "call_2_0", Agent: agent, Name: "run_commands", Input: `{"commands":["echo hi"]}`, Text: "hi\n",
			At: time.UnixMilli(1795175662202).UTC(),
		},
	}, tr.ToolResults); diff != "" {
		t.Errorf("tool results (-want +got):\n%s", diff)
	}
	tr.Requests, tr.ToolResults = nil, nil
	for i, s := range tr.Sources {
		tr.Sources[i] = filepath.Base(s)
	}
	if diff := cmp.Diff(&hook.Transcript{
		Provider: "openai-compatible", Model: "mock-model", HostVersion: "3.0.57", HostApp: "Cline CLI", Cwd: "/home/dev/project",
		// The subagent's task is not a user's prompt.
		Prompts: []hook.Prompt{{At: time.UnixMilli(1795175660981).UTC(), Text: "Delegate it"}},
		Sources: []string{"1795175660887_ibxt7.json", "1795175660887_ibxt7.messages.json", agent + ".messages.json"},
	}, tr); diff != "" {
		t.Errorf("the rest (-want +got):\n%s", diff)
	}
}

func TestToolResultsOfASession(t *testing.T) {
	tr := readSession(t, "tools", "1795174957841_0jeru")
	type result struct {
		ID, Name, Input, Text string
		Failed                bool
	}
	var got []result
	for _, r := range tr.ToolResults {
		if len(r.Text) > 70 {
			r.Text = r.Text[:70]
		}
		got = append(got, result{r.ID, r.Name, r.Input, r.Text, r.Status == hook.ToolFailed})
	}
	if diff := cmp.Diff([]result{
		{"call_1_0", "read_files", `{"files":[{"path":"src/login.js"}]}`, "1 | module.exports = (u, p) => true", false},
		{
			"call_2_0", "run_commands", `{"commands":["echo FAIL tests; exit 1"]}`,
			"[Command exited with code 1]\nFAIL tests\n", true,
		},
		{
			"call_2_1", "read_files", `{"files":[{"path":"src/missing.js"}]}`,
			"Error reading file: ENOENT: no such file or directory, statx '/home/de", true,
		},
		{"call_2_2", "run_commands", `{"commands":["sleep 1; echo slow ok"]}`, "slow ok\n", false},
		{"call_2_3", "run_commands", `{"commands":["echo fast ok"]}`, "fast ok\n", false},
		{"call_3_0", "search_codebase", `{"queries":["login"]}`, "No results found for pattern: login\nSearched 1 files.", false},
		{"call_4_0", "read_files", `{"nope":1}`, "✖ Invalid input", true},
		{"call_5_0", "does_not_exist", `{"a":1}`, "Tool call does_not_exist was rejected before execution: AI_NoSuchToolE", true},
		{
			"call_6_0", "editor", `{"new_text":"Boolean(u && p)","old_text":"true","path":"src/login.js"}`,
			"Edited /home/dev/project/src/login.js\n```diff\n-1: module.exports = (u,", false,
		},
	}, got); diff != "" {
		t.Errorf("tool results (-want +got):\n%s", diff)
	}
	if u := tr.Requests[0].Usage; u.TotalInput() != 1100 || u.CostUSD != nil {
		t.Errorf("usage %+v: the SDK's input count includes the cache, and no cost was given", u)
	}
	// Each request begins with the last message before it: here, the last of
	// four tool results.
	if c := tr.Requests[2]; c.Start.UnixMilli() != 1795174961003 || c.End.UnixMilli() != 1795174961256 {
		t.Errorf("third call runs from %v to %v", c.Start, c.End)
	}
}

// TestCallsWithoutAResult reads a session whose program was killed at a tool's work.
func TestCallsWithoutAResult(t *testing.T) {
	f := newFinder(t)
	write(t, filepath.Join(f.Home, ".cline", "data", "sessions", "1_a", "1_a"+messagesSuffix), `[
		{"role":"user","content":"go","ts":1},
		{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"x","input":{}},{"type":"tool_use","id":"b","name":"y","input":{}}],"ts":2,"metrics":{}},
		{"role":"user","content":[{"type":"tool_result","tool_use_id":"b","content":"B"}],"ts":3},
		{"role":"assistant","content":[{"type":"tool_use","id":"b","name":"z","input":{}}],"ts":4,"metrics":{}}]`)
	tr, err := full(t.Context(), f, DialectSDK, "1_a")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]hook.ToolResult{
		{ID: "b", Name: "y", Input: "{}", Text: "B", At: ms(3)},
		{ID: "a", Name: "x", Input: "{}", Status: hook.ToolUnknown},
		{ID: "b", Name: "z", Input: "{}", Status: hook.ToolUnknown},
	}, tr.ToolResults); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

// TestRejectedCallIsDenied has a call that the user rejected in an editor, one of a tool
// that there is not, and one whose command was stopped.
func TestCallsThatAreNoFailures(t *testing.T) {
	f := newFinder(t)
	const words = "User rejected the tool call -- NOT a tool or system failure. Clarify with user before proceeding."
	write(t, filepath.Join(f.Home, ".cline", "data", "sessions", "1_a", "1_a"+messagesSuffix), `[
		{"role":"user","content":"go","ts":1},
		{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"x","input":{}},{"type":"tool_use","id":"b","name":"x","input":{}},{"type":"tool_use","id":"c","name":"x","input":{}}],"ts":2,"metrics":{}},
		{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"{\"error\":\"`+words+`\"}","is_error":true}],"ts":3},
		{"role":"user","content":[{"type":"tool_result","tool_use_id":"b","content":"{\"error\":\"Tool call y was rejected before execution: AI_NoSuchToolError\"}","is_error":true}],"ts":4},
		{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":[{"query":"q","result":"","error":"Command failed: Command was aborted","success":false}]}],"ts":5}]`)
	tr, err := full(t.Context(), f, DialectSDK, "1_a")
	if err != nil {
		t.Fatal(err)
	}
	got := make(map[string]hook.ToolStatus)
	for _, r := range tr.ToolResults {
		got[r.ID] = r.Status
	}
	if diff := cmp.Diff(map[string]hook.ToolStatus{"a": hook.ToolDenied, "b": hook.ToolFailed, "c": hook.ToolCancelled}, got); diff != "" {
		t.Errorf("ends of the calls (-want +got):\n%s", diff)
	}
}

// TestStoppedCallEndsItsRun reads a session whose user stopped a command, submitted a
// prompt, and another one while a command ran.
func TestStoppedCallEndsItsRun(t *testing.T) {
	for _, next := range []string{"b", "a"} { // a model may number its calls anew
		stoppedCallEndsItsRun(t, next)
	}
}

func stoppedCallEndsItsRun(t *testing.T, next string) {
	f := newFinder(t)
	asks := func(id string, ts int) string {
		return fmt.Sprintf(`{"role":"assistant","content":[{"type":"tool_use","id":%q,"name":"run_commands","input":{}}],"ts":%d,"metrics":{}}`, id, ts)
	}
	write(t, filepath.Join(f.Home, ".cline", "data", "sessions", "1_a", "1_a"+messagesSuffix), `[
		{"role":"user","content":"<user_input mode=\"act\">go</user_input>","ts":1000},`+asks("a", 2000)+`,
		{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"query":"q","result":"","error":"Command failed: Command was aborted","success":false}]}],"ts":3000},
		{"role":"user","content":"<user_input mode=\"act\">again</user_input>","ts":4000},`+asks(next, 5000)+`,
		{"role":"user","content":[{"type":"tool_result","tool_use_id":"`+next+`","content":[{"query":"q","result":"fine","success":true}]}],"ts":6000},
		{"role":"user","content":"<user_input mode=\"act\">and more</user_input>","ts":7000},
		{"role":"assistant","content":[{"type":"text","text":"done"}],"ts":8000,"metrics":{"inputTokens":1}}]`)
	tr, err := full(t.Context(), f, DialectSDK, "1_a")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for e := range Agent.Events(DialectSDK, tr) {
		got = append(got, strings.TrimSpace(e.Name+" "+e.Prompt+e.Result))
	}
	if diff := cmp.Diff([]string{
		"TaskStart go", "UserPromptSubmit go", "PreToolUse", "PostToolUse", "session file",
		"TaskStart again", "UserPromptSubmit again", "PreToolUse", "PostToolUse", "UserPromptSubmit and more", "TaskComplete done",
	}, got); diff != "" {
		t.Errorf("events with call %s (-want +got):\n%s", next, diff)
	}
}

// TestShownErrorEndsItsRun reads a session with a request that failed, of which Cline
// writes the error as an answer that it only displays, and a prompt after it.
func TestShownErrorEndsItsRun(t *testing.T) {
	f := newFinder(t)
	write(t, filepath.Join(f.Home, ".cline", "data", "sessions", "1_a", "1_a"+messagesSuffix), `[
		{"role":"user","content":"<user_input mode=\"act\">go</user_input>","ts":1000},
		{"role":"assistant","content":[{"type":"text","text":"no quota"}],"ts":2000,"metadata":{"displayOnly":true,"displayRole":"error"},
			"modelInfo":{"id":"m","provider":"p"}},
		{"role":"user","content":"<user_input mode=\"act\">again</user_input>","ts":3000},
		{"role":"assistant","content":[{"type":"text","text":"done"}],"ts":4000,"metrics":{"inputTokens":1}}]`)
	tr, err := full(t.Context(), f, DialectSDK, "1_a")
	if err != nil {
		t.Fatal(err)
	}
	if c := tr.Requests[0]; c.Text != "" || c.Error != "no quota" {
		t.Errorf("the request answered %q and failed with %q", c.Text, c.Error)
	}
	var got []string
	for e := range Agent.Events(DialectSDK, tr) {
		got = append(got, e.Name+" "+e.Prompt+e.Result+e.Message)
	}
	if diff := cmp.Diff([]string{
		"TaskStart go", "UserPromptSubmit go", "TaskError no quota", "TaskStart again", "UserPromptSubmit again", "TaskComplete done",
	}, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

func TestSessionPendingAndOddities(t *testing.T) {
	const id = "1795174957841_0jeru"
	asked := `{"messages":[{"role":"user","ts":1795174958160,"content":"go"}]}`
	answered := `{"messages":[{"role":"user","ts":1795174958160,"content":"go"},
		{"role":"assistant","ts":1795174959000,"content":"ok","modelInfo":{"id":"m","provider":"p"}}]}`
	asking := time.UnixMilli(1795174958160)
	for _, c := range []struct {
		name, manifest, messages string
		now                      time.Time
		pending                  bool
		calls                    int
	}{
		{"under way", `{"status":"running"}`, asked, asking.Add(time.Second), true, 0},
		{"killed long ago", `{"status":"running"}`, asked, asking.Add(time.Hour), false, 0},
		{"failed", `{"status":"failed"}`, asked, asking.Add(time.Second), false, 0},
		{"answered", `{"status":"running"}`, answered, asking.Add(2 * time.Second), false, 1},
		{"no manifest", ``, answered, asking, false, 1},
		{"no messages yet", `{"status":"running"}`, ``, asking, false, 0},
		{"bare list", `{"started_at":7}`, `[{"role":"assistant","metrics":{"inputTokens":1,"cost":0.25}}]`, asking, false, 1},
		{"a reply Cline wrote itself", `{}`, `[{"role":"assistant","ts":5,"content":"summary"}]`, asking, false, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFinder(t)
			f.Now = func() time.Time { return c.now }
			dir := filepath.Join(f.Home, ".cline", "data", "sessions", id)
			if c.manifest != "" {
				write(t, filepath.Join(dir, id+".json"), c.manifest)
			}
			if c.messages != "" {
				write(t, filepath.Join(dir, id+messagesSuffix), c.messages)
			}
			tr, err := query(t.Context(), f, DialectSDK, id)
			if err != nil {
				t.Fatal(err)
			}
			if tr.Pending != c.pending || len(tr.Requests) != c.calls {
				t.Errorf("pending = %v, %d calls; want %v, %d", tr.Pending, len(tr.Requests), c.pending, c.calls)
			}
			for _, call := range tr.Requests {
				if call.End.Before(call.Start) {
					t.Errorf("call ends at %v before its start %v", call.End, call.Start)
				}
			}
		})
	}
}
