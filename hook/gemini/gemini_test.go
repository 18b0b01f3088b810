package gemini

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/rawjson"
	"github.com/hookspan/hookspan/internal/testkit/hooktest"
)

var tested = hooktest.Agent{
	Decode: Decode, Peek: Protocol.PeekIn(hooktest.NoEnviron), Recordings: 6,
}

func TestGolden(t *testing.T) { tested.Golden(t) }

func FuzzDecode(f *testing.F) {
	tested.Fuzz(f,
		[2]string{`{"hook_event_name":"AfterTool","tool_name":"run_shell_command","tool_response":{"llmContent":"<untrusted_context>\nOutput: \nExit Code: "}}`, ""},
		[2]string{`{"hook_event_name":"AfterTool","tool_response":{"llmContent":[1,"a",{"text":"b"}],"error":1}}`, ""},
		[2]string{"", "BeforeTool"},
	)
}

// end decodes the end of a call with this response.
func end(t *testing.T, tool, response string) *hook.Tool {
	t.Helper()
	payload := fmt.Sprintf(`{"session_id":"s","timestamp":"2026-11-22T14:44:30.435Z","hook_event_name":"AfterTool","tool_name":%q,"tool_input":{},"tool_response":%s}`, tool, response)
	events, err := Decode(hook.Raw{Payload: []byte(payload)})
	if err != nil {
		t.Fatal(err)
	}
	return events[0].Tool
}

func TestEndsOfCalls(t *testing.T) {
	for _, tt := range []struct {
		name, tool, response string
		status               hook.ToolStatus
		output, failure      string
	}{
		{"a text", "read_file", `{"llmContent":"alpha\n"}`, hook.ToolOK, "alpha\n", ""},
		{"parts", "read_file", `{"llmContent":[{"text":"a"},{"inlineData":{}},{"text":"b"}]}`, hook.ToolOK, "a\n[image]\nb", ""},
		{"an error", "read_file", `{"llmContent":"no","error":{"message":"File not found","type":"file_not_found"}}`, hook.ToolFailed, "no", "File not found"},
		{"an error without a text", "read_file", `{"error":{"type":"unknown"}}`, hook.ToolFailed, "", "unknown"},
		{
			"a command", "run_shell_command", `{"llmContent":"<untrusted_context>\nOutput: one\nProcess Group PGID: 12\n</untrusted_context>"}`,
			hook.ToolOK, "one", "",
		},
		{
			"a command without output", "run_shell_command", `{"llmContent":"<untrusted_context>\nOutput: (empty)\nProcess Group PGID: 12\n</untrusted_context>"}`,
			hook.ToolOK, "", "",
		},
		{
			"a command that fails", "run_shell_command", `{"llmContent":"<untrusted_context>\nOutput: oops\nExit Code: 3\nProcess Group PGID: 12\n</untrusted_context>"}`,
			hook.ToolFailed, "oops\nExit Code: 3", "oops\nExit Code: 3",
		},
		{
			"a command that fails, before 2026-06", "run_shell_command", `{"llmContent":"Output: oops\nExit Code: 3\nProcess Group PGID: 12"}`,
			hook.ToolFailed, "oops\nExit Code: 3", "oops\nExit Code: 3",
		},
		{
			"a command with a long output", "run_shell_command", `{"llmContent":"Output too large. For full output see: /tmp/x\nOutput: oops\nmore\nExit Code: 3\nProcess Group PGID: 12"}`,
			hook.ToolFailed, "oops\nmore\nExit Code: 3\nOutput too large. For full output see: /tmp/x", "oops\nmore\nExit Code: 3\nOutput too large. For full output see: /tmp/x",
		},
		{
			"a command with a long output, since 2026-06", "run_shell_command", `{"llmContent":"Output too large. For full output see: /tmp/x\n<untrusted_context>\nOutput: oops\nExit Code: 3\nProcess Group PGID: 12\n</untrusted_context>\n\nA hook changed it."}`,
			hook.ToolFailed, "oops\nExit Code: 3\nA hook changed it.\nOutput too large. For full output see: /tmp/x", "oops\nExit Code: 3\nA hook changed it.\nOutput too large. For full output see: /tmp/x",
		},
		{
			"a command that fails, in 2025", "run_shell_command", `{"llmContent":"Command: go test\nDirectory: (root)\nOutput: oops\nError: (none)\nExit Code: 1\nSignal: (none)\nBackground PIDs: (none)\nProcess Group PGID: 12"}`,
			hook.ToolFailed, "oops\nExit Code: 1", "oops\nExit Code: 1",
		},
		{
			"a command that prints a report", "run_shell_command", `{"llmContent":"<untrusted_context>\nOutput: Exit Code: 3\nmore\nSignal: 9\n</untrusted_context>"}`,
			hook.ToolOK, "Exit Code: 3\nmore\nSignal: 9", "",
		},
		{
			"a command in the background", "run_shell_command", `{"llmContent":"Command moved to background (PID: 7). Output hidden."}`,
			hook.ToolOK, "Command moved to background (PID: 7). Output hidden.", "",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := end(t, tt.tool, strings.ReplaceAll(tt.response, "\n", `\n`))
			if got.Status != tt.status || got.Output != tt.output || got.Error != tt.failure {
				t.Errorf("status %v, output %q, error %q; want %v, %q, %q", got.Status, got.Output, got.Error, tt.status, tt.output, tt.failure)
			}
		})
	}
}

