package scenario

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/hookspan/hookspan/tests/internal/drawn"
	"github.com/hookspan/hookspan/tests/internal/llm"
	"github.com/hookspan/hookspan/tests/internal/rig"
)

// Play executes steps in an arena in dir, which must be empty, after setup has prepared
// it. The error is about the test machinery only: the result says how the steps ended.
func (g *Agent) Play(ctx context.Context, cache, dir string, script llm.Script, steps []rig.Step, setup func(*rig.Arena) error) (*rig.Result, error) {
	if g.Do != nil {
		return g.Do(ctx, dir, script, steps, setup)
	}
	command, err := g.Program.Command(ctx, cache)
	if err != nil {
		return nil, err
	}
	a, err := rig.NewArena(dir)
	if err != nil {
		return nil, err
	}
	a.Env["SHELL"] = "/bin/bash"
	maps.Copy(a.Env, g.Env)
	if err := a.Write(map[string]string{"ws/a.txt": "alpha\n", "ws/b.txt": "beta\n"}); err != nil {
		return nil, err
	}
	if g.Prepare != nil {
		if err := g.Prepare(a, cache, command[0]); err != nil {
			return nil, err
		}
	}
	if err := setup(a); err != nil {
		return nil, fmt.Errorf("set the run up: %w", err)
	}
	script.Form = g.Form
	res, err := rig.Execute(ctx, a, &rig.Run{Command: command, Script: script, Steps: steps})
	if err != nil {
		return nil, err
	}
	res.Requests = slices.DeleteFunc(res.Requests, func(r llm.Request) bool { return r.Part == "" })
	if g.Read != nil {
		err = g.Read(res)
	}
	return res, err
}

// Try is Play in the test's own folder. Where this machine cannot, the test is skipped.
func (g *Agent) Try(t *testing.T, cache string, script llm.Script, steps []rig.Step, setup func(*rig.Arena) error) *rig.Result {
	t.Helper()
	res, err := g.Play(t.Context(), cache, t.ArtifactDir(), script, steps, setup)
	rig.Check(t, g.Name, err)
	t.Cleanup(func() {
		if !t.Failed() {
			return
		}
		recs, err := res.Arena.Recorded()
		if err != nil {
			t.Log(err)
		}
		res.Report(t, recs)
	})
	return res
}

// Drawn is how an agent is put through drawn sessions.
type Drawn struct {
	drawn.Host

	// Submit runs the agent with a prompt, and with Again for all prompts but a session's
	// first. They are left out where Host.Prompt is set.
	Submit func(prompt string, args ...string) rig.Step
	Again  []string
	// Forms make the agent's calls.
	Forms drawn.Forms
	// Whole has all answers in one part: the agent's requests do not show who asks.
	Whole bool
	// More are further hooks of the user's, and Env is a part of the environment; see Case.
	More, Env map[string]string
	// Adjust takes out of a session what the agent itself has lost; may be nil.
	Adjust func(t *testing.T, s *drawn.Session, res *rig.Result)
}

// Draw puts the agent through sessions that are drawn at random.
func (g *Agent) Draw(t *testing.T, d *Drawn) {
	t.Helper()
	cache, bin := g.Programs(t)
	d.Agent, d.Bin = g.Word, bin
	if d.Prompt == nil {
		d.Prompt = func(s *drawn.Session, i int) rig.Step {
			if i == 0 {
				return d.Submit(s.Prompts[i])
			}
			return d.Submit(s.Prompts[i], d.Again...)
		}
	}
	d.Play = func(t *testing.T, dir string, s *drawn.Session, steps []rig.Step) *rig.Result {
		t.Helper()
		c := &Case{Script: d.Forms.Script(s, d.Whole), More: d.More, Env: d.Env}
		res, err := g.Play(t.Context(), cache, dir, c.Script, steps, func(a *rig.Arena) error {
			_, err := g.install(t.Context(), a, bin, c)
			return err
		})
		rig.Check(t, g.Name, err)
		if d.Whole {
			for i := range res.Requests {
				r := &res.Requests[i]
				r.Part, r.Turn = s.Place(r.Turn)
			}
		}
		if d.Adjust != nil {
			d.Adjust(t, s, res)
		}
		return res
	}
	d.Run(t)
}
