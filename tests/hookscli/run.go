package hookscli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/hookspan/hookspan/tests/claudecli"
	"github.com/hookspan/hookspan/tests/clinecli"
	"github.com/hookspan/hookspan/tests/internal/llm"
	"github.com/hookspan/hookspan/tests/internal/rig"
)

// Done is what came of a run.
type Done struct {
	*rig.Result

	Host Host
	// Seen are the calls of hooks.
	Seen []Seen
	// Phases answer the run's phases.
	Phases []PhaseDone
}

// PhaseDone is what came of a phase.
type PhaseDone struct {
	// Outcomes are those of the phase's rows, by name. That the agent stopped is
	// put down to the last row.
	Outcomes map[string]Outcome

	step    int  // the index of its step
	stopped bool // the model was not asked for all of it
}

// Phase is one invocation of the agent's program.
type Phase struct {
	// Rows are those whose actions the model asks for.
	Rows []Row
	// Before are steps ahead of the invocation.
	Before []rig.Step
	// Stops says that the last row is to end the agent's work: the script continues
	// with the next phase then.
	Stops bool
}

// prompt is what every invocation is asked to do.
const prompt = "work through the table"

// turnLimit bounds one invocation, which may go through the whole table while all others do, on a
// busy machine: it ends one that hangs.
const turnLimit = 6 * time.Minute

// RunClaude has Claude Code work through the rows.
func RunClaude(ctx context.Context, cache, dir string, rows []Row) (*Done, error) {
	var script llm.Script
	for i := range rows {
		for _, act := range rows[i].Actions {
			for _, batch := range act.claude() {
				script.Main = append(script.Main, llm.Turn{Text: "Next.", Calls: batch})
			}
		}
	}
	script.Main = append(script.Main, llm.Turn{Text: "All done."})
	steps := []rig.Step{{
		Args: []string{"-p", prompt, "--output-format", "json", "--permission-mode", "bypassPermissions"}, Timeout: turnLimit,
	}}
	res, err := claudecli.Agent.Play(ctx, cache, dir, script, steps, func(a *rig.Arena) error {
		user, project, err := Hooks(a, rows)
		if err != nil {
			return err
		}
		return a.Write(map[string]string{"home/.claude/settings.json": string(user), "ws/.claude/settings.json": string(project)})
	})
	if err != nil {
		return nil, err
	}
	d := &Done{Result: res, Host: Claude}
	asked := 0
	for _, r := range res.Requests {
		if r.Part == llm.PartMain {
			asked++
		}
	}
	d.Phases = []PhaseDone{{stopped: asked < len(script.Main)}}
	return d, d.conclude([]Phase{{Rows: rows}})
}

// ClineRun is a run of one of Cline's programs.
type ClineRun struct {
	CLI clinecli.CLI
	// Bin is the folder where built.Put put the programs.
	Bin string
	// Settings are further lines NAME=value of hookspan's env file.
	Settings []string
	// Table are the rows whose hooks are in force.
	Table []Row
	// Phases are the invocations.
	Phases []Phase
	// Traces is how many traces must come.
	Traces int
}

