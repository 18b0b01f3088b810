package geminicli_test

import (
	"testing"

	"github.com/hookspan/hookspan/tests/geminicli"
	"github.com/hookspan/hookspan/tests/internal/llm"
	"github.com/hookspan/hookspan/tests/internal/scenario"
)

func TestAsks(t *testing.T) {
	t.Parallel()
	search := llm.Call{Name: "mcp_hookspan_search", Args: map[string]any{"query": scenario.Asked}}
	geminicli.Agent.Asks(t, search, gemini("Feed the "+scenario.Asked), gemini("What was done?"), "mcp_hookspan_search", "mcp", "add", "-s", "user", "hookspan")
}
