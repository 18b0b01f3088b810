// Package scenario puts an agent's CLI through scenarios, with hookspan installed as a user
// installs it, and compares what the recorder beside hookspan, the model, the receivers and
// hookspan itself say. An agent gives it the scripts, and what is its own.
package scenario

import (
	"cmp"
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/hookspan/hookspan/tests/internal/drawn"
	"github.com/hookspan/hookspan/tests/internal/llm"
	"github.com/hookspan/hookspan/tests/internal/rig"
)

// Case is a scenario: what the agent is put through and what must come of it.
type Case struct {
	Script llm.Script
	// More are further hooks of the user's, by events, and what else the agent's settings
	// take by other names.
	More map[string]string
	// Also are other agents' hooks that are installed before, as arguments of install.
	Also []string
	// Env are further variables of the agent's environment.
	Env   map[string]string
	Steps []rig.Step
	// Exits are the exit codes of the steps.
	Exits []int
	// Hooks counts the events that the agent itself reported, Order are their names in
	// order for an agent whose Check compares them.
	Hooks map[string]int
	Order []string
	// Traces are the expected ones in order, one for each submitted prompt.
	Traces []Trace
	// Silent reports that no hook says that the last turn has ended.
	Silent bool
	// Unended reports that the agent's files do not say that the last turn has ended.
	Unended bool
	// Leaves reports that the agent leaves a command behind.
	Leaves bool
}

// Rest stands for all requests that are left.
const Rest = 1 << 20

// AnyCode stands for any exit code.
const AnyCode = -2

// Trace is what must come of a prompt.
type Trace struct {
	// Requests is how many requests of the log belong to the trace.
	Requests int
	Outcome  string
	// Task is the root's task, if it is not the prompt.
	Task string
	// Class is the root's error.type, Message a part of its status message. Of a turn that
	// was not completed an empty Class is any.
	Class   string
	Message string
	// Model is the model, if it is not the agent's usual one.
	Model   string
	Tools   []Tool
	Blocked bool
	// Unpriced reports that no price is known for what the turn used.
	Unpriced bool
}

// Prompt is one that the user submitted, as a hook reported it.
type Prompt struct {
	Session, Turn, Text string
}

// Agent is what is an agent's own.
type Agent struct {
	// Name is the agent's in messages, Word on hookspan's command line, Host in traces.
	Name, Word, Host string
	// Program is the agent's, Env a part of its environment, and Prepare, if not nil, adds
	// to the arena; program is the command's first word.
	Program rig.Program
	Env     map[string]string
	Prepare func(a *rig.Arena, cache, program string) error
	// Do, if not nil, does all that Play does.
	Do func(ctx context.Context, dir string, script llm.Script, steps []rig.Step, setup func(*rig.Arena) error) (*rig.Result, error)
	// Form is how the agent asks the model. Read, if not nil, adds to the model's log what
	// the agent makes of it.
	Form llm.Form
	Read func(res *rig.Result) error
	// Hook is the program that its hooks start; if empty, claude-hook.
	Hook string
	// Settings writes the user's settings with the recorder and these further hooks.
	Settings func(a *rig.Arena, more map[string]string) error
	// Install, if not nil, does all that is done before the first step of a case.
	Install func(ctx context.Context, a *rig.Arena, bin string, c *Case) error
	// End is how the model ends a task. If nil, it answers with a text.
	End func(text string) llm.Turn
	// Kept is a file or a folder below the home folder that is the same once hookspan is
	// uninstalled.
	Kept string

	// Version is the root's version, empty where the hooks do not tell it. Model is that of
	// completed turns, with Asked of all: the hooks tell it with the prompt.
	Version, Model string
	Asked          bool
	// Beside reports that a subagent works beside the lead agent.
	Beside bool
	// Prompts are those that the user submitted, by the recorded hooks. It may fill in
	// what the model's log lacks.
	Prompts func(t *testing.T, recs []rig.Recorded, res *rig.Result) []Prompt
	// Uncounted are hooks whose number is up to the agent.
	Uncounted []string
	// Check, if not nil, compares what the agent itself did in the place of Case.Hooks.
	Check func(t *testing.T, c *Case, res *rig.Result)
	// Known are the requests of a trace and what must have come of their calls, as far as
	// the agent itself tells it. If nil, they stay as they are.
	Known func(t *testing.T, res *rig.Result, got *rig.Trace, own []llm.Request, want []Tool) ([]llm.Request, []Tool)
	// Compare, if not nil, takes the place of the comparison of requests, calls, costs and
	// the root's identities.
	Compare func(c *Case, got *rig.Trace, want *Trace, own []llm.Request) []string
	// Prices are those of the agent's models.
	Prices map[string]Price
	// Said judges what hookspan's commands say and their exit codes, by the names of
	// Commands. If nil, each must end with 0.
	Said func(t *testing.T, c *Case, name string, s rig.StepResult)
	// Captured reports that an import finds the traces by their sessions; otherwise by
	// their ids. Again reports that one where nothing is stored gives the same spans.
	Captured, Again bool
}

