package claudecli

import (
	"embed"
	"errors"

	"github.com/hookspan/hookspan/tests/internal/llm"
	"github.com/hookspan/hookspan/tests/internal/rig"
	"github.com/hookspan/hookspan/tests/internal/scenario"
)

// Manifests pin the program, and older ones for tests of what these do with the hooks.
//
//go:embed npm/*/package.json npm/*/package-lock.json
var Manifests embed.FS

var program = rig.Program{Name: "claude", Manifest: Manifests, Folder: "npm/claude", Path: "@anthropic-ai/claude-code-linux-x64/claude"}

// SubWhen is in the task of every subagent.
const SubWhen = "look around the house"

// Agent is Claude Code.
var Agent = scenario.Agent{
	Name: "Claude Code", Word: "claude", Host: "claude-code", Program: program, Version: program.Version(),
	Env: map[string]string{
		"ANTHROPIC_BASE_URL": rig.ModelURL, "ANTHROPIC_API_KEY": "sk-ant-mock",
		"DISABLE_TELEMETRY": "1", "DISABLE_AUTOUPDATER": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
		// Without it the program refuses to go without permissions as root.
		"IS_SANDBOX": "1",
	},
	Form:     llm.Form{API: llm.Messages, SubWhen: SubWhen},
	Settings: settings, Kept: ".claude/settings.json",
	Prompts: scenario.Submitted("UserPromptSubmit", "session_id", "prompt_id", "prompt"),
	// As Claude Code itself adds them up.
	Prices: map[string]scenario.Price{"claude-opus-5-5": {Input: 4, CacheRead: 0.2, CacheWrite: 5, Output: 20}},
	// Claude Code continues and ends without waiting for these.
	Uncounted: []string{"StopFailure"},
}

// settings writes the user's settings and those of the project, with the permission rule
// more["deny"].
func settings(a *rig.Arena, more map[string]string) error {
	deny := []string{}
	if rule := more["deny"]; rule != "" {
		deny = append(deny, rule)
	}
	project, err := a.Hooks([]string{
		"SessionStart", "UserPromptSubmit", "UserPromptExpansion", "PreToolUse", "PermissionRequest", "PermissionDenied", "PostToolUse",
		"PostToolUseFailure", "PostToolBatch", "SubagentStart", "SubagentStop", "Notification", "PreCompact", "PostCompact", "Stop",
		"StopFailure", "SessionEnd",
	}, more, rig.Group, map[string]any{"permissions": map[string]any{"deny": deny}})
	return errors.Join(err, a.Write(map[string]string{"ws/.claude/settings.json": project, "home/.claude/settings.json": "{\n \"cleanupPeriodDays\": 99\n}\n"}))
}
