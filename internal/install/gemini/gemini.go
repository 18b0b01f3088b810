// Package gemini installs hookspan's hooks in the Gemini CLI's settings.
package gemini

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/hookspan/hookspan/internal/install"
	"github.com/hookspan/hookspan/internal/install/settings"
)

// Installer returns the installer for the Gemini CLI, which counts in milliseconds.
// Its events leave out the hooks of requests: each of their payloads has the whole
// conversation, and some come for every piece of an answer.
func Installer() settings.Installer {
	return settings.Installer{Agent: &settings.Spec{
		Name: "Gemini CLI", RecordName: "gemini", Folder: ".gemini", HomeVariable: "GEMINI_CLI_HOME", HomeIsParent: true,
		File: "settings.json", Comments: true, NoMark: true, Scopes: []string{install.ScopeUser, install.ScopeProject},
		ManagedDir:  map[string]string{"darwin": "/Library/Application Support/GeminiCli", "windows": `C:\ProgramData\gemini-cli`, "linux": "/etc/gemini-cli"},
		ManagedFile: "settings.json",
		Args:        []string{"gemini"}, Timeout: 10_000, WindowsShell: settings.ShellPowerShell, Off: off,
		Events: settings.Events("SessionStart", "BeforeAgent", "BeforeTool", "AfterTool", "Notification", "AfterAgent", "SessionEnd"),
	}}
}

// off returns why the Gemini CLI does not run hookspan's hooks. Each file counts.
func off(_ install.System, files []settings.File) (reasons []string) {
	for _, f := range files {
		var config struct {
			Enabled *bool
			// Disabled are names of hooks; a hook without one has its command.
			Disabled []string
		}
		_ = json.Unmarshal(f.Members["hooksConfig"], &config) // what it cannot read is not set
		if config.Enabled != nil && !*config.Enabled {
			reasons = append(reasons, fmt.Sprintf("hooks are switched off in Gemini CLI's settings (hooksConfig.enabled in %q)", f.Path))
		}
		if slices.ContainsFunc(config.Disabled, func(hook string) bool { return strings.Contains(hook, settings.Program) }) {
			reasons = append(reasons, fmt.Sprintf("a hook of hookspan's is switched off in Gemini CLI's settings (hooksConfig.disabled in %q; /hooks enable-all there switches it on)", f.Path))
		}
	}
	return reasons
}

// InstallCommand describes the command that installs the hooks.
func InstallCommand() install.Command {
	return install.Command{
		Short: "Let the Gemini CLI report to hookspan",
		Long: `Add hookspan's hooks to the Gemini CLI's settings; --dry-run shows the lines. Your own
hooks, all other settings, comments and the layout of the file stay as they are; the
file as it was is kept beside it. hookspan uninstall gemini takes the hooks out again,
to the byte. The Gemini CLI runs a project's hooks only in a folder that you trust.

  --scope user      ~/.gemini/settings.json, for all your projects (the default)
  --scope project   .gemini/settings.json in the project, which others may share`,
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
		Short: "Take hookspan's hooks out of the Gemini CLI's settings",
		Long: `Take out exactly what hookspan install gemini put in, from wherever it did, and leave
everything else. --scope and --project limit it. Traces and settings stay.`,
		Flags: map[string]string{
			"force":   "", // accepted as for other agents; edited entries go anyway
			"scope":   "only these settings: user or project",
			"project": "only this project's settings; for --scope project, this folder if not given",
		},
	}
}
