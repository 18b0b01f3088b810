package cline

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/transcript"
)

func ms(n int64) time.Time { return time.UnixMilli(n).UTC() }

func TestClassicTools(t *testing.T) {
	type message struct {
		role string
		at   int64
		json string
	}
	const saved = "The content was saved."
	for _, c := range []struct {
		name     string
		messages []message
		want     []hook.ToolResult
	}{
		{
			name: "calls as XML, answered below a heading",
			messages: []message{
				{"assistant", 1, `[{"type":"text","text":"Look.\n<read_file>\n<path>a.ts</path>\n</read_file>"}]`},
				{"user", 2, `[{"type":"text","text":"[read_file for 'a.ts'] Result:\n1 | x\n"},{"type":"text","text":"<environment_details>\n</environment_details>"}]`},
			},
			want: []hook.ToolResult{{Name: "read_file", Input: `{"path":"a.ts"}`, Text: "1 | x", Asked: ms(1), At: ms(2)}},
		},
		{
			name: "calls with ids, answered in another order",
			messages: []message{
				{"assistant", 1, `[{"type":"tool_use","id":"a","name":"read_file","input":{"path":"a"}},{"type":"tool_use","id":"b","name":"read_file","input":{"path":"b"}}]`},
				{"user", 2, `[{"type":"tool_result","tool_use_id":"b","content":"[read_file for 'b'] Result:\nB"},{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"A"}],"is_error":true}]`},
			},
			want: []hook.ToolResult{
				{ID: "a", Name: "read_file", Input: `{"path":"a"}`, Text: "A", Status: hook.ToolFailed, Asked: ms(1), At: ms(2)},
				{ID: "b", Name: "read_file", Input: `{"path":"b"}`, Text: "B", Asked: ms(1), At: ms(2)},
			},
		},
		{
			name: "a heading of its own block, and the result in the next",
			messages: []message{
				{"assistant", 1, `[{"type":"text","text":"<write_to_file>\n<path>a.md</path>\n<content>\nSee </content> and <b>.\n</content>\n</write_to_file>"}]`},
				{"user", 2, `[{"type":"text","text":"[write_to_file for 'a.md'] Result:"},{"type":"text","text":"` + saved + `"}]`},
			},
			want: []hook.ToolResult{{
				Name: "write_to_file", Input: `{"content":"See </content> and <b>.","path":"a.md"}`, Text: saved, Asked: ms(1), At: ms(2),
			}},
		},
		{
			name: "an empty result is not the note that follows",
			messages: []message{
				{"assistant", 1, `[{"type":"text","text":"<list_files>\n<path>a</path>\n</list_files>"}]`},
				{"user", 2, `[{"type":"text","text":"[list_files for 'a'] Result:\n"},{"type":"text","text":"\n# task_progress RECOMMENDED\n"}]`},
			},
			want: []hook.ToolResult{{Name: "list_files", Input: `{"path":"a"}`, Asked: ms(1), At: ms(2)}},
		},
		{
			name: "a command of several lines that quotes a heading",
			messages: []message{
				{"assistant", 1, `[{"type":"text","text":"<execute_command>\n<command>echo '[x] Result:'\nls</command>\n</execute_command>"}]`},
				{"user", 2, `[{"type":"text","text":"[execute_command for 'echo '[y]'\nls'] Result:\nCommand failed with exit code 2.\n"}]`},
			},
			want: []hook.ToolResult{{
				Name: "execute_command", Input: `{"command":"echo '[x] Result:'\nls"}`,
				Text: "Command failed with exit code 2.", Status: hook.ToolFailed, Asked: ms(1), At: ms(2),
			}},
		},
		{
			name: "denied, never answered, and asked again",
			messages: []message{
				{"assistant", 1, `[{"type":"text","text":"<read_file>\n<path>a</path>\n</read_file>"}]`},
				{"user", 2, `[{"type":"text","text":"[TASK RESUMPTION] This task was interrupted."}]`},
				{"assistant", 3, `[{"type":"text","text":"<read_file>\n<path>a</path>\n</read_file>"}]`},
				{"user", 4, `"[read_file for 'a'] Result:\nThe user denied this operation."`},
			},
			want: []hook.ToolResult{
				{Name: "read_file", Input: `{"path":"a"}`, Status: hook.ToolUnknown, Asked: ms(1)},
				{Name: "read_file", Input: `{"path":"a"}`, Text: "The user denied this operation.", Status: hook.ToolDenied, Asked: ms(3), At: ms(4)},
			},
		},
		{
			name: "the completion is no call, and a reply that broke off has what it has",
			messages: []message{
				{"assistant", 1, `[{"type":"text","text":"<attempt_completion>\n<result>done</result>\n</attempt_completion>"}]`},
				{"assistant", 2, `[{"type":"text","text":"<search_files>\n<path>src</path>\n<regex>fo"}]`},
			},
			want: []hook.ToolResult{{Name: "search_files", Input: `{"path":"src","regex":"fo"}`, Status: hook.ToolUnknown, Asked: ms(2)}},
		},
		{
			name: "native calls, answered by texts, of which one ran",
			messages: []message{
				{"assistant", 1, `[{"type":"tool_use","id":"a","name":"read_file","input":{}},{"type":"tool_use","id":"b","name":"read_file","input":{}},{"type":"tool_use","id":"c","name":"list_files","input":{}},{"type":"tool_use","id":"d","name":"list_files","input":{}}]`},
				{"user", 2, `[{"type":"text","text":"[read_file for 'a'] Result:\nA"},{"type":"text","text":"Tool [list_files] was not executed because a tool has already been used in this message."},{"type":"text","text":"Skipping tool [read_file for 'b'] due to user rejecting a previous tool."}]`},
			},
			want: []hook.ToolResult{
				{ID: "a", Name: "read_file", Input: `{}`, Text: "A", Asked: ms(1), At: ms(2)},
				{ID: "b", Name: "read_file", Input: `{}`, Text: "Skipping tool [read_file for 'b'] due to user rejecting a previous tool.", Status: hook.ToolDenied, Asked: ms(1), At: ms(2)},
				{ID: "c", Name: "list_files", Input: `{}`, Text: "Tool [list_files] was not executed because a tool has already been used in this message.", Status: hook.ToolDenied, Asked: ms(1), At: ms(2)},
				{ID: "d", Name: "list_files", Input: `{}`, Status: hook.ToolUnknown, Asked: ms(1)},
			},
		},
		{
			name: "native calls, answered by their ids, that did not run",
			messages: []message{
				{"assistant", 1, `[{"type":"tool_use","id":"a","name":"read_file","input":{}},{"type":"tool_use","id":"b","name":"read_file","input":{}}]`},
				{"user", 2, `[{"type":"tool_result","tool_use_id":"b","content":"Tool [read_file for 'b'] was interrupted and not executed due to user rejecting a previous tool."},{"type":"tool_result","tool_use_id":"a","content":"Task was interrupted before this tool call could be completed."}]`},
			},
			want: []hook.ToolResult{
				{ID: "a", Name: "read_file", Input: `{}`, Text: "Task was interrupted before this tool call could be completed.", Status: hook.ToolCancelled, Asked: ms(1), At: ms(2)},
				{ID: "b", Name: "read_file", Input: `{}`, Text: "Tool [read_file for 'b'] was interrupted and not executed due to user rejecting a previous tool.", Status: hook.ToolDenied, Asked: ms(1), At: ms(2)},
			},
		},
		{
			name:     "answers to nothing",
			messages: []message{{"user", 1, `[{"type":"text","text":"[read_file for 'a'] Result:\nx"},{"type":"tool_result","tool_use_id":"z","content":"x"}]`}},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			var tools classicTools
			for _, m := range c.messages {
				blocks := transcript.DecodeContent([]byte(m.json))
				if len(blocks) == 0 {
					t.Fatalf("no content in %s", m.json)
				}
				if m.role == "assistant" {
					tools.reply(blocks, ms(m.at))
				} else {
					tools.answer(blocks, ms(m.at))
				}
			}
			if d := cmp.Diff(c.want, tools.calls); d != "" {
				t.Errorf("calls (-want +got):\n%s", d)
			}
		})
	}
}

