package opencodecli_test

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/tests/internal/llm"
	"github.com/hookspan/hookspan/tests/internal/rig"
	"github.com/hookspan/hookspan/tests/internal/scenario"
	"github.com/hookspan/hookspan/tests/opencodecli"
)

// TestCompactionIsWithinItsTurn fills the model's context in the middle of a turn: opencode
// compacts the session and continues, with messages in the user's name. By the plugin and
// by import it is one turn.
func TestCompactionIsWithinItsTurn(t *testing.T) { compaction(t, opencodecli.Agent) }

func compaction(t *testing.T, g *scenario.Agent) {
	t.Helper()
	t.Parallel()
	cache, bin := g.Programs(t)
	hookspan := scenario.Hookspan(bin)
	script := llm.Script{Main: []llm.Turn{
		{Text: "First.", Calls: []llm.Call{bash("echo one")}, In: 99_500, Out: 10},
		turn("Second.", bash("echo two")), turn("All done."),
	}}
	steps := []rig.Step{
		opencode("work long"),
		{WaitTraces: 1, Timeout: 60 * time.Second},
		hookspan("flush", "--wait"),
		hookspan("list", "--json"), hookspan("verify"), hookspan("import", g.Word, "--dry-run", "--json"),
	}
	res := g.Try(t, cache, script, steps, func(a *rig.Arena) error {
		return errors.Join(g.Settings(a, nil), a.InstallHookspan(t.Context(), bin, nil, g.Word))
	})
	for i, s := range res.Steps {
		if s.ExitCode != 0 || s.TimedOut {
			t.Errorf("step %d ended with code %d (timed out: %v)\n%s%s", i, s.ExitCode, s.TimedOut, s.Stdout, s.Stderr)
		}
	}
	bus, err := opencodecli.Bus(res.Arena)
	if n := len(opencodecli.Messages(bus, "user")); err != nil || n != 3 {
		t.Errorf("opencode wrote %d messages in the user's name, %v, want 3: the prompt, the compaction and what continues", n, err)
	}
	for _, wrong := range rig.CheckList(res.Steps[3].Stdout, []rig.Listed{{Outcome: otelmap.OutcomeCompleted, Title: `"work long"`, Tools: 2}}) {
		t.Error(wrong)
	}
	var imported struct {
		Runs    int
		Skipped struct{ AlreadyThere, Open int }
	}
	err = json.Unmarshal([]byte(res.Steps[5].Stdout), &imported)
	if err != nil || imported.Runs != 0 || imported.Skipped.AlreadyThere != 1 || imported.Skipped.Open != 0 {
		t.Errorf("import says %q, %v; want the one trace that is stored", res.Steps[5].Stdout, err)
	}
}
