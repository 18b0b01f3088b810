// Package scenario puts an agent's CLI through scenarios, with hookspan installed as a user
// installs it, and compares what the recorder beside hookspan, the model, the receivers and
// hookspan itself say. An agent gives it the scripts, and what is its own.
package scenario

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/hookspan/hookspan/tests/claudecli"
	"github.com/hookspan/hookspan/tests/claudecli/mockanthropic"
	"github.com/hookspan/hookspan/tests/internal/rig"
)

// Result is what came out of a run.
type Result struct {
	*rig.Result

	// Requests is the model's log, without requests that belong to no turn.
	Requests []mockanthropic.Request
	// Told is what the model was told of each call, where the model's log has it.
	Told map[string]string
}

// Case is a scenario: what the agent is put through and what must come of it. S is the
// form of the agent's scripts.
type Case[S any] struct {
	Script S
	// More are further hooks of the user's.
	More map[string]string
	// Also are other agents' hooks that are installed before, as arguments of install.
	Also []string
	// Env are further variables of the agent's environment.
	Env   map[string]string
	Steps []rig.Step
	// Exits are the exit codes of the steps.
	Exits []int
	// Hooks counts the events that the agent itself reported.
	Hooks map[string]int
	// Traces are the expected ones in order, one for each submitted prompt.
	Traces []Trace
	// Silent reports that no hook says that the last turn has ended.
	Silent bool
	// Leaves reports that the agent leaves a command behind.
	Leaves bool
}

// AnyCode stands for any exit code.
const AnyCode = -2

// Trace is what must come of a prompt.
type Trace struct {
	// Requests is how many requests of the log belong to the trace.
	Requests int
	Outcome  string
	// Class is the root's error.type, Message a part of its status message. Of a turn that
	// was not completed an empty Class is any.
	Class   string
	Message string
	// Model is the model, if it is not the agent's usual one.
	Model   string
	Tools   []claudecli.WantTool
	Blocked bool
	// Unpriced reports that no price is known for what the turn used.
	Unpriced bool
}

// Prompt is one that the user submitted, as a hook reported it.
type Prompt struct {
	Session, Turn, Text string
}

// Agent is what is an agent's own.
type Agent[S any] struct {
	// Name is the agent's in messages, Word on hookspan's command line, Host in traces.
	Name, Word, Host string
	// Version is the root's version, empty where the hooks do not tell it. Model is that of
	// completed turns, with Asked of all: the hooks tell it with the prompt.
	Version, Model string
	Asked          bool
	// Beside reports that a subagent works beside the lead agent.
	Beside bool
	// Do executes the steps; see the packages of the agents.
	Do func(ctx context.Context, cache, dir string, script S, steps []rig.Step, setup func(*rig.Arena) error) (*Result, error)
	// Settings writes the user's settings with the recorder and these further hooks.
	Settings func(a *rig.Arena, more map[string]string) error
	// Kept is a file or a folder below the home folder that is the same once hookspan is
	// uninstalled.
	Kept string
	// Prompts are those that the user submitted, by the recorded hooks. It may fill in
	// what the model's log lacks.
	Prompts func(t *testing.T, recs []rig.Recorded, res *Result) []Prompt
	// Uncounted are hooks whose number is up to the agent.
	Uncounted []string
	// Known are the requests of a trace and what must have come of their calls, as far as
	// the agent itself tells it. If nil, they stay as they are.
	Known func(t *testing.T, res *Result, got *rig.Trace, own []mockanthropic.Request, want []claudecli.WantTool) ([]mockanthropic.Request, []claudecli.WantTool)
	// Prices are those of the agent's models.
	Prices map[string]claudecli.Price
	// Said judges what hookspan's commands say and their exit codes, by the names of
	// Commands. If nil, each must end with 0.
	Said func(t *testing.T, name string, s rig.StepResult)
	// Captured reports that an import finds the traces by their sessions; otherwise by
	// their ids.
	Captured bool
}

// Run puts the agent through each case.
func (g *Agent[S]) Run(t *testing.T, cases map[string]Case[S]) {
	t.Helper()
	cache, bin := rig.Prepare(t, g.Name)
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g.run(t, cache, bin, &c)
		})
	}
}

