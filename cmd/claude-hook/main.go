// Command claude-hook is what Claude Code starts for each of its events:
//
//	claude-hook EVENT < payload
//
// It stores the payload in the spool and leaves. Claude Code is answered with
// nothing: what a hook prints may become context for the model, and any exit
// code but 0 is shown to the user or blocks what was about to happen. Without
// EVENT the name is taken from the payload. Other agents run Claude Code's
// hooks, too; their events are not stored.
package main

import (
	"os"

	"github.com/hookspan/hookspan/hook/claude"
	"github.com/hookspan/hookspan/internal/hookproc"
)

func main() {
	hookproc.Main(hookproc.Host{
		Name: claude.Host, Program: "claude-hook", Peek: claude.PeekIn(os.Getenv), Silence: claude.Silence,
		// The folder a hook runs in follows the model's cd, this does not.
		ProjectVariable: "CLAUDE_PROJECT_DIR",
	})
}
