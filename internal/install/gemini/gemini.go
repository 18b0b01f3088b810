// Package gemini installs hookspan's hooks in the Gemini CLI's settings.
package gemini

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/install"
	"github.com/hookspan/hookspan/internal/install/settings"
)

// Installer returns the installer for the Gemini CLI, which counts in milliseconds.
// Its events leave out the hooks of requests: each of their payloads has the whole
// conversation, and some come for every piece of an answer.
func Installer() settings.Installer {
	return settings.Installer{Spec: &settings.Spec{
		Agent: hook.AgentOf(hook.HostGemini), HomeIsParent: true, File: "settings.json", Comments: true, NoMark: true,
		ManagedDir:  map[string]string{"darwin": "/Library/Application Support/GeminiCli", "windows": `C:\ProgramData\gemini-cli`, "linux": "/etc/gemini-cli"},
		ManagedFile: "settings.json",
		Timeout:     10_000, WindowsShell: settings.ShellPowerShell, Off: off,
		Note:   "Gemini CLI runs a project's hooks only in a folder that you trust.",
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
		if slices.ContainsFunc(config.Disabled, func(name string) bool { return strings.Contains(name, hook.ProgramClaude) }) {
			reasons = append(reasons, fmt.Sprintf("a hook of hookspan's is switched off in Gemini CLI's settings (hooksConfig.disabled in %q; /hooks enable-all there switches it on)", f.Path))
		}
	}
	return reasons
}
