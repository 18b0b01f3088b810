package hookscli

import (
	"strings"

	"github.com/hookspan/hookspan/tests/claudecli/mockanthropic"
	"github.com/hookspan/hookspan/tests/clinecli/mockllm"
	"github.com/hookspan/hookspan/tests/internal/rig"
)

// inWorkspace is a path as Claude Code's tools want it.
func inWorkspace(path string) string { return rig.WordWorkspace + "/" + path }

// claude are the answers, each of one or several calls, by which the model asks
// Claude Code for the action.
func (a Action) claude() [][]mockanthropic.ToolCall {
	call := func(name string, input map[string]any) mockanthropic.ToolCall {
		return mockanthropic.ToolCall{Name: name, Input: input}
	}
	var batch []mockanthropic.ToolCall
	for _, c := range a.Commands {
		batch = append(batch, call("Bash", map[string]any{"command": c, "description": "a command"}))
	}
	var read []mockanthropic.ToolCall
	for _, p := range a.Paths {
		p = inWorkspace(p)
		switch a.Kind {
		case Write:
			batch = append(batch, call("Write", map[string]any{"file_path": p, "content": a.New}))
		case Edit:
			// Claude Code wants a file read before it edits it.
			read = append(read, call("Read", map[string]any{"file_path": p}))
			batch = append(batch, call("Edit", map[string]any{"file_path": p, "old_string": a.Old, "new_string": a.New}))
		default:
			batch = append(batch, call("Read", map[string]any{"file_path": p}))
		}
	}
	if read != nil {
		return [][]mockanthropic.ToolCall{read, batch}
	}
	return [][]mockanthropic.ToolCall{batch}
}

// cline are the answers by which the model asks one of Cline's programs for the
// action. The classic core's tools take one file or command at a time.
func (a Action) cline(h Host) []mockllm.Turn {
	if h == CLI3 {
		return []mockllm.Turn{turn(a.sdk()...)}
	}
	var out []mockllm.Turn
	for _, c := range a.Commands {
		out = append(out, turn(mockllm.ToolCall{Name: "execute_command", Args: map[string]any{"command": c, "requires_approval": "false"}}))
	}
	for _, p := range a.Paths {
		c := mockllm.ToolCall{Name: "read_file", Args: map[string]any{"path": p}}
		switch a.Kind {
		case Write:
			c = mockllm.ToolCall{Name: "write_to_file", Args: map[string]any{"path": p, "content": a.New}}
		case Edit:
			diff := strings.Join([]string{"------- SEARCH", a.Old, "=======", a.New, "+++++++ REPLACE", ""}, "\n")
			c = mockllm.ToolCall{Name: "replace_in_file", Args: map[string]any{"path": p, "diff": diff}}
		}
		out = append(out, turn(c))
	}
	return out
}

func (a Action) sdk() []mockllm.ToolCall {
	call := func(name string, args map[string]any) []mockllm.ToolCall {
		return []mockllm.ToolCall{{Name: name, Args: args}}
	}
	switch a.Kind {
	case Bash:
		return call("run_commands", map[string]any{"commands": a.Commands})
	case Write:
		return call("editor", map[string]any{"path": inWorkspace(a.Paths[0]), "new_text": a.New})
	case Edit:
		return call("editor", map[string]any{"path": inWorkspace(a.Paths[0]), "old_text": a.Old, "new_text": a.New})
	}
	var files []any
	for _, p := range a.Paths {
		files = append(files, map[string]any{"path": inWorkspace(p)})
	}
	return call("read_files", map[string]any{"files": files})
}

// turn has the usage come before the tools run: where it comes later, any
// PreToolUse hook can stop the classic core dead.
func turn(calls ...mockllm.ToolCall) mockllm.Turn { return mockllm.Turn{Text: "Next.", Tools: calls} }

// final ends the work.
func final(h Host) mockllm.Turn {
	if h == CLI2 {
		return turn(mockllm.ToolCall{Name: "attempt_completion", Args: map[string]any{"result": "All done."}})
	}
	return mockllm.Turn{Text: "All done."}
}
