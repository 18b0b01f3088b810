// Package copilot installs hookspan's hooks for the GitHub Copilot CLI, which reads
// hooks from every file of a folder: hookspan has a file there.
package copilot

import (
	"path/filepath"

	"github.com/hookspan/hookspan/internal/install"
	"github.com/hookspan/hookspan/internal/install/settings"
)

const name = "GitHub Copilot"

// Installer returns the installer for the GitHub Copilot CLI. Its events leave out
// permissionRequest, which comes for calls that need no permission, too.
func Installer() settings.Installer {
	return settings.Installer{Agent: &settings.Agent{
		Name: name, RecordName: "copilot", Folder: ".copilot", HomeVariable: "COPILOT_HOME",
		File: filepath.Join("hooks", "hookspan.json"), Members: []string{"version"}, Scopes: []string{install.ScopeUser},
		Args: []string{"copilot"}, WindowsShell: settings.ShellPowerShell, FailureDenies: true,
		Off:          func(_ install.System, files []settings.File) []string { return settings.DisableAllHooks(name, files) },
		SwitchesFile: "settings.json",
		Events: settings.Events(
			"sessionStart", "userPromptSubmitted", "preToolUse", "postToolUse", "postToolUseFailure", "subagentStart", "subagentStop",
			"notification", "preCompact", "agentStop", "errorOccurred", "sessionEnd",
		),
	}}
}
