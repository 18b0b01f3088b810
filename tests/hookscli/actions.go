package hookscli

import (
	"strings"

	"github.com/hookspan/hookspan/tests/internal/llm"
	"github.com/hookspan/hookspan/tests/internal/rig"
)

// inWorkspace is a path as Claude Code's tools want it.
func inWorkspace(path string) string { return rig.WordWorkspace + "/" + path }

// claude are the answers, each of one or several calls, by which the model asks
// Claude Code for the action.
func (a Action) claude() [][]llm.Call {
	call := func(name string, args map[string]any) llm.Call { return llm.Call{Name: name, Args: args} }
	var batch []llm.Call
	for _, c := range a.Commands {
		batch = append(batch, call("Bash", map[string]any{"command": c, "description": "a command"}))
	}
	var read []llm.Call
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
		return [][]llm.Call{read, batch}
	}
	return [][]llm.Call{batch}
}

// cline are the answers by which the model asks one of Cline's programs for the
// action. The classic core's tools take one file or command at a time.
func (a Action) cline(h Host) []llm.Turn {
	if h == CLI3 {
		return []llm.Turn{turn(a.sdk()...)}
	}
	var out []llm.Turn
	for _, c := range a.Commands {
		out = append(out, turn(llm.Call{Name: "execute_command", Args: map[string]any{"command": c, "requires_approval": "false"}}))
	}
	for _, p := range a.Paths {
		c := llm.Call{Name: "read_file", Args: map[string]any{"path": p}}
		switch a.Kind {
		case Write:
			c = llm.Call{Name: "write_to_file", Args: map[string]any{"path": p, "content": a.New}}
		case Edit:
			diff := strings.Join([]string{"------- SEARCH", a.Old, "=======", a.New, "+++++++ REPLACE", ""}, "\n")
			c = llm.Call{Name: "replace_in_file", Args: map[string]any{"path": p, "diff": diff}}
		}
		out = append(out, turn(c))
	}
	return out
}

func (a Action) sdk() []llm.Call {
	call := func(name string, args map[string]any) []llm.Call {
		return []llm.Call{{Name: name, Args: args}}
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
func turn(calls ...llm.Call) llm.Turn { return llm.Turn{Text: "Next.", Calls: calls} }

// final ends the work.
func final(h Host) llm.Turn {
	if h == CLI2 {
		return turn(llm.Call{Name: "attempt_completion", Args: map[string]any{"result": "All done."}})
	}
	return llm.Turn{Text: "All done."}
}
