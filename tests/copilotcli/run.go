// Package copilotcli drives the real GitHub Copilot CLI with a scripted model and no
// network, to compare what hookspan makes of a run with what the model answered.
package copilotcli

import (
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/hookspan/hookspan/tests/claudecli/mockanthropic"
	"github.com/hookspan/hookspan/tests/clinecli/mockllm"
	"github.com/hookspan/hookspan/tests/internal/rig"
	"github.com/hookspan/hookspan/tests/internal/scenario"
)

//go:embed npm/copilot/package.json npm/copilot/package-lock.json
var manifests embed.FS

// Version is the version of Copilot that the lock file pins.
const Version = "1.0.102"

// Model is the model that Copilot asks for.
const Model = "gpt-5.2"

// Install makes sure that the program is in the cache folder and returns its path; see
// rig.Program.
func Install(ctx context.Context, cache string) (string, error) {
	manifest, err := fs.Sub(manifests, "npm/copilot")
	if err != nil {
		return "", fmt.Errorf("manifest of Copilot: %w", err)
	}
	dir, err := rig.Program{Name: "copilot", Manifest: manifest, Platforms: []string{"linux/amd64"}}.Install(ctx, cache)
	return filepath.Join(dir, "node_modules", "@github", "copilot-linux-x64", "copilot"), err
}

// Script is what the model says: the turns of the lead agent and those of subagents.
type Script struct {
	Main []mockllm.Turn `json:"main"`
	Sub  []mockllm.Turn `json:"sub,omitempty"`
	// Delegated are the turns of Main, by index, that go to a subagent which can start
	// agents itself.
	Delegated []int `json:"delegated,omitempty"`
}

// The parts of a script.
const (
	partMain = mockanthropic.PartMain
	partSub  = mockanthropic.PartSub
)

// part returns the part of the script that answers a request: Main's if the agent can
// start agents. A request that offers no tools belongs to no turn.
func part(tools []string) string {
	switch {
	case len(tools) == 0:
		return "background"
	case slices.Contains(tools, "task"):
		return partMain
	}
	return partSub
}

// Inner does the inner half's work if this process was started as one, and reports
// whether it was; see rig.Inner.
func Inner(stdin io.Reader, stdout, stderr io.Writer) (code int, inner bool) {
	return rig.Inner(stdin, stdout, stderr, func(script json.RawMessage) (rig.Model, error) {
		var s Script
		if err := json.Unmarshal(script, &s); err != nil {
			return nil, fmt.Errorf("decode the script: %w", err)
		}
		return mockllm.NewParts(map[string][]mockllm.Turn{partMain: s.Main, partSub: s.Sub}, part), nil
	})
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
	for k, v := range map[string]string{
		"COPILOT_OFFLINE": "true", "COPILOT_AUTO_UPDATE": "false", "COPILOT_PROVIDER_BASE_URL": rig.ModelURL + "/v1",
		"COPILOT_PROVIDER_API_KEY": "sk-mock", "COPILOT_MODEL": Model, "SHELL": "/bin/bash",
		// Copilot unpacks itself there at its first start.
		"XDG_CACHE_HOME": filepath.Join(cache, "copilot-home"),
	} {
		a.Env[k] = v
	}
	if err := setup(a); err != nil {
		return nil, fmt.Errorf("set the run up: %w", err)
	}
	res, log, err := rig.Play[mockllm.Request](ctx, a, []string{program}, script, steps)
	if err != nil {
		return nil, err
	}
	return &Result{Result: res, Requests: requests(log, script)}, nil
}

// requests gives the model's log the form in which it is compared with spans.
func requests(log []mockllm.Request, script Script) (out []mockanthropic.Request) {
	turns := map[string][]mockllm.Turn{partMain: script.Main, partSub: script.Sub}
	for _, r := range log {
		if len(turns[r.Part]) == 0 {
			continue
		}
		q := mockanthropic.Request{
			N: r.N, Part: r.Part, Turn: r.Turn, Start: r.Start, End: r.End, Model: Model, ID: fmt.Sprintf("chatcmpl-%d", r.N),
			Text: turns[r.Part][r.Turn].Text, Status: r.Status, Complete: r.Complete,
		}
		if r.Part == partMain && slices.Contains(script.Delegated, r.Turn) {
			q.Part = partSub
		}
		if u := r.Usage; u != nil {
			q.Usage = &mockanthropic.Usage{Input: u.Prompt - u.Cached, CacheRead: u.Cached, Output: u.Completion}
		}
		for i, c := range r.Calls {
			q.Calls = append(q.Calls, mockanthropic.ToolCall{ID: mockllm.CallID(r.N, i), Name: c.Name, Input: c.Args})
		}
		out = append(out, q)
	}
	return out
}

// Events are the hook events that the recorder is installed for.
var Events = []string{
	"sessionStart", "userPromptSubmitted", "preToolUse", "postToolUse", "postToolUseFailure", "subagentStart", "subagentStop", "agentStop",
	"errorOccurred", "sessionEnd",
}

type handler struct {
	Type string `json:"type"`
	Bash string `json:"bash"`
}

// Settings writes a file of the user's own hooks: a recorder for each event and, for an
// event named in more, a further hook.
func Settings(a *rig.Arena, more map[string]string) error {
	recorder := filepath.Join(a.Dir, "record")
	if err := a.WriteRecorder(recorder, "", ""); err != nil {
		return err
	}
	hooks := make(map[string][]handler, len(Events))
	for _, e := range Events {
		hooks[e] = []handler{{Type: "command", Bash: recorder + " " + e}}
		if command := more[e]; command != "" {
			hooks[e] = append(hooks[e], handler{Type: "command", Bash: command})
		}
	}
	own, err := json.MarshalIndent(map[string]any{"version": 1, "hooks": hooks}, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the user's hooks: %w", err)
	}
	return a.Write(map[string]string{"home/.copilot/hooks/mine.json": string(own), "ws/a.txt": "alpha\n", "ws/b.txt": "beta\n"})
}
