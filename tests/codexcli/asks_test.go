package codexcli_test

import (
	"testing"

	"github.com/hookspan/hookspan/tests/codexcli"
	"github.com/hookspan/hookspan/tests/internal/scenario"
)

func TestAsks(t *testing.T) {
	t.Parallel()
	search := codexcli.Tool{Name: "search", Namespace: "mcp__hookspan", Args: map[string]any{"query": scenario.Asked}}
	script := codexcli.Script{Main: []codexcli.Turn{turn("Done."), turn("I look.", search), turn("It was done.")}}
	codexcli.Agent.Asks(t, script, codex("Feed the "+scenario.Asked), codex("What was done?"), "mcp__hookspan__search", "mcp", "add", "hookspan", "--")
}
