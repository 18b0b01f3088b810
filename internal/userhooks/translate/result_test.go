package translate

import (
	"encoding/json"
	"strings"
	"testing"
)

// ended is a call that has ended, as hooks see its end.
func ended(t *testing.T, c *Call) []string {
	t.Helper()
	var all []string
	for _, e := range c.Events {
		var in struct {
			Response  json.RawMessage `json:"tool_response"`
			Error     json.RawMessage `json:"error"`
			Interrupt json.RawMessage `json:"is_interrupt"`
			Duration  json.RawMessage `json:"duration_ms"`
		}
		if err := json.Unmarshal(e.Payload, &in); err != nil {
			t.Fatal(err)
		}
		all = append(all, strings.Join([]string{e.Name, string(in.Response), string(in.Error), string(in.Interrupt), string(in.Duration)}, "|"))
	}
	return all
}

func TestResultsOfTheSDK(t *testing.T) {
	tests := []struct {
		name, tool, in, result string
		want                   []string
	}{
		{
			"each command its own", "run_commands", `["a","b"]`,
			`{"output":[{"query":"a","result":"out a\n","success":true},{"query":"b","result":"[Command exited with code 3]\nbad\n","error":"Command exited with code 3","success":false}],"durationMs":7}`,
			[]string{`PostToolUse|{"stdout":"out a\n","stderr":"","interrupted":false,"isImage":false}|||7`, `PostToolUseFailure||"Exit code 3\nbad"|false|7`},
		},
		{
			"each file its own", "read_files", `["a","b"]`,
			`{"output":[{"query":"a","result":[{"type":"text","text":"1 | x"}],"success":true},{"query":"b","result":"","error":"ENOENT","success":false}]}`,
			[]string{`PostToolUse|{"type":"text","file":{"filePath":"/w/a","content":"x","numLines":1,"startLine":1,"totalLines":1}}|||`, `PostToolUseFailure||"ENOENT"|false|`},
		},
		{
			"fewer results than files", "read_files", `["a","b"]`, `{"output":[{"query":"a","result":"x","success":true}]}`,
			[]string{`PostToolUse|{"type":"text","file":{"filePath":"/w/a","content":"x","numLines":1,"startLine":1}}|||`, `PostToolUse|{"type":"text","file":{"filePath":"/w/b","content":"x","numLines":1,"startLine":1}}|||`},
		},
		{
			"one that failed as a toolCall", "run_commands", `["a","b"]`, `{"output":{"error":"spawn ENOENT"},"error":"[object Object]"}`,
			[]string{`PostToolUseFailure||"spawn ENOENT"|false|`, `PostToolUseFailure||"spawn ENOENT"|false|`},
		},
		{"a file that was edited", "editor", `{"path":"a","old_text":"x","new_text":"y"}`, `{"output":{"query":"edit:a","result":"Edited","success":true}}`, []string{`PostToolUse|{"filePath":"/w/a","oldString":"x","newString":"y","replaceAll":false,"success":true}|||`}},
		{"a file that was written", "editor", `{"path":"a","new_text":"y"}`, `{"output":"ok"}`, []string{`PostToolUse|{"filePath":"/w/a","content":"y","success":true}|||`}},
		{"an agent", "spawn_agent", `{"task":"x"}`, `{"output":{"text":"found it","iterations":2}}`, []string{`PostToolUse|{"status":"completed","prompt":"x","agentType":"general-purpose","content":[{"type":"text","text":"found it"}]}|||`}},
		{"an MCP tool", "s__t", `{}`, `{"output":{"content":[{"type":"text","text":"12"}]}}`, []string{`PostToolUse|[{"type":"text","text":"12"}]|||`}},
		{
			"structures and pictures", "read_files", `["a","b","c"]`,
			`{"output":[{"query":"a","result":[{"type":"text","text":"x"},{"type":"image","data":"y"}],"success":true},{"query":"b","result":{"k":[1]},"success":true},{"query":"c","success":true}]}`,
			[]string{
				`PostToolUse|{"type":"text","file":{"filePath":"/w/a","content":"x\n[image]","numLines":2,"startLine":1}}|||`,
				`PostToolUse|{"type":"text","file":{"filePath":"/w/b","content":"{\"k\":[1]}","numLines":1,"startLine":1}}|||`,
				`PostToolUse|{"type":"text","file":{"filePath":"/w/c","content":"","numLines":1,"startLine":1}}|||`,
			},
		},
		{
			"hidden parts", "run_commands", `["a","b"]`,
			`{"output":[{"query":"a","result":"[object Object]","success":true},{"query":"b","result":"","error":"[object Object]","success":false}]}`,
			[]string{`PostToolUse|{}|||`, `PostToolUseFailure||"the tool failed, and Cline does not say why"|false|`},
		},
		{
			"a list that is no list of results", "read_files", `["a","b"]`, `{"output":[{"type":"text","text":"x"},{"type":"text","text":"y"}]}`,
			[]string{`PostToolUse|{"type":"text","file":{"filePath":"/w/a","content":"x\ny","numLines":2,"startLine":1}}|||`, `PostToolUse|{"type":"text","file":{"filePath":"/w/b","content":"x\ny","numLines":2,"startLine":1}}|||`},
		},
		{"refused by the user", "run_commands", `["a"]`, `{"output":{"error":"User rejected the tool call"},"error":"x"}`, nil},
		{"denied softly", "run_commands", `{"commands":["printf 'Denied by a hook: it\\047s no\\n' >&2; exit 1"]}`, `{"output":[{"query":"x","result":"","error":"Command exited with code 1","success":false}]}`, nil},
		{"much like a soft denial", "run_commands", `{"commands":["printf 'Denied by a hook: x'; rm a; echo 'y\\n' >&2; exit 1"]}`, `{"output":"x"}`, []string{`PostToolUse|{"stdout":"x","stderr":"","interrupted":false,"isImage":false}|||`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var body map[string]any
			if err := json.Unmarshal([]byte(tt.result), &body); err != nil {
				t.Fatal(err)
			}
			body["id"], body["name"], body["input"] = "call_1", tt.tool, json.RawMessage(tt.in)
			diffLines(t, ended(t, call(t, payload(t, "sdk", "tool_result", map[string]any{"tool_result": body}), here)), tt.want)
		})
	}
}

