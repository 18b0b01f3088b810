package drawn

import "github.com/hookspan/hookspan/tests/internal/llm"

// Forms make an agent's calls of what is drawn: Read reads a file of the workspace, Shell
// executes a command, and Delegate starts a subagent with the mark in its arguments.
type Forms struct {
	Read, Shell, Delegate func(string) llm.Call
}

// Script is what the model says in a session; whole has all of it in the lead agent's part.
func (f *Forms) Script(s *Session, whole bool) (out llm.Script) {
	for _, a := range s.Answers {
		turn := llm.Turn{Text: a.Text, HTTPError: a.Refusal, Breaks: a.Breaks, Anew: a.Anew}
		for _, c := range a.Calls {
			turn.Calls = append(turn.Calls, f.call(c))
		}
		part := &out.Main
		if a.Sub && !whole {
			part = &out.Sub
		}
		*part = append(*part, turn)
	}
	return out
}

func (f *Forms) call(c Call) llm.Call {
	switch {
	case c.Unknown():
		return llm.Call{Name: "no_such_" + c.Mark, Args: map[string]any{"x": c.Mark}}
	case c.Path != "":
		return f.Read(c.Path)
	case c.Delegates:
		return f.Delegate(c.Mark)
	}
	return f.Shell(c.Command)
}
