package qwencli_test

import (
	"testing"

	"github.com/hookspan/hookspan/tests/internal/llm"
	"github.com/hookspan/hookspan/tests/internal/scenario"
	"github.com/hookspan/hookspan/tests/qwencli"
)

func TestAsks(t *testing.T) {
	t.Parallel()
	search := llm.Call{Name: "mcp__hookspan__search", Args: map[string]any{"query": scenario.Asked}}
	qwencli.Agent.Asks(t, search, qwen("Feed the "+scenario.Asked), qwen("What was done?"), "mcp__hookspan__search", "mcp", "add", "-s", "user", "hookspan")
}
