// Command claude-hook is what Claude Code, and agents with its protocol, start for
// each of their events:
//
//	claude-hook EVENT < payload
//	claude-hook AGENT EVENT < payload
//	claude-hook AGENT < lines
//
// AGENT is the agent's name on the command line, but for Claude Code.
// It stores the payload in the spool and leaves. Claude Code is answered with
// nothing: what a hook prints may become context for the model, and any exit
// code but 0 is shown to the user or blocks what was about to happen. Without
// EVENT the name is taken from the payload. Qwen Code is answered with an empty
// object, without which its telemetry counts the hook as failed.
// The plugin in opencode and its forks, and the extension in Pi, start one process, write each
// event as a line and read no answer.
//
// Agents also run hooks that were installed for another; such events are not stored.
package main

import (
	"os"

	"github.com/hookspan/hookspan/internal/record"
	"github.com/hookspan/hookspan/internal/record/claudehook"
)

func main() {
	record.Main(claudehook.Agents(os.Getenv)...)
}
