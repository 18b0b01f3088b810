package clinecli_test

import (
	"testing"

	"github.com/hookspan/hookspan/tests/clinecli"
	"github.com/hookspan/hookspan/tests/internal/scenario"
)

// TestAsks has both programs: CLI 3 names the server's tools to the model, CLI 2 calls them by a tool of
// its own.
func TestAsks(t *testing.T) {
	t.Parallel()
	t.Run("sdk", func(t *testing.T) {
		t.Parallel()
		harness(t).Agent(clinecli.CLI3, clinecli.Nowhere).Asks(t, call("hookspan__search", "query", scenario.Asked),
			cliStep("--json", "Feed the "+scenario.Asked), cliStep("--json", "What was done?"), "hookspan__search", "mcp", "add", "--yes", "hookspan", "--")
	})
	t.Run("classic", func(t *testing.T) {
		t.Parallel()
		agent := harness(t).Agent(clinecli.CLI2, clinecli.Nowhere)
		agent.End = finish
		agent.Asks(t, call("use_mcp_tool", "server_name", "hookspan", "tool_name", "search", "arguments", `{"query":"`+scenario.Asked+`"}`),
			cliStep("-y", "--json", "Feed the "+scenario.Asked), cliStep("-y", "--json", "What was done?"), "use_mcp_tool", "mcp", "add", "hookspan", "--")
	})
}
