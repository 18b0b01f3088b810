// Package geminicli drives the real Gemini CLI with a scripted model and no network, to
// compare what hookspan makes of a run with what the model answered.
package geminicli

import (
	"embed"
	"errors"
	"slices"
	"testing"

	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/tests/internal/llm"
	"github.com/hookspan/hookspan/tests/internal/rig"
	"github.com/hookspan/hookspan/tests/internal/scenario"
	"github.com/hookspan/hookspan/tests/internal/sink"
)

//go:embed npm/gemini/package.json npm/gemini/package-lock.json
var manifests embed.FS

// modelName is the model that the Gemini CLI is told to ask for.
const modelName = "gemini-2.5-pro"

// Agent is the Gemini CLI.
var Agent = scenario.Agent{
	Name: "the Gemini CLI", Word: "gemini", Host: "gemini-cli", Model: modelName,
	Program: rig.Program{
		Name: "gemini", Manifest: manifests, Folder: "npm/gemini", Path: "@google/gemini-cli/bundle/gemini.js", Node: true, Args: []string{"-m", modelName},
	},
	Env: map[string]string{
		"GOOGLE_GEMINI_BASE_URL": rig.ModelURL, "GEMINI_API_KEY": "mock", "GEMINI_CLI_NO_RELAUNCH": "true", "GEMINI_CLI_TRUST_WORKSPACE": "true",
		"SHLVL": "1",
	},
	Form: llm.Form{API: llm.Gemini, SubTool: "complete_task"}, Settings: settings, Kept: ".gemini/settings.json", Known: identified, Captured: true,
	Prompts: scenario.Submitted("BeforeAgent", "session_id", "", "prompt"),
	// Those of short inputs in Google's list.
	Prices: map[string]scenario.Price{modelName: {Input: 1.25, CacheRead: 0.125, Output: 10}},
}

// settings writes the user's settings, with comments, and those of the project.
func settings(a *rig.Arena, more map[string]string) error {
	project, err := a.Hooks([]string{"SessionStart", "BeforeAgent", "BeforeTool", "AfterTool", "AfterAgent", "SessionEnd"}, more, rig.Group, nil)
	return errors.Join(err, a.Write(map[string]string{"ws/.gemini/settings.json": project, "home/.gemini/settings.json": userSettings}))
}

const userSettings = `{
  // no account, nothing that leaves the machine
  "security": {"auth": {"selectedType": "gemini-api-key"}},
  "privacy": {"usageStatisticsEnabled": false},
  "general": {"enableAutoUpdate": false /* for the test */}
}
`

// identified gives the requests, but for those that failed, the ids that the Gemini CLI
// has made up for them: a subagent works while the lead agent waits. A call that was
// interrupted has no id: neither hooks nor files say it.
func identified(_ *testing.T, _ *rig.Result, got *rig.Trace, requests []llm.Request, want []scenario.Tool) ([]llm.Request, []scenario.Tool) {
	chats := got.Operation(otelmap.OpChat)
	slices.SortStableFunc(chats, func(a, b *sink.Span) int { return a.Start.Compare(b.Start) })
	out := slices.Clone(requests)
	for i := range out {
		if out[i].Usage != nil && len(chats) > 0 {
			out[i].ID, chats = chats[0].Attrs.String(otelmap.KeyResponseID), chats[1:]
		}
		out[i].Calls = slices.Clone(out[i].Calls)
		for j := range out[i].Calls {
			c := &out[i].Calls[j]
			if !slices.ContainsFunc(got.Spans, func(s *sink.Span) bool { return s.Attrs.String(otelmap.KeyToolCallID) == c.ID }) {
				c.ID = ""
			}
		}
	}
	return out, want
}