// TestClassicHistoryOfARecordedTask reads a task that the command line wrote.
func TestClassicHistoryOfARecordedTask(t *testing.T) {
	f := newFinder(t)
	copyDir(t, filepath.Join(f.Home, ".cline", "data", "tasks"), "cli2")
	tr, err := full(t.Context(), f, DialectClassic, cli2Task)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for i, r := range tr.ToolResults {
		names = append(names, r.Name)
		if r.Asked.IsZero() || r.At.Before(r.Asked) || r.Text == "" || r.Input == "" {
			t.Errorf("call %d: %+v", i, r)
		}
	}
	if d := cmp.Diff([]string{"read_file", "write_to_file", "list_files", "execute_command", "execute_command"}, names); d != "" {
		t.Errorf("tools (-want +got):\n%s", d)
	}
	want := []hook.TurnEnd{{At: ms(1795174841980), Kind: hook.KindRunComplete, Result: "Fixed the login validation; all 42 tests pass."}}
	if d := cmp.Diff(want, tr.Ends); d != "" {
		t.Errorf("ends (-want +got):\n%s", d)
	}
	plain, err := query(t.Context(), f, DialectClassic, cli2Task)
	if err != nil {
		t.Fatal(err)
	}
	if len(plain.ToolResults) > 0 || len(plain.Ends) > 0 {
		t.Error("Classic keeps what only an import asks for")
	}
}

