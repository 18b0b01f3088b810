// Package codex installs hookspan's hooks in Codex's hooks.json. Codex runs a hook
// only when the user trusts it: the package asks Codex whether that is so.
package codex

import (
	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/install/settings"
)

// Installer returns the installer for Codex, which waits a second for the last two
// events by itself and warns of more than three.
func Installer() settings.Installer {
	return settings.Installer{Spec: &settings.Spec{
		Agent: hook.AgentOf(hook.HostCodex), File: "hooks.json", Members: []string{"description"},
		NoMark: true, WindowsShell: settings.ShellCmd, Untrusted: untrusted,
		// Hooks in there need no trust.
		ManagedDir:  map[string]string{"linux": "/etc/codex", "windows": `C:\ProgramData\OpenAI\Codex`},
		ManagedFile: "requirements.toml", ManagedHooks: "requirements.toml",
		TrustHint: `start codex and choose "Trust all", or type /hooks there`,
		NoTrust:   "; in CI, where codex exec never asks, use the hooks of sudo hookspan install --managed, which need no trust",
		Events: append(settings.Events(
			"SessionStart", "UserPromptSubmit", "PreToolUse", "PermissionRequest", "PostToolUse", "PreCompact", "PostCompact",
			"SubagentStart", "SubagentStop", "Stop",
		), settings.Event{Name: "Interrupt", Timeout: 1}, settings.Event{Name: "SessionEnd", Timeout: 1}),
	}}
}
