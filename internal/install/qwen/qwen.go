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
	return settings.Installer{Agent: &settings.Spec{
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
	return append(reasons, settings.DisableAllHooks(name, files)...)
}

// InstallCommand describes the command that installs the hooks.
func InstallCommand() install.Command {
	return install.Command{
		Short: "Let Qwen Code report to hookspan",
		Long: `Add hookspan's hooks to Qwen Code's settings; --dry-run shows the lines. Your own
hooks, all other settings, comments and the layout of the file stay as they are; the
file as it was is kept beside it. hookspan uninstall qwen takes the hooks out again, to
the byte.

  --scope user      ~/.qwen/settings.json, for all your projects (the default)
  --scope project   .qwen/settings.json in the project, which others may share`,
		Flags: map[string]string{
			"force":   "rewrite hookspan entries that were edited",
			"scope":   "whose settings: user or project",
			"project": "the project's folder, for --scope project, which it implies; this folder if not given",
		},
	}
}

// UninstallCommand describes the command that removes the hooks.
func UninstallCommand() install.Command {
	return install.Command{
		Short: "Take hookspan's hooks out of Qwen Code's settings",
		Long: `Take out exactly what hookspan install qwen put in, from wherever it did, and leave
everything else. --scope and --project limit it. Traces and settings stay.`,
		Flags: map[string]string{
			"force":   "", // accepted as for other agents; edited entries go anyway
			"scope":   "only these settings: user or project",
			"project": "only this project's settings; for --scope project, this folder if not given",
		},
	}
}
