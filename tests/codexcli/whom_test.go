package codexcli_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hookspan/hookspan/tests/codexcli"
	"github.com/hookspan/hookspan/tests/internal/llm"
	"github.com/hookspan/hookspan/tests/internal/rig"
	"github.com/hookspan/hookspan/tests/internal/scenario"
)

// TestCostOfWhom has Codex work in a repository: it switches to a branch, commits, and opens a pull
// request by the stand-in for gh. The model's answers have the headers from which Codex takes how
// much of a plan was used. What hookspan then says is held against what the model answered.
func TestCostOfWhom(t *testing.T) {
	t.Parallel()
	g := codexcli.Agent
	cache, bin := g.Programs(t)
	hookspan := scenario.Hookspan(bin)
	resets := time.Now().Add(time.Hour).Unix()
	g.Form.Headers = map[string]string{
		"x-codex-primary-used-percent": "34", "x-codex-primary-window-minutes": "300", "x-codex-primary-reset-at": fmt.Sprint(resets),
		"x-codex-secondary-used-percent": "9", "x-codex-secondary-window-minutes": "10080", "x-codex-secondary-reset-at": fmt.Sprint(resets + 1e5),
	}
	script := llm.Script{Main: []llm.Turn{
		turn("A branch.", shell("git switch -q -c cart")),
		turn("A commit.", shell("echo one > one.txt && git add one.txt && git commit -q -m 'Add the first file'")),
		turn("Another.", shell("echo two > two.txt && git add two.txt && git commit -m 'Add the second file'")),
		turn("For review.", shell("gh pr create --fill")),
		turn("All is there."),
	}}
	steps := []rig.Step{codex("Add the files"), {WaitTraces: 1}, hookspan("flush", "--wait")}
	begin := len(steps)
	for _, by := range scenario.Whom {
		steps = append(steps, hookspan("stats", "--by", by, "--json"))
	}
	steps = append(steps, hookspan("blame", "one.txt"), hookspan("blame", "two.txt:1"), hookspan("blame", "a.txt"))
	res := g.Try(t, cache, script, steps, func(a *rig.Arena) error {
		return errors.Join(scenario.Repository(t.Context(), a), g.Settings(a, nil), a.InstallHookspan(t.Context(), bin, nil, "codex"))
	})
	all := scenario.CostOf(res.Requests, g.Prices, func(*llm.Request) bool { return true })
	first := scenario.CostOf(res.Requests, g.Prices, func(r *llm.Request) bool { return r.Text == "A branch." })
	scenario.CheckWhom(t, res.Steps[begin:], map[string][]scenario.Group{
		"branch":     {{Key: "main", Cost: first}, {Key: "cart", Cost: all - first}},
		"pr":         {{Key: "", Cost: first}, {Key: scenario.Pull, Cost: all - first}},
		"repository": {{Key: "https://github.com/acme/shop", Cost: all}},
		"skill":      {{Key: "", Cost: all}},
		"block":      {{Cost: all, Used: 34}},
	})
	for i, text := range []string{"Add the files", "Add the files", "not recorded: Begin"} {
		if out := res.Steps[begin+len(scenario.Whom)+i].Stdout; !strings.Contains(out, text) {
			t.Errorf("blame says not %q:\n%s", text, out)
		}
	}
}
