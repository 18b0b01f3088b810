// Package codexcli drives the real Codex program with a scripted model and no network,
// to compare what hookspan makes of a run with what the model answered.
package codexcli

import (
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/hookspan/hookspan/tests/claudecli/mockanthropic"
	"github.com/hookspan/hookspan/tests/internal/rig"
	"github.com/hookspan/hookspan/tests/internal/scenario"
)

//go:embed npm/codex/package.json npm/codex/package-lock.json
var manifests embed.FS

// Version is the version of Codex that the lock file pins.
const Version = "0.169.0"

// Model is the model that Codex asks for, CodeModel one that it has write scripts which
// call the tools.
const (
	Model     = "gpt-5.5"
	CodeModel = "gpt-6-astra"
)

// Install makes sure that the program is in the cache folder and returns its path; see
// rig.Program.
func Install(ctx context.Context, cache string) (string, error) {
	manifest, err := fs.Sub(manifests, "npm/codex")
	if err != nil {
		return "", fmt.Errorf("manifest of Codex: %w", err)
	}
	dir, err := rig.Program{Name: "codex", Manifest: manifest, Platforms: []string{"linux/amd64"}}.Install(ctx, cache)
	return filepath.Join(dir, "node_modules", "@openai", "codex-linux-x64", "vendor", "x86_64-unknown-linux-musl", "bin", "codex"), err
}

// Inner does the inner half's work if this process was started as one, and reports
// whether it was; see rig.Inner.
func Inner(stdin io.Reader, stdout, stderr io.Writer) (code int, inner bool) {
	return rig.Inner(stdin, stdout, stderr, newModel)
}

// Result is what came out of a run.
type Result = scenario.Result

// Do executes steps in an arena in dir, which must be empty, after setup has prepared
// it. The error is about the test machinery only.
func Do(ctx context.Context, cache, dir string, script Script, steps []rig.Step, setup func(*rig.Arena) error) (*Result, error) {
	program, err := Install(ctx, cache)
	if err != nil {
		return nil, err
	}
	a, err := rig.NewArena(dir)
	if err != nil {
		return nil, err
	}
	a.Env["PATH"] = filepath.Dir(program) + string(os.PathListSeparator) + a.Env["PATH"]
	a.Env["MOCK_API_KEY"], a.Env["SHELL"] = "sk-mock", "/bin/bash"
	if err := setup(a); err != nil {
		return nil, fmt.Errorf("set the run up: %w", err)
	}
	res, requests, err := rig.Play[mockanthropic.Request](ctx, a, []string{program}, script, steps)
	if err != nil {
		return nil, err
	}
	return &Result{Result: res, Requests: requests}, nil
}

// Events are the hook events that the recorder is installed for.
var Events = []string{
	"SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "SubagentStart", "SubagentStop", "Stop", "Interrupt", "SessionEnd",
}

type handler struct {
	Type    string `json:"type"`
	Command string `json:"command"`
}

type group struct {
	Hooks []handler `json:"hooks"`
}

// Settings writes Codex's configuration, and the user's own hooks: a recorder for each
// event and, for an event named in more, a further one.
func Settings(a *rig.Arena, more map[string]string) error {
	recorder := filepath.Join(a.Dir, "record")
	if err := a.WriteRecorder(recorder, "", ""); err != nil {
		return err
	}
	hooks := make(map[string][]group, len(Events))
	for _, e := range Events {
		hooks[e] = []group{{Hooks: []handler{{Type: "command", Command: recorder + " " + e}}}}
		if command := more[e]; command != "" {
			hooks[e] = append(hooks[e], group{Hooks: []handler{{Type: "command", Command: command}}})
		}
	}
	own, err := json.MarshalIndent(map[string]any{"description": "my own", "hooks": hooks}, "", "   ")
	if err != nil {
		return fmt.Errorf("encode the user's hooks: %w", err)
	}
	return a.Write(map[string]string{
		"home/.codex/hooks.json": string(own) + "\n", "home/.codex/config.toml": config, "ws/a.txt": "alpha\n", "ws/b.txt": "beta\n",
	})
}

const config = `model = "` + Model + `"
model_provider = "mock"
approval_policy = "never"
sandbox_mode = "danger-full-access"
[model_providers.mock]
name = "mock"
base_url = "` + rig.ModelURL + `/v1"
wire_api = "responses"
env_key = "MOCK_API_KEY"
request_max_retries = 0
stream_max_retries = 0
[analytics]
enabled = false
`
