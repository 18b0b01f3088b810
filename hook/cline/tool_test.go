package cline

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hookspan/hookspan/hook"
)

// post wraps a postToolUse body, of any dialect, into a payload.
func post(dialect, body string) string {
	switch dialect {
	case dialectNext:
		return `{"hookName":"PostToolUse","taskId":"conv_1","timestamp":"1795175967524","postToolUse":` + body + `}`
	case dialectSDK:
		return `{"hookName":"tool_result","taskId":"conv_1",` + body + `}`
	}
	return `{"hookName":"PostToolUse","taskId":"1","timestamp":"1795175967524","postToolUse":` + body + `}`
}

func quoted(t *testing.T, s string) string {
	t.Helper()
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestStatusByTheWordingOfTheResult(t *testing.T) {
	const reminder = "\n\n# Reminder: Instructions for Tool Use\n\nTool uses are formatted ..."
	tests := []struct {
		name, result string
		status       hook.ToolStatus
		message      string
	}{
		{"fine", "All 42 tests passed", hook.ToolOK, ""},
		{"empty", "", hook.ToolOK, ""},
		{"tool error", "The tool execution failed with the following error:\n<error>\nno <error> file\n</error>", hook.ToolFailed, "no <error> file"},
		{"a file that begins as an error does", "The tool execution failed with the following error:\nno file", hook.ToolOK, ""},
		{"a file that begins as a failed command does", "Command failed with exit code 3.\nOutput:\nx", hook.ToolOK, ""},
		{"a file that begins as a denial does", "The user denied this operation, says the log.", hook.ToolOK, ""},
		{"a file whose first line is a denial", "The user denied this operation.\nSo we asked again.", hook.ToolOK, ""},
		{"a file about parameters", "Missing value for required parameter in line 3", hook.ToolOK, ""},
		{"a file about JSON", "Invalid JSON argument used with care", hook.ToolOK, ""},
		{"tool error cut short", "The tool execution failed with the following error:\n<error>\nno file", hook.ToolFailed, "no file"},
		{"failing command", "Command failed with exit code 2.\nOutput:\nFAIL", hook.ToolFailed, "Command failed with exit code 2.\nOutput:\nFAIL"},
		{
			"missing parameter", "Missing value for required parameter 'path'. Please retry with complete response." + reminder, hook.ToolFailed,
			"Missing value for required parameter 'path'. Please retry with complete response.",
		},
		{
			"MCP arguments that are not JSON", "Invalid JSON argument used with github for get_issue. Please retry.", hook.ToolFailed,
			"Invalid JSON argument used with github for get_issue. Please retry.",
		},
		{"denied", "The user denied this operation.", hook.ToolDenied, "The user denied this operation."},
		{
			"denied with feedback", "The user denied this operation. \nThe user provided the following feedback:\n<feedback>\nno\n</feedback>", hook.ToolDenied,
			"The user denied this operation. \nThe user provided the following feedback:\n<feedback>\nno\n</feedback>",
		},
		{
			"denied with feedback, by older versions", "The user denied this operation and provided the following feedback:\n<feedback>\nno\n</feedback>", hook.ToolDenied,
			"The user denied this operation and provided the following feedback:\n<feedback>\nno\n</feedback>",
		},
		{"wording not at the beginning", "1 | Command failed with exit code 1.", hook.ToolOK, ""},
		{"command that went well", "Command executed successfully (exit code 0).\nOutput:\nCommand failed with exit code 1", hook.ToolOK, ""},
		{"failure in a block", `[{"type":"text","text":"Command failed with exit code 1.\nOutput:\nx"}]`, hook.ToolFailed, "Command failed with exit code 1.\nOutput:\nx"},
		{"failure in a block under a heading", `[{"type":"text","text":"[read_file for 'a.ts'] Result:"},{"type":"text","text":"The tool execution failed with the following error:\n<error>\nE\n</error>"}]`, hook.ToolFailed, "E"},
		{
			"denial in blocks with feedback", `[{"type":"text","text":"The user denied this operation."},{"type":"text","text":"The user provided feedback"},{"type":"image","source":{}}]`, hook.ToolDenied,
			"The user denied this operation.",
		},
		{"wording in a later block", `[{"type":"text","text":"fine"},{"type":"text","text":"The user denied this operation."}]`, hook.ToolOK, ""},
	}
	for _, tt := range tests {
		for _, dialect := range []string{dialectClassic, dialectNext} {
			t.Run(tt.name+" in "+dialect, func(t *testing.T) {
				name := "read_file"
				if strings.HasPrefix(tt.name, "failing command") || strings.HasPrefix(tt.name, "failure in a block") && strings.Contains(tt.result, "exit code") {
					name = "execute_command"
				}
				tool := decodeOne(t, post(dialect, `{"toolName":"`+name+`","success":true,"result":`+quoted(t, tt.result)+`}`), "").Tool
				if tool.Status != tt.status || tool.Error != tt.message {
					t.Errorf("status %v, error %q\nwant   %v, error %q", tool.Status, tool.Error, tt.status, tt.message)
				}
			})
		}
	}
}

// TestOutcomeOfCommands has the wordings of CommandOrchestrator.ts. An editor's
// terminal gives no exit code.
func TestOutcomeOfCommands(t *testing.T) {
	tests := []struct {
		name, tool, result string
		status             hook.ToolStatus
	}{
		{"exit code 0", "execute_command", "Command executed successfully (exit code 0).\nOutput:\nok", hook.ToolOK},
		{"exit code 1", "execute_command", "Command failed with exit code 1.\nOutput:\nno", hook.ToolFailed},
		{"killed", "execute_command", "Command terminated by signal SIGKILL.\nOutput:\nhalf", hook.ToolFailed},
		{"cancelled by the user", "execute_command", "Command cancelled. \nOutput captured before cancellation:\nhalf", hook.ToolCancelled},
		{"no exit code", "execute_command", "Command executed.\nOutput:\nFAIL", hook.ToolUnknown},
		{"no exit code and no output", "execute_command", "Command executed.", hook.ToolUnknown},
		{"no exit code and a log", "execute_command", "Command executed.\nFull output saved to: /tmp/x", hook.ToolUnknown},
		{"runs on", "execute_command", "Command is still running in the user's terminal.\n\nYou will be updated", hook.ToolUnknown},
		{"runs on in the background", "execute_command", "Command is running in the background. You can proceed with other tasks.\n", hook.ToolUnknown},
		{"waited for long enough", "execute_command", "Command execution timed out after 30 seconds. ", hook.ToolUnknown},
		{"waited for long enough, in the background", "execute_command", "Command timed out after 30 seconds. Running in background.\n", hook.ToolUnknown},
		{"other words", "execute_command", "Command executed. It runs on.", hook.ToolOK},
		{"a file that says so", "read_file", "Command executed.\nOutput:\nFAIL", hook.ToolOK},
		{"a file that says cancelled", "read_file", "Command cancelled. x", hook.ToolOK},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tool := decodeOne(t, post(dialectClassic, `{"toolName":"`+tt.tool+`","success":true,"result":`+quoted(t, tt.result)+`}`), "").Tool
			if tool.Status != tt.status || (tool.Error == "") == tt.status.Failed() {
				t.Errorf("status %v, error %q; want %v", tool.Status, tool.Error, tt.status)
			}
		})
	}
}