// commands are the names of the steps behind those of the case.
var commands = []string{"delivery", "flush --wait", "list --json", "show --json", "doctor", "verify", "import --dry-run", "uninstall"}

func (g *Agent[S]) run(t *testing.T, cache, bin string, c *Case[S]) {
	hookspan := func(args ...string) rig.Step {
		return rig.Step{Program: []string{filepath.Join(bin, "hookspan")}, Args: args}
	}
	// What the hooks start by themselves must deliver with no help.
	deliver := rig.Step{WaitTraces: len(c.Traces), Timeout: 30 * time.Second}
	if c.Silent {
		deliver = hookspan("flush", "--wait")
	}
	var before map[string]string
	res, err := g.Do(t.Context(), cache, t.ArtifactDir(), c.Script, slices.Concat(c.Steps, []rig.Step{
		deliver, hookspan("flush", "--wait"), hookspan("list", "--json"), hookspan("show", "--json"), hookspan("doctor"),
		hookspan("verify", "--all"), hookspan("import", g.Word, "--dry-run", "--json"), hookspan("uninstall", g.Word),
	}), func(a *rig.Arena) error {
		maps.Copy(a.Env, c.Env)
		if err := g.Settings(a, c.More); err != nil {
			return err
		}
		var err error
		if before, err = contents(filepath.Join(a.Home, g.Kept)); err != nil {
			return err
		}
		if c.Also != nil {
			if err := a.InstallHookspan(t.Context(), bin, nil, append(slices.Clone(c.Also), "--project", a.Workspace)...); err != nil {
				return err
			}
		}
		return a.InstallHookspan(t.Context(), bin, nil, g.Word)
	})
	rig.Check(t, g.Name, err)
	t.Cleanup(func() {
		if t.Failed() {
			Report(t, res)
		}
	})
	prompts := g.checkAgent(t, c, res)
	traces := g.checkTraces(t, c, res, prompts)
	g.checkCommands(t, c, traces, res.Steps[len(c.Steps):])
	if len(res.Killed) > 0 && !c.Leaves {
		t.Errorf("processes outlived the run: %q", res.Killed)
	}
	checkKept(t, before, filepath.Join(res.Arena.Home, g.Kept))
}

// RemovedDisturbsNothing has the agent make a call while hookspan's hooks are installed and
// hookspan is gone.
func (g *Agent[S]) RemovedDisturbsNothing(t *testing.T, script S, step rig.Step) {
	t.Helper()
	cache, bin := rig.Prepare(t, g.Name)
	res, err := g.Do(t.Context(), cache, t.ArtifactDir(), script, []rig.Step{step}, func(a *rig.Arena) error {
		if err := g.Settings(a, nil); err != nil {
			return err
		}
		return errors.Join(a.InstallHookspan(t.Context(), bin, nil, g.Word), a.RemoveHookspan(bin))
	})
	rig.Check(t, g.Name, err)
	res.CheckUndisturbed(t, len(res.Requests), 2)
	if t.Failed() {
		Report(t, res)
	}
}

// contents are the texts of a file, or of the files of a folder, by their names.
func contents(path string) (map[string]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	names := []string{path}
	if info.IsDir() {
		if names, err = filepath.Glob(filepath.Join(path, "*")); err != nil {
			return nil, err
		}
	}
	texts := map[string]string{}
	for _, name := range names {
		text, err := os.ReadFile(name) //nolint:gosec // A file of the arena.
		if err != nil {
			return nil, err
		}
		texts[filepath.Base(name)] = string(text)
	}
	return texts, nil
}

// Report shows what happened in a run, for the reader of a failed test.
func Report(t *testing.T, res *Result) {
	t.Helper()
	for _, r := range res.Requests {
		t.Logf("request %d: %s turn %d, status %d, complete %v, usage %+v, calls %+v", r.N, r.Part, r.Turn, r.Status, r.Complete, r.Usage, r.Calls)
	}
	recs, err := res.Arena.Recorded()
	if err != nil {
		t.Log(err)
	}
	res.Report(t, recs)
}
