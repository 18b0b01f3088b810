package claude

import (
	"strings"
	"testing"
)

func TestTelemetry(t *testing.T) {
	tests := map[string]struct {
		env, settings, want string
	}{
		"off":                {"", `{}`, ""},
		"in the environment": {"1", `{}`, "the environment"},
		"in the settings":    {"", `{"env":{"CLAUDE_CODE_ENABLE_TELEMETRY":"true"}}`, "settings.json"},
		"a number":           {"", `{"env":{"CLAUDE_CODE_ENABLE_TELEMETRY":1}}`, "settings.json"},
		"switched off":       {"0", `{"env":{"CLAUDE_CODE_ENABLE_TELEMETRY":"0"}}`, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			m.variables["CLAUDE_CODE_ENABLE_TELEMETRY"] = tt.env
			m.write(".claude/settings.json", tt.settings)
			m.install()
			if got := m.status().Telemetry; !strings.Contains(got, tt.want) || got != "" && tt.want == "" {
				t.Errorf("telemetry in %q, want %q", got, tt.want)
			}
		})
	}
}

func TestEndpoint(t *testing.T) {
	tests := map[string]struct{ settings, want string }{
		"none":           {`{"env":{"OTEL_EXPORTER_OTLP_ENDPOINT":""}}`, ""},
		"in general":     {`{"env":{"OTEL_EXPORTER_OTLP_ENDPOINT":"http://localhost:4318"}}`, "settings.json"},
		"for the traces": {`{"env":{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT":"http://localhost:4318/v1/traces"}}`, "settings.json"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			m.write(".claude/settings.json", tt.settings)
			m.install()
			if got := m.status().Endpoint; !strings.Contains(got, tt.want) || got != "" && tt.want == "" {
				t.Errorf("endpoint in %q, want %q", got, tt.want)
			}
		})
	}
}