func TestStatusByStructure(t *testing.T) {
	tests := []struct {
		name, payload string
		status        hook.ToolStatus
		message       string
		output        string
	}{
		{"classic: absent success is false", post(dialectClassic, `{"toolName":"t"}`), hook.ToolFailed, "", ""},
		{"classic: success false", post(dialectClassic, `{"toolName":"t","success":false,"result":"broke"}`), hook.ToolFailed, "broke", "broke"},
		{
			"classic: denied without success", post(dialectClassic, `{"toolName":"t","result":"The user denied this operation."}`), hook.ToolDenied,
			"The user denied this operation.", "The user denied this operation.",
		},
		{"classic: success under another case is not success", post(dialectClassic, `{"toolName":"t","Success":true}`), hook.ToolFailed, "", ""},
		{"classic: exact case wins", post(dialectClassic, `{"toolName":"t","success":true,"Success":false}`), hook.ToolOK, "", ""},
		{"next: absent success is false", post(dialectNext, `{"toolName":"t","result":"[object Object]"}`), hook.ToolFailed, "", ""},
		{"next: hidden result", post(dialectNext, `{"toolName":"t","success":true,"result":"[object Object],[object Object]"}`), hook.ToolUnknown, "", ""},
		{"next: a result that is a text", post(dialectNext, `{"toolName":"t","success":true,"result":"fine"}`), hook.ToolOK, "", "fine"},
		{"sdk: success", post(dialectSDK, `"tool_result":{"output":"fine"},"postToolUse":{"success":true}`), hook.ToolOK, "", "fine"},
		{"sdk: absent success says nothing", post(dialectSDK, `"tool_result":{"output":"fine"},"postToolUse":{}`), hook.ToolOK, "", "fine"},
		{"sdk: success false", post(dialectSDK, `"tool_result":{"output":"bad"},"postToolUse":{"success":false}`), hook.ToolFailed, "bad", "bad"},
		{
			"sdk: output wins over a hidden error", post(dialectSDK, `"tool_result":{"output":{"error":"ENOENT"},"error":"[object Object]"},"postToolUse":{"success":false}`),
			hook.ToolFailed, "ENOENT", "ENOENT",
		},
		{"sdk: error that is the output as JSON text", post(dialectSDK, `"tool_result":{"error":"{\"error\":\"ENOENT\"}"}`), hook.ToolFailed, "ENOENT", ""},
		{"sdk: error alone", post(dialectSDK, `"tool_result":{"error":"gone"}`), hook.ToolFailed, "gone", ""},
		{"sdk: null error is none", post(dialectSDK, `"tool_result":{"error":null,"output":"x"}`), hook.ToolOK, "", "x"},
		{
			"sdk: one of several operations failed", post(dialectSDK, `"tool_result":{"output":[{"query":"a","result":"A","success":true},{"query":"b","result":"","error":"no b","success":false}]},"postToolUse":{"success":true}`),
			hook.ToolFailed, "no b", "A\nno b",
		},
		{
			"sdk: error and what was printed", post(dialectSDK, `"tool_result":{"output":[{"query":"q","result":"[Command exited with code 1]\nFAIL\n","error":"Command exited with code 1","success":false}]}`),
			hook.ToolFailed, "Command exited with code 1\nFAIL", "[Command exited with code 1]\nFAIL\n",
		},
		{"sdk: one operation not in a list", post(dialectSDK, `"tool_result":{"output":{"query":"q","result":"","error":"E","success":false}}`), hook.ToolFailed, "E", "E"},
		{
			"sdk: result as JSON text where there is no output", post(dialectSDK, `"postToolUse":{"toolName":"t","success":true,"result":"[{\"query\":\"q\",\"result\":\"\",\"error\":\"E\",\"success\":false}]"}`),
			hook.ToolFailed, "E", "E",
		},
		{
			"sdk: text of a tool that looks like an operation", post(dialectSDK, `"tool_result":{"output":"[{\"query\":\"q\",\"error\":\"E\",\"success\":false}]"}`),
			hook.ToolOK, "", `[{"query":"q","error":"E","success":false}]`,
		},
		{
			"sdk: a printed text is not a verdict", post(dialectSDK, `"tool_result":{"output":"Command failed with exit code 1"},"postToolUse":{"success":true}`),
			hook.ToolOK, "", "Command failed with exit code 1",
		},
		{
			"sdk: not approved", post(dialectSDK, `"tool_result":{"output":{"error":"Tool \"editor\" was not approved"}},"postToolUse":{"success":false}`),
			hook.ToolDenied, `Tool "editor" was not approved`, `Tool "editor" was not approved`,
		},
		{
			"sdk: rejected", post(dialectSDK, `"tool_result":{"output":{"error":"User rejected the tool call"}},"postToolUse":{"success":false}`),
			hook.ToolDenied, `User rejected the tool call`, `User rejected the tool call`,
		},
		{
			"sdk: no terminal to approve in", post(dialectSDK, `"tool_result":{"output":{"error":"Tool \"editor\" requires approval in a TTY session"}},"postToolUse":{"success":false}`),
			hook.ToolDenied, `Tool "editor" requires approval in a TTY session`, `Tool "editor" requires approval in a TTY session`,
		},
		{
			"sdk: not approved, in the words of 3.0.61, no terminal", post(dialectSDK, `"tool_result":{"output":{"error":"Tool \"editor\" requires approval in a TTY session -- NOT a tool or system failure. Clarify with user before proceeding."}},"postToolUse":{"success":false}`),
			hook.ToolDenied, `Tool "editor" requires approval in a TTY session`, `Tool "editor" requires approval in a TTY session -- NOT a tool or system failure. Clarify with user before proceeding.`,
		},
		{
			"sdk: not approved, in the words of 3.0.61, by the user", post(dialectSDK, `"tool_result":{"output":{"error":"This tool call was rejected by the user and not executed. -- NOT a tool or system failure. Clarify with user before proceeding."}},"postToolUse":{"success":false}`),
			hook.ToolDenied, `This tool call was rejected by the user and not executed.`, `This tool call was rejected by the user and not executed. -- NOT a tool or system failure. Clarify with user before proceeding.`,
		},
		{
			"sdk: not approved, in the words of 3.0.61, for another reason", post(dialectSDK, `"tool_result":{"output":{"error":"whatever -- else -- NOT a tool or system failure. Clarify with user before proceeding."}},"postToolUse":{"success":false}`),
			hook.ToolDenied, `whatever -- else`, `whatever -- else -- NOT a tool or system failure. Clarify with user before proceeding.`,
		},
		{
			"sdk: disabled by policy", post(dialectSDK, `"tool_result":{"output":{"error":"Tool \"editor\" is disabled by policy"}}`),
			hook.ToolDenied, `Tool "editor" is disabled by policy`, `Tool "editor" is disabled by policy`,
		},
		{
			"sdk: denied in classic words", post(dialectSDK, `"tool_result":{"output":{"error":"The user denied this operation."}}`),
			hook.ToolDenied, "The user denied this operation.", "The user denied this operation.",
		},
		{
			"sdk: approval that could not be asked for", post(dialectSDK, `"tool_result":{"output":{"error":"Tool \"editor\" approval request failed: closed"}}`),
			hook.ToolFailed, `Tool "editor" approval request failed: closed`, `Tool "editor" approval request failed: closed`,
		},
		{
			"sdk: operation that failed without a message", post(dialectSDK, `"tool_result":{"output":[{"query":"q","result":"half","error":"[object Object]","success":false}]}`),
			hook.ToolFailed, "half", "half",
		},
		{"sdk: operation with an error and no verdict", post(dialectSDK, `"tool_result":{"output":[{"query":"q","error":"E"}]}`), hook.ToolFailed, "E", "E"},
		{"sdk: error object that was hidden", post(dialectSDK, `"tool_result":{"output":{"error":"[object Object]"}}`), hook.ToolFailed, "", ""},
		{
			"sdk: MCP error", post(dialectSDK, `"tool_result":{"output":{"content":[{"type":"text","text":"no such issue"}],"isError":true}}`),
			hook.ToolFailed, "no such issue", "no such issue",
		},
		{"no body at all", `{"hookName":"PostToolUse","taskId":"1"}`, hook.ToolOK, "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tool := decodeOne(t, tt.payload, "").Tool
			if tool.Status != tt.status || tool.Error != tt.message || tool.Output != tt.output {
				t.Errorf("status %v, error %q, output %q\nwant   %v, error %q, output %q",
					tool.Status, tool.Error, tool.Output, tt.status, tt.message, tt.output)
			}
		})
	}
}

