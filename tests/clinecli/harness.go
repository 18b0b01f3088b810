package clinecli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/hookspan/hookspan/tests/clinecli/mockllm"
	"github.com/hookspan/hookspan/tests/internal/rig"
)

// Harness runs the programs. It is safe for concurrent use.
type Harness struct {
	cache string
	tmp   string

	mu    sync.Mutex
	ready map[CLI]*prepared
}

// prepared is what all runs of one program share: the command that starts it
// and a home folder in which it is signed in at the scripted model.
type prepared struct {
	once    sync.Once
	command []string
	home    string
	err     error
}

// NewHarness returns a harness that keeps its programs in the cache folder and
// its temporary files in tmp. Neither is removed by it.
func NewHarness(cache, tmp string) *Harness {
	return &Harness{cache: cache, tmp: tmp, ready: make(map[CLI]*prepared)}
}

// installLimit bounds one installation from npm.
const installLimit = 5 * time.Minute

// authLimit bounds the program's own sign-in command.
const authLimit = 3 * time.Minute

// Do prepares an arena in dir, which must be empty, and executes the run there.
// The error is about the test machinery only: the result says how the steps
// ended. Programs and home are prepared on first use.
func (h *Harness) Do(ctx context.Context, dir string, run *Run) (*Result, error) {
	p, err := h.prepare(ctx, run.CLI)
	if err != nil {
		return nil, err
	}
	a, err := newArena(dir, run.CLI)
	if err != nil {
		return nil, err
	}
	if err := copyTree(filepath.Join(p.home, ".cline"), filepath.Join(a.Home, ".cline")); err != nil {
		return nil, fmt.Errorf("copy the signed-in home of %s: %w", run.CLI, err)
	}
	return execute(ctx, a, run, p.command)
}

func (h *Harness) prepare(ctx context.Context, cli CLI) (*prepared, error) {
	h.mu.Lock()
	p := h.ready[cli]
	if p == nil {
		p = new(prepared)
		h.ready[cli] = p
	}
	h.mu.Unlock()
	p.once.Do(func() {
		// Others wait for this one, so the first caller's end must not undo it.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), installLimit+authLimit)
		defer cancel()
		p.err = h.signIn(ctx, cli, p)
	})
	return p, p.err
}

func (h *Harness) signIn(ctx context.Context, cli CLI, p *prepared) error {
	cmd, err := Programs[cli].Command(ctx, h.cache)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp(h.tmp, cli.String()+"-auth-")
	if err != nil {
		return fmt.Errorf("create a folder to sign %s in: %w", cli, err)
	}
	a, err := newArena(dir, cli)
	if err != nil {
		return err
	}
	provider := "openai"
	if cli == CLI3 {
		provider = "openai-compatible"
	}
	res, err := execute(ctx, a, &Run{CLI: cli, Steps: []rig.Step{{
		Args:    []string{"auth", "-p", provider, "-k", "sk-mock", "-m", mockllm.Model, "-b", rig.ModelURL + "/v1"},
		Timeout: authLimit,
	}}}, cmd)
	if err != nil {
		return err
	}
	if s := res.Steps[0]; s.ExitCode != 0 || s.Error != "" {
		return fmt.Errorf("sign %s in: exit code %d, %s\n%s%s", cli, s.ExitCode, s.Error, s.Stdout, s.Stderr)
	}
	p.command, p.home = cmd, a.Home
	return nil
}

// execute does the run in a, with the program's command known.
func execute(ctx context.Context, a *rig.Arena, run *Run, command []string) (*Result, error) {
	for k, v := range run.Env {
		a.Env[k] = v
	}
	if run.Setup != nil {
		if err := run.Setup(a); err != nil {
			return nil, fmt.Errorf("set the run up: %w", err)
		}
	}
	res, requests, err := rig.Play[mockllm.Request](ctx, a, command, run.Script, run.Steps)
	if err != nil {
		return nil, err
	}
	return &Result{Result: res, Requests: requests}, nil
}
