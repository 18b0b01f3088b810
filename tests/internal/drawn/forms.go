package drawn

import (
	"github.com/hookspan/hookspan/tests/claudecli/mockanthropic"
	"github.com/hookspan/hookspan/tests/clinecli/mockllm"
)

// Forms make an agent's calls of what is drawn.
type Forms[T any] struct {
	// Unknown is a call of a tool that the agent does not have.
	Unknown func(name string, args map[string]any) T
	// Read reads a file of the workspace, Shell executes a command, and Delegate starts a
	// subagent with the mark in its arguments.
	Read, Shell, Delegate func(string) T
}

// Calls are the calls of an answer.
func (f *Forms[T]) Calls(a Answer) (out []T) {
	for _, c := range a.Calls {
		switch {
		case c.Unknown():
			out = append(out, f.Unknown("no_such_"+c.Mark, map[string]any{"x": c.Mark}))
		case c.Path != "":
			out = append(out, f.Read(c.Path))
		case c.Delegates:
			out = append(out, f.Delegate(c.Mark))
		default:
			out = append(out, f.Shell(c.Command))
		}
	}
	return out
}

// Chat is the session for agents whose model is mockllm.
func Chat(f *Forms[mockllm.ToolCall]) func(*Session) mockllm.Script {
	return func(s *Session) mockllm.Script {
		turns := func(part string) []mockllm.Turn { return ChatTurns(s.Part(part), f) }
		return mockllm.Script{Main: turns(mockanthropic.PartMain), Sub: turns(mockanthropic.PartSub)}
	}
}

// ChatTurns are answers for agents whose model is mockllm.
func ChatTurns(answers []Answer, f *Forms[mockllm.ToolCall]) []mockllm.Turn {
	return Turns(answers, func(a Answer) mockllm.Turn {
		return mockllm.Turn{Text: a.Text, Tools: f.Calls(a), Cached: 7, HTTPError: a.Refusal, Message: "scripted refusal", Breaks: a.Breaks, Anew: a.Anew}
	})
}