// Status also reads what the session's file has.
func TestStatusInTheFile(t *testing.T) {
	for told, want := range map[string]hook.ToolStatus{
		`error "Tool execution blocked: no"`:                                     hook.ToolDenied,
		`error "File not found"`:                                                 hook.ToolFailed,
		`cancelled "[Operation Cancelled] Reason: User denied execution."`:       hook.ToolDenied,
		`cancelled "[Operation Cancelled] Reason: User cancelled the operation"`: hook.ToolCancelled,
		`success "fine"`: hook.ToolOK,
		`executing ""`:   hook.ToolUnknown,
	} {
		status, text, _ := strings.Cut(told, " ")
		if got := Status("read_file", status, []byte(text), nil); got != want {
			t.Errorf("%s: %v, want %v", told, got, want)
		}
	}
}

// What a command prints may look like the report on it. What the user was shown tells the
// two apart.
func TestOutputThatLooksLikeItsReport(t *testing.T) {
	report := func(lines ...string) string {
		return rawjson.Encode("<untrusted_context>\nOutput: " + strings.Join(append(lines, "Process Group PGID: 1"), "\n") + "\n</untrusted_context>")
	}
	for _, tt := range []struct {
		name, told, displayed string
		status                hook.ToolStatus
		output                string
	}{
		{"an exit code that was printed", report("m", "Exit Code: 3"), `"m\nExit Code: 3"`, hook.ToolOK, "m\nExit Code: 3"},
		{"an exit code that was not", report("m", "Exit Code: 3"), `"m"`, hook.ToolFailed, "m\nExit Code: 3"},
		{"both", report("m", "Exit Code: 0", "Exit Code: 7"), `"m\nExit Code: 0"`, hook.ToolFailed, "m\nExit Code: 0\nExit Code: 7"},
		{"both, without what was displayed", report("m", "Exit Code: 0", "Exit Code: 7"), "", hook.ToolFailed, "m\nExit Code: 0\nExit Code: 7"},
		{"the same code twice", report("Exit Code: 3", "Exit Code: 3"), `"Exit Code: 3"`, hook.ToolFailed, "Exit Code: 3\nExit Code: 3"},
		{"a whole report that was printed", report("m", "Error: no", "Exit Code: 3", "Signal: 9"), `"m\nError: no\nExit Code: 3\nSignal: 9\n"`, hook.ToolOK, "m\nError: no\nExit Code: 3\nSignal: 9"},
		{"the end of a long output", report("m", "n", "Exit Code: 3"), `"n\nExit Code: 3"`, hook.ToolOK, "m\nn\nExit Code: 3"},
		{"lines with colours", report("m n", "Exit Code: 3"), `[[{"text":"m ","fg":"#f00"},{"text":"n   "}],[{"text":"Exit Code: 3"}],[]]`, hook.ToolOK, "m n\nExit Code: 3"},
		{"no output", report("(empty)", "Exit Code: 3"), `"Command exited with code: 3"`, hook.ToolFailed, "Exit Code: 3"},
		{"something else that was displayed", report("m", "Exit Code: 3"), `"Output: m\nExit Code: 3\nProcess Group PGID: 1"`, hook.ToolFailed, "m\nExit Code: 3"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			told, displayed := []byte(tt.told), []byte(tt.displayed)
			status, output := Status(toolShell, "success", told, displayed), Output(toolShell, told, displayed)
			if status != tt.status || output != tt.output {
				t.Errorf("status %v, output %q, want %v, %q", status, output, tt.status, tt.output)
			}
		})
	}
}

// A payload of Claude Code is not the Gemini CLI's, whatever program it was given to.
func TestClaudeCodeIsTheOther(t *testing.T) {
	head := Protocol.PeekIn(hooktest.NoEnviron)([]byte(`{"session_id":"s","prompt_id":"p","hook_event_name":"Stop"}`), "Stop")
	if head.Agent != "claude" {
		t.Errorf("agent %q", head.Agent)
	}
}

func TestMCPServerIsInTheName(t *testing.T) {
	for tool, want := range map[string]string{"mcp_linear_get_issue": "linear", "mcp__linear__get": "linear", "mcp_": "", "read_file": ""} {
		if got := MCPServer(tool, ""); got != want {
			t.Errorf("%s: %q, want %q", tool, got, want)
		}
	}
}
