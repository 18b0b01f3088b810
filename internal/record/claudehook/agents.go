// Package claudehook is the table of the agents that start claude-hook. The program, the
// bridge and the tests take their agents from it.
package claudehook

import (
	"github.com/hookspan/hookspan/hook/claude"
	"github.com/hookspan/hookspan/hook/codex"
	"github.com/hookspan/hookspan/hook/copilot"
	"github.com/hookspan/hookspan/hook/gemini"
	"github.com/hookspan/hookspan/hook/opencode"
	"github.com/hookspan/hookspan/hook/qwen"
	"github.com/hookspan/hookspan/internal/record"
)

// Name is the program's name.
const Name = "claude-hook"

// Agents returns the agents that start the program, Claude Code first. getenv reads the
// environment in which the program was started.
func Agents(getenv func(string) string) []record.Agent {
	return []record.Agent{
		{
			Name: claude.Host, Program: Name, Peek: claude.PeekIn(getenv), Silence: claude.Silence,
			// The folder a hook runs in follows the model's cd, this does not.
			ProjectVariable: "CLAUDE_PROJECT_DIR",
		},
		{
			Name: qwen.Host, Program: Name, Word: "qwen", Peek: qwen.Protocol.PeekIn(getenv), Silence: claude.Silence,
			Reply: qwen.Reply, ProjectVariable: "QWEN_PROJECT_DIR",
		},
		{Name: codex.Host, Program: Name, Word: "codex", Peek: codex.Protocol.PeekIn(getenv), Silence: claude.Silence},
		{
			Name: gemini.Host, Program: Name, Word: "gemini", Peek: gemini.Protocol.PeekIn(getenv), Silence: claude.Silence,
			ProjectVariable: "GEMINI_PROJECT_DIR",
		},
		{Name: copilot.Host, Program: Name, Word: "copilot", Peek: copilot.Peek, ProjectVariable: "COPILOT_PROJECT_DIR"},
		{Name: opencode.Host, Program: Name, Word: "opencode", Peek: opencode.Peek, StreamEnded: opencode.StreamEnded},
	}
}
