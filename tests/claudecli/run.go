package claudecli

import (
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/hookspan/hookspan/tests/claudecli/mockanthropic"
	"github.com/hookspan/hookspan/tests/internal/rig"
)

//go:embed npm/claude/package.json npm/claude/package-lock.json
var manifests embed.FS

// Version is the version of Claude Code that package.json pins.
var Version = func() string {
	var manifest struct {
		Dependencies map[string]string `json:"dependencies"`
	}
	text, _ := manifests.ReadFile("npm/claude/package.json") // It is embedded.
	_ = json.Unmarshal(text, &manifest)
	return manifest.Dependencies["@anthropic-ai/claude-code-linux-x64"]
}()

// Install makes sure that the program is in the cache folder and returns the
// command that starts it; see rig.Program.
func Install(ctx context.Context, cache string) ([]string, error) {
	manifest, err := fs.Sub(manifests, "npm/claude")
	if err != nil {
		return nil, fmt.Errorf("manifest of Claude Code: %w", err)
	}
	dir, err := rig.Program{Name: "claude", Manifest: manifest, Platforms: []string{"linux/amd64"}}.Install(ctx, cache)
	if err != nil {
		return nil, err
	}
	return []string{filepath.Join(dir, "node_modules", "@anthropic-ai", "claude-code-linux-x64", "claude")}, nil
}

// Run describes one run: a script for the model, and the commands to execute
// one after the other.
type Run struct {
	// Script is what the model answers.
	Script mockanthropic.Script
	// Steps are executed in order; a failing step does not stop the rest.
	Steps []rig.Step
	// Setup prepares the arena before the first step: it installs hooks, writes
	// files, adds to its environment.
	Setup func(*rig.Arena) error
}

// Result is what came out of a run.
type Result struct {
	*rig.Result

	// Requests is the model's log.
	Requests []mockanthropic.Request
}

// Inner does the inner half's work if this process was started as one, and
// reports whether it was; see rig.Inner.
func Inner(stdin io.Reader, stdout, stderr io.Writer) (code int, inner bool) {
	return rig.Inner(stdin, stdout, stderr, NewModel)
}

// NewModel makes the model that plays a Run's script; it is a rig.NewModel.
func NewModel(script json.RawMessage) (rig.Model, error) {
	var s mockanthropic.Script
	if err := json.Unmarshal(script, &s); err != nil {
		return nil, fmt.Errorf("decode the script: %w", err)
	}
	return mockanthropic.New(s), nil
}

// Do prepares an arena in dir, which must be empty, and executes the run there
// with the program that Install put into the cache folder. The error is about
// the test machinery only: the result says how the steps ended.
func Do(ctx context.Context, cache, dir string, run *Run) (*Result, error) {
	command, err := Install(ctx, cache)
	if err != nil {
		return nil, err
	}
	a, err := newArena(dir)
	if err != nil {
		return nil, err
	}
	if run.Setup != nil {
		if err := run.Setup(a); err != nil {
			return nil, fmt.Errorf("set the run up: %w", err)
		}
	}
	res, requests, err := rig.Play[mockanthropic.Request](ctx, a, command, run.Script, run.Steps)
	if err != nil {
		return nil, err
	}
	return &Result{Result: res, Requests: requests}, nil
}

// newArena makes the folders of a run below dir.
func newArena(dir string) (*rig.Arena, error) {
	a, err := rig.NewArena(dir)
	if err != nil {
		return nil, err
	}
	for k, v := range map[string]string{
		"ANTHROPIC_BASE_URL": rig.ModelURL, "ANTHROPIC_API_KEY": "sk-ant-mock",
		"DISABLE_TELEMETRY": "1", "DISABLE_AUTOUPDATER": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
		// Without it the program refuses to go without permissions as root.
		"IS_SANDBOX": "1",
	} {
		a.Env[k] = v
	}
	return a, nil
}

// Events are the hook events the recorder stands on.
var Events = []string{
	"SessionStart", "UserPromptSubmit", "UserPromptExpansion", "PreToolUse", "PermissionRequest", "PermissionDenied", "PostToolUse",
	"PostToolUseFailure", "PostToolBatch", "SubagentStart", "SubagentStop", "Notification", "PreCompact", "PostCompact", "Stop",
	"StopFailure", "SessionEnd",
}

// Settings are the project's settings of a run: a recorder on every event,
// which runs beside hookspan's own hooks in the user's settings, and what a
// scenario adds.
type Settings struct {
	// Deny are permission rules that refuse a tool.
	Deny []string
	// BlockStop has a further hook on Stop refuse the first stop with this reason.
	BlockStop string
	// BlockAfter is how many seconds that hook thinks about it, as one does that
	// runs the tests.
	BlockAfter int
}

type handler struct {
	Type    string   `json:"type"`
	Command string   `json:"command"`
	Args    []string `json:"args"`
}

type group struct {
	Hooks []handler `json:"hooks"`
}

// Write writes the settings and the recorder.
func (s Settings) Write(a *rig.Arena) error {
	recorder := filepath.Join(a.Dir, "record")
	if err := a.WriteRecorder(recorder, "", ""); err != nil {
		return err
	}
	hooks := make(map[string][]group, len(Events))
	for _, e := range Events {
		hooks[e] = []group{{Hooks: []handler{{Type: "command", Command: recorder, Args: []string{e}}}}}
	}
	if s.BlockStop != "" {
		blocked := filepath.Join(a.Dir, "blocked")
		script := fmt.Sprintf("mkdir '%s' 2>/dev/null || exit 0; sleep %d; echo '%s' >&2; exit 2", blocked, s.BlockAfter, s.BlockStop)
		hooks["Stop"] = append(hooks["Stop"], group{Hooks: []handler{{Type: "command", Command: "sh", Args: []string{"-c", script}}}})
	}
	data, err := json.MarshalIndent(map[string]any{"hooks": hooks, "permissions": map[string]any{"deny": append([]string{}, s.Deny...)}}, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the project's settings: %w", err)
	}
	return a.Write(map[string]string{"ws/.claude/settings.json": string(data)})
}
