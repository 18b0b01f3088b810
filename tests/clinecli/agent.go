package clinecli

import (
	"context"
	"fmt"
	"log"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/tests/internal/llm"
	"github.com/hookspan/hookspan/tests/internal/rig"
	"github.com/hookspan/hookspan/tests/internal/scenario"
)

// Recorder is where the recorder is.
type Recorder int

// The places of the recorder: in front of cline-hook, in a second hook of every event, or
// nowhere, so that everything is as a user has it and no order of hooks is compared.
const (
	InFront Recorder = iota
	Second
	Nowhere
)

// Agent is one of Cline's programs, with the recorder in a place. They tell no ids of requests.
func (h *Harness) Agent(cli CLI, where Recorder) *scenario.Agent {
	return &scenario.Agent{
		Name: "Cline", Word: "cline", Host: "cline", Hook: "cline-hook", Captured: true,
		Do: func(ctx context.Context, dir string, script llm.Script, steps []rig.Step, setup func(*rig.Arena) error) (*rig.Result, error) {
			return h.play(ctx, dir, cli, script, steps, setup)
		},
		Check: func(t *testing.T, c *scenario.Case, res *rig.Result) {
			t.Helper()
			check(t, c, res, cli, where)
		},
		Compare: func(_ *scenario.Case, got *rig.Trace, want *scenario.Trace, own []llm.Request) []string {
			return compare(cli, got, want, own)
		},
		Install: func(ctx context.Context, a *rig.Arena, bin string, _ *scenario.Case) error {
			return install(ctx, a, bin, cli, where)
		},
		Said: func(t *testing.T, c *scenario.Case, name string, s rig.StepResult) {
			t.Helper()
			switch {
			case name == "doctor" && where != Nowhere: // It rightly reports the recorder in the place of cline-hook.
			case name == "verify" && cli == CLI2 && c.Steps[0].Signal != nil: // No hook reports the command.
			default:
				scenario.Fine(t, name, s)
			}
		},
	}
}

// play executes the run. CLI 2 on a loaded machine sometimes resumes a task and then does
// nothing at all until it is killed: such a run says nothing about hookspan, and is done
// again, twice at most.
func (h *Harness) play(ctx context.Context, dir string, cli CLI, script llm.Script, steps []rig.Step, setup func(*rig.Arena) error) (*rig.Result, error) {
	for try := 1; ; try++ {
		res, err := h.Do(ctx, filepath.Join(dir, fmt.Sprint(try)), cli, script, steps, setup)
		if err != nil {
			return nil, err
		}
		i, err := stalled(steps, res)
		if err != nil || i < 0 || try == 3 {
			return res, err
		}
		log.Printf("step %d: Cline neither called a hook nor asked the model for %s; the run is done once more", i, res.Steps[i].Took)
	}
}

// stalled is the first step in which Cline ran out of time without a sign of
// life, or -1. Where no hook is recorded nobody can tell.
func stalled(steps []rig.Step, res *rig.Result) (int, error) {
	recs, err := Recorded(res.Arena)
	asked := 0
	for i, s := range res.Steps {
		cline := len(recs) > 0 && steps[i].Program == nil && steps[i].WaitTraces == 0
		alive := s.Requests > asked || slices.ContainsFunc(recs, func(r rig.Recorded) bool {
			// The hooks at the end of the step before may be recorded late.
			return r.Name != "TaskComplete" && r.Name != "TaskCancel" && r.Name != "Notification" && r.At.After(s.Started)
		})
		if cline && s.TimedOut && !alive {
			return i, err
		}
		asked = s.Requests
	}
	return -1, err
}

// Canonical gives the names of the recorded hooks with what Cline leaves to
// chance taken out: CLI 2 with -y fires TaskComplete and TaskCancel at the same
// time in either order, fires TaskCancel once or twice, and may be gone before
// a Notification; CLI 3 may be gone before SessionShutdown.
func Canonical(names []string) []string {
	var out []string
	for _, n := range names {
		last := len(out) - 1
		switch {
		case n == "Notification" || n == "SessionShutdown":
		case n == "TaskCancel" && last >= 0 && out[last] == "TaskCancel":
		case n == "TaskComplete" && last >= 0 && out[last] == "TaskCancel":
			out = append(out[:last], "TaskComplete", "TaskCancel")
		default:
			out = append(out, n)
		}
	}
	return out
}

// check compares what Cline itself did and thought.
func check(t *testing.T, c *scenario.Case, res *rig.Result, cli CLI, where Recorder) {
	t.Helper()
	if where != Nowhere {
		names, err := RecordedNames(res.Arena)
		if diff := cmp.Diff(c.Order, Canonical(names)); err != nil || diff != "" {
			t.Errorf("hooks Cline called, %v (-want +got):\n%s", err, diff)
		}
	}
	if c.Leaves && len(res.Killed) == 0 {
		t.Error("Cline has left no daemon")
	}
	rows, err := HookStatuses(res.Arena)
	if err != nil {
		t.Fatal(err)
	}
	if cli == CLI2 && len(rows) == 0 {
		t.Error("Cline's chat shows no hook")
	}
	// With -y CLI 2 may be gone before it has written how the hooks at the end of
	// a task ended; over ACP it stays.
	leaves := slices.ContainsFunc(c.Steps, func(s rig.Step) bool { return slices.Contains(s.Args, "-y") })
	for _, r := range rows {
		// Two hooks of one event are joined without blank answers, so that the row
		// of a silent hook of the user's stays as it would without hookspan's.
		if where == Second || (leaves && (r.Hook == "TaskCancel" || r.Hook == "TaskComplete")) {
			continue
		}
		if r.Status != "completed" {
			t.Errorf("Cline's chat shows hook %s %s as %q, want completed", r.Hook, r.Tool, r.Status)
		}
	}
}

// compare compares tokens and calls in their order.
func compare(cli CLI, got *rig.Trace, want *scenario.Trace, own []llm.Request) []string {
	var tokens []rig.Tokens
	for _, r := range own {
		if u := r.Usage; u != nil && r.Complete {
			tokens = append(tokens, rig.Tokens{Input: u.Input + u.CacheRead, Output: u.Output, CacheRead: u.CacheRead})
		}
	}
	wrong := got.CompareTokens(tokens, cli == CLI2 && want.Outcome == otelmap.OutcomeCompleted)
	var tools []rig.Tool
	for _, w := range want.Tools {
		tool := rig.Tool{Name: w.Name, Error: w.Error}
		if w.Under >= 0 {
			tool.Under = want.Tools[w.Under].Name
		}
		tools = append(tools, tool)
	}
	if diff := cmp.Diff(tools, got.Tools()); diff != "" {
		wrong = append(wrong, "tools (-want +got):\n"+diff)
	}
	return wrong
}
