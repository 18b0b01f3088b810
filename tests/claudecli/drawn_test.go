package claudecli_test

import (
	"testing"

	"github.com/hookspan/hookspan/tests/claudecli"
	"github.com/hookspan/hookspan/tests/internal/drawn"
	"github.com/hookspan/hookspan/tests/internal/llm"
	"github.com/hookspan/hookspan/tests/internal/rig"
	"github.com/hookspan/hookspan/tests/internal/scenario"
)

func delegate(mark string) llm.Call {
	call := agent(false)
	call.Args["description"] = mark
	return call
}

// TestDrawnSessions puts Claude Code through sessions that are drawn at random.
func TestDrawnSessions(t *testing.T) {
	claudecli.Agent.Draw(t, &scenario.Drawn{
		Host: drawn.Host{Subagents: true}, Submit: claude, Again: []string{"-c"},
		Forms: drawn.Forms{Read: func(path string) llm.Call { return read(rig.WordWorkspace + "/" + path) }, Shell: bash, Delegate: delegate},
		More:  map[string]string{"deny": "Bash(echo " + drawn.Forbidden + "*)"},
	})
}