func TestACompletionThatStillComesInEndsNothing(t *testing.T) {
	f := newFinder(t)
	write(t, filepath.Join(f.Home, ".cline", "data", "tasks", "1", uiFile),
		"["+row(1, "task", "go", "")+","+row(2, "completion_result", "do", `,"partial":true`)+","+row(3, "completion_result", "done", "")+"]")
	tr, err := full(t.Context(), f, DialectClassic, "1")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]hook.TurnEnd{{At: ms(3), Kind: hook.KindRunComplete, Result: "done"}}, tr.Ends); d != "" {
		t.Errorf("ends (-want +got):\n%s", d)
	}
}

// TestTasksWithoutAHistory reads ui_messages.json alone, as of a task whose other files
// were removed, and beside a history of a version that noted no times.
func TestTasksWithoutAHistory(t *testing.T) {
	for name, history := range map[string]string{
		"no history":               "",
		"a history without times":  `[{"role":"user","content":"go"},{"role":"assistant","content":"<read_file>\n<path>a</path>\n</read_file>"}]`,
		"a history of no messages": `[]`,
	} {
		t.Run(name, func(t *testing.T) {
			f := newFinder(t)
			dir := filepath.Join(f.Home, ".cline", "data", "tasks", "1")
			write(t, filepath.Join(dir, uiFile), "["+strings.Join([]string{
				row(1, "text", "go", ""),
				row(2, "api_req_started", `{}`, ""),
				row(3, "text", "I look.", ""),
				row(4, "tool", `{"tool":"readFile","path":"a"}`, ""),
				row(6, "api_req_started", `{}`, ""),
				row(7, "command", "ls", ""),
				row(8, "command_output", "a", ""),
			}, ",")+"]")
			if history != "" {
				write(t, filepath.Join(dir, historyFile), history)
			}
			tr, err := full(t.Context(), f, DialectClassic, "1")
			if err != nil {
				t.Fatal(err)
			}
			want := []hook.ToolResult{
				{Name: "read_file", Input: `{"path":"a","tool":"readFile"}`, Status: hook.ToolUnknown, Asked: ms(4), At: ms(6)},
				{Name: "execute_command", Input: `{"command":"ls"}`, Status: hook.ToolUnknown, Asked: ms(7)},
			}
			if d := cmp.Diff(want, tr.ToolResults); d != "" {
				t.Errorf("calls (-want +got):\n%s", d)
			}
			if len(tr.Prompts) != 1 || tr.Prompts[0].Text != "go" {
				t.Errorf("prompts %+v, want the first text", tr.Prompts)
			}
		})
	}
}

