package translate

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/testkit/golden"
)

// Every event of the table, in its three dialects.
func TestEvents(t *testing.T) {
	meta := func(kv ...string) map[string]any {
		m := map[string]any{}
		for i := 0; i < len(kv); i += 2 {
			m[kv[i]] = kv[i+1]
		}
		return map[string]any{"taskMetadata": m}
	}
	classic := `{"session_id":"17951","transcript_path":"/t/s.jsonl","cwd":"/w","permission_mode":"default",`
	next := `{"session_id":"conv_1","transcript_path":"/t/s.jsonl","cwd":"/w","permission_mode":"default",`
	sdk := `{"session_id":"root","transcript_path":"/t/s.jsonl","cwd":"/w","permission_mode":"default",`
	child := sdk + `"agent_id":"agent_1","agent_type":"general-purpose",`
	parent := map[string]any{"parent_agent_id": "agent_0"}
	seen := here
	seen.Seen = true
	plain := here
	plain.TranscriptPath = ""
	tests := []struct {
		name, dialect, hook string
		body                map[string]any
		ctx                 Context
		subjects            []string
		want                string // "" is no event
	}{
		{"start", "classic", "TaskStart", map[string]any{"taskStart": meta("initialTask", "x")}, here, []string{"startup"}, classic + `"hook_event_name":"SessionStart","source":"startup","model":"claude-x"}`},
		{"start, next", "next", "TaskStart", map[string]any{"taskStart": meta()}, here, []string{"startup"}, next + `"hook_event_name":"SessionStart","source":"startup"}`},
		{"start, sdk", "sdk", "agent_start", nil, here, []string{"startup"}, sdk + `"hook_event_name":"SessionStart","source":"startup"}`},
		{"start of a later turn", "sdk", "agent_start", nil, seen, nil, ""},
		{"start of a subagent", "sdk", "agent_start", parent, seen, []string{"general-purpose"}, child + `"hook_event_name":"SubagentStart"}`},
		{"resume", "classic", "TaskResume", map[string]any{"taskResume": meta()}, seen, []string{"resume"}, classic + `"hook_event_name":"SessionStart","source":"resume","model":"claude-x"}`},
		{"resume, sdk", "sdk", "agent_resume", nil, seen, []string{"resume"}, sdk + `"hook_event_name":"SessionStart","source":"resume"}`},
		{"prompt", "classic", "UserPromptSubmit", map[string]any{"userPromptSubmit": map[string]any{"prompt": "a <b> && c"}}, here, nil, classic + `"hook_event_name":"UserPromptSubmit","prompt":"a <b> && c"}`},
		{"prompt, next", "next", "UserPromptSubmit", map[string]any{"userPromptSubmit": map[string]any{"prompt": `<user_input mode="act">delete it</user_input>`}}, here, nil, next + `"hook_event_name":"UserPromptSubmit","prompt":"delete it"}`},
		{"resumed without a prompt, next", "next", "UserPromptSubmit", map[string]any{"userPromptSubmit": map[string]any{"prompt": `<user_input mode="act">[TASK RESUMPTION] Please continue where you left off.</user_input>`}}, here, nil, next + `"hook_event_name":"UserPromptSubmit","prompt":""}`},
		{"prompt, sdk", "sdk", "prompt_submit", map[string]any{"userPromptSubmit": map[string]any{"prompt": "use [SYSTEM]"}}, here, nil, sdk + `"hook_event_name":"UserPromptSubmit","prompt":"use [SYSTEM]"}`},
		{"prompt that Cline wrote, sdk", "sdk", "prompt_submit", map[string]any{"userPromptSubmit": map[string]any{"prompt": "[SYSTEM] go on"}}, here, nil, ""},
		{"text that a hook wrote, sdk", "sdk", "prompt_submit", map[string]any{"userPromptSubmit": map[string]any{"prompt": "\n<hook_context source=\"x\">y</hook_context>"}}, here, nil, ""},
		{"prompt that begins like Cline's, classic", "classic", "UserPromptSubmit", map[string]any{"userPromptSubmit": map[string]any{"prompt": "[SYSTEM] x"}}, here, nil, classic + `"hook_event_name":"UserPromptSubmit","prompt":"[SYSTEM] x"}`},
		{"complete", "classic", "TaskComplete", map[string]any{"taskComplete": meta("result", "done")}, here, nil, classic + `"hook_event_name":"Stop","stop_hook_active":false,"last_assistant_message":"done"}`},
		{"complete, sdk", "sdk", "agent_end", map[string]any{"turn": map[string]any{"outputText": "done", "status": "completed"}}, here, nil, sdk + `"hook_event_name":"Stop","stop_hook_active":false,"last_assistant_message":"done"}`},
		{"complete of a subagent", "sdk", "agent_end", map[string]any{"parent_agent_id": "agent_0", "turn": map[string]any{"outputText": "sub", "status": "completed"}}, here, []string{"general-purpose"}, child + `"hook_event_name":"SubagentStop","stop_hook_active":false,"last_assistant_message":"sub"}`},
		{"subagent that failed", "sdk", "agent_error", parent, here, []string{"general-purpose"}, child + `"hook_event_name":"SubagentStop","stop_hook_active":false}`},
		{"turn that was aborted", "sdk", "agent_end", map[string]any{"turn": map[string]any{"status": "aborted"}}, here, []string{"other"}, sdk + `"hook_event_name":"SessionEnd","reason":"other"}`},
		{"cancel", "classic", "TaskCancel", map[string]any{"taskCancel": meta("completionStatus", "cancelled")}, here, []string{"other"}, classic + `"hook_event_name":"SessionEnd","reason":"other"}`},
		{"abort, sdk", "sdk", "agent_abort", nil, here, []string{"other"}, sdk + `"hook_event_name":"SessionEnd","reason":"other"}`},
		{"shutdown, sdk", "sdk", "session_shutdown", map[string]any{"reason": "exit"}, here, []string{"other"}, sdk + `"hook_event_name":"SessionEnd","reason":"other"}`},
		{"error, sdk", "sdk", "agent_error", map[string]any{"error": map[string]any{"name": "Error", "message": "bad request"}}, here, []string{"unknown"}, sdk + `"hook_event_name":"StopFailure","error":"unknown","error_details":"bad request"}`},
		{"compaction", "classic", "PreCompact", map[string]any{"preCompact": map[string]any{"contextJsonPath": "/c.json"}}, here, []string{"auto"}, classic + `"hook_event_name":"PreCompact","trigger":"auto","custom_instructions":""}`},
		{
			"compaction without a transcript", "classic", "PreCompact",
			map[string]any{"preCompact": map[string]any{"contextJsonPath": "/c.json"}},
			plain,
			[]string{"auto"},
			`{"session_id":"17951","transcript_path":"/c.json","cwd":"/w","permission_mode":"default","hook_event_name":"PreCompact","trigger":"auto","custom_instructions":""}`,
		},
		{"question about a command", "classic", "Notification", map[string]any{"notification": map[string]any{"event": "user_attention", "source": "command", "message": "m"}}, here, []string{"permission_prompt"}, classic + `"hook_event_name":"Notification","message":"m","notification_type":"permission_prompt"}`},
		{"question to the user", "classic", "Notification", map[string]any{"notification": map[string]any{"event": "user_attention", "source": "followup", "message": "m"}}, here, []string{"idle_prompt"}, classic + `"hook_event_name":"Notification","message":"m","notification_type":"idle_prompt"}`},
		{"completion is to be seen", "classic", "Notification", map[string]any{"notification": map[string]any{"event": "task_complete", "source": "tool", "message": "m"}}, here, []string{"idle_prompt"}, classic + `"hook_event_name":"Notification","message":"m","notification_type":"idle_prompt"}`},
		{"tool", "classic", "PreToolUse", map[string]any{"preToolUse": map[string]any{"toolName": "execute_command", "parameters": map[string]string{"command": "a && b"}}}, here, []string{"Bash", "execute_command", "run_commands"}, classic + `"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"a && b","run_in_background":false},"tool_use_id":"toolu_871fd57f395de49c629072b2"}`},
		{"tool, sdk", "sdk", "tool_call", map[string]any{"tool_call": map[string]any{"id": "c", "name": "run_commands", "input": map[string]any{"commands": []string{"x"}}}}, here, []string{"Bash", "run_commands", "execute_command"}, sdk + `"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"x","run_in_background":false},"tool_use_id":"c"}`},
		{"tool of a subagent", "sdk", "tool_call", map[string]any{"parent_agent_id": "agent_0", "tool_call": map[string]any{"id": "c", "name": "run_commands", "input": "x"}}, here, []string{"Bash", "run_commands", "execute_command"}, child + `"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"x","run_in_background":false},"tool_use_id":"c"}`},
		{"tool without a name", "classic", "PreToolUse", map[string]any{"preToolUse": map[string]any{}}, here, nil, ""},
		{"unknown hook", "classic", "Whatever", nil, here, nil, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := call(t, payload(t, tt.dialect, tt.hook, tt.body), tt.ctx)
			if c.Dialect != tt.dialect {
				t.Errorf("dialect %q, want %q", c.Dialect, tt.dialect)
			}
			if tt.want == "" {
				if len(c.Events) != 0 {
					t.Fatalf("event %s, want none", c.Events[0].Payload)
				}
				if rows := c.Rows(); rows != nil {
					t.Errorf("rows %q", rows)
				}
				return
			}
			if len(c.Events) != 1 {
				t.Fatalf("%d events, want one", len(c.Events))
			}
			if diff := cmp.Diff(tt.want, string(c.Events[0].Payload)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.subjects, c.Events[0].Subjects); diff != "" {
				t.Errorf("subjects (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOperationsHaveDistinctIDs(t *testing.T) {
	ids := func(raw hook.Raw) []string {
		var all []string
		for _, e := range call(t, raw, here).Events {
			var in struct {
				ID string `json:"tool_use_id"`
			}
			if err := json.Unmarshal(e.Payload, &in); err != nil {
				t.Fatal(err)
			}
			all = append(all, in.ID)
		}
		return all
	}
	diffLines(t, ids(pre(t, "sdk", "run_commands", `["a","b","c"]`)), []string{"call_1", "call_1#1", "call_1#2"})
	begun := ids(pre(t, "next", "run_commands", `{"commands":["a","b"]}`))
	ended := ids(payload(t, "next", "PostToolUse", map[string]any{"postToolUse": map[string]any{
		"toolName": "run_commands", "parameters": map[string]string{"commands": `["a","b"]`}, "success": true, "result": "[object Object]",
	}}))
	diffLines(t, ended, begun)
	if begun[1] != begun[0]+"#1" || !strings.HasPrefix(begun[0], "toolu_") || len(begun[0]) != len("toolu_")+24 {
		t.Errorf("ids %q", begun)
	}
	if other := ids(pre(t, "next", "run_commands", `{"commands":["a","c"]}`)); other[0] == begun[0] {
		t.Errorf("another call has the same id %q", other[0])
	}
}

func TestInvalidJSONIsErrorWithoutEvents(t *testing.T) {
	for _, in := range []string{"{", "[]", "x", `{"hookName":"PreToolUse","preToolUse":`} {
		c, err := FromCline(hook.Raw{Payload: []byte(in), Event: "PreToolUse"}, here)
		if err == nil || c == nil || len(c.Events) != 0 {
			t.Errorf("%q: call %+v, error %v", in, c, err)
		}
		c.Answer(nil, Options{})
		if rows := c.Rows(); rows != nil {
			t.Errorf("%q: rows %q", in, rows)
		}
	}
}

// recordedPayloads are payloads recorded from Cline, by the names of the golden files with what
// hooks get for them.
var recordedPayloads = map[string]string{
	"classic-Notification":         "internal/demo/session/007-Notification",
	"classic-PostToolUse":          "internal/demo/session/018-PostToolUse",
	"classic-PostToolUse.blocks":   "internal/demo/session/011-PostToolUse",
	"classic-PostToolUse.denied":   "internal/demo/session/008-PostToolUse",
	"classic-PostToolUse.error":    "internal/demo/session/014-PostToolUse",
	"classic-PostToolUse.failed":   "internal/demo/session/006-PostToolUse",
	"classic-PostToolUse.terminal": "hook/cline/testdata/e2e-cli2/ok/012-PostToolUse",
	"classic-PreCompact":           "internal/demo/session/015-PreCompact",
	"classic-PreToolUse":           "internal/demo/session/005-PreToolUse",
	"classic-TaskComplete":         "internal/demo/session/019-TaskComplete",
	"classic-TaskStart":            "internal/demo/session/001-TaskStart",
	"classic-UserPromptSubmit":     "internal/demo/session/002-UserPromptSubmit",
	"next-PostToolUse":             "hook/cline/testdata/next-session/004-PostToolUse",
	"next-PostToolUse.failed":      "hook/cline/testdata/next-session/014-PostToolUse",
	"next-PreToolUse":              "hook/cline/testdata/next-session/003-PreToolUse",
	"sdk-PostToolUse.agent":        "hook/cline/testdata/e2e-cli3/subagent/007-PostToolUse",
	"sdk-PostToolUse.edit":         "hook/cline/testdata/e2e-cli3/tools/017-PostToolUse",
	"sdk-PostToolUse.failed":       "hook/cline/testdata/e2e-cli3/tools/008-PostToolUse",
	"sdk-PostToolUse.subagent":     "hook/cline/testdata/e2e-cli3/subagent/005-PostToolUse",
	"sdk-PreToolUse":               "hook/cline/testdata/e2e-cli3/tools/004-PreToolUse",
	"sdk-TaskComplete.subagent":    "hook/cline/testdata/e2e-cli3/subagent/006-TaskComplete",
	"sdk-TaskError":                "hook/cline/testdata/e2e-cli3/provider-error/002-TaskError",
}

func recordedPayload(t testing.TB, file string) hook.Raw {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "..", "..", filepath.FromSlash(file)+".json"))
	if err != nil {
		t.Fatal(err)
	}
	_, event, _ := strings.Cut(filepath.Base(file), "-")
	return hook.Raw{Payload: raw, Event: event, StoredAt: storedAt}
}

func TestRecordedPayloads(t *testing.T) {
	for name, file := range recordedPayloads {
		t.Run(name, func(t *testing.T) {
			c := call(t, recordedPayload(t, file), here)
			var got bytes.Buffer
			for _, e := range c.Events {
				got.WriteString(strings.Join(e.Subjects, " ") + "\n")
				got.Write(e.Payload)
				got.WriteByte('\n')
			}
			for _, row := range c.Rows() {
				got.WriteString("row ")
				got.Write(row)
				got.WriteByte('\n')
			}
			golden.Check(t, "golden/"+name+".txt", got.String())
		})
	}
}

func FuzzFromCline(f *testing.F) {
	for _, file := range recordedPayloads {
		f.Add(recordedPayload(f, file).Payload, "linux")
	}
	for _, in := range []string{`["a",{"path":"b"},null,[["c"]]]`, `{"commands":[{"command":"x","args":[1,{}]},["y"],3,null]}`, `"*** Add File: a"`, `{"input":"*** Update File: a\n@@\n-x"}`} {
		for _, tool := range []string{"read_files", "run_commands", "apply_patch", "editor", "search_codebase", "fetch_web_content", "a__b"} {
			f.Add(pre(f, "sdk", tool, in).Payload, "windows")
		}
	}
	f.Fuzz(func(t *testing.T, data []byte, goos string) {
		ctx := Context{GOOS: goos, TranscriptPath: "/t"}
		raw := hook.Raw{Payload: data, Event: "PreToolUse", StoredAt: storedAt}
		c, err := FromCline(raw, ctx)
		again, _ := FromCline(raw, ctx)
		if err != nil && len(c.Events) > 0 {
			t.Fatalf("events beside the error %v", err)
		}
		ids := map[string]bool{}
		for i, e := range c.Events {
			if !bytes.Equal(e.Payload, again.Events[i].Payload) {
				t.Fatalf("the same bytes give\n%s\n%s", e.Payload, again.Events[i].Payload)
			}
			var in map[string]any
			if err := json.Unmarshal(e.Payload, &in); err != nil || in["hook_event_name"] != e.Name {
				t.Fatalf("%s: %v", e.Payload, err)
			}
			if e.Tool == "" {
				continue
			}
			id, _ := in["tool_use_id"].(string)
			if ids[id] || id == "" || !slices.Contains(e.Subjects, e.Tool) {
				t.Fatalf("id %q, subjects %q, of %s", id, e.Subjects, e.Payload)
			}
			ids[id] = true
		}
		for _, row := range c.Rows() {
			if !json.Valid(row) || bytes.ContainsAny(row, "\n\r") {
				t.Fatalf("row %q", row)
			}
		}
		// Every id at the end of a call is one of its beginning.
		if c.Kind != hook.KindToolStart || len(c.Events) == 0 {
			return
		}
		end := *c
		end.Kind, end.Events = hook.KindToolEnd, nil
		end.toolEnd(nil)
		for _, e := range end.Events {
			var in struct {
				ID string `json:"tool_use_id"`
			}
			if err := json.Unmarshal(e.Payload, &in); err != nil || !ids[in.ID] {
				t.Fatalf("the end has the id %q, the beginning %v", in.ID, ids)
			}
		}
	})
}

// FuzzBothEnds gives the beginning and the end of one call.
func FuzzBothEnds(f *testing.F) {
	for _, tt := range reversible {
		for _, dialect := range []string{"classic", "next", "sdk"} {
			f.Add(dialect, tt.tool, tt.in)
		}
	}
	f.Fuzz(func(t *testing.T, dialect, tool, input string) {
		if !json.Valid([]byte(input)) || dialect != "classic" && dialect != "next" && dialect != "sdk" {
			return
		}
		var begun, ended hook.Raw
		if dialect == "sdk" {
			both := map[string]any{"name": tool, "input": json.RawMessage(input)}
			begun = payload(t, dialect, "tool_call", map[string]any{"tool_call": both})
			ended = payload(t, dialect, "tool_result", map[string]any{"tool_result": both})
		} else {
			var in map[string]json.RawMessage
			if json.Unmarshal([]byte(input), &in) != nil {
				return
			}
			both := map[string]any{"toolName": tool, "parameters": params(t, input)}
			begun = payload(t, dialect, "PreToolUse", map[string]any{"preToolUse": both})
			ended = payload(t, dialect, "PostToolUse", map[string]any{"postToolUse": map[string]any{
				"toolName": tool, "parameters": params(t, input), "success": true, "result": "x",
			}})
		}
		first := map[string]string{}
		for _, e := range call(t, begun, here).Events {
			first[toolUse(t, e)] = e.Tool
		}
		c := call(t, ended, here)
		if len(c.Events) == 0 && len(first) > 0 && !softDenied(c.call) {
			t.Fatalf("%v began and nothing ended", first)
		}
		for _, e := range c.Events {
			if id := toolUse(t, e); first[id] != e.Tool {
				t.Fatalf("%s ended as %q, which began as %q", id, e.Tool, first[id])
			}
		}
	})
}

// toolUse is an event's tool_use_id.
func toolUse(t *testing.T, e Event) string {
	t.Helper()
	var in struct {
		ID string `json:"tool_use_id"`
	}
	if err := json.Unmarshal(e.Payload, &in); err != nil || in.ID == "" {
		t.Fatalf("no tool_use_id in %s: %v", e.Payload, err)
	}
	return in.ID
}
