package claude

import (
	"encoding/json"
	"fmt"

	"github.com/hookspan/hookspan/internal/install"
	"github.com/hookspan/hookspan/internal/install/settings"
)

// environment returns the variables that a settings file sets.
func environment(f settings.File) (variables map[string]any) {
	_ = json.Unmarshal(f.Members["env"], &variables) // without them, none
	return variables
}

// telemetryVariable switches Claude Code's own telemetry on.
const telemetryVariable = "CLAUDE_CODE_ENABLE_TELEMETRY"

// telemetry says where Claude Code's own telemetry is switched on, or "".
func telemetry(sys install.System, files []settings.File) string {
	if settings.IsOn(sys.Env(telemetryVariable)) {
		return "the environment"
	}
	for _, f := range files {
		if v, ok := environment(f)[telemetryVariable]; ok {
			if settings.IsOn(fmt.Sprint(v)) {
				return fmt.Sprintf("%q", f.Path)
			}
			return ""
		}
	}
	return ""
}

// endpoint says which settings file sets an OTLP endpoint, or "".
func endpoint(files []settings.File) string {
	for _, f := range files {
		variables := environment(f)
		for _, variable := range []string{"OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"} {
			if v, ok := variables[variable]; ok && v != "" {
				return fmt.Sprintf("%q", f.Path)
			}
		}
	}
	return ""
}