// RunCline has one of Cline's programs work through the phases, with hookspan
// installed as a user installs it.
func RunCline(ctx context.Context, h *clinecli.Harness, dir string, run *ClineRun) (*Done, error) {
	host := CLI3
	install, args := []string{"cline"}, []string{"--json"}
	if run.CLI == clinecli.CLI2 {
		host = CLI2
		install, args = append(install, "--pre-tool-use"), []string{"-y", "--json"}
	}
	var script llm.Script
	var steps []rig.Step
	turns, done := make([]int, len(run.Phases)), make([]PhaseDone, len(run.Phases))
	for i, p := range run.Phases {
		from := len(script.Main)
		for k := range p.Rows {
			for _, act := range p.Rows[k].Actions {
				script.Main = append(script.Main, act.cline(host)...)
			}
		}
		turns[i] = len(script.Main) - from + 1
		if !p.Stops {
			script.Main = append(script.Main, final(host))
		}
		steps = append(steps, p.Before...)
		done[i].step = len(steps)
		step := rig.Step{Args: append(slices.Clone(args), prompt), Timeout: turnLimit}
		if p.Stops && host == CLI2 {
			// It then asks whether to continue, and waits for an answer for ever; on
			// Ctrl-C it says that it shuts down, and does not.
			step.Signal = &rig.Signal{Number: syscall.SIGKILL, When: rig.Condition{Output: `"ask":"resume_task"`}}
		}
		steps = append(steps, step)
	}
	hookspan := func(args ...string) rig.Step {
		return rig.Step{Program: []string{filepath.Join(run.Bin, "hookspan")}, Args: args}
	}
	steps = append(steps, rig.Step{WaitTraces: run.Traces}, hookspan("flush", "--wait"))
	res, err := h.Do(ctx, dir, run.CLI, script, steps, func(a *rig.Arena) error {
		user, project, err := Hooks(a, run.Table)
		if err != nil {
			return err
		}
		if err := a.InstallHookspan(ctx, run.Bin, run.Settings, install...); err != nil {
			return err
		}
		return a.Write(map[string]string{"home/.cline/hooks.json": string(user), "ws/.cline/hooks.json": string(project)})
	})
	if err != nil {
		return nil, err
	}
	d := &Done{Result: res, Host: host, Phases: done}
	for i := range done {
		asked := res.Steps[done[i].step].Requests
		if done[i].step > 0 {
			asked -= res.Steps[done[i].step-1].Requests
		}
		done[i].stopped = asked < turns[i]
	}
	return d, d.conclude(run.Phases)
}

// conclude works the outcomes of the phases out.
func (d *Done) conclude(phases []Phase) error {
	var err error
	if d.Seen, err = SeenIn(d.Arena); err != nil {
		return err
	}
	for i, p := range phases {
		done := &d.Phases[i]
		done.Outcomes = make(map[string]Outcome, len(p.Rows))
		shown, err := d.shown(done.step)
		if err != nil {
			return err
		}
		for k := range p.Rows {
			o, err := d.outcome(&p.Rows[k])
			if err != nil {
				return err
			}
			if done.stopped && k == len(p.Rows)-1 {
				o.Stopped = true
				o.Shown = slices.ContainsFunc(p.Rows[k].Texts, func(text string) bool { return strings.Contains(shown, text) })
			}
			done.Outcomes[p.Rows[k].Name] = o
		}
	}
	return nil
}

// outcome is what became of a row, but for whether it stopped the agent.
func (d *Done) outcome(r *Row) (o Outcome, err error) {
	if o.Left, err = d.left(r.File); err != nil {
		return o, err
	}
	for _, text := range r.Texts {
		if slices.ContainsFunc(d.Requests, func(r llm.Request) bool { return strings.Contains(strings.Join(r.Heard, "\n"), text) }) {
			o.Told = append(o.Told, text)
		}
	}
	for _, s := range d.Seen {
		if s.Row == r.Name && !slices.Contains(o.Calls, s.Call()) {
			o.Calls = append(o.Calls, s.Call())
		}
	}
	slices.Sort(o.Calls)
	return o, nil
}

// left is the content of a file of the workspace, empty where there is none.
func (d *Done) left(name string) (string, error) {
	if name == "" {
		return "", nil
	}
	text, err := os.ReadFile(filepath.Join(d.Arena.Workspace, name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("what a row left: %w", err)
	}
	return string(text), nil
}

// shown is what the user was shown by a step: its output, and the chat of CLI 2.
func (d *Done) shown(step int) (string, error) {
	out := d.Steps[step].Stdout + d.Steps[step].Stderr
	paths, err := filepath.Glob(filepath.Join(d.Arena.Home, ".cline", "data", "tasks", "*", "ui_messages.json"))
	if err != nil {
		return "", err
	}
	for _, p := range paths {
		chat, err := os.ReadFile(p)
		if err != nil {
			return "", fmt.Errorf("read Cline's chat: %w", err)
		}
		out += string(chat)
	}
	return out, nil
}
