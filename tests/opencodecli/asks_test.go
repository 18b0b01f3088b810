package opencodecli_test

import (
	"testing"

	"github.com/hookspan/hookspan/tests/clinecli/mockllm"
	"github.com/hookspan/hookspan/tests/internal/scenario"
	"github.com/hookspan/hookspan/tests/opencodecli"
)

func TestAsks(t *testing.T) {
	t.Parallel()
	const tool = "hookspan_search"
	search := mockllm.ToolCall{Name: tool, Args: map[string]any{"query": scenario.Asked}}
	script := mockllm.Script{Main: []mockllm.Turn{{Text: "Done."}, {Text: "I look.", Tools: []mockllm.ToolCall{search}}, {Text: "It was done."}}}
	opencodecli.Agent.Asks(t, script, opencode("Feed the "+scenario.Asked), opencode("What was done?"), tool, "mcp", "add", "hookspan", "--")
}
