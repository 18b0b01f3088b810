package config

import (
	"io/fs"
	"strings"
	"testing"
)

func TestProtected(t *testing.T) {
	const denied = "denied"
	tests := []struct {
		name    string
		environ []string
		files   map[string]string // denied: cannot be read
		problem string            // prefix
	}{
		{"nothing is set", nil, nil, ""},
		{"default files", nil, map[string]string{"/c/hookspan/hookspan.env": "HOOKSPAN_CAPTURE=none\n", "/c/hookspan/redact.rules": "a b\n"}, ""},
		{"the default env file is denied", nil, map[string]string{"/c/hookspan/hookspan.env": denied}, "/c/hookspan/hookspan.env: cannot be read: permission denied"},
		{"the default rules are denied", nil, map[string]string{"/c/hookspan/redact.rules": denied}, "/c/hookspan/redact.rules: cannot be read: permission denied"},
		{"an env file by name", []string{"HOOKSPAN_CONFIG_FILE=/e"}, map[string]string{"/e": "A=b\n"}, ""},
		{"a relative env file", []string{"HOOKSPAN_CONFIG_FILE=e"}, map[string]string{"e": "A=b\n"}, "HOOKSPAN_CONFIG_FILE: found \"e\""},
		{"an env file that is missing", []string{"HOOKSPAN_CONFIG_FILE=/e"}, nil, "/e: cannot be read: file does not exist"},
		{"an env file that is denied", []string{"HOOKSPAN_CONFIG_FILE=/e"}, map[string]string{"/e": denied}, "/e: cannot be read"},
		{"rules by name", []string{"HOOKSPAN_REDACT_FILE=/r"}, map[string]string{"/r": "a b\n"}, ""},
		{"relative rules", []string{"HOOKSPAN_REDACT_FILE=r"}, map[string]string{"r": "a b\n"}, "HOOKSPAN_REDACT_FILE: found \"r\""},
		{"relative rules, in the file", nil, map[string]string{"/c/hookspan/hookspan.env": "HOOKSPAN_REDACT_FILE=r\n"}, "HOOKSPAN_REDACT_FILE: found \"r\""},
		{"rules that are missing", []string{"HOOKSPAN_REDACT_FILE=/r"}, nil, "/r: cannot be read: file does not exist"},
		{"rules that are denied", []string{"HOOKSPAN_REDACT_FILE=/r"}, map[string]string{"/r": denied}, "/r: cannot be read: permission denied"},
		{"relative rules, and none wanted", []string{"HOOKSPAN_REDACT_FILE=r"}, map[string]string{"/c/hookspan/hookspan.env": "HOOKSPAN_REDACT=false\n"}, ""},
		{"relative rules, and the environment wants none", []string{"HOOKSPAN_REDACT_FILE=r", "HOOKSPAN_REDACT=false"}, nil, "HOOKSPAN_REDACT_FILE: found \"r\""},
		{"rules by name beside the default ones, which are denied", []string{"HOOKSPAN_REDACT_FILE=/r"}, map[string]string{"/r": "a b\n", "/c/hookspan/redact.rules": denied}, "/c/hookspan/redact.rules: cannot be read: permission denied"},
		{"rules by name beside those that the file names, which are missing", []string{"HOOKSPAN_REDACT_FILE=/r"}, map[string]string{"/r": "a b\n", "/c/hookspan/hookspan.env": "HOOKSPAN_REDACT_FILE=/own\n"}, "/own: cannot be read: file does not exist"},
		{"rules by name beside those that the file names wrongly", []string{"HOOKSPAN_REDACT_FILE=/r"}, map[string]string{"/r": "a b\n", "/c/hookspan/hookspan.env": "HOOKSPAN_REDACT_FILE=own\n"}, "HOOKSPAN_REDACT_FILE: found \"own\""},
		{"an env file by name beside the user's own, which is denied", []string{"HOOKSPAN_CONFIG_FILE=/e"}, map[string]string{"/e": "A=b\n", "/c/hookspan/hookspan.env": denied}, "/c/hookspan/hookspan.env: cannot be read: permission denied"},
		{"other wrong values", []string{"HOOKSPAN_CAPTURE=x", "HOOKSPAN_EXPORTERS=x"}, nil, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, _ := Load(Input{
				Environ: append([]string{"XDG_CONFIG_HOME=/c"}, tt.environ...), Home: "/home/u", GOOS: "linux",
				ReadFile: func(p string) ([]byte, error) {
					text, ok := tt.files[p]
					switch {
					case !ok:
						return nil, &fs.PathError{Op: "open", Path: p, Err: fs.ErrNotExist}
					case text == denied:
						return nil, &fs.PathError{Op: "open", Path: p, Err: fs.ErrPermission}
					}
					return []byte(text), nil
				},
			})
			err := c.Protected()
			if tt.problem == "" && err != nil {
				t.Errorf("error %v, want none", err)
			}
			if tt.problem != "" && (err == nil || !strings.HasPrefix(err.Error(), tt.problem)) {
				t.Errorf("error %v, want %s", err, tt.problem)
			}
		})
	}
}

func TestProtectedWithoutFileReader(t *testing.T) {
	if c := load(t, Input{Home: "/home/u", GOOS: "linux"}); c.Protected() != nil {
		t.Errorf("error %v", c.Protected())
	}
}
