package copilotcli_test

import (
	"testing"

	"github.com/hookspan/hookspan/tests/copilotcli"
	"github.com/hookspan/hookspan/tests/internal/drawn"
	"github.com/hookspan/hookspan/tests/internal/llm"
	"github.com/hookspan/hookspan/tests/internal/scenario"
)

func delegate(mark string) llm.Call {
	call := task("explore")
	call.Args["description"] = mark
	return call
}

// TestDrawnSessions puts Copilot through sessions that are drawn at random.
func TestDrawnSessions(t *testing.T) {
	copilotcli.Agent.Draw(t, &scenario.Drawn{
		Host: drawn.Host{Subagents: true}, Submit: copilot, Again: []string{"--continue"},
		Forms: drawn.Forms{Read: view, Shell: shell, Delegate: delegate},
		More:  map[string]string{"preToolUse": denies},
	})
}
