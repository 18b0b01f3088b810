// Package copilot installs hookspan's hooks for the GitHub Copilot CLI, which reads
// hooks from every file of a folder: hookspan has a file there.
package copilot

import (
	"path/filepath"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/install"
	"github.com/hookspan/hookspan/internal/install/settings"
)

// Installer returns the installer for the GitHub Copilot CLI. Its events leave out
// permissionRequest, which comes for calls that need no permission, too.
func Installer() settings.Installer {
	facts := hook.AgentOf(hook.HostCopilot)
	return settings.Installer{Spec: &settings.Spec{
		Agent: facts, File: filepath.Join("hooks", "hookspan.json"), Members: []string{"version"},
		WindowsShell: settings.ShellPowerShell,
		Off: func(_ install.System, files []settings.File) []string {
			return settings.DisableAllHooks(facts.Name, files)
		},
		SwitchesFile: "settings.json",
		// No setting switches these off. Copilot reads them if root owns them, and skips a
		// file without a version or with groups of handlers.
		ManagedDir:     map[string]string{"linux": "/etc/github-copilot/policy.d", "windows": `C:\ProgramData\GitHub\Copilot\policy.d`},
		ManagedPattern: "*.json", ManagedHooks: "hookspan.json", ManagedEmpty: "{\n  \"version\": 1\n}\n", ManagedFlat: true,
		Events: settings.Events(
			"sessionStart", "userPromptSubmitted", "preToolUse", "postToolUse", "postToolUseFailure", "subagentStart", "subagentStop",
			"notification", "preCompact", "agentStop", "errorOccurred", "sessionEnd",
		),
	}}
}

// Command describes the command that installs the hooks, or with undo the one that removes
// them.
func Command(undo bool) install.Command {
	if undo {
		return install.Command{
			Short: "Take hookspan's hooks out of GitHub Copilot",
			Long: `Take out exactly what hookspan install copilot put in, and leave everything else. Traces
and settings stay.`,
			Flags: map[string]string{"force": ""}, // accepted as for other agents; edited entries go anyway
		}
	}
	return install.Command{
		Short: "Let the GitHub Copilot CLI report to hookspan",
		Long: `Write hookspan's hooks to a new file, ~/.copilot/hooks/hookspan.json; --dry-run
shows it. Your other hooks and settings stay as they are. hookspan uninstall
copilot removes the file.

Copilot denies a call if a hook of it fails. These hooks never fail, even if hookspan is
gone. VS Code's Local agent runs them, too, and is recorded (not run).`,
		Flags: map[string]string{"force": "rewrite hookspan entries that were edited"},
	}
}
