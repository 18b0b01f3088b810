package scenario

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/hookspan/hookspan/tests/internal/llm"
	"github.com/hookspan/hookspan/tests/internal/rig"
)

// Whom are the keys by which CheckWhom expects stats --json, a step each.
var Whom = []string{"branch", "pr", "repository", "skill", "subagent", "mcp", "block"}

// Pull is the address that the stand-in for gh prints.
const Pull = "https://github.com/acme/shop/pull/7"

// Group is a row of stats: what it cost, what a load added, how much of a plan was used in percent.
type Group struct {
	Key   string
	Cost  float64
	Added int64
	Used  float64
}

// Repository makes the workspace a repository with a commit on main, and puts a stand-in for gh in
// the path.
func Repository(ctx context.Context, a *rig.Arena) error {
	bin := filepath.Join(a.Dir, "path")
	a.Env["PATH"] = bin + string(os.PathListSeparator) + a.Env["PATH"]
	err := errors.Join(
		a.Write(map[string]string{
			"path/gh":         "#!/bin/sh\n[ \"$1 $2\" = 'pr create' ] && echo " + Pull + "\n",
			"home/.profile":   "PATH=" + bin + ":$PATH\n", // of a login shell, as Codex starts
			"home/.gitconfig": "[user]\nname = tester\nemail = tester@example.com\n",
		}),
		os.Chmod(filepath.Join(bin, "gh"), 0o755), //nolint:gosec // A program.
	)
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"remote", "add", "origin", "https://github.com/acme/shop.git"}, {"add", "."}, {"commit", "-q", "-m", "Begin"}} {
		cmd := exec.CommandContext(ctx, "git", args...) //nolint:gosec // The arguments above.
		cmd.Dir, cmd.Env = a.Workspace, a.Environ()
		if out, failed := cmd.CombinedOutput(); failed != nil {
			return fmt.Errorf("git %s: %w\n%s", args[0], failed, out)
		}
	}
	return err
}

// CostOf is what the requests cost for which of is true.
func CostOf(requests []llm.Request, prices map[string]Price, of func(*llm.Request) bool) (usd float64) {
	for i := range requests {
		if r := &requests[i]; r.Usage != nil && of(r) {
			p, u := prices[r.Model], r.Usage
			usd += (float64(u.Input)*p.Input + float64(u.CacheRead)*p.CacheRead + float64(u.CacheWrite)*p.CacheWrite + float64(u.Output)*p.Output) / 1e6
		}
	}
	return usd
}

// Growth is by how much the lead agent's request that was answered with a text was larger than the
// one before with its answer.
func Growth(requests []llm.Request, text string) int64 {
	input := func(u *llm.Usage) int64 { return u.Input + u.CacheRead + u.CacheWrite }
	var before *llm.Usage
	for i := range requests {
		r := &requests[i]
		if r.Part != llm.PartMain {
			continue
		}
		if r.Text == text {
			return input(r.Usage) - input(before) - before.Output
		}
		before = r.Usage
	}
	return 0
}

// CheckWhom compares what stats prints, in the order of Whom, with the groups that are wanted.
func CheckWhom(t *testing.T, steps []rig.StepResult, want map[string][]Group) {
	t.Helper()
	for i, by := range Whom {
		var got struct {
			Groups []struct {
				Key   string
				Usage struct{ CostUSD float64 }
				Added int64   `json:"addedTokens"`
				Used  float64 `json:"usedPercent"`
			}
		}
		if err := json.Unmarshal([]byte(steps[i].Stdout), &got); err != nil {
			t.Errorf("stats --by %s: %v\n%s", by, err, steps[i].Stdout)
			continue
		}
		found := make(map[string]Group)
		for _, g := range got.Groups {
			if by == "block" {
				g.Key = ""
			}
			found[g.Key] = Group{g.Key, g.Usage.CostUSD, g.Added, g.Used}
		}
		for _, w := range want[by] {
			if g, ok := found[w.Key]; !ok || math.Abs(g.Cost-w.Cost) > 1e-9 || g.Added != w.Added || g.Used != w.Used {
				t.Errorf("stats --by %s: %+v (there: %v), want %+v", by, g, ok, w)
			}
		}
		if len(got.Groups) != len(want[by]) {
			t.Errorf("stats --by %s has %d groups, want %d:\n%s", by, len(got.Groups), len(want[by]), steps[i].Stdout)
		}
	}
}
