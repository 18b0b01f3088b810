// Package codex installs hookspan's hooks in Codex's hooks.json. Codex runs a hook
// only when the user trusts it: the package asks Codex whether that is so.
package codex

import (
	"github.com/hookspan/hookspan/internal/install"
	"github.com/hookspan/hookspan/internal/install/settings"
)

// Installer returns the installer for Codex, which waits a second for the last two
// events by itself and warns of more than three.
func Installer() settings.Installer {
	return settings.Installer{Agent: &settings.Spec{
		Name: "Codex", RecordName: "codex", Folder: ".codex", HomeVariable: "CODEX_HOME",
		File: "hooks.json", Members: []string{"description"}, Scopes: []string{install.ScopeUser, install.ScopeProject},
		Args: []string{"codex"}, NoMark: true, WindowsShell: settings.ShellCmd, Untrusted: untrusted,
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

// InstallCommand describes the command that installs the hooks.
func InstallCommand() install.Command {
	return install.Command{
		Short: "Let Codex report to hookspan",
		Long: `Add hookspan's hooks to Codex's hooks.json, at the end of each list; --dry-run shows
the lines. Your own hooks and the layout of the file stay as they are; the file as it was
is kept beside it. hookspan uninstall codex takes the hooks out again, to the byte.

Codex runs a hook only when you trust it: start codex after the install and choose
"Trust all", or type /hooks there. hookspan doctor says whether you have. codex exec never
asks: in CI, hooks of sudo hookspan install --managed need no trust.

  --scope user      ~/.codex/hooks.json, for all your projects (the default)
  --scope project   .codex/hooks.json in the project, which others may share`,
		Flags: map[string]string{
			"force":   "rewrite hookspan entries that were edited",
			"scope":   "whose hooks.json: user or project",
			"project": "the project's folder, for --scope project, which it implies; this folder if not given",
		},
	}
}

// UninstallCommand describes the command that removes the hooks.
func UninstallCommand() install.Command {
	return install.Command{
		Short: "Take hookspan's hooks out of Codex's hooks.json",
		Long: `Take out exactly what hookspan install codex put in, from wherever it did, and leave
everything else. --scope and --project limit it. Traces and settings stay.`,
		Flags: map[string]string{
			"force":   "", // accepted as for other agents; edited entries go anyway
			"scope":   "only this hooks.json: user or project",
			"project": "only this project's hooks.json; for --scope project, this folder if not given",
		},
	}
}
