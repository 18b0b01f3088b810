// Package geminicli drives the real Gemini CLI with a scripted model and no network, to
// compare what hookspan makes of a run with what the model answered.
package geminicli

import (
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os/exec"
	"path/filepath"

	"github.com/hookspan/hookspan/tests/claudecli/mockanthropic"
	"github.com/hookspan/hookspan/tests/internal/rig"
	"github.com/hookspan/hookspan/tests/internal/scenario"
)

//go:embed npm/gemini/package.json npm/gemini/package-lock.json
var manifests embed.FS

// Model is the model that the Gemini CLI is told to ask for.
const Model = "gemini-2.5-pro"

// Install makes sure that the program is in the cache folder and returns the command
// that starts it; see rig.Program.
func Install(ctx context.Context, cache string) ([]string, error) {
	node, err := exec.LookPath("node")
	if err != nil {
		return nil, fmt.Errorf("find node for the Gemini CLI: %w: %w", err, rig.ErrNoProgram)
	}
	manifest, err := fs.Sub(manifests, "npm/gemini")
	if err != nil {
		return nil, fmt.Errorf("manifest of the Gemini CLI: %w", err)
	}
	dir, err := rig.Program{Name: "gemini", Manifest: manifest}.Install(ctx, cache)
	if err != nil {
		return nil, err
	}
	return []string{node, filepath.Join(dir, "node_modules", "@google", "gemini-cli", "bundle", "gemini.js"), "-m", Model}, nil
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
	command, err := Install(ctx, cache)
	if err != nil {
		return nil, err
	}
	a, err := rig.NewArena(dir)
	if err != nil {
		return nil, err
	}
	for k, v := range map[string]string{
		"GOOGLE_GEMINI_BASE_URL": rig.ModelURL, "GEMINI_API_KEY": "mock", "GEMINI_CLI_NO_RELAUNCH": "true", "GEMINI_CLI_TRUST_WORKSPACE": "true",
		"SHELL": "/bin/bash", "SHLVL": "1",
	} {
		a.Env[k] = v
	}
	if err := setup(a); err != nil {
		return nil, fmt.Errorf("set the run up: %w", err)
	}
	res, requests, err := rig.Play[mockanthropic.Request](ctx, a, command, script, steps)
	if err != nil {
		return nil, err
	}
	return &Result{Result: res, Requests: requests}, nil
}

// Events are the hook events that the recorder is installed for.
var Events = []string{"SessionStart", "BeforeAgent", "BeforeTool", "AfterTool", "AfterAgent", "SessionEnd"}

type handler struct {
	Name    string `json:"name"`
	Type    string `json:"type"`
	Command string `json:"command"`
}

type group struct {
	Hooks []handler `json:"hooks"`
}

// Settings writes the user's settings, with comments, and those of the project with a
// recorder for each event and, for an event named in more, a further hook.
func Settings(a *rig.Arena, more map[string]string) error {
	recorder := filepath.Join(a.Dir, "record")
	if err := a.WriteRecorder(recorder, "", ""); err != nil {
		return err
	}
	hooks := make(map[string][]group, len(Events))
	for _, e := range Events {
		hooks[e] = []group{{Hooks: []handler{{Name: "record-" + e, Type: "command", Command: recorder + " " + e}}}}
		if command := more[e]; command != "" {
			hooks[e] = append(hooks[e], group{Hooks: []handler{{Name: "more-" + e, Type: "command", Command: command}}})
		}
	}
	project, err := json.MarshalIndent(map[string]any{"hooks": hooks}, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the project's settings: %w", err)
	}
	return a.Write(map[string]string{
		"ws/.gemini/settings.json": string(project), "ws/a.txt": "alpha\n", "ws/b.txt": "beta\n", "home/.gemini/settings.json": userSettings,
	})
}

const userSettings = `{
  // no account, nothing that leaves the machine
  "security": {"auth": {"selectedType": "gemini-api-key"}},
  "privacy": {"usageStatisticsEnabled": false},
  "general": {"enableAutoUpdate": false /* for the test */}
}
`
