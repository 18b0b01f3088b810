// Command claude-hook is what Claude Code, and agents with its protocol, start for
// each of their events:
//
//	claude-hook EVENT < payload
//	claude-hook codex EVENT < payload
//	claude-hook copilot EVENT < payload
//	claude-hook gemini EVENT < payload
//	claude-hook qwen EVENT < payload
//	claude-hook opencode < lines
//
// It stores the payload in the spool and leaves. Claude Code is answered with
// nothing: what a hook prints may become context for the model, and any exit
// code but 0 is shown to the user or blocks what was about to happen. Without
// EVENT the name is taken from the payload. Qwen Code is answered with an empty
// object, without which its telemetry counts the hook as failed.
// opencode's plugin starts one process, writes each event as a line and reads no answer.
//
// Agents also run hooks that were installed for another; such events are not stored.
package main

import (
	"os"

	"github.com/hookspan/hookspan/hook/claude"
	"github.com/hookspan/hookspan/hook/codex"
	"github.com/hookspan/hookspan/hook/copilot"
	"github.com/hookspan/hookspan/hook/gemini"
	"github.com/hookspan/hookspan/hook/opencode"
	"github.com/hookspan/hookspan/hook/qwen"
	"github.com/hookspan/hookspan/internal/hookproc"
)

func main() {
	hookproc.Main(hookproc.Agent{
		Name: claude.Host, Program: "claude-hook", Peek: claude.PeekIn(os.Getenv), Silence: claude.Silence,
		// The folder a hook runs in follows the model's cd, this does not.
		ProjectVariable: "CLAUDE_PROJECT_DIR",
	}, hookproc.Agent{
		Name: qwen.Host, Program: "claude-hook", Word: "qwen", Peek: qwen.Protocol.PeekIn(os.Getenv), Silence: claude.Silence,
		Reply: qwen.Reply, ProjectVariable: "QWEN_PROJECT_DIR",
	}, hookproc.Agent{
		Name: codex.Host, Program: "claude-hook", Word: "codex", Peek: codex.Protocol.PeekIn(os.Getenv), Silence: claude.Silence,
	}, hookproc.Agent{
		Name: gemini.Host, Program: "claude-hook", Word: "gemini", Peek: gemini.Protocol.PeekIn(os.Getenv), Silence: claude.Silence,
		ProjectVariable: "GEMINI_PROJECT_DIR",
	}, hookproc.Agent{
		Name: copilot.Host, Program: "claude-hook", Word: "copilot", Peek: copilot.Peek, ProjectVariable: "COPILOT_PROJECT_DIR",
	}, hookproc.Agent{
		Name: opencode.Host, Program: "claude-hook", Word: "opencode", Peek: opencode.Peek, StreamEnded: opencode.StreamEnded,
	})
}
