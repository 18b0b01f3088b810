// Package claudehook is the table of the agents that start claude-hook. The program, the
// bridge and the tests take their agents from it.
package claudehook

import (
	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/hook/claude"
	"github.com/hookspan/hookspan/hook/codex"
	"github.com/hookspan/hookspan/hook/copilot"
	"github.com/hookspan/hookspan/hook/cursor"
	"github.com/hookspan/hookspan/hook/gemini"
	"github.com/hookspan/hookspan/hook/kimi"
	"github.com/hookspan/hookspan/hook/opencode"
	"github.com/hookspan/hookspan/hook/pi"
	"github.com/hookspan/hookspan/hook/qwen"
	"github.com/hookspan/hookspan/hook/vscode"
	"github.com/hookspan/hookspan/internal/record"
)

// Agents returns the agents that start the program, Claude Code first. getenv reads the
// environment in which the program was started.
func Agents(getenv func(string) string) []record.Agent {
	// VS Code and Cursor run the hooks of the others, and have none for themselves.
	guests := []record.Agent{
		{Facts: hook.AgentOf(hook.HostVSCode), Peek: vscode.Protocol.PeekIn(getenv)},
		{Facts: hook.AgentOf(hook.HostCursor), Peek: cursor.Protocol.PeekIn(getenv)},
	}
	all := []record.Agent{
		{
			Facts: hook.AgentOf(hook.HostClaude), Peek: claude.PeekIn(getenv), Silence: claude.Silence, Guests: guests,
			// The folder a hook runs in follows the model's cd, this does not.
			ProjectVariable: "CLAUDE_PROJECT_DIR",
		},
		{
			Facts: hook.AgentOf(hook.HostQwen), Peek: qwen.Protocol.PeekIn(getenv), Silence: claude.Silence,
			Reply: qwen.Reply, ProjectVariable: "QWEN_PROJECT_DIR",
		},
		{Facts: hook.AgentOf(hook.HostCodex), Peek: codex.Protocol.PeekIn(getenv), Silence: claude.Silence},
		// What the hook of a prompt prints would be added to the conversation.
		{Facts: hook.AgentOf(hook.HostKimi), Peek: kimi.Protocol.PeekIn(getenv), Silence: claude.Silence},
		{Facts: hook.AgentOf(hook.HostGemini), Peek: gemini.Protocol.PeekIn(getenv), Silence: claude.Silence, ProjectVariable: "GEMINI_PROJECT_DIR"},
		{Facts: hook.AgentOf(hook.HostCopilot), Peek: copilot.PeekIn(getenv), Guests: guests, ProjectVariable: "COPILOT_PROJECT_DIR"},
	}
	for _, a := range hook.Plugins() {
		all = append(all, record.Agent{Facts: a, Peek: opencode.Peek, StreamEnded: opencode.StreamEnded})
	}
	return append(all, record.Agent{Facts: hook.AgentOf(hook.HostPi), Peek: pi.Protocol.Peek, StreamEnded: opencode.StreamEnded})
}
