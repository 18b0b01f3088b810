package qwencli_test

import (
	"testing"

	"github.com/hookspan/hookspan/tests/clinecli/mockllm"
	"github.com/hookspan/hookspan/tests/internal/scenario"
	"github.com/hookspan/hookspan/tests/qwencli"
)

func TestAsks(t *testing.T) {
	t.Parallel()
	const tool = "mcp__hookspan__search"
	search := mockllm.ToolCall{Name: tool, Args: map[string]any{"query": scenario.Asked}}
	script := mockllm.Script{Main: []mockllm.Turn{{Text: "Done."}, {Text: "I look.", Tools: []mockllm.ToolCall{search}}, {Text: "It was done."}}}
	qwencli.Agent.Asks(t, script, qwen("Feed the "+scenario.Asked), qwen("What was done?"), tool, "mcp", "add", "-s", "user", "hookspan")
}
