package install

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/hookspan/hookspan/internal/jsonedit"
)

// ClaudeManagedDir is the folder in which an organisation's settings for Claude
// Code stand on a system (Claude Code's settings reference).
func ClaudeManagedDir(goos string) string {
	switch goos {
	case "darwin":
		return "/Library/Application Support/ClaudeCode"
	case "windows":
		return `C:\Program Files\ClaudeCode`
	default:
		return "/etc/claude-code"
	}
}

// claudeSwitches are the settings that decide whether hooks run, and the
// environment that a settings file sets.
type claudeSwitches struct {
	DisableAllHooks       *bool
	AllowManagedHooksOnly *bool
	Env                   map[string]any
}

// readSwitches reads what it can; a file that cannot be read sets nothing.
func readSwitches(path string) claudeSwitches {
	var out claudeSwitches
	f, err := readSettings(path)
	if err != nil || !f.exists {
		return out
	}
	var raw map[string]json.RawMessage
	if json.Unmarshal(bytes.TrimPrefix(f.data, []byte(jsonedit.ByteOrderMark)), &raw) != nil {
		return out
	}
	// Each by itself: one of a wrong type must not hide the others.
	_ = json.Unmarshal(raw["disableAllHooks"], &out.DisableAllHooks)
	_ = json.Unmarshal(raw["allowManagedHooksOnly"], &out.AllowManagedHooksOnly)
	_ = json.Unmarshal(raw["env"], &out.Env)
	return out
}

// managedFiles lists an organisation's settings files.
func (s System) managedFiles() []string {
	if s.ClaudeManagedDir == "" {
		return nil
	}
	// The pattern is a fixed one.
	more, _ := filepath.Glob(filepath.Join(s.ClaudeManagedDir, "managed-settings.d", "*.json"))
	return append([]string{filepath.Join(s.ClaudeManagedDir, "managed-settings.json")}, more...)
}

// settingsOf lists the settings files that Claude Code reads in a project, or
// with no project the user's, those that win first.
func (s System) settingsOf(project string) []string {
	list := s.managedFiles()
	for _, scope := range []Scope{ScopeLocal, ScopeProject, ScopeUser} {
		if scope != ScopeUser && project == "" {
			continue
		}
		if f, err := s.claudeFile(scope, project); err == nil {
			list = append(list, f.path)
		}
	}
	return list
}

// claudeOff says why Claude Code runs no hooks of ours in a project, or, with no
// project, anywhere. It is empty where it runs them.
func (s System) claudeOff(project string) []string {
	var out []string
	for _, path := range s.managedFiles() {
		if only := readSwitches(path).AllowManagedHooksOnly; only != nil && *only {
			out = append(out, fmt.Sprintf("Claude Code runs no hooks but your organisation's (allowManagedHooksOnly in %q): nothing is recorded", path))
			break
		}
	}
	for _, path := range s.settingsOf(project) {
		off := readSwitches(path).DisableAllHooks
		if off == nil {
			continue
		}
		if *off {
			out = append(out, fmt.Sprintf("hooks are switched off in Claude Code's settings (disableAllHooks in %q): nothing is recorded", path))
		}
		break
	}
	return out
}

// telemetryVariable switches Claude Code's own telemetry on.
const telemetryVariable = "CLAUDE_CODE_ENABLE_TELEMETRY"

// claudeTelemetry says where Claude Code's own telemetry is switched on, or "".
func (s System) claudeTelemetry(project string) string {
	if truthy(s.getenv(telemetryVariable)) {
		return "the environment"
	}
	for _, path := range s.settingsOf(project) {
		if v, ok := readSwitches(path).Env[telemetryVariable]; ok {
			if truthy(fmt.Sprint(v)) {
				return fmt.Sprintf("%q", path)
			}
			return ""
		}
	}
	return ""
}

// claudeEndpoint says which settings file sets an OTLP endpoint, or "".
func (s System) claudeEndpoint(project string) string {
	for _, path := range s.settingsOf(project) {
		env := readSwitches(path).Env
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
