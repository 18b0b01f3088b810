package config

import (
	"regexp"
	"testing"
)

func TestFingerprint(t *testing.T) {
	base := []string{"HOOKSPAN_CAPTURE=none", "OTEL_SERVICE_NAME=s", "PATH=/bin"}
	tests := []struct {
		name    string
		environ []string
		as      string // base, none, or other
	}{
		{"nothing", nil, "none"},
		{"other programs' variables", []string{"PATH=/bin", "HOME=/h", "XHOOKSPAN_A=1", "OTEL=1"}, "none"},
		{"what does not count", []string{"HOOKSPAN_CHAIN=/x", "HOOKSPAN_TRACEPARENT=" + parent, "HOOKSPAN_CAPTURE="}, "none"},
		{"base", base, "base"},
		{"in another order", []string{"OTEL_SERVICE_NAME=s", "HOOKSPAN_CAPTURE=none"}, "base"},
		{"with what does not count", append([]string{"HOOKSPAN_CHAIN=/x", "OTEL_X=", "PATH=/usr/bin"}, base...), "base"},
		{"second entry of a name", append(base[:3:3], "HOOKSPAN_CAPTURE=full"), "base"},
		{"another value", []string{"HOOKSPAN_CAPTURE=full", "OTEL_SERVICE_NAME=s"}, "other"},
		{"one more", append(base[:3:3], "CONNECTOR_MAX_INPUT_PREVIEW=1"), "other"},
		{"one more of Infinium", append(base[:3:3], "INFINIUM_AGENT_ID=1"), "other"},
		{"one less", base[:1], "other"},
		{"two in one", []string{"HOOKSPAN_CAPTURE=noneOTEL_SERVICE_NAME=s"}, "other"},
	}
	finger := func(environ []string) string {
		c, _ := Load(input("OTEL_RESOURCE_ATTRIBUTES=a=b\n", environ...))
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
