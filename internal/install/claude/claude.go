// Package claude installs hookspan's hooks in Claude Code's settings. It also lists
// the files from which Claude Code takes hooks, plugins included, and finds out what
// Claude Code keeps from its hooks: its telemetry and an OTLP endpoint.
package claude

import (
	"cmp"
	"context"
	"fmt"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/install"
	"github.com/hookspan/hookspan/internal/install/settings"
)

// Installer implements install.Installer for Claude Code. The zero value is ready
// to use.
type Installer struct {
	// Version returns the version of Claude Code as "claude --version" prints it,
	// or "" where it is not known. If nil, the claude on PATH is asked.
	Version func(context.Context) (string, error)
	// ManagedDir is the folder of an organisation's settings for Claude Code. If
	// empty, it is the system's.
	ManagedDir string
}

// spec describes Claude Code (its settings reference and change log).
func (in Installer) spec() *settings.Spec {
	a := &settings.Spec{
		Agent: hook.AgentOf(hook.HostClaude), File: "settings.json", LocalFile: "settings.local.json",
		ManagedDir: map[string]string{
			"darwin": "/Library/Application Support/ClaudeCode", "windows": `C:\Program Files\ClaudeCode`, "linux": "/etc/claude-code",
		},
		ManagedFile: "managed-settings.json", ManagedPattern: "managed-settings.d/*.json", ManagedHooks: "managed-settings.d/50-hookspan.json",
		Note:   "VS Code's Local agent and Cursor run them, too, and are recorded (not run).",
		Events: events(), Version: askVersion, ExecSince: settings.Version{2, 1, 139}, Off: off,
	}
	if in.ManagedDir != "" {
		a.ManagedDir = map[string]string{"linux": in.ManagedDir}
	}
	if in.Version != nil {
		a.Version = in.Version
	}
	return a
}

// events lists what is installed. It leaves out WorktreeCreate, where any hook
// replaces git; PreModelSwitch, which a hook that times out blocks; MessageDisplay,
// which comes for every piece of streamed text; and PostToolBatch, which repeats
// PostToolUse. At SessionEnd the timeout also raises the 1.5 s that all hooks share
// there.
//
// The versions are those of Claude Code's change log. It does not name two of
// them: PostToolUseFailure is in descriptions of 2.1.1, UserPromptExpansion in the
// reference of 2.1.152 and in none before 2.1.114.
func events() []settings.Event {
	return []settings.Event{
		{Name: "SessionStart", Since: settings.Version{1, 0, 62}},
		{Name: "UserPromptSubmit", Since: settings.Version{1, 0, 54}},
		{Name: "UserPromptExpansion", Since: settings.Version{2, 1, 152}},
		{Name: "PreToolUse"},
		{Name: "PermissionRequest", Since: settings.Version{2, 0, 45}},
		{Name: "PermissionDenied", Since: settings.Version{2, 1, 89}},
		{Name: "PostToolUse"},
		{Name: "PostToolUseFailure", Since: settings.Version{2, 1, 1}},
		{Name: "SubagentStart", Since: settings.Version{2, 0, 43}},
		{Name: "SubagentStop", Since: settings.Version{1, 0, 41}},
		{Name: "Notification"},
		{Name: "PreCompact", Since: settings.Version{1, 0, 48}},
		{Name: "PostCompact", Since: settings.Version{2, 1, 76}},
		{Name: "PostModelSwitch", Since: settings.Version{2, 1, 251}},
		{Name: "Elicitation", Since: settings.Version{2, 1, 76}},
		{Name: "ElicitationResult", Since: settings.Version{2, 1, 76}},
		{Name: "TaskCreated", Since: settings.Version{2, 1, 84}},
		{Name: "TaskCompleted", Since: settings.Version{2, 1, 33}},
		{Name: "PreSkillShellCommand", Since: settings.Version{2, 1, 332}},
		{Name: "Stop"},
		{Name: "StopFailure", Since: settings.Version{2, 1, 78}},
		{Name: "SessionEnd", Since: settings.Version{1, 0, 85}},
	}
}

// off returns why Claude Code does not run the hooks of settings that are not an
// organisation's.
func off(_ install.System, files []settings.File) (reasons []string) {
	for _, f := range files {
		if only, _ := f.Bool("allowManagedHooksOnly"); only && f.Scope == install.ScopeManaged {
			reasons = append(reasons, fmt.Sprintf("Claude Code runs no hooks but your organisation's (allowManagedHooksOnly in %q)", f.Path))
			break
		}
	}
	return append(reasons, settings.DisableAllHooks(hook.AgentOf(hook.HostClaude).Name, files)...)
}

// Records reports whether a command starts claude-hook as an install writes it,
// so that it records Claude Code. Nil args mean a line for a shell.
func Records(command string, args []string) bool {
	// A newer hookspan may record events that this one does not know; all begin with a
	// capital letter.
	hookArgs, assigns, ok := settings.HookCommand(command, args)
	return ok && !assigns && (len(hookArgs) == 0 || len(hookArgs) == 1 && hookArgs[0] != "" && 'A' <= hookArgs[0][0] && hookArgs[0][0] <= 'Z')
}

// Plan implements install.Installer.
func (in Installer) Plan(ctx context.Context, sys install.System, o install.Options) (*install.Plan, error) {
	return settings.Installer{Spec: in.spec()}.Plan(ctx, sys, o)
}

// PlanUninstall implements install.Installer.
func (in Installer) PlanUninstall(ctx context.Context, sys install.System, o install.Options) (*install.Plan, error) {
	return settings.Installer{Spec: in.spec()}.PlanUninstall(ctx, sys, o)
}

// Status implements install.Installer.
func (in Installer) Status(ctx context.Context, sys install.System, o install.Options) (*install.Report, error) {
	r, err := settings.Installer{Spec: in.spec()}.Status(ctx, sys, o)
	if err != nil {
		return nil, err
	}
	for _, s := range r.Sites {
		if s.Present {
			files := in.spec().Files(sys, s.Project)
			r.Telemetry = cmp.Or(r.Telemetry, telemetry(sys, files))
			r.Endpoint = cmp.Or(r.Endpoint, endpoint(files))
		}
	}
	return r, nil
}

// Command describes the command that installs the hooks, or with undo the one that removes
// them.
func Command(undo bool) install.Command {
	return settings.Installer{Spec: Installer{}.spec()}.Command(undo)
}
