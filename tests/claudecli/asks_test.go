package claudecli_test

import (
	"testing"

	"github.com/hookspan/hookspan/tests/claudecli"
	"github.com/hookspan/hookspan/tests/internal/llm"
	"github.com/hookspan/hookspan/tests/internal/scenario"
)

func TestAsks(t *testing.T) {
	t.Parallel()
	search := llm.Call{Name: "mcp__hookspan__search", Args: map[string]any{"query": scenario.Asked}}
	claudecli.Agent.Asks(t, search, claude("Feed the "+scenario.Asked), claude("What was done?"), "mcp__hookspan__search", "mcp", "add", "-s", "user", "hookspan", "--")
}
