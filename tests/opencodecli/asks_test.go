package opencodecli_test

import (
	"testing"

	"github.com/hookspan/hookspan/tests/internal/llm"
	"github.com/hookspan/hookspan/tests/internal/scenario"
	"github.com/hookspan/hookspan/tests/opencodecli"
)

func TestAsks(t *testing.T) { asks(t, opencodecli.Agent) }

func asks(t *testing.T, g *scenario.Agent) {
	t.Helper()
	t.Parallel()
	search := llm.Call{Name: "hookspan_search", Args: map[string]any{"query": scenario.Asked}}
	g.Asks(t, search, opencode("Feed the "+scenario.Asked), opencode("What was done?"), "hookspan_search", "mcp", "add", "hookspan", "--")
}
