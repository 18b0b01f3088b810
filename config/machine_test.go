package config

import (
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const machinePath = "/etc/hookspan/hookspan.env"

// under is the input for a user with an env file on a machine with a machine-wide file.
func under(machine, own string, environ ...string) Input {
	in := world(own, "", environ...)
	in.MachineFile = machinePath
	in.ReadMachine = func(string) ([]byte, error) { return []byte(machine), nil }
	return in
}

// TestManagedFileHolds tries to loosen and redirect what a managed file sets, from the
// user's env file and from the environment.
func TestManagedFileHolds(t *testing.T) {
	const endpoint = "OTEL_EXPORTER_OTLP_ENDPOINT=https://company.example"
	otlp := func(c *Config) any { return c.OTLP().Endpoint }
	destinations := func(c *Config) any {
		c.InfiniumAgentSecret = "kept-in-keyring"
		return strings.Join(c.Destinations(), ",")
	}
	capture := func(c *Config) any { return c.Capture }
	attributes := func(c *Config) any { return c.ResourceAttributes() }
	tests := []struct {
		name, machine, other string
		get                  func(*Config) any
		want                 any
		refused              bool
	}{
		{"endpoint", endpoint, "OTEL_EXPORTER_OTLP_ENDPOINT=https://evil.example", otlp, "https://company.example/v1/traces", true},
		{"the same endpoint", endpoint, endpoint, otlp, "https://company.example/v1/traces", false},
		{"endpoint for traces", endpoint, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=https://evil.example/x", otlp, "https://company.example/v1/traces", true},
		{"a wrong endpoint of the machine", "OTEL_EXPORTER_OTLP_ENDPOINT=company", "OTEL_EXPORTER_OTLP_ENDPOINT=https://evil.example", otlp, "", true},
		{"headers", endpoint, "OTEL_EXPORTER_OTLP_HEADERS=api-key=mine", func(c *Config) any { return len(c.OTLP().Headers) }, 0, true},
		{"certificate", endpoint, "OTEL_EXPORTER_OTLP_CERTIFICATE=/tmp/ca.pem", func(c *Config) any { return c.OTLP().Certificate }, "", true},
		{"another destination", endpoint, "INFINIUM_AGENT_ID=mine", destinations, "store,otlp", true},
		{"a file", endpoint, "HOOKSPAN_FILE_PATH=/mnt/share/x", destinations, "store,otlp", true},
		{"fewer destinations", endpoint, "HOOKSPAN_EXPORTERS=store", destinations, "store", false},
		{"more destinations", endpoint + "\nHOOKSPAN_EXPORTERS=otlp", "HOOKSPAN_EXPORTERS=store,otlp", destinations, "otlp", true},
		{"no destination of the machine", "HOOKSPAN_CAPTURE=none", "OTEL_EXPORTER_OTLP_ENDPOINT=https://mine.example", otlp, "https://mine.example/v1/traces", false},
		{"cleartext", "OTEL_EXPORTER_OTLP_ENDPOINT=http://company.example\nOTEL_EXPORTER_OTLP_HEADERS=a=b", "HOOKSPAN_ALLOW_INSECURE=true", otlp, "", true},
		{"capture", "HOOKSPAN_CAPTURE=none", "HOOKSPAN_CAPTURE=full", capture, "none", true},
		{"less capture", "HOOKSPAN_CAPTURE=preview", "HOOKSPAN_CAPTURE=none", capture, "none", false},
		{"a wrong capture of the machine", "HOOKSPAN_CAPTURE=nothing", "HOOKSPAN_CAPTURE=full", capture, "none", true},
		{"a line that cannot be read", "HOOKSPAN_CAPTURE: none", "HOOKSPAN_CAPTURE=full", capture, "none", true},
		{"longer previews", "HOOKSPAN_CAPTURE=preview", "CONNECTOR_MAX_INPUT_PREVIEW=100000", func(c *Config) any { return c.MaxInput }, 0, true},
		{"redaction", "HOOKSPAN_REDACT=true", "HOOKSPAN_REDACT=false", func(c *Config) any { return c.Redact }, true, true},
		{"more rules", "HOOKSPAN_REDACT_FILE=/etc/hookspan/rules", "HOOKSPAN_REDACT_FILE=/mine", func(c *Config) any {
			for _, f := range c.RedactFiles() {
				if f.Path == "/etc/hookspan/rules" && f.Named {
					return "counts"
				}
			}
			return c.RedactFiles()
		}, "counts", false},
		{"an attribute", "OTEL_RESOURCE_ATTRIBUTES=team.id=a", "OTEL_RESOURCE_ATTRIBUTES=x=1,team.id=b", attributes, []Pair{{"x", "1"}, {"team.id", "a"}}, false},
		{"attributes that cannot be read", "OTEL_RESOURCE_ATTRIBUTES=team.id=a", "OTEL_RESOURCE_ATTRIBUTES=x", attributes, []Pair{{"team.id", "a"}}, true},
		{"service name among the attributes", "OTEL_RESOURCE_ATTRIBUTES=service.name=a", "OTEL_SERVICE_NAME=b", func(c *Config) any { return c.Service() }, "a", true},
		{"recording off", "HOOKSPAN_DISABLED=false", "HOOKSPAN_DISABLED=true", func(c *Config) any { return c.Off() }, true, false},
		{"recording on", "HOOKSPAN_DISABLED=true", "HOOKSPAN_DISABLED=false", func(c *Config) any { return c.Off() }, true, true},
		{"guards", "HOOKSPAN_HOOKS_ON_ERROR=deny", "HOOKSPAN_HOOKS_ON_ERROR=allow", func(c *Config) any { return c.HooksOnError }, "deny", true},
		{"proxy", "HTTPS_PROXY=http://proxy:1", "HTTPS_PROXY=http://mine:1", func(c *Config) any { return c.HTTPSProxy }, "http://proxy:1", true},
		{"what the machine does not set", "HOOKSPAN_CAPTURE=none", "HOOKSPAN_RETENTION=24h", func(c *Config) any { return c.Retention.String() }, "24h0m0s", false},
	}
	for _, tt := range tests {
		for side, in := range map[string]Input{
			"user":        under("HOOKSPAN_MANAGED=true\n"+tt.machine+"\n", tt.other+"\n"),
			"environment": under("HOOKSPAN_MANAGED=true\n"+tt.machine+"\n", "", tt.other),
			"wrong word":  under("HOOKSPAN_MANAGED=ture\n"+tt.machine+"\n", tt.other+"\n"),
			"no line":     under("HOOKSPAN_MANAGED: true\n"+tt.machine+"\n", tt.other+"\n"),
		} {
			t.Run(tt.name+", "+side, func(t *testing.T) {
				c, err := Load(in)
				if diff := cmp.Diff(tt.want, tt.get(c)); diff != "" {
					t.Errorf("(-want +got):\n%s\n%v", diff, err)
				}
				name, _, _ := strings.Cut(tt.other, "=")
				said := false
				for _, p := range Problems(err) {
					said = said || p.Variable == name && p.Source != machinePath
				}
				if said != tt.refused {
					t.Errorf("reported %v, want %v: %v", said, tt.refused, err)
				}
			})
		}
	}
}

// TestMachineFileIsTheLastSource has a file that is not managed.
func TestMachineFileIsTheLastSource(t *testing.T) {
	const machine = "OTEL_EXPORTER_OTLP_ENDPOINT=https://company.example\nHOOKSPAN_CAPTURE=none\nHOOKSPAN_RETENTION=24h\n"
	tests := []struct {
		name, own, environ string
		otlp, capture      string
		source             string // of the capture
	}{
		{"alone", "", "A=b", "https://company.example/v1/traces", "none", Machine},
		{"the user loosens", "HOOKSPAN_CAPTURE=full\nOTEL_EXPORTER_OTLP_ENDPOINT=https://mine.example\n", "A=b", "https://mine.example/v1/traces", "full", File},
		{"the environment cannot loosen", "", "HOOKSPAN_CAPTURE=full", "https://company.example/v1/traces", "none", Machine},
		{"the user's token goes to the company's address", "OTEL_EXPORTER_OTLP_HEADERS=a=b\n", "A=b", "https://company.example/v1/traces", "none", Machine},
		{"the environment's does not", "", "OTEL_EXPORTER_OTLP_HEADERS=a=b", "", "none", Machine},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, err := Load(under(machine, tt.own, tt.environ))
			if c.OTLP().Endpoint != tt.otlp || c.Capture != tt.capture || c.Source("HOOKSPAN_CAPTURE") != tt.source || c.Source("HOOKSPAN_RETENTION") != Machine {
				t.Errorf("otlp %q, capture %q from %s: %v", c.OTLP().Endpoint, c.Capture, c.Source("HOOKSPAN_CAPTURE"), err)
			}
		})
	}
	// The machine's token does not follow the user to another address.
	c, err := Load(under(machine+"OTEL_EXPORTER_OTLP_HEADERS=a=b\n", "OTEL_EXPORTER_OTLP_ENDPOINT=https://mine.example\n"))
	if c.OTLP().Endpoint != "" || err == nil || !strings.Contains(err.Error(), "may not get the credential in OTEL_EXPORTER_OTLP_HEADERS of "+machinePath) {
		t.Errorf("the machine's headers go to %q: %v", c.OTLP().Endpoint, err)
	}
}

