package copilotcli_test

import (
	"testing"

	"github.com/hookspan/hookspan/tests/clinecli/mockllm"
	"github.com/hookspan/hookspan/tests/copilotcli"
	"github.com/hookspan/hookspan/tests/internal/scenario"
)

func TestAsks(t *testing.T) {
	t.Parallel()
	const tool = "hookspan-search"
	search := mockllm.ToolCall{Name: tool, Args: map[string]any{"query": scenario.Asked}}
	script := mockllm.Script{Main: []mockllm.Turn{{Text: "Done."}, {Text: "I look.", Tools: []mockllm.ToolCall{search}}, {Text: "It was done."}}}
	copilotcli.Agent.Asks(t, script, copilot("Feed the "+scenario.Asked), copilot("What was done?"), tool, "mcp", "add", "hookspan", "--")
}
