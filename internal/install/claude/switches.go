package claude

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hookspan/hookspan/internal/install"
	"github.com/hookspan/hookspan/internal/jsonedit"
)

// managedDir is the folder of an organisation's settings for Claude Code (Claude Code's settings reference).
func managedDir(goos string) string {
	switch goos {
	case "darwin":
		return "/Library/Application Support/ClaudeCode"
	case "windows":
		return `C:\Program Files\ClaudeCode`
	default:
		return "/etc/claude-code"
	}
}

// switches are the settings that decide whether hooks run, and the
// environment that a settings file sets.
type switches struct {
	DisableAllHooks       *bool
	AllowManagedHooksOnly *bool
	Env                   map[string]any
	// HooksConfig are the Gemini CLI's.
	HooksConfig struct {
		Enabled *bool
		// Disabled are names of hooks; a hook without one has its command.
		Disabled []string
	}
}

// readSwitches reads what it can; a file that cannot be read sets nothing.
func (p *product) readSwitches(path string) switches {
	var out switches
	f, err := readSettings(path)
	if err != nil || f.Missing() {
		return out
	}
	var raw map[string]json.RawMessage
	text := bytes.TrimPrefix(f.Data, []byte(jsonedit.ByteOrderMark))
	if p.comments {
		text = jsonedit.WithoutComments(text)
	}
	if json.Unmarshal(text, &raw) != nil {
		return out
	}
	// Each by itself: one of a wrong type must not hide the others.
	_ = json.Unmarshal(raw["disableAllHooks"], &out.DisableAllHooks)
	_ = json.Unmarshal(raw["allowManagedHooksOnly"], &out.AllowManagedHooksOnly)
	_ = json.Unmarshal(raw["env"], &out.Env)
	_ = json.Unmarshal(raw["hooksConfig"], &out.HooksConfig)
	return out
}

// managedFiles lists an organisation's settings files.
func (in Installer) managedFiles(sys install.System) []string {
	of := in.product()
	if of.managedDir == nil {
		return nil
	}
	dir := cmp.Or(in.ManagedDir, of.managedDir(sys.GOOS))
	more, _ := filepath.Glob(filepath.Join(dir, "managed-settings.d", "*.json")) // the pattern is valid
	return append([]string{filepath.Join(dir, of.managedName)}, more...)
}

// effective lists the settings files that Claude Code reads in a project, or
// without a project the user's, those of the highest precedence first.
func (in Installer) effective(sys install.System, project string) []string {
	list := in.managedFiles(sys)
	for _, scope := range slices.Backward(in.product().scopes) {
		if scope != install.ScopeUser && project == "" {
			continue
		}
		if f, err := in.product().settingsOf(sys, scope, project); err == nil {
			list = append(list, f.Path)
		}
	}
	return list
}

// hooksOff lists why Claude Code does not run hookspan's hooks in a project, or,
// without a project, anywhere.
func (in Installer) hooksOff(sys install.System, project string) []string {
	out := in.reasonsOff(sys, project)
	for i := range out {
		out[i] += ": nothing is recorded"
	}
	return out
}

// reasonsOff lists why Claude Code does not run the hooks of settings that are not an
// organisation's.
func (in Installer) reasonsOff(sys install.System, project string) []string {
	var out []string
	of := in.product()
	if of.switchOff != "" && truthy(sys.Env(of.switchOff)) {
		out = append(out, fmt.Sprintf("%s runs no hooks while %s is set in the environment", of.name, of.switchOff))
	}
	for _, path := range in.managedFiles(sys) {
		if only := in.product().readSwitches(path).AllowManagedHooksOnly; only != nil && *only {
			out = append(out, fmt.Sprintf("%s runs no hooks but your organisation's (allowManagedHooksOnly in %q)", of.name, path))
			break
		}
	}
	for _, path := range in.effective(sys, project) {
		c := in.product().readSwitches(path).HooksConfig
		if c.Enabled != nil && !*c.Enabled {
			out = append(out, fmt.Sprintf("hooks are switched off in %s's settings (hooksConfig.enabled in %q)", of.name, path))
		}
		if i := slices.IndexFunc(c.Disabled, func(s string) bool { return strings.Contains(s, hookProgram) }); i >= 0 {
			out = append(out, fmt.Sprintf("a hook of hookspan's is switched off in %s's settings (hooksConfig.disabled in %q): /hooks enable-all there switches it on", of.name, path))
		}
	}
	paths := in.effective(sys, project)
	if dir, err := of.ownDir(sys); err == nil && of.switches != "" {
		paths = append(paths, filepath.Join(dir, of.switches))
	}
	for _, path := range paths {
		off := in.product().readSwitches(path).DisableAllHooks
		if off == nil {
			continue
		}
		if *off {
			out = append(out, fmt.Sprintf("hooks are switched off in %s's settings (disableAllHooks in %q)", of.name, path))
		}
		break
	}
	return out
}

// telemetryVariable switches Claude Code's own telemetry on.
const telemetryVariable = "CLAUDE_CODE_ENABLE_TELEMETRY"

// telemetry says where Claude Code's own telemetry is switched on, or "".
func (in Installer) telemetry(sys install.System, project string) string {
	if in.of != nil {
		return ""
	}
	if truthy(sys.Env(telemetryVariable)) {
		return "the environment"
	}
	for _, path := range in.effective(sys, project) {
		if v, ok := in.product().readSwitches(path).Env[telemetryVariable]; ok {
			if truthy(fmt.Sprint(v)) {
				return fmt.Sprintf("%q", path)
			}
			return ""
		}
	}
	return ""
}

// endpoint says which settings file sets an OTLP endpoint, or "".
func (in Installer) endpoint(sys install.System, project string) string {
	if in.of != nil {
		return "" // what the environment has reaches the hooks
	}
	for _, path := range in.effective(sys, project) {
		env := in.product().readSwitches(path).Env
		for _, name := range []string{"OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"} {
			if v, ok := env[name]; ok && v != "" {
				return fmt.Sprintf("%q", path)
			}
		}
	}
	return ""
}

func truthy(s string) bool {
	switch strings.ToLower(strings.TrimSpace(s)) {
	case "1", "true", "yes", "on":
		return true
	}
	return false
}