type openFile struct{ error }

func (openFile) Untrusted() bool { return true }

// TestMachineFileThatDoesNotCount has files that others can change or nobody can read.
func TestMachineFileThatDoesNotCount(t *testing.T) {
	tests := map[string]struct {
		err       error
		says      string
		protected bool
	}{
		"missing":         {fs.ErrNotExist, "", false},
		"of other people": {openFile{errors.New("mode 0666")}, "counts for nothing: mode 0666", false},
		"cannot be read":  {fs.ErrPermission, "cannot be read", true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			in := under("", "")
			in.ReadMachine = func(string) ([]byte, error) { return []byte("HOOKSPAN_CAPTURE=full\n"), tt.err }
			c, err := Load(in)
			if got := (c.Protected() != nil); got != tt.protected || (err != nil) != (tt.says != "") || err != nil && !strings.Contains(err.Error(), tt.says) || c.Capture != "preview" || c.MachineFile != "" {
				t.Errorf("protected %v, capture %s: %v", got, c.Capture, err)
			}
		})
	}
}

// TestVariableOfFilesAlone says where two variables have no effect.
func TestVariableOfFilesAlone(t *testing.T) {
	const command = "HOOKSPAN_OTLP_HEADERS_COMMAND=/bin/token"
	for name, tt := range map[string]struct {
		in   Input
		want string
		says string
	}{
		"environment":         {under("", "", command), "", headersCommand + ": has no effect here"},
		"a named file":        {world("", command+"\n", "HOOKSPAN_CONFIG_FILE="+namedPath), "", headersCommand + ": has no effect here"},
		"the user's file":     {under("", command+"\n"), "/bin/token", ""},
		"the machine's":       {under(command+"\n", ""), "/bin/token", ""},
		"managed by the user": {under("", "HOOKSPAN_MANAGED=true\n"), "", managedName + ": has no effect here"},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := Load(tt.in)
			if c.HeadersCommand != tt.want || c.Managed || (err != nil) != (tt.says != "") || err != nil && !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%q, managed %v: %v", c.HeadersCommand, c.Managed, err)
			}
		})
	}
}