// TestCallsOfAHistoryWithoutTimes have those of the requests.
func TestCallsOfAHistoryWithoutTimes(t *testing.T) {
	f := newFinder(t)
	dir := filepath.Join(f.Home, ".cline", "data", "tasks", "1")
	write(t, filepath.Join(dir, uiFile), "["+strings.Join([]string{
		row(1, "text", "go", `,"conversationHistoryIndex":-1`), row(2, "api_req_started", `{"tokensIn":1}`, `,"conversationHistoryIndex":-1`), row(4, "tool", `{"tool":"readFile","path":"a"}`, ""),
		row(6, "api_req_started", `{"tokensIn":1}`, `,"conversationHistoryIndex":1`), row(7, "text", "done", ""),
	}, ",")+"]")
	write(t, filepath.Join(dir, historyFile), `[{"role":"user","content":"go"},
{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"read_file","input":{}},{"type":"tool_use","id":"c2","name":"read_file","input":{}}]},
{"role":"user","content":[{"type":"text","text":"[read_file for 'a'] Result:\nx"},{"type":"text","text":"Tool [read_file] was not executed because a tool has already been used in this message."}]},
{"role":"assistant","content":"done"}]`)
	tr, err := full(t.Context(), f, DialectClassic, "1")
	if err != nil {
		t.Fatal(err)
	}
	want := []hook.ToolResult{
		{ID: "c1", Name: "read_file", Input: "{}", Text: "x", Asked: ms(4), At: ms(6)},
		{ID: "c2", Name: "read_file", Input: "{}", Text: "Tool [read_file] was not executed because a tool has already been used in this message.", Status: hook.ToolDenied, Asked: ms(4), At: ms(6)},
	}
	if d := cmp.Diff(want, tr.ToolResults); d != "" {
		t.Errorf("calls (-want +got):\n%s", d)
	}
}

func TestAPictureAloneIsAPrompt(t *testing.T) {
	f := newFinder(t)
	write(t, filepath.Join(f.Home, ".cline", "data", "tasks", "1", uiFile), "["+row(1, "task", "", `,"images":["data:x"]`)+","+row(2, "text", "", `,"images":["data:x"]`)+"]")
	tr, err := full(t.Context(), f, DialectClassic, "1")
	if err != nil || len(tr.Prompts) != 1 || tr.Prompts[0].Text != "[image]" {
		t.Errorf("prompts %+v, %v; want one", tr.Prompts, err)
	}
}

func FuzzClassicTools(f *testing.F) {
	f.Add("<read_file>\n<path>a</path>\n</read_file>", "[read_file for 'a'] Result:\nx")
	f.Add("<write_to_file>\n<content>", "['] Result:")
	f.Add("<a", "[] Result:")
	f.Add("\n<apply_patch>\n<<<>", "[x\n'] Result:")
	f.Fuzz(func(t *testing.T, reply, answer string) {
		var tools classicTools
		tools.reply(transcript.Content{{Type: "text", Text: reply}}, ms(1))
		asked := len(tools.calls)
		tools.answer(transcript.Content{{Type: "text", Text: answer}}, ms(2))
		if len(tools.calls) != asked {
			t.Errorf("an answer made %d calls of %d", len(tools.calls), asked)
		}
		for _, r := range tools.calls {
			if r.Name == "" || !strings.HasPrefix(r.Input, "{") {
				t.Errorf("call %+v", r)
			}
			if len(r.Text) > len(answer) {
				t.Errorf("the result %q is more than the answer %q", r.Text, answer)
			}
		}
	})
}
