// Package kimi installs hookspan's hooks in Kimi Code's config.toml.
package kimi

import (
	"context"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/install"
	"github.com/hookspan/hookspan/internal/install/settings"
)

// versionTimeout bounds the question to Kimi Code, which takes a second.
const versionTimeout = 10 * time.Second

// Installer returns the installer for Kimi Code. With an event that its version does not have
// Kimi Code ignores all hooks, the user's too: versions from 0.20.0 on have these, but for
// TurnStarted. Left out are PermissionResult, as a rejected call says so at its end,
// UserPromptQueued, TaskStarted and SessionHeartbeat, which comes each minute.
func Installer() settings.Installer {
	facts := hook.AgentOf(hook.HostKimi)
	return settings.Installer{Spec: &settings.Spec{
		Agent: facts, File: "config.toml", Listed: true, WindowsShell: settings.ShellCmd,
		Version: func(ctx context.Context) (string, error) {
			return install.Ask(ctx, versionTimeout, facts.Word, "--version")
		},
		Events: append(settings.Events(
			"SessionStart", "UserPromptSubmit", "PreToolUse", "PermissionRequest", "PostToolUse", "PostToolUseFailure",
			"SubagentStart", "SubagentStop", "Notification", "PreCompact", "PostCompact", "Stop", "StopFailure", "Interrupt", "SessionEnd",
		), settings.Event{Name: "TurnStarted", Since: settings.Version{0, 32, 0}}),
	}}
}
