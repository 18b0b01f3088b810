package config

import (
	"testing"
)

func TestTermsAreThoseOfTheEnvironment(t *testing.T) {
	tests := []struct {
		name    string
		environ []string
		want    string // but for the fingerprint
		rules   string
	}{
		{"nothing set", nil, "preview", ""},
		{"less captured", []string{"HOOKSPAN_CAPTURE=none"}, "none", ""},
		{"shorter previews", []string{"CONNECTOR_MAX_INPUT_PREVIEW=10", "CONNECTOR_MAX_OUTPUT_PREVIEW=20"}, "preview:10:20", ""},
		{"a shorter result", []string{"CONNECTOR_MAX_OUTPUT_PREVIEW=20"}, "preview::20", ""},
		{"redaction", []string{"HOOKSPAN_REDACT=true"}, "preview:::r", ""},
		{"rules", []string{"HOOKSPAN_REDACT_FILE=/project/rules"}, "preview", "/project/rules"},
		{"no texts to one destination", []string{"HOOKSPAN_OTLP_CAPTURE=none"}, "preview:::::n--", ""},
		{"less to two", []string{"HOOKSPAN_CAPTURE=full", "HOOKSPAN_INFINIUM_CAPTURE=none", "HOOKSPAN_FILE_CAPTURE=preview"}, "full:::::-np", ""},
		{"more than is captured", []string{"HOOKSPAN_OTLP_CAPTURE=full"}, "preview", ""},
		{"a wrong value", []string{"HOOKSPAN_FILE_CAPTURE=some"}, "preview:::::--n", ""},
		{"rules that no path names", []string{"HOOKSPAN_REDACT_FILE=rules"}, "preview::::-", ""},
	}
	for _, tt := range tests {
		c, _ := Load(input("CONNECTOR_MAX_INPUT_PREVIEW=100\nHOOKSPAN_REDACT_FILE=/own\n", tt.environ...))
		got, rules := c.Terms()
		if got.String() != tt.want+"/" || rules != tt.rules {
			t.Errorf("%s: %q, rules %q; want %q and %q", tt.name, got, rules, tt.want+"/", tt.rules)
		}
		if back, ok := ParseTerms(got.String()); !ok || back != got {
			t.Errorf("%s: read back as %+v, want %+v", tt.name, back, got)
		}
	}
	long := Terms{"preview", 1000000, 1000000, true, "0123456789abcdef", [len(Narrowed)]string{"none", "none", "none"}, "0123456789abcdef"}.String()
	if len(long) > 64 {
		t.Errorf("%q has %d bytes; a record's settings have at most 64", long, len(long))
	}
	if _, ok := ParseTerms("preview"); ok {
		t.Error("a text without a slash counts as terms")
	}
}
