// Package codexcli drives the real Codex program with a scripted model and no network,
// to compare what hookspan makes of a run with what the model answered.
package codexcli

import (
	"embed"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hookspan/hookspan/tests/internal/llm"
	"github.com/hookspan/hookspan/tests/internal/rig"
	"github.com/hookspan/hookspan/tests/internal/scenario"
)

//go:embed npm/codex/package.json npm/codex/package-lock.json
var manifests embed.FS

// Model is the model that Codex asks for, CodeModel one that it has write scripts which
// call the tools.
const (
	Model     = "gpt-5.5"
	CodeModel = "gpt-6-astra"
)

var program = rig.Program{
	Name: "codex", Manifest: manifests, Folder: "npm/codex", Path: "@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex",
}

// Agent is Codex.
var Agent = scenario.Agent{
	Name: "Codex", Word: "codex", Host: "codex", Program: program, Version: program.Version(), Model: Model, Asked: true, Beside: true,
	Env: map[string]string{"MOCK_API_KEY": "sk-mock"},
	Prepare: func(a *rig.Arena, _, program string) error {
		a.Env["PATH"] = filepath.Dir(program) + string(os.PathListSeparator) + a.Env["PATH"]
		return nil
	},
	Form:     llm.Form{API: llm.Responses, Toolless: true, SubWhen: "look around the house", NotSubWhen: "delegate it"},
	Settings: settings, Kept: ".codex/hooks.json", Prompts: prompts, Said: said,
	// Those of the standard tier in OpenAI's list.
	Prices: map[string]scenario.Price{Model: {Input: 5, CacheRead: 0.5, Output: 30}, CodeModel: {Input: 10, CacheRead: 1, Output: 50}},
}

// settings writes Codex's configuration, and the user's own hooks.
func settings(a *rig.Arena, more map[string]string) error {
	own, err := a.Hooks([]string{
		"SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "SubagentStart", "SubagentStop", "Stop", "Interrupt", "SessionEnd",
	}, more, rig.Group, map[string]any{"description": "my own"})
	return errors.Join(err, a.Write(map[string]string{"home/.codex/hooks.json": own, "home/.codex/config.toml": config}))
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

func prompts(t *testing.T, recs []rig.Recorded, res *rig.Result) []scenario.Prompt {
	t.Helper()
	nameNested(res.Requests, scenario.Payloads[payload](t, recs))
	return scenario.Submitted("UserPromptSubmit", "session_id", "turn_id", "prompt")(t, recs, res)
}

// payload is what is read of a recorded call.
type payload struct {
	Event string `json:"hook_event_name"`
	Tool  string `json:"tool_name"`
	Input struct {
		Command string `json:"command"`
	} `json:"tool_input"`
	Call string `json:"tool_use_id"`
}

// nameNested gives the calls of scripts the ids that Codex gave them.
func nameNested(requests []llm.Request, payloads []payload) {
	for _, r := range requests {
		for i := range r.Calls {
			c := &r.Calls[i]
			for _, p := range payloads {
				if c.ID == "" && p.Event == "PreToolUse" && p.Tool == c.Name && (c.Args == nil || c.Args["command"] == p.Input.Command) {
					c.ID = p.Call
				}
			}
		}
	}
}

func said(t *testing.T, _ *scenario.Case, name string, s rig.StepResult) {
	t.Helper()
	switch name {
	case "verify": // the files lack a call that was denied in code mode, and have the namespace of another
		if out := s.Stdout; strings.Contains(out, "tokens:") || strings.Contains(out, "cost:") || !strings.Contains(out, "verified") {
			t.Errorf("verify finds other tokens or costs:\n%s", out)
		}
	case "doctor": // the hooks ran this once without being trusted
		if s.ExitCode != 1 || !strings.Contains(s.Stdout, "12 not trusted") {
			t.Errorf("doctor ended with code %d: %s\n%s%s", s.ExitCode, s.Error, s.Stdout, s.Stderr)
		}
	default:
		scenario.Fine(t, name, s)
	}
}
