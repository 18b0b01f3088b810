package claudecli_test

import (
	"strings"
	"testing"

	"github.com/hookspan/hookspan/tests/claudecli"
	"github.com/hookspan/hookspan/tests/internal/llm"
	"github.com/hookspan/hookspan/tests/internal/rig"
	"github.com/hookspan/hookspan/tests/internal/scenario"
)

// TestSessionThatIsNotStored has no files: it cannot be resumed, and its tokens are missing.
// One that is stored is beside it.
func TestSessionThatIsNotStored(t *testing.T) {
	t.Parallel()
	cache, bin := claudecli.Agent.Programs(t)
	hookspan := scenario.Hookspan(bin)
	for name, stored := range map[string]bool{"stored": true, "not stored": false} {
		t.Run(name, func(t *testing.T) {
			step := claude("run it")
			if !stored {
				step = claude("run it", "--no-session-persistence")
			}
			script := llm.Script{Main: []llm.Turn{turn("Run.", bash("echo one")), turn("All done.")}}
			steps := []rig.Step{step, {WaitTraces: 1}, hookspan("flush", "--wait"), hookspan("list"), hookspan("show")}
			res := claudecli.Agent.Try(t, cache, script, steps, func(a *rig.Arena) error {
				return a.InstallHookspan(t.Context(), bin, nil, "claude")
			})
			list, show := res.Steps[3].Stdout, res.Steps[4].Stdout
			if !strings.Contains(list, "run it") || strings.Contains(show, "claude --resume") != stored {
				t.Errorf("stored %v:\n%s\n%s", stored, list, show)
			}
			if said := strings.Contains(show, "its tokens are not known"); said == stored {
				t.Errorf("stored %v: missing tokens are said: %v:\n%s", stored, said, show)
			}
		})
	}
}
