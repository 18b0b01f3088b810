package claudecli_test

import (
	"testing"

	"github.com/hookspan/hookspan/tests/claudecli"
	"github.com/hookspan/hookspan/tests/claudecli/mockanthropic"
	"github.com/hookspan/hookspan/tests/internal/scenario"
)

func TestAsks(t *testing.T) {
	t.Parallel()
	const tool = "mcp__hookspan__search"
	search := mockanthropic.ToolCall{Name: tool, Input: map[string]any{"query": scenario.Asked}}
	script := mockanthropic.Script{Main: []mockanthropic.Turn{turn("Done."), turn("I look.", search), turn("It was done.")}}
	claudecli.Agent.Asks(t, script, claude("Feed the "+scenario.Asked), claude("What was done?"), tool, "mcp", "add", "-s", "user", "hookspan", "--")
}
