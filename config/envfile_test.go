package config

import (
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const filePath = "/home/u/.config/hookspan/hookspan.env"

func TestEnvFileProblems(t *testing.T) {
	tests := []struct {
		name, file string
		want       []string
		capture    string
	}{
		{"wrong line, the others count", "HOOKSPAN_CAPTURE\nHOOKSPAN_CAPTURE=none\n", []string{
			filePath + ": line 1: missing =: allowed NAME=value, a value with blanks or # in quotes",
		}, "none"},
		{"two wrong lines", "# c\nHOOKSPAN_CAPTURE=full\nA='x\n\n=1", []string{
			filePath + ": line 3: unmatched ': allowed NAME=value, a value with blanks or # in quotes",
			filePath + ": line 5: empty key: allowed NAME=value, a value with blanks or # in quotes",
		}, "full"},
		{"wrong value", "HOOKSPAN_CAPTURE=x\n", []string{
			`HOOKSPAN_CAPTURE: found "x" in ` + filePath + `: allowed preview, none, full`,
		}, "none"},
		{"misspelt name", "HOOKSPAN_CAPTUER=none\n", []string{
			`HOOKSPAN_CAPTUER: no such variable, did you mean HOOKSPAN_CAPTURE? (in ` + filePath + `)`,
		}, "none"},
		{"unknown name", "HOOKSPAN_COLOUR=none\n", []string{
			`HOOKSPAN_COLOUR: no such variable (in ` + filePath + `): allowed the variables that hookspan config --all lists`,
		}, "preview"},
		{"file that names a file", "HOOKSPAN_CONFIG_FILE=/x\nHOOKSPAN_CAPTURE=none", []string{
			`HOOKSPAN_CONFIG_FILE: has no effect here (in ` + filePath + `): allowed the process environment only`,
		}, "none"},
		{"others' names", "EDITOR=vi\nOTEL_BSP_MAX_QUEUE_SIZE=7\n", nil, "preview"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, err := Load(input(tt.file))
			var got []string
			for _, p := range Problems(err) {
				got = append(got, p.Error())
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("problems (-want +got):\n%s", d)
			}
			if c.Capture != tt.capture {
				t.Errorf("capture %q, want %q", c.Capture, tt.capture)
			}
		})
	}
}

// A line that cannot be read, or a name that does not exist, may have been the
// user's wish to keep texts private.
func TestUnreadableLineCountsAsTheStrictestValue(t *testing.T) {
	utf16le := func(s string) string {
		var out strings.Builder
		for _, b := range []byte(s) {
			out.WriteByte(b)
			out.WriteByte(0)
		}
		return out.String()
	}
	for _, line := range []string{
		"HOOKSPAN_CAPTURE: none", "set HOOKSPAN_CAPTURE=none", "export\tHOOKSPAN_CAPTURE=none", `HOOKSPAN_CAPTURE="none`, "HOOKSPAN_CAPTURE='none",
		"HOOKSPAN_CAPTUR=none", "HOOKSPAN_CATPURE=none", "hookspan_capture=none", "Hookspan_Captur=none", "HOOKSPAN CAPTURE=none", "HOOKSPAN-CAPTURE=none",
		"HOOKSPAN.CAPTURE=none", "$env:HOOKSPAN_CAPTURE = 'none'", `"HOOKSPAN_CAPTURE": "none"`, "- HOOKSPAN_CAPTURE=none", "HOOKSPAN_CAPTURE none",
		"HOOKSPAN_CAPTURE\u200B=none", "HOOKSPAN_CAPTURE=none\x01", "A=1\rHOOKSPAN_CAPTURE=none\rB=2", "HOOKSPAN_CAPTURE=none\r",
		"\xFF\xFE" + utf16le("HOOKSPAN_CAPTURE=none\r\n"), "HOOKSPAN_CAPTURE: none\nHOOKSPAN_CAPTURE=full", "HOOKSPAN_CAPTURE=full\nHOOKSPAN_CAPTUR=none",
		"HOOKSPAN_CAPTURE=" + strings.Repeat(" ", 1<<17) + "none",
	} {
		t.Run(shorten(line), func(t *testing.T) {
			c, _ := Load(input(line))
			if c.Capture != "none" {
				t.Errorf("capture %q, want none", c.Capture)
			}
			if c, _ = Load(input(line, "HOOKSPAN_CAPTURE=full")); c.Capture != "none" {
				t.Errorf("capture %q with full in the environment, want none", c.Capture)
			}
		})
	}
	for name, want := range map[string]func(*Config) bool{
		"HOOKSPAN_DISABLED: true":            func(c *Config) bool { return c.Off() },
		"HOOKSPAN_DISABLE=true":              func(c *Config) bool { return c.Off() },
		"HOOKSPAN_EXPORTERS: store":          func(c *Config) bool { return len(c.Exporters) == 1 && c.Exporters[0] == "store" },
		"HOOKSPAN_REDACT_FILE: /rules":       func(c *Config) bool { return c.Protected() != nil },
		"HOOKSPAN_REDACT_FIL=/rules":         func(c *Config) bool { return c.Protected() != nil },
		"CONNECTOR_MAX_INPUT_PREVIEW: 10":    func(c *Config) bool { return c.MaxInput == 1 },
		"HOOKSPAN_HOOKS_ON_ERROR: deny":      func(c *Config) bool { return c.HooksOnError == "deny" },
		"HOOKSPAN_REDACT: true":              func(c *Config) bool { return c.Redact },
		utf16le("HOOKSPAN_CAPTURE=none\n"):   func(c *Config) bool { return c.Capture == "none" },
		"EDITOR: vi":                         func(c *Config) bool { return c.Capture == "preview" && c.Protected() == nil },
		"# HOOKSPAN_CAPTURE=none":            func(c *Config) bool { return c.Capture == "preview" },
		"OTEL_EXPORTER_OTLP_ENDPOINT http:/": func(c *Config) bool { return c.Capture == "preview" },
	} {
		if c, _ := Load(input(name)); !want(c) {
			t.Errorf("%q: not the strictest value: %+v", name, c.Settings())
		}
	}
}

