// Package qwen installs hookspan's hooks in Qwen Code's settings.
package qwen

import (
	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/install"
	"github.com/hookspan/hookspan/internal/install/settings"
)

// Installer returns the installer for Qwen Code. PostToolBatch is among its events, as
// only it reports calls that never started; MessageDisplay, which comes for every
// piece of streamed text, is not.
func Installer() settings.Installer {
	return settings.Installer{Spec: &settings.Spec{
		Agent: hook.AgentOf(hook.HostQwen), File: "settings.json", Comments: true,
		ManagedDir:   map[string]string{"darwin": "/Library/Application Support/QwenCode", "windows": `C:\ProgramData\qwen-code`, "linux": "/etc/qwen-code"},
		ManagedFile:  "settings.json",
		WindowsShell: settings.ShellCmd, Off: off,
		Events: settings.Events(
			"SessionStart", "UserPromptSubmit", "PreToolUse", "PermissionRequest", "PermissionDenied", "PostToolUse",
			"PostToolUseFailure", "PostToolBatch", "SubagentStart", "SubagentStop", "Notification", "PreCompact", "PostCompact",
			"Stop", "StopFailure", "SessionEnd",
		),
	}}
}

// Refusers reports whether Qwen Code runs hooks in a folder, besides hookspan's, that may
// refuse the end of a turn.
func Refusers(sys install.System, folder string) bool {
	return Installer().Others(sys, folder, "Stop")
}

// off returns why Qwen Code runs no hooks.
func off(sys install.System, files []settings.File) (reasons []string) {
	if settings.IsOn(sys.Env("QWEN_CODE_SAFE_MODE")) {
		reasons = append(reasons, "Qwen Code runs no hooks while QWEN_CODE_SAFE_MODE is set in the environment")
	}
	return append(reasons, settings.DisableAllHooks(hook.AgentOf(hook.HostQwen).Name, files)...)
}
