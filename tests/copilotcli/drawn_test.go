package copilotcli_test

import (
	"testing"

	"github.com/hookspan/hookspan/tests/clinecli/mockllm"
	"github.com/hookspan/hookspan/tests/copilotcli"
	"github.com/hookspan/hookspan/tests/internal/drawn"
	"github.com/hookspan/hookspan/tests/internal/scenario"
)

func delegate(mark string) mockllm.ToolCall {
	call := task("explore")
	call.Args["description"] = mark
	return call
}

// TestDrawnSessions puts Copilot through sessions that are drawn at random.
func TestDrawnSessions(t *testing.T) {
	copilotcli.Agent.Draw(t, &scenario.Drawn[mockllm.Script]{
		Host: drawn.Host{Subagents: true}, Submit: copilot, Again: []string{"--continue"},
		Script: drawn.Chat(&drawn.Forms[mockllm.ToolCall]{Unknown: mockllm.Call, Read: view, Shell: shell, Delegate: delegate}),
		More:   map[string]string{"preToolUse": denies},
	})
}
