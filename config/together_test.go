package config

import (
	"io/fs"
	"strings"
	"testing"
)

// TestManagedSettingsThatDecideTogether has each managed setting beside what a user could
// undo it with, in the env file and in the environment.
func TestManagedSettingsThatDecideTogether(t *testing.T) {
	strict := map[string]func(c *Config) bool{
		"HOOKSPAN_REDACT=false":               func(c *Config) bool { return c.Redact && len(c.RedactFiles()) > 1 },
		"HOOKSPAN_REDACT=0":                   func(c *Config) bool { return c.Redact },
		"HOOKSPAN_CAPTURE=full":               func(c *Config) bool { return c.Capture == "preview" },
		"HOOKSPAN_HOOKS=false":                func(c *Config) bool { return c.Hooks },
		"HOOKSPAN_HOOKS_ON_ERROR=allow":       func(c *Config) bool { return c.HooksOnError == "limits" },
		"CONNECTOR_MAX_INPUT_PREVIEW=100000":  func(c *Config) bool { return c.MaxInput == 0 },
		"CONNECTOR_MAX_OUTPUT_PREVIEW=100000": func(c *Config) bool { return c.MaxOutput == 0 },
		"NO_PROXY=*":                          func(c *Config) bool { return c.NoProxy == "" },
		"no_proxy=*":                          func(c *Config) bool { return c.NoProxy == "" },
		"HTTPS_PROXY=http://evil":             func(c *Config) bool { return c.HTTPSProxy == "" },
		"HTTP_PROXY=http://evil":              func(c *Config) bool { return c.HTTPProxy == "" },
		"HOOKSPAN_BUDGET_WARN=100":            func(c *Config) bool { _, warn := c.Budgets(); return warn == 80 },
	}
	for managed, users := range map[string][]string{
		"HOOKSPAN_REDACT_FILE=/etc/rules":   {"HOOKSPAN_REDACT=false", "HOOKSPAN_REDACT=0"},
		"CONNECTOR_MAX_INPUT_PREVIEW=50":    {"HOOKSPAN_CAPTURE=full"},
		"CONNECTOR_MAX_OUTPUT_PREVIEW=50":   {"HOOKSPAN_CAPTURE=full"},
		"HOOKSPAN_HOOKS_ON_ERROR=deny":      {"HOOKSPAN_HOOKS=false"},
		"HOOKSPAN_HOOKS_STRICT_EXIT=true":   {"HOOKSPAN_HOOKS=false", "HOOKSPAN_HOOKS_ON_ERROR=allow"},
		"HOOKSPAN_HOOKS_ASK=deny":           {"HOOKSPAN_HOOKS=false", "HOOKSPAN_HOOKS_ON_ERROR=allow"},
		"HOOKSPAN_HOOKS=true":               {"HOOKSPAN_HOOKS_ON_ERROR=allow"},
		"HOOKSPAN_OTLP_CAPTURE=preview":     {"CONNECTOR_MAX_INPUT_PREVIEW=100000", "CONNECTOR_MAX_OUTPUT_PREVIEW=100000"},
		"HOOKSPAN_INFINIUM_CAPTURE=preview": {"CONNECTOR_MAX_INPUT_PREVIEW=100000"},
		"HTTPS_PROXY=http://proxy:3128":     {"NO_PROXY=*", "no_proxy=*", "HTTP_PROXY=http://evil"},
		"HTTP_PROXY=http://proxy:3128":      {"NO_PROXY=*", "HTTPS_PROXY=http://evil"},
		"NO_PROXY=.example.com":             {"HTTPS_PROXY=http://evil", "HTTP_PROXY=http://evil"},
		"HOOKSPAN_BUDGET_DAY_USD=5":         {"HOOKSPAN_BUDGET_WARN=100"},
		"HOOKSPAN_BUDGET_PLAN_PERCENT=90":   {"HOOKSPAN_BUDGET_WARN=100"},
	} {
		for _, user := range users {
			for _, file := range []bool{false, true} {
				if file && strings.HasPrefix(user, "no_") {
					continue // the environment's alone
				}
				in := Input{Home: "/home/u", GOOS: "linux", MachineFile: machinePath}
				in.ReadMachine = func(string) ([]byte, error) { return []byte("HOOKSPAN_MANAGED=true\n" + managed + "\n"), nil }
				in.ReadFile = func(path string) ([]byte, error) {
					if file && strings.HasSuffix(path, "hookspan.env") {
						return []byte(user + "\n"), nil
					}
					return nil, fs.ErrNotExist
				}
				if !file {
					in.Environ = []string{user}
				}
				c, err := Load(in)
				name, _, _ := strings.Cut(strings.ToUpper(user), "=")
				if !strict[user](c) || err == nil || !strings.Contains(err.Error(), name) {
					t.Errorf("managed %s, the user's %s (file %t): %v", managed, user, file, err)
				}
			}
		}
	}
}
