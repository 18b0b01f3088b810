package codexcli_test

import (
	"testing"

	"github.com/hookspan/hookspan/tests/codexcli"
	"github.com/hookspan/hookspan/tests/internal/llm"
	"github.com/hookspan/hookspan/tests/internal/rig"
	"github.com/hookspan/hookspan/tests/internal/scenario"
)

// TestManagedHooksRunOnce has a failing tool of each kind.
func TestManagedHooksRunOnce(t *testing.T) {
	t.Parallel()
	codexcli.Agent.ManagedRunOnce(t, &scenario.Case{
		More: map[string]string{"PreToolUse": denies},
		Script: llm.Script{Main: []llm.Turn{
			turn("Run.", shell("echo one"), shell("echo worse >&2; exit 3"), shell("echo forbidden")),
			turn("Patch.", patch("*** Update File: missing.txt\n@@\n-x\n+y"), llm.Call{Name: "no_such_tool", Args: map[string]any{"x": "y"}}),
			turn("Done."),
		}},
		Steps:  []rig.Step{codex("run it")},
		Traces: []scenario.Trace{{Tools: []scenario.Tool{ok(""), bad(failed, ""), bad(denied, ""), bad(failed, ""), bad(failed, "")}}},
	}, nil)
}