func TestConfigFileNamedByEnvironment(t *testing.T) {
	read := func(p string) ([]byte, error) {
		switch p {
		case "/etc/h.env", "/home/u/h.env":
			return []byte("HOOKSPAN_CAPTURE=full"), nil
		case "/denied":
			return nil, &fs.PathError{Op: "open", Path: p, Err: fs.ErrPermission}
		case "/broken":
			return nil, errors.New("broken")
		}
		return nil, fs.ErrNotExist
	}
	tests := []struct{ named, path, capture, problem string }{
		{"/etc/h.env", "/etc/h.env", "full", ""},
		{"~/h.env", "/home/u/h.env", "full", ""},
		{"", filePath, "preview", ""},
		{"/none", "/none", "preview", "/none: cannot be read: file does not exist: allowed a readable file of NAME=value lines"},
		{"/denied", "/denied", "preview", "/denied: cannot be read: permission denied: allowed a readable file of NAME=value lines"},
		{"/broken", "/broken", "preview", "/broken: cannot be read: broken: allowed a readable file of NAME=value lines"},
		{"h.env", filePath, "preview", `HOOKSPAN_CONFIG_FILE: found "h.env" in the environment: allowed an absolute path`},
	}
	for _, tt := range tests {
		t.Run(tt.named, func(t *testing.T) {
			c, err := Load(Input{Environ: []string{"HOOKSPAN_CONFIG_FILE=" + tt.named}, Home: "/home/u", GOOS: "linux", ReadFile: read})
			text := ""
			if err != nil {
				text = err.Error()
			}
			if d := cmp.Diff([]string{tt.path, tt.capture, tt.problem}, []string{c.ConfigFile, c.Capture, text}); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

func TestProjectDisabled(t *testing.T) {
	tests := []struct {
		name, file string
		want       bool
	}{
		{"no file", "", false},
		{"off", "HOOKSPAN_DISABLED=true\n", true},
		{"off in another form", "export HOOKSPAN_DISABLED = '1' # quiet", true},
		{"on", "HOOKSPAN_DISABLED=false\n", false},
		{"unknown value", "HOOKSPAN_DISABLED=maybe\n", true},
		{"a line that cannot be read", "HOOKSPAN_DISABLED: true\n", true},
		{"another line that cannot be read", "HOOKSPAN_CAPTURE: none\n", false},
		{"later line counts", "HOOKSPAN_DISABLED=true\nHOOKSPAN_DISABLED=false\n", false},
		{"wrong lines beside it", "\x00\x01\n=\nHOOKSPAN_DISABLED=true\n'", true},
		{"anything else", "HOOKSPAN_CAPTURE=none\nOTEL_SDK_DISABLED=true\nOTEL_EXPORTER_OTLP_ENDPOINT=https://evil.example\n", false},
		{"very long line beside it", strings.Repeat("x", 1<<17) + "\nHOOKSPAN_DISABLED=true\n", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			read := func(p string) ([]byte, error) {
				if p != "/home/u/p/.hookspan.env" || tt.file == "" {
					return nil, fs.ErrNotExist
				}
				return []byte(tt.file), nil
			}
			for _, dir := range []string{"/home/u/p", "/home/u/p/"} {
				if got := ProjectDisabled(read, dir); got != tt.want {
					t.Errorf("%s: got %t, want %t", dir, got, tt.want)
				}
			}
		})
	}
	if ProjectDisabled(nil, "/x") || ProjectDisabled(func(string) ([]byte, error) { return []byte("HOOKSPAN_DISABLED=1"), nil }, "") {
		t.Error("disabled without a reader or a folder")
	}
}
