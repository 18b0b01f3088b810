// Package qwencli drives the real Qwen Code program with a scripted model and no
// network, to compare what hookspan makes of a run with what the model answered.
package qwencli

import (
	"cmp"
	"embed"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/hookspan/hookspan/tests/internal/llm"
	"github.com/hookspan/hookspan/tests/internal/rig"
	"github.com/hookspan/hookspan/tests/internal/scenario"
)

//go:embed npm/qwen/package.json npm/qwen/package-lock.json
var manifests embed.FS

const model = "qwen3-coder-plus"

var program = rig.Program{Name: "qwen", Manifest: manifests, Folder: "npm/qwen", Path: "@qwen-code/qwen-code/cli-entry.js", Node: true}

// Agent is Qwen Code.
var Agent = scenario.Agent{
	Name: "Qwen Code", Word: "qwen", Host: "qwen-code", Program: program, Version: program.Version(), Model: model, Asked: true,
	Env: map[string]string{
		"OPENAI_BASE_URL": rig.ModelURL + "/v1", "OPENAI_API_KEY": "sk-mock", "OPENAI_MODEL": model, "QWEN_CODE_NO_RELAUNCH": "true",
	},
	// It offers a goal to the lead agent alone, and agents to all but its own, in the background.
	Form: llm.Form{API: llm.Chat, LeadTool: "get_goal", SubTool: "agent"}, Settings: settings, Kept: ".qwen/settings.json", Known: asTold,
	Prompts:   scenario.Submitted("UserPromptSubmit", "session_id", "prompt_id", "submitted_prompt"),
	Uncounted: []string{"PostToolBatch"}, // as many as Qwen Code makes of the calls
	// No list has the prices of Qwen's models.
}

// settings writes the user's settings, with a comment, and those of the project.
func settings(a *rig.Arena, more map[string]string) error {
	project, err := a.Hooks([]string{
		"SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure", "PostToolBatch", "SubagentStart",
		"SubagentStop", "Stop", "StopFailure", "SessionEnd",
	}, more, rig.Group, nil)
	return errors.Join(err, a.Write(map[string]string{"ws/.qwen/settings.json": project, "home/.qwen/settings.json": userSettings}))
}

const userSettings = `{
  // no account, nothing that leaves the machine
  "security": {"auth": {"selectedType": "openai"}},
  "privacy": {"usageStatisticsEnabled": false},
  "general": {"enableAutoUpdate": false, /* the old name */ "disableAutoUpdate": true},
  "$version": 4
}
`

// asTold leaves out the texts that Qwen Code itself has lost: on a busy machine it
// misses the output of a command that ends at once, and tells the model of none.
func asTold(t *testing.T, res *rig.Result, _ *rig.Trace, requests []llm.Request, want []scenario.Tool) ([]llm.Request, []scenario.Tool) {
	t.Helper()
	want = slices.Clone(want)
	i := 0
	for _, r := range requests {
		for _, c := range r.Calls {
			command, _ := c.Args["command"].(string)
			if i < len(want) && Lost(t, &c, command, want[i].Text) {
				want[i].Text = ""
			}
			i++
		}
	}
	return requests, want
}

// Lost reports that the model was told of a call without a text. It is told the command, too.
func Lost(t *testing.T, c *llm.Call, command, text string) bool {
	t.Helper()
	if c.Result == nil || strings.Contains(strings.ReplaceAll(c.Result.Text, cmp.Or(command, "\x00"), ""), text) {
		return false
	}
	t.Logf("Qwen Code has lost the output of %s: %q", c.ID, c.Result.Text)
	return true
}
