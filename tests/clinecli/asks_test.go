package clinecli_test

import (
	"fmt"
	"testing"

	"github.com/hookspan/hookspan/tests/clinecli"
	"github.com/hookspan/hookspan/tests/clinecli/mockllm"
	"github.com/hookspan/hookspan/tests/internal/rig"
	"github.com/hookspan/hookspan/tests/internal/scenario"
)

func TestAsks(t *testing.T) {
	t.Parallel()
	for cli, tt := range map[clinecli.CLI]struct {
		search mockllm.ToolCall
		tool   string
		end    func(string) mockllm.Turn
		add    []string
	}{
		clinecli.CLI2: {call("use_mcp_tool", "server_name", "hookspan", "tool_name", "search", "arguments", `{"query":"`+scenario.Asked+`"}`), "use_mcp_tool", finish, []string{"mcp", "add", "hookspan", "--"}},
		clinecli.CLI3: {call("hookspan__search", "query", scenario.Asked), "hookspan__search", func(text string) mockllm.Turn { return turn(text) }, []string{"mcp", "add", "--yes", "hookspan", "--"}},
	} {
		t.Run(fmt.Sprint(cli), func(t *testing.T) {
			t.Parallel()
			script := clinecli.Script{CLI: cli, Recorder: clinecli.Nowhere, Turns: []mockllm.Turn{tt.end("Done."), turn("I look.", tt.search), tt.end("It was done.")}}
			step := func(prompt string) rig.Step { return cliStep("-y", prompt) }
			newAgent(t).Asks(t, script, step("Feed the "+scenario.Asked), step("What was done?"), tt.tool, tt.add...)
		})
	}
}
