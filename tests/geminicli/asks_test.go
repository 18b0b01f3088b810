package geminicli_test

import (
	"testing"

	"github.com/hookspan/hookspan/tests/geminicli"
	"github.com/hookspan/hookspan/tests/internal/scenario"
)

func TestAsks(t *testing.T) {
	t.Parallel()
	const tool = "mcp_hookspan_search"
	search := geminicli.Tool{Name: tool, Args: map[string]any{"query": scenario.Asked}}
	script := geminicli.Script{Main: []geminicli.Turn{turn("Done."), turn("I look.", search), turn("It was done.")}}
	geminicli.Agent.Asks(t, script, gemini("Feed the "+scenario.Asked), gemini("What was done?"), tool, "mcp", "add", "-s", "user", "hookspan")
}