func TestResultsOfClassic(t *testing.T) {
	tests := []struct {
		name, dialect, tool, in, result string
		success                         bool
		want                            []string
	}{
		{"command", "classic", "execute_command", `{"command":"x"}`, "Command executed.\nOutput:\nhi", true, []string{`PostToolUse|{"stdout":"hi","stderr":"","interrupted":false,"isImage":false}|||5`}},
		{"command, in the other terminal", "classic", "execute_command", `{"command":"x"}`, "Command executed successfully (exit code 0).\nOutput:\nhi\n", true, []string{`PostToolUse|{"stdout":"hi\n","stderr":"","interrupted":false,"isImage":false}|||5`}},
		{
			"parts", "classic", "execute_command", `{"command":"x"}`,
			`[{"type":"text","text":"[execute_command for 'x'] Result:"},{"type":"text","text":"Command executed.\nOutput:\nhi"}]`, true,
			[]string{`PostToolUse|{"stdout":"hi","stderr":"","interrupted":false,"isImage":false}|||5`},
		},
		{"command without output", "classic", "execute_command", `{"command":"x"}`, "Command executed.", true, []string{`PostToolUse|{"stdout":"","stderr":"","interrupted":false,"isImage":false}|||5`}},
		{"command that runs on", "classic", "execute_command", `{"command":"x"}`, "Command executed. It runs on.", true, []string{`PostToolUse|{"stdout":"Command executed. It runs on.","stderr":"","interrupted":false,"isImage":false}|||5`}},
		{"command that failed, success true", "classic", "execute_command", `{"command":"x"}`, "Command failed with exit code 2.\nOutput:\nbad", true, []string{`PostToolUseFailure||"Exit code 2\nbad"|false|5`}},
		{"command that was cancelled", "classic", "execute_command", `{"command":"x"}`, "Command cancelled. \nOutput captured before cancellation:\nhalf", true, []string{`PostToolUseFailure||"Command cancelled. \nOutput captured before cancellation:\nhalf"|true|5`}},
		{"success left out", "classic", "read_file", `{"path":"a"}`, "no", false, []string{`PostToolUseFailure||"no"|false|5`}},
		{"denied", "classic", "execute_command", `{"command":"x"}`, "The user denied this operation.", true, nil},
		{"text", "classic", "search_files", `{"regex":"x"}`, "Found 0 results.", true, []string{`PostToolUse|{"mode":"content","numFiles":0,"filenames":[],"content":"","numLines":0}|||5`}},
		{"hidden", "next", "run_commands", `{"commands":["x"]}`, "[object Object],[object Object]", true, []string{`PostToolUse|{}|||5`}},
		{"hidden, a file", "next", "editor", `{"path":"a","new_text":"x"}`, "[object Object]", true, []string{`PostToolUse|{"filePath":"/w/a","content":"x","success":true}|||5`}},
		{"hidden failure", "next", "run_commands", `{"commands":["x"]}`, "[object Object]", false, []string{`PostToolUseFailure||"the tool failed, and Cline does not say why"|false|5`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			body := map[string]any{"toolName": tt.tool, "parameters": params(t, tt.in), "result": tt.result, "executionTimeMs": 5}
			if tt.success {
				body["success"] = true
			}
			diffLines(t, ended(t, call(t, payload(t, tt.dialect, "PostToolUse", map[string]any{"postToolUse": body}), here)), tt.want)
		})
	}
}
