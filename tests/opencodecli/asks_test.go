package opencodecli_test

import (
	"testing"

	"github.com/hookspan/hookspan/tests/internal/llm"
	"github.com/hookspan/hookspan/tests/internal/scenario"
	"github.com/hookspan/hookspan/tests/opencodecli"
)

func TestAsks(t *testing.T) {
	t.Parallel()
	search := llm.Call{Name: "hookspan_search", Args: map[string]any{"query": scenario.Asked}}
	opencodecli.Agent.Asks(t, search, opencode("Feed the "+scenario.Asked), opencode("What was done?"), "hookspan_search", "mcp", "add", "hookspan", "--")
}
