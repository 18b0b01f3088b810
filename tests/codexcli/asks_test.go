package codexcli_test

import (
	"testing"

	"github.com/hookspan/hookspan/tests/codexcli"
	"github.com/hookspan/hookspan/tests/internal/llm"
	"github.com/hookspan/hookspan/tests/internal/scenario"
)

func TestAsks(t *testing.T) {
	t.Parallel()
	search := llm.Call{Name: "search", Args: map[string]any{"query": scenario.Asked}, Namespace: "mcp__hookspan"}
	codexcli.Agent.Asks(t, search, codex("Feed the "+scenario.Asked), codex("What was done?"), "mcp__hookspan__search", "mcp", "add", "hookspan", "--")
}
