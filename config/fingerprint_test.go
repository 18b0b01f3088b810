package config

import (
	"regexp"
	"testing"
)

// TestFingerprintIsWhereARunGoes compares environments with one base.
func TestFingerprintIsWhereARunGoes(t *testing.T) {
	base := []string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:4318", "OTEL_SERVICE_NAME=s", "OTEL_EXPORTER_OTLP_HEADERS=Authorization=Bearer%20one,X-Tenant=a", "PATH=/bin"}
	with := func(more ...string) []string { return append(append([]string{}, more...), base...) } // of two, the first counts
	tests := []struct {
		name    string
		environ []string
		as      string // base, none, or other
	}{
		{"nothing", nil, "none"},
		{"other programs' variables", []string{"PATH=/bin", "HOME=/h", "XHOOKSPAN_A=1", "OTEL=1"}, "none"},
		{"how a process was started", []string{
			"HOOKSPAN_CHAIN=/x", "HOOKSPAN_HOOK_RUN=17", "HOOKSPAN_TRACEPARENT=" + parent, "HOOKSPAN_CAPTURE=none", "HOOKSPAN_REDACT_FILE=/r",
			"HOOKSPAN_SPOOL_SYNC=always", "HOOKSPAN_IDLE_TIMEOUT=1h", "OTEL_EXPORTER_OTLP_TIMEOUT=1", "OTEL_METRICS_EXPORTER=none", "HOOKSPAN_SOMETHING=1",
		}, "none"},
		{"an exporter for the project's program", []string{"OTEL_TRACES_EXPORTER=console", "OTEL_SPAN_EVENT_COUNT_LIMIT=1"}, "none"},
		{"no export of a program, and nowhere to export to", []string{"OTEL_TRACES_EXPORTER=none"}, "none"},
		{"no export", with("OTEL_TRACES_EXPORTER=none"), "other"},
		{"a key alone", []string{"OTEL_EXPORTER_OTLP_HEADERS=x-api-key=y"}, "other"},
		{"a secret of the agent", []string{"INFINIUM_AGENT_SECRET=s"}, "none"},
		{"what the env file has, too", []string{"OTEL_RESOURCE_ATTRIBUTES=a=b"}, "none"},
		{"the default address", []string{"INFINIUM_BASE_URL="}, "none"},
		{"base", base, "base"},
		{"in another order", []string{base[2], base[1], base[0]}, "base"},
		{"with how it was started", with("HOOKSPAN_CHAIN=/x", "HOOKSPAN_HOOK_RUN=1", "OTEL_X=", "PATH=/usr/bin", "HOOKSPAN_CAPTURE=none"), "base"},
		{"a key of another account", with("OTEL_EXPORTER_OTLP_HEADERS=authorization=Bearer%20two,x-tenant=a"), "other"},
		{"the address in the other variable", with("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://localhost:4318/v1/traces"), "base"},
		{"a user in the address", with("OTEL_EXPORTER_OTLP_ENDPOINT=http://u:p@localhost:4318"), "other"},
		{"a key in the address", with("OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:4318?key=k"), "other"},
		{"another endpoint", with("OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:4319"), "other"},
		{"an endpoint that is no URL", with("OTEL_EXPORTER_OTLP_ENDPOINT=here"), "other"},
		{"another tenant", with("OTEL_EXPORTER_OTLP_HEADERS=Authorization=Bearer%20one,X-Tenant=b"), "other"},
		{"another name", with("OTEL_SERVICE_NAME=t"), "other"},
		{"a file", with("HOOKSPAN_FILE_PATH=/f"), "other"},
		{"an agent of Infinium", with("INFINIUM_AGENT_ID=1"), "other"},
		{"one less", base[:1], "other"},
	}
	finger := func(environ []string) string {
		in := input("OTEL_RESOURCE_ATTRIBUTES=a=b\n", environ...)
		in.Salt = func(string) ([]byte, error) { return []byte("salt"), nil }
		c, _ := Load(in)
		return c.Fingerprint()
	}
	want := finger(base)
	if !regexp.MustCompile("^[0-9a-f]{16}$").MatchString(want) {
		t.Errorf("got %q, want 16 hex digits", want)
	}
	for _, tt := range tests {
		got := finger(tt.environ)
		is := "other"
		switch got {
		case "":
			is = "none"
		case want:
			is = "base"
		}
		if is != tt.as {
			t.Errorf("%s: got %q, which is %s; want %s", tt.name, got, is, tt.as)
		}
	}
}
