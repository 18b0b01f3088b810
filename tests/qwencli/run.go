// Package qwencli drives the real Qwen Code program with a scripted model and no
// network, to compare what hookspan makes of a run with what the model answered.
package qwencli

import (
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/hookspan/hookspan/tests/claudecli/mockanthropic"
	"github.com/hookspan/hookspan/tests/clinecli/mockllm"
	"github.com/hookspan/hookspan/tests/internal/rig"
	"github.com/hookspan/hookspan/tests/internal/scenario"
)

//go:embed npm/qwen/package.json npm/qwen/package-lock.json
var manifests embed.FS

// Version is the version of Qwen Code that the lock file pins.
const Version = "0.24.4"

// Model is the model that Qwen Code asks for.
const Model = "qwen3-coder-plus"

// Install makes sure that the program is in the cache folder and returns the command
// that starts it; see rig.Program.
func Install(ctx context.Context, cache string) ([]string, error) {
	node, err := exec.LookPath("node")
	if err != nil {
		return nil, fmt.Errorf("find node for Qwen Code: %w: %w", err, rig.ErrNoProgram)
	}
	manifest, err := fs.Sub(manifests, "npm/qwen")
	if err != nil {
		return nil, fmt.Errorf("manifest of Qwen Code: %w", err)
	}
	dir, err := rig.Program{Name: "qwen", Manifest: manifest}.Install(ctx, cache)
	if err != nil {
		return nil, err
	}
	return []string{node, filepath.Join(dir, "node_modules", "@qwen-code", "qwen-code", "cli-entry.js")}, nil
}

// Script is what the model says: the turns of the lead agent and those of subagents.
type Script struct {
	Main []mockllm.Turn `json:"main"`
	Sub  []mockllm.Turn `json:"sub,omitempty"`
}

// The parts of a script. Qwen Code's own agents in the background have neither.
const (
	partMain = mockanthropic.PartMain
	partSub  = mockanthropic.PartSub
)

// part returns the part of the script that answers a request: Qwen Code offers a goal
// to the lead agent alone, and agents to all but its own.
func part(tools []string) string {
	switch {
	case slices.Contains(tools, "get_goal"):
		return partMain
	case slices.Contains(tools, "agent"):
		return partSub
	}
	return "background"
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
	command, err := Install(ctx, cache)
	if err != nil {
		return nil, err
	}
	a, err := rig.NewArena(dir)
	if err != nil {
		return nil, err
	}
	for k, v := range map[string]string{
		"OPENAI_BASE_URL": rig.ModelURL + "/v1", "OPENAI_API_KEY": "sk-mock", "OPENAI_MODEL": Model,
		"QWEN_CODE_NO_RELAUNCH": "true", "SHELL": "/bin/bash",
	} {
		a.Env[k] = v
	}
	if err := setup(a); err != nil {
		return nil, fmt.Errorf("set the run up: %w", err)
	}
	res, log, err := rig.Play[mockllm.Request](ctx, a, command, script, steps)
	if err != nil {
		return nil, err
	}
	return &Result{Result: res, Requests: requests(log, script), Told: told(log)}, nil
}

// told finds what the model was told of each call.
func told(log []mockllm.Request) map[string]string {
	texts := make(map[string]string)
	for _, r := range log {
		for _, raw := range r.Last {
			var m struct {
				Role    string `json:"role"`
				ID      string `json:"tool_call_id"`
				Content any    `json:"content"`
			}
			if err := json.Unmarshal(raw, &m); err == nil && m.Role == "tool" {
				texts[m.ID] = fmt.Sprint(m.Content)
			}
		}
	}
	return texts
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
	"SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure", "PostToolBatch", "SubagentStart",
	"SubagentStop", "Stop", "StopFailure", "SessionEnd",
}

type handler struct {
	Type    string `json:"type"`
	Command string `json:"command"`
}

type group struct {
	Hooks []handler `json:"hooks"`
}

// Settings writes the user's settings, with a comment, and those of the project with a
// recorder for each event and, for an event named in more, a further hook.
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
	project, err := json.MarshalIndent(map[string]any{"hooks": hooks}, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the project's settings: %w", err)
	}
	return a.Write(map[string]string{
		"ws/.qwen/settings.json": string(project), "ws/a.txt": "alpha\n", "ws/b.txt": "beta\n", "home/.qwen/settings.json": userSettings,
	})
}

const userSettings = `{
  // no account, nothing that leaves the machine
  "security": {"auth": {"selectedType": "openai"}},
  "privacy": {"usageStatisticsEnabled": false},
  "general": {"enableAutoUpdate": false, /* the old name */ "disableAutoUpdate": true},
  "$version": 4
}
`
