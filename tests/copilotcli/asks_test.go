package copilotcli_test

import (
	"testing"

	"github.com/hookspan/hookspan/tests/copilotcli"
	"github.com/hookspan/hookspan/tests/internal/llm"
	"github.com/hookspan/hookspan/tests/internal/scenario"
)

func TestAsks(t *testing.T) {
	t.Parallel()
	search := llm.Call{Name: "hookspan-search", Args: map[string]any{"query": scenario.Asked}}
	copilotcli.Agent.Asks(t, search, copilot("Feed the "+scenario.Asked), copilot("What was done?"), "hookspan-search", "mcp", "add", "hookspan", "--")
}
