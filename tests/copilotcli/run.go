// Package copilotcli drives the real GitHub Copilot CLI with a scripted model and no
// network, to compare what hookspan makes of a run with what the model answered.
package copilotcli

import (
	"embed"
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"github.com/hookspan/hookspan/tests/internal/llm"
	"github.com/hookspan/hookspan/tests/internal/rig"
	"github.com/hookspan/hookspan/tests/internal/scenario"
)

//go:embed npm/copilot/package.json npm/copilot/package-lock.json
var manifests embed.FS

const model = "gpt-5.2"

var program = rig.Program{Name: "copilot", Manifest: manifests, Folder: "npm/copilot", Path: "@github/copilot-linux-x64/copilot"}

// Reason is what a hook answers that refuses the end of a turn. Copilot submits it.
const Reason = "keep going"

// Agent is Copilot.
var Agent = scenario.Agent{
	Name: "Copilot", Word: "copilot", Host: "copilot-cli", Program: program, Version: program.Version(), Model: model,
	Env: map[string]string{
		"COPILOT_OFFLINE": "true", "COPILOT_AUTO_UPDATE": "false", "COPILOT_PROVIDER_BASE_URL": rig.ModelURL + "/v1",
		"COPILOT_PROVIDER_API_KEY": "sk-mock", "COPILOT_MODEL": model,
	},
	Prepare: func(a *rig.Arena, cache, _ string) error {
		a.Env["XDG_CACHE_HOME"] = filepath.Join(cache, "copilot-home") // Copilot unpacks itself there at its first start.
		return nil
	},
	Form:     llm.Form{API: llm.Chat, LeadTool: "task"},
	Settings: settings, Kept: ".copilot/hooks", Captured: true,
	Prompts: func(t *testing.T, recs []rig.Recorded, res *rig.Result) []scenario.Prompt {
		t.Helper()
		all := scenario.Submitted("userPromptSubmitted", "sessionId", "", "prompt")(t, recs, res)
		return slices.DeleteFunc(all, func(p scenario.Prompt) bool { return p.Text == Reason })
	},
	// Those of OpenAI's list: Copilot has the user's own key.
	Prices: map[string]scenario.Price{model: {Input: 1.75, CacheRead: 0.175, Output: 14}},
}

// settings writes a file of the user's own hooks.
func settings(a *rig.Arena, more map[string]string) error {
	own, err := a.Hooks([]string{
		"sessionStart", "userPromptSubmitted", "preToolUse", "postToolUse", "postToolUseFailure", "subagentStart", "subagentStop", "agentStop",
		"errorOccurred", "sessionEnd",
	}, more, func(command string) map[string]any { return map[string]any{"type": "command", "bash": command} }, map[string]any{"version": 1})
	return errors.Join(err, a.Write(map[string]string{"home/.copilot/hooks/mine.json": own}))
}
