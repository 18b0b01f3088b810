package kimicli_test

import (
	"testing"

	"github.com/hookspan/hookspan/tests/internal/llm"
	"github.com/hookspan/hookspan/tests/internal/scenario"
	"github.com/hookspan/hookspan/tests/kimicli"
)

func TestAsks(t *testing.T) {
	t.Parallel()
	search := llm.Call{Name: "mcp__hookspan__search", Args: map[string]any{"query": scenario.Asked}}
	const add = `printf '{"mcpServers":{"hookspan":{"command":"%s","args":["%s","%s","%s"]}}}' "$@" >"$HOME/.kimi-code/mcp.json"`
	kimicli.Agent.Asks(t, search, kimi("Feed the "+scenario.Asked), kimi("What was done?"), "mcp__hookspan__search", "/bin/sh", "-c", add, "sh")
}