// Run puts the agent through each case.
func (g *Agent) Run(t *testing.T, cases map[string]Case) {
	t.Helper()
	cache, bin := g.Programs(t)
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g.run(t, cache, bin, &c)
		})
	}
}

// Programs are the cache of the agents' programs and a folder with hookspan's. Where the
// agent cannot be driven the test ends as skipped.
func (g *Agent) Programs(t *testing.T) (cache, bin string) {
	t.Helper()
	return rig.Prepare(t, g.Name, cmp.Or(g.Hook, "claude-hook"))
}

// commands are the names of the steps behind those of the case.
var commands = []string{"delivery", "flush --wait", "list --json", "show --json", "doctor", "verify", "import --dry-run", "uninstall"}

func (g *Agent) run(t *testing.T, cache, bin string, c *Case) {
	hookspan := Hookspan(bin)
	// What the hooks start by themselves must deliver with no help.
	deliver := rig.Step{WaitTraces: len(c.Traces), Timeout: time.Minute}
	if c.Silent {
		deliver = drawn.Delivered(bin, len(c.Traces))
	}
	steps := slices.Concat(c.Steps, []rig.Step{
		deliver, hookspan("flush", "--wait"), hookspan("list", "--json"), hookspan("show", "--json"), hookspan("doctor"),
		hookspan("verify", "--all"), hookspan("import", g.Word, "--dry-run", "--json"), hookspan("uninstall", g.Word),
	})
	if g.Again && !c.Unended {
		for _, step := range []rig.Step{hookspan("import", g.Word, "--json"), hookspan("show", "--json")} {
			other := filepath.Join(rig.WordHome, "elsewhere")
			step.Env = map[string]string{"XDG_STATE_HOME": other, "XDG_CONFIG_HOME": other}
			steps = append(steps, step)
		}
	}
	var before map[string]string
	res := g.Try(t, cache, c.Script, steps, func(a *rig.Arena) (err error) {
		before, err = g.install(t.Context(), a, bin, c)
		return err
	})
	prompts := g.checkAgent(t, c, res)
	traces := g.checkTraces(t, c, res, prompts)
	own := res.Steps[len(c.Steps):]
	g.checkCommands(t, c, traces, own)
	if len(own) > len(commands) {
		checkImported(t, traces[len(traces)-1], own[len(commands):])
	}
	if len(res.Killed) > 0 && !c.Leaves {
		t.Errorf("processes outlived the run: %q", res.Killed)
	}
	if before != nil {
		checkKept(t, before, filepath.Join(res.Arena.Home, g.Kept))
	}
}

// Hookspan makes steps that run hookspan's commands.
func Hookspan(bin string) func(args ...string) rig.Step {
	return func(args ...string) rig.Step {
		return rig.Step{Program: []string{filepath.Join(bin, "hookspan")}, Args: args}
	}
}

// install does what is done before the first step of a case, and returns what the user's
// own files had before hookspan came.
func (g *Agent) install(ctx context.Context, a *rig.Arena, bin string, c *Case) (before map[string]string, err error) {
	maps.Copy(a.Env, c.Env)
	if g.Install != nil {
		return nil, g.Install(ctx, a, bin, c)
	}
	if err := g.Settings(a, c.More); err != nil {
		return nil, err
	}
	if before, err = contents(filepath.Join(a.Home, g.Kept)); err != nil {
		return nil, err
	}
	if c.Also != nil {
		if err := a.InstallHookspan(ctx, bin, nil, append(slices.Clone(c.Also), "--project", a.Workspace)...); err != nil {
			return nil, err
		}
	}
	return before, a.InstallHookspan(ctx, bin, nil, g.Word)
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
