package scenario

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/hookspan/hookspan/tests/claudecli/mockanthropic"
	"github.com/hookspan/hookspan/tests/internal/drawn"
	"github.com/hookspan/hookspan/tests/internal/rig"
)

// Main is the TestMain of a package that drives the agent; see rig.Inner.
func (g *Agent[S]) Main(m *testing.M) {
	if code, inner := rig.Inner(os.Stdin, os.Stdout, os.Stderr, g.NewModel); inner {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

// Play executes steps in an arena in dir, which must be empty, after setup has prepared
// it. The error is about the test machinery only: the result says how the steps ended.
func (g *Agent[S]) Play(ctx context.Context, cache, dir string, script S, steps []rig.Step, setup func(*rig.Arena) error) (*Result, error) {
	if g.Do != nil {
		return g.Do(ctx, cache, dir, script, steps, setup)
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
	played, log, err := rig.Play[json.RawMessage](ctx, a, command, script, steps)
	if err != nil {
		return nil, err
	}
	res := &Result{Result: played}
	if g.Read != nil {
		return res, g.Read(script, res)
	}
	res.Requests = make([]mockanthropic.Request, len(log))
	for i := range log {
		if err := json.Unmarshal(log[i], &res.Requests[i]); err != nil {
			return nil, fmt.Errorf("decode the model's log: %w", err)
		}
	}
	res.Requests = slices.DeleteFunc(res.Requests, func(r mockanthropic.Request) bool { return r.Part == "" })
	return res, nil
}

// Try is Play in the test's own folder. Where this machine cannot, the test is skipped.
func (g *Agent[S]) Try(t *testing.T, cache string, script S, steps []rig.Step, setup func(*rig.Arena) error) *Result {
	t.Helper()
	res, err := g.Play(t.Context(), cache, t.ArtifactDir(), script, steps, setup)
	rig.Check(t, g.Name, err)
	for _, note := range res.Notes {
		t.Log(note)
	}
	t.Cleanup(func() {
		if t.Failed() {
			Report(t, res)
		}
	})
	return res
}

// Drawn is how an agent is put through drawn sessions.
type Drawn[S any] struct {
	drawn.Host

	// Submit runs the agent with a prompt, and with Again for all prompts but a session's
	// first. They are left out where Host.Prompt is set.
	Submit func(prompt string, args ...string) rig.Step
	Again  []string
	// Script is what the model says in a session.
	Script func(*drawn.Session) S
	// More are further hooks of the user's, and Env is a part of the environment; see Case.
	More, Env map[string]string
	// Adjust takes out of a session what the agent itself has lost, or gives the log the
	// parts of the session; may be nil.
	Adjust func(t *testing.T, s *drawn.Session, res *Result)
}

// Draw puts the agent through sessions that are drawn at random.
func (g *Agent[S]) Draw(t *testing.T, d *Drawn[S]) {
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
	d.Play = func(t *testing.T, dir string, s *drawn.Session, steps []rig.Step) (*rig.Result, []mockanthropic.Request) {
		t.Helper()
		c := &Case[S]{Script: d.Script(s), More: d.More, Env: d.Env}
		res, err := g.Play(t.Context(), cache, dir, c.Script, steps, func(a *rig.Arena) error {
			_, err := g.install(t.Context(), a, bin, c)
			return err
		})
		rig.Check(t, g.Name, err)
		if d.Adjust != nil {
			d.Adjust(t, s, res)
		}
		return res.Result, res.Requests
	}
	d.Run(t)
}