func TestToolTimes(t *testing.T) {
	at := time.UnixMilli(1795175967524).UTC()
	type times struct {
		Started, Ended time.Time
		Duration       time.Duration
	}
	tests := []struct {
		name, payload string
		want          times
	}{
		{"classic measures approval too and bounds nothing", post(dialectClassic, `{"toolName":"t","executionTimeMs":427}`), times{Duration: 427 * time.Millisecond}},
		{"classic leaves out zero", post(dialectClassic, `{"toolName":"t","success":true}`), times{}},
		{"documented name", post(dialectClassic, `{"tool":"t","durationMs":3200}`), times{Duration: 3200 * time.Millisecond}},
		{"int64 as text", post(dialectClassic, `{"tool":"t","executionTimeMs":"3200"}`), times{Duration: 3200 * time.Millisecond}},
		{"nonsense", post(dialectClassic, `{"tool":"t","executionTimeMs":"soon"}`), times{Duration: -1}},
		{"no body", `{"hookName":"PostToolUse","taskId":"1"}`, times{Duration: -1}},
		{"start of a call", `{"hookName":"PreToolUse","taskId":"1","preToolUse":{"toolName":"t"}}`, times{Duration: -1}},
		{
			"next ends when it is reported", post(dialectNext, `{"toolName":"t","executionTimeMs":120}`),
			times{at.Add(-120 * time.Millisecond), at, 120 * time.Millisecond},
		},
		{"next leaves out zero", post(dialectNext, `{"toolName":"t"}`), times{at, at, 0}},
		{"next without a time", `{"hookName":"PostToolUse","taskId":"conv_1","postToolUse":{"executionTimeMs":5}}`, times{Duration: 5 * time.Millisecond}},
		{"next longer than since 1970", post(dialectNext, `{"executionTimeMs":4000000000000}`), times{Duration: 4e12 * time.Millisecond}},
		{
			"sdk says exactly", post(dialectSDK, `"tool_result":{"durationMs":30,"startedAt":"2026-11-20T11:59:27.494Z","endedAt":"2026-11-20T11:59:27.524Z"}`),
			times{at.Add(-30 * time.Millisecond), at, 30 * time.Millisecond},
		},
		{
			"sdk bounds without a measure", post(dialectSDK, `"tool_result":{"startedAt":"2026-11-20T11:59:27.494Z","endedAt":"2026-11-20T11:59:27.524Z"}`),
			times{at.Add(-30 * time.Millisecond), at, 30 * time.Millisecond},
		},
		{"sdk measure in the body", post(dialectSDK, `"postToolUse":{"executionTimeMs":30}`), times{Duration: 30 * time.Millisecond}},
		{"sdk without a measure", post(dialectSDK, `"postToolUse":{"toolName":"t"}`), times{Duration: -1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tool := decodeOne(t, tt.payload, "").Tool
			if diff := cmp.Diff(tt.want, times{tool.Started, tool.Ended, tool.Duration}); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestToolName(t *testing.T) {
	for payload, want := range map[string]string{
		`{"hookName":"PreToolUse","preToolUse":{"toolName":"read_file"}}`:                            "read_file",
		`{"hookName":"PreToolUse","preToolUse":{"tool":"execute_command"}}`:                          "execute_command",
		`{"hookName":"tool_call","tool_call":{"id":"c","name":"editor"}}`:                            "editor",
		`{"hookName":"tool_call","tool_call":{"name":"editor"},"preToolUse":{"toolName":"editor2"}}`: "editor2",
		`{"hookName":"tool_call","tool_call":[],"preToolUse":"x"}`:                                   "",
	} {
		if got := decodeOne(t, payload, "").Tool.Name; got != want {
			t.Errorf("%s: name %q, want %q", payload, got, want)
		}
	}
}

// Every recorded end of a call that has a recorded beginning must match it byte
// for byte, else the two could not be paired.
func TestBothEndsOfEveryRecordedCallAgree(t *testing.T) {
	type call struct{ session, id, name, input string }
	begun := map[call]int{}
	var ends []call
	for _, f := range fixtures(t) {
		if f.Name[0] < '0' || f.Name[0] > '9' {
			continue // a single payload, not part of a session
		}
		events, err := Decode(f.Raw)
		if err != nil {
			t.Fatal(err)
		}
		for i := range events {
			ev := &events[i]
			if ev.Tool == nil {
				continue
			}
			c := call{f.Folder + " " + ev.Session, ev.Tool.ID, ev.Tool.Name, ev.Tool.Input}
			if ev.Kind == hook.KindToolStart {
				begun[c]++
			} else {
				ends = append(ends, c)
			}
		}
	}
	unpaired := map[string]int{}
	for _, c := range ends {
		if begun[c] == 0 {
			unpaired[c.name]++
		} else {
			begun[c]--
		}
	}
	// The user denied the one, Cline runs no PreToolUse hook for the next, and
	// vscode-classic has none.
	want := map[string]int{"replace_in_file": 1, "use_subagents": 1, "execute_command": 5, "read_file": 1}
	if diff := cmp.Diff(want, unpaired); diff != "" {
		t.Errorf("ends without a beginning (-want +got):\n%s", diff)
	}
}

func TestMillis(t *testing.T) {
	for in, want := range map[string]time.Duration{
		``: 0, `0`: 0, `"427"`: 427 * time.Millisecond, `-1`: hook.UnknownDuration, `"soon"`: hook.UnknownDuration,
	} {
		var raw []byte
		if in != "" {
			raw = []byte(in)
		}
		if got := millis(raw); got != want {
			t.Errorf("millis(%s) = %v, want %v", in, got, want)
		}
	}
}
