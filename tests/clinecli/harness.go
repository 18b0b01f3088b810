package clinecli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/hookspan/hookspan/tests/internal/llm"
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

// form is how the programs ask. CLI 2 offers no tools, and what a subagent asks looks like
// what the lead agent asks.
var form = llm.Form{API: llm.Chat, Toolless: true}

// Do prepares an arena in dir, which must be empty, has setup add to it, and executes the steps there.
// The error is about the test machinery only: the result says how the steps
// ended. Programs and home are prepared on first use.
func (h *Harness) Do(ctx context.Context, dir string, cli CLI, script llm.Script, steps []rig.Step, setup func(*rig.Arena) error) (*rig.Result, error) {
	p, err := h.prepare(ctx, cli)
	if err != nil {
		return nil, err
	}
	a, err := newArena(dir, cli)
	if err != nil {
		return nil, err
	}
	if err := copyTree(filepath.Join(p.home, ".cline"), filepath.Join(a.Home, ".cline")); err != nil {
		return nil, fmt.Errorf("copy the signed-in home of %s: %w", cli, err)
	}
	if err := setup(a); err != nil {
		return nil, fmt.Errorf("set the run up: %w", err)
	}
	script.Form = form
	return rig.Execute(ctx, a, &rig.Run{Command: p.command, Script: script, Steps: steps})
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
	res, err := rig.Execute(ctx, a, &rig.Run{Command: cmd, Script: llm.Script{Form: form}, Steps: []rig.Step{{
		Args:    []string{"auth", "-p", provider, "-k", "sk-mock", "-m", llm.Name, "-b", rig.ModelURL + "/v1"},
		Timeout: authLimit,
	}}})
	if err != nil {
		return err
	}
	if s := res.Steps[0]; s.ExitCode != 0 || s.Error != "" {
		return fmt.Errorf("sign %s in: exit code %d, %s\n%s%s", cli, s.ExitCode, s.Error, s.Stdout, s.Stderr)
	}
	p.command, p.home = cmd, a.Home
	return nil
}
