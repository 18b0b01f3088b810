// Package qwen installs hookspan's hooks in Qwen Code's settings.
package qwen

import (
	"github.com/hookspan/hookspan/internal/install"
	"github.com/hookspan/hookspan/internal/install/settings"
)

const name = "Qwen Code"

// Installer returns the installer for Qwen Code. PostToolBatch is among its events, as
// only it reports calls that never started; MessageDisplay, which comes for every
// piece of streamed text, is not.
func Installer() settings.Installer {
	return settings.Installer{Agent: &settings.Agent{
		Name: name, RecordName: "qwen", Folder: ".qwen", HomeVariable: "QWEN_HOME",
		File: "settings.json", Comments: true, Scopes: []string{install.ScopeUser, install.ScopeProject},
		ManagedDir:  map[string]string{"darwin": "/Library/Application Support/QwenCode", "windows": `C:\ProgramData\qwen-code`, "linux": "/etc/qwen-code"},
		ManagedFile: "settings.json",
		Args:        []string{"qwen"}, WindowsShell: settings.ShellCmd, Off: off,
		Events: settings.Events(
			"SessionStart", "UserPromptSubmit", "PreToolUse", "PermissionRequest", "PermissionDenied", "PostToolUse",
			"PostToolUseFailure", "PostToolBatch", "SubagentStart", "SubagentStop", "Notification", "PreCompact", "PostCompact",
			"Stop", "StopFailure", "SessionEnd",
		),
	}}
}

// off returns why Qwen Code runs no hooks.
func off(sys install.System, files []settings.File) (reasons []string) {
	if settings.IsOn(sys.Env("QWEN_CODE_SAFE_MODE")) {
		reasons = append(reasons, "Qwen Code runs no hooks while QWEN_CODE_SAFE_MODE is set in the environment")
	}
	return append(reasons, settings.DisableAllHooks(name, files)...)
}
