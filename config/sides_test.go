package config

import (
	"cmp"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

const (
	ownPath   = "/home/u/.config/hookspan/hookspan.env"
	namedPath = "/p/other.env"
)

// world is the input for a user with the env file own. The file named is at
// namedPath, where HOOKSPAN_CONFIG_FILE may point.
func world(own, named string, environ ...string) Input {
	return Input{
		Environ: environ, Home: "/home/u", GOOS: "linux",
		ReadFile: func(p string) ([]byte, error) {
			if text := map[string]string{ownPath: own, namedPath: named}[p]; text != "" {
				return []byte(text), nil
			}
			return nil, &fs.PathError{Op: "open", Path: p, Err: fs.ErrNotExist}
		},
	}
}

// lines is an env file's text.
func lines(vars ...string) string { return strings.Join(vars, "\n") + "\n" }

func TestCredentialGoesOnlyToAddressFromSameSource(t *testing.T) {
	const (
		endpoint  = "OTEL_EXPORTER_OTLP_ENDPOINT=https://mine.example"
		elsewhere = "OTEL_EXPORTER_OTLP_ENDPOINT=https://evil.example"
		traces    = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=https://mine.example/v1/traces"
		evil      = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=https://evil.example/v1/traces"
		headers   = "OTEL_EXPORTER_OTLP_HEADERS=api-key=k"
		key       = "OTEL_EXPORTER_OTLP_CLIENT_KEY=/k.pem"
		ca        = "OTEL_EXPORTER_OTLP_CERTIFICATE=/ca.pem"
		id        = "INFINIUM_AGENT_ID=a-1"
		secret    = "INFINIUM_AGENT_SECRET=s3cret-s3cret"
		base      = "INFINIUM_BASE_URL=https://mine.example/api"
		evilBase  = "INFINIUM_BASE_URL=https://evil.example/api"
	)
	tests := []struct {
		name      string
		own, envs []string
		on        string   // destinations beside the store
		says      []string // what the only problem says; none without
	}{
		{"OTLP: all in the file", []string{endpoint, headers, key, ca}, nil, "otlp", nil},
		{"OTLP: all in the environment", nil, []string{endpoint, headers, key, ca}, "otlp", nil},
		{"OTLP: the environment has its own of both", []string{endpoint, headers}, []string{elsewhere, headers}, "otlp", nil},
		{"OTLP: an address alone from the environment", nil, []string{elsewhere}, "otlp", nil},
		{"OTLP: an address of the environment over the file's, no credential", []string{endpoint}, []string{elsewhere}, "otlp", nil},
		{"OTLP: the environment sends the file's headers elsewhere", []string{endpoint, headers}, []string{elsewhere}, "", []string{
			"OTEL_EXPORTER_OTLP_ENDPOINT: may not get the credential in OTEL_EXPORTER_OTLP_HEADERS of " + ownPath + ", so otlp is off (in the environment)",
			": allowed address and credential from one place, both in the env file or both in the environment",
		}},
		{"OTLP: the same by the variable for traces", []string{endpoint, headers}, []string{evil}, "", []string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: may not get"}},
		{"OTLP: the same where the file has headers for traces", []string{endpoint, "OTEL_EXPORTER_OTLP_TRACES_HEADERS=api-key=k"}, []string{elsewhere}, "", []string{"in OTEL_EXPORTER_OTLP_TRACES_HEADERS of " + ownPath}},
		{"OTLP: the same where the file has no address", []string{headers}, []string{elsewhere}, "", []string{"may not get the credential"}},
		{"OTLP: a client key of the file", []string{endpoint, key}, []string{elsewhere}, "", []string{"in OTEL_EXPORTER_OTLP_CLIENT_KEY of"}},
		{"OTLP: headers of the environment do not make the file's key go elsewhere", []string{endpoint, key}, []string{elsewhere, headers}, "", []string{"in OTEL_EXPORTER_OTLP_CLIENT_KEY of"}},
		{"OTLP: headers of the environment to the file's address", []string{endpoint}, []string{headers}, "", []string{
			"OTEL_EXPORTER_OTLP_HEADERS: may not go to the address in OTEL_EXPORTER_OTLP_ENDPOINT of " + ownPath + ", so otlp is off (in the environment)",
		}},
		{"OTLP: the file's address for traces outweighs one of the environment", []string{traces, headers}, []string{elsewhere}, "otlp", nil},
		{"OTLP: both name the same address", []string{endpoint, headers}, []string{endpoint}, "otlp", nil},
		{"OTLP: both name it in different variables", []string{endpoint, headers}, []string{traces}, "otlp", nil},
		{"OTLP: both name it, the headers are the environment's", []string{endpoint}, []string{endpoint, headers}, "otlp", nil},
		{"OTLP: the default address, asked for by the environment", []string{headers}, []string{"HOOKSPAN_EXPORTERS=store,otlp"}, "otlp", nil},
		{"OTLP: the credential in the address itself", []string{"OTEL_EXPORTER_OTLP_ENDPOINT=https://u:p@mine.example"}, []string{elsewhere}, "otlp", nil},
		{"OTLP: other certificates to check the file's address by", []string{endpoint, headers}, []string{ca}, "", []string{"OTEL_EXPORTER_OTLP_CERTIFICATE: may not decide which server gets the credential in OTEL_EXPORTER_OTLP_HEADERS"}},
		{"OTLP: the file's certificates for an address of the environment", []string{ca}, []string{elsewhere, headers}, "otlp", nil},
		{"OTLP: not wanted, so no problem", []string{endpoint, headers, "HOOKSPAN_EXPORTERS=store"}, []string{elsewhere}, "", nil},

		{"Infinium: all in the file", []string{id, secret, base}, nil, "infinium", nil},
		{"Infinium: all in the environment", nil, []string{id, secret, base}, "infinium", nil},
		{"Infinium: the default address, the environment's secret", []string{id}, []string{secret}, "infinium", nil},
		{"Infinium: the default address, the environment's id", []string{secret}, []string{id}, "infinium", nil},
		{"Infinium: the environment sends the file's secret elsewhere", []string{id, secret}, []string{evilBase}, "", []string{
			"INFINIUM_BASE_URL: may not get the credential in INFINIUM_AGENT_SECRET of " + ownPath + ", so infinium is off (in the environment)",
		}},
		{"Infinium: the environment sends the keyring's secret elsewhere", []string{id}, []string{evilBase}, "", []string{"in INFINIUM_AGENT_SECRET of the system's keyring"}},
		{"Infinium: with its own id, too", nil, []string{id, evilBase}, "", []string{"of the system's keyring"}},
		{"Infinium: the environment goes back to the default address", []string{id, secret, base}, []string{"INFINIUM_BASE_URL=https://platform.i42m.ai/api/v1"}, "", []string{"may not get the credential"}},
		{"Infinium: the environment names the default address", []string{id, secret}, []string{"INFINIUM_BASE_URL=https://platform.i42m.ai/api/v1/"}, "infinium", nil},
		{"Infinium: the environment's secret to the file's address", []string{id, base}, []string{secret}, "", []string{"INFINIUM_AGENT_SECRET: may not go to the address in INFINIUM_BASE_URL of " + ownPath}},
		{"Infinium: both name the same address", []string{id, secret, base}, []string{base}, "infinium", nil},
		{"Infinium: no agent, so no problem", nil, []string{evilBase}, "", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, err := Load(world(lines(tt.own...), "", tt.envs...))
			if c.InfiniumAgentSecret == "" {
				c.InfiniumAgentSecret = "from-the-keyring"
			}
			want := strings.Fields("store " + tt.on)
			if got := c.Destinations(); !slices.Equal(got, want) {
				t.Errorf("destinations %v, want %v", got, want)
			}
			problems := Problems(err)
			if len(problems) > 1 || (len(problems) == 1) != (len(tt.says) > 0) {
				t.Fatalf("problems %v, want to read %q", err, tt.says)
			}
			for _, s := range tt.says {
				if !strings.Contains(problems[0].Error(), s) {
					t.Errorf("got  %s\nwant %s", problems[0], s)
				}
			}
			for _, name := range []string{ExporterOTLP, ExporterInfinium} {
				if refused := c.Refused(name) != nil; refused && slices.Contains(c.Destinations(), name) {
					t.Errorf("%s is refused and on", name)
				}
			}
		})
	}
}

func TestCleartextIsAllowedOnlyByTheCredentialsSource(t *testing.T) {
	const (
		endpoint = "OTEL_EXPORTER_OTLP_ENDPOINT=http://c.example:4318"
		headers  = "OTEL_EXPORTER_OTLP_HEADERS=api-key=k"
		query    = "OTEL_EXPORTER_OTLP_ENDPOINT=http://c.example:4318?key=k"
		allow    = "HOOKSPAN_ALLOW_INSECURE=true"
		forbid   = "HOOKSPAN_ALLOW_INSECURE=false"
		id       = "INFINIUM_AGENT_ID=a-1"
		secret   = "INFINIUM_AGENT_SECRET=s3cret-s3cret"
		base     = "INFINIUM_BASE_URL=http://c.example/api"
	)
	tests := []struct {
		name      string
		own, envs []string
		otlp      bool // credentials may go in cleartext
		infinium  bool
	}{
		{"the file allows what is in the file", []string{endpoint, headers, id, secret, base, allow}, nil, true, true},
		{"the environment allows what is in the environment", nil, []string{endpoint, headers, id, secret, base, allow}, true, true},
		{"the environment does not allow what is in the file", []string{endpoint, headers, id, secret, base}, []string{allow}, false, false},
		{"the environment does not allow a query in the file's address", []string{query}, []string{allow}, false, false},
		{"the file allows what is in the environment", []string{allow}, []string{endpoint, headers, id, secret, base}, true, true},
		{"the environment forbids what the file allows", []string{endpoint, headers, id, secret, base, allow}, []string{forbid}, false, false},
		{"both allow it", []string{endpoint, headers, id, secret, base, allow}, []string{allow}, true, true},
		{"not allowed", []string{endpoint, headers, id, secret, base}, nil, false, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, _ := Load(world(lines(tt.own...), "", tt.envs...))
			if got := c.OTLP().AllowInsecure; got != tt.otlp {
				t.Errorf("otlp: allowed %t, want %t", got, tt.otlp)
			}
			if got := c.InfiniumInsecure(); got != tt.infinium {
				t.Errorf("infinium: allowed %t, want %t", got, tt.infinium)
			}
			if got := slices.Contains(c.Destinations(), ExporterInfinium); c.InfiniumAgentID != "" && got != tt.infinium {
				t.Errorf("infinium is on: %t, want %t", got, tt.infinium)
			}
		})
	}
}

func TestEnvironmentMayTightenButNotLoosen(t *testing.T) {
	const another = "HOOKSPAN_CONFIG_FILE=" + namedPath
	capture := func(c *Config) any { return c.Capture }
	redact := func(c *Config) any { return c.Redact }
	input := func(c *Config) any { return c.MaxInput }
	tests := []struct {
		name       string
		own, named []string
		envs       []string
		get        func(*Config) any
		want       any
		problems   int
		says       string
	}{
		{"capture: tighter", lns("HOOKSPAN_CAPTURE=full"), nil, lns("HOOKSPAN_CAPTURE=preview"), capture, "preview", 0, ""},
		{"capture: none", lns("HOOKSPAN_CAPTURE=preview"), nil, lns("HOOKSPAN_CAPTURE=none"), capture, "none", 0, ""},
		{"capture: full over none", lns("HOOKSPAN_CAPTURE=none"), nil, lns("HOOKSPAN_CAPTURE=full"), capture, "none", 1, `HOOKSPAN_CAPTURE: "full" keeps more of the texts than "none" in ` + ownPath + ", which stays in force (in the environment): allowed the same or less; more can be set in the env file alone"},
		{"capture: preview over none", lns("HOOKSPAN_CAPTURE=none"), nil, lns("HOOKSPAN_CAPTURE=preview"), capture, "none", 1, ""},
		{"capture: full over preview", lns("HOOKSPAN_CAPTURE=preview"), nil, lns("HOOKSPAN_CAPTURE=FULL"), capture, "preview", 1, ""},
		{"capture: the file says nothing", nil, nil, lns("HOOKSPAN_CAPTURE=full"), capture, "full", 0, ""},
		{"capture: the file is wrong, which counts as none", lns("HOOKSPAN_CAPTURE=x"), nil, lns("HOOKSPAN_CAPTURE=full"), capture, "none", 2, ""},
		{"redact: switched off by the environment", nil, nil, lns("HOOKSPAN_REDACT=off"), redact, true, 1, `HOOKSPAN_REDACT: "off" counts in the env file alone, so secrets are still removed (in the environment): allowed true`},
		{"redact: the file says so, too", lns("HOOKSPAN_REDACT=true"), nil, lns("HOOKSPAN_REDACT=false"), redact, true, 1, ""},
		{"redact: switched off by the file", lns("HOOKSPAN_REDACT=false"), nil, nil, redact, false, 0, ""},
		{"redact: switched off by both", lns("HOOKSPAN_REDACT=no"), nil, lns("HOOKSPAN_REDACT=false"), redact, false, 0, ""},
		{"redact: switched on by the environment", lns("HOOKSPAN_REDACT=false"), nil, lns("HOOKSPAN_REDACT=true"), redact, true, 0, ""},
		{"previews: longer than the file's", lns("CONNECTOR_MAX_INPUT_PREVIEW=50"), nil, lns("CONNECTOR_MAX_INPUT_PREVIEW=1000000"), input, 50, 1, ""},
		{"previews: as the host has them, longer than the file's", lns("CONNECTOR_MAX_INPUT_PREVIEW=50"), nil, lns("CONNECTOR_MAX_INPUT_PREVIEW=0"), input, 50, 1, ""},
		{"previews: shorter", lns("CONNECTOR_MAX_INPUT_PREVIEW=50"), nil, lns("CONNECTOR_MAX_INPUT_PREVIEW=20"), input, 20, 0, ""},
		{"previews: long ones where the file asks for previews", lns("HOOKSPAN_CAPTURE=preview"), nil, lns("CONNECTOR_MAX_INPUT_PREVIEW=1000000"), input, 0, 1, ""},
		{"previews: the file says nothing", nil, nil, lns("CONNECTOR_MAX_INPUT_PREVIEW=1000000"), input, 1000000, 0, ""},
		{"another file: capture", lns("HOOKSPAN_CAPTURE=none"), lns("HOOKSPAN_CAPTURE=full"), lns(another), capture, "none", 1, `HOOKSPAN_CAPTURE: "full" keeps more of the texts than "none" in ` + ownPath + ", which stays in force (in " + namedPath + ")"},
		{"another file without the variable", lns("HOOKSPAN_CAPTURE=none"), lns("A=b"), lns(another), capture, "none", 0, ""},
		{"another file: redact", nil, lns("HOOKSPAN_REDACT=false"), lns(another), redact, true, 1, ""},
		{"another file: the environment over it", nil, lns("HOOKSPAN_CAPTURE=none"), lns(another, "HOOKSPAN_CAPTURE=full"), capture, "full", 0, ""},
		{"the user's own file, by name", lns("HOOKSPAN_REDACT=false"), nil, lns("HOOKSPAN_CONFIG_FILE=" + ownPath), redact, false, 0, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, err := Load(world(lines(tt.own...), lines(tt.named...), tt.envs...))
			if got := tt.get(c); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
			if got := Problems(err); len(got) != tt.problems || !strings.Contains(errText(err), tt.says) {
				t.Errorf("%d problems, want %d with %q: %v", len(got), tt.problems, tt.says, err)
			}
		})
	}
}

func lns(s ...string) []string { return s }

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestNamedEnvFileDoesNotGetKeyringSecret(t *testing.T) {
	own := lines("INFINIUM_AGENT_ID=a-1", "INFINIUM_BASE_URL=https://mine.example/api")
	for named, on := range map[string]bool{
		lines("INFINIUM_AGENT_ID=a-1", "INFINIUM_BASE_URL=https://evil.example/api"): false,
		lines("INFINIUM_AGENT_ID=a-1", "INFINIUM_BASE_URL=https://mine.example/api"): false, // the named file counts, not the user's own
		lines("INFINIUM_AGENT_ID=a-1"): true,
		lines("INFINIUM_AGENT_ID=a-1", "INFINIUM_BASE_URL=https://its.example/api", "INFINIUM_AGENT_SECRET=its-own-secret"): true,
	} {
		c, err := Load(world(own, named, "HOOKSPAN_CONFIG_FILE="+namedPath))
		if c.InfiniumAgentSecret == "" {
			c.InfiniumAgentSecret = "from-the-keyring"
		}
		if got := slices.Contains(c.Destinations(), ExporterInfinium); got != on || (err == nil) != on {
			t.Errorf("%s: on %t, want %t; %v", named, got, on, err)
		}
	}
}

func TestRedactFilesAddsFileOfEnvironment(t *testing.T) {
	const byDefault = "/home/u/.config/hookspan/redact.rules"
	tests := []struct {
		name       string
		own, named []string
		envs       []string
		want       []RulesFile
	}{
		{"no file is named", nil, nil, nil, []RulesFile{{byDefault, false}}},
		{"the file names one", lns("HOOKSPAN_REDACT_FILE=/own"), nil, nil, []RulesFile{{"/own", true}}},
		{"the environment names one", nil, nil, lns("HOOKSPAN_REDACT_FILE=/more"), []RulesFile{{byDefault, false}, {"/more", true}}},
		{"both do", lns("HOOKSPAN_REDACT_FILE=/own"), nil, lns("HOOKSPAN_REDACT_FILE=/more"), []RulesFile{{"/own", true}, {"/more", true}}},
		{"another env file does", lns("HOOKSPAN_REDACT_FILE=/own"), lns("HOOKSPAN_REDACT_FILE=/more"), lns("HOOKSPAN_CONFIG_FILE=" + namedPath), []RulesFile{{"/own", true}, {"/more", true}}},
	}
	for _, tt := range tests {
		c := load(t, world(lines(tt.own...), lines(tt.named...), tt.envs...))
		if got := c.RedactFiles(); !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestMisspeltEnvironmentVariableIsReported(t *testing.T) {
	tests := []struct{ environ, want string }{
		{"HOOKSPAN_CAPTUR=none", "HOOKSPAN_CAPTUR: no such variable, did you mean HOOKSPAN_CAPTURE? (in the environment)"},
		{"INFINIUM_AGENTID=x", "INFINIUM_AGENTID: no such variable, did you mean INFINIUM_AGENT_ID? (in the environment)"},
		{"HOOKSPAN_CAPTUR=", ""},
		{"HOOKSPAN_CHAIN=/x", ""},
		{"HOOKSPAN_SOMETHING_ELSE=1", ""},
		{"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT=http://h", ""},
		{"OTEL_EXPORTER_OTLP_ENDPIONT=http://h", "OTEL_EXPORTER_OTLP_ENDPIONT: no such variable, did you mean OTEL_EXPORTER_OTLP_ENDPOINT? (in the environment)"},
		{"OTEL_EXPROTER_OTLP_HEADER=a=b", "OTEL_EXPROTER_OTLP_HEADER: no such variable, did you mean OTEL_EXPORTER_OTLP_HEADERS? (in the environment)"},
	}
	for _, sdk := range strings.Fields(`OTEL_EXPORTER_OTLP_LOGS_ENDPOINT OTEL_EXPORTER_OTLP_METRICS_HEADERS OTEL_EXPORTER_OTLP_INSECURE OTEL_LOGS_EXPORTER
		OTEL_METRICS_EXPORTER OTEL_EXPORTER_OTLP_LOGS_PROTOCOL OTEL_METRIC_EXPORT_INTERVAL OTEL_LOG_LEVEL OTEL_BLRP_MAX_QUEUE_SIZE OTEL_CONFIG_FILE
		OTEL_LOGRECORD_ATTRIBUTE_COUNT_LIMIT OTEL_EVENT_ATTRIBUTE_VALUE_LENGTH_LIMIT OTEL_TRACES_SAMPLER OTEL_ENTITIES FTP_PROXY ALL_PROXY`) {
		tests = append(tests, struct{ environ, want string }{sdk + "=x", ""})
	}
	for _, tt := range tests {
		_, err := Load(world("", "", tt.environ))
		if got := errText(err); got != tt.want {
			t.Errorf("%s:\ngot  %s\nwant %s", tt.environ, got, tt.want)
		}
	}
}

// Every error of a file is reported, also those of values that the environment replaces.
func TestFileReportsEveryError(t *testing.T) {
	own := lines("OTEL_EXPORTER_OTLP_ENDPIONT=http://h", "HOKSPAN_CAPTURE=none", "no line", "HOOKSPAN_RETENTION=forever", "HTTPS_PORXY=http://p", "EDITOR=vi",
		"OTEL_EXPORTER_OTLP_TIMEOUT=soon", "also none", "HOOKSPAN_SOMETHING_ELSE=1")
	c, err := Load(world(own, "", "HOOKSPAN_RETENTION=24h"))
	var got []string
	for _, p := range Problems(err) {
		got = append(got, cmp.Or(p.Variable, strconv.Itoa(p.Line))+" "+p.Reason)
	}
	want := lns("3 missing =", "8 missing =", "HOOKSPAN_RETENTION ", "OTEL_EXPORTER_OTLP_TIMEOUT ", "HOKSPAN_CAPTURE no such variable, did you mean HOOKSPAN_CAPTURE?",
		"HOOKSPAN_SOMETHING_ELSE no such variable", "HTTPS_PORXY no such variable, did you mean HTTPS_PROXY?",
		"OTEL_EXPORTER_OTLP_ENDPIONT no such variable, did you mean OTEL_EXPORTER_OTLP_ENDPOINT?")
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", lines(got...), lines(want...))
	}
	if c.Capture != "none" || c.Retention != 24*time.Hour || c.OTLP().Endpoint != "" || c.Meant() != ExporterOTLP {
		t.Errorf("capture %s, retention %s, endpoint %q, meant %q", c.Capture, c.Retention, c.OTLP().Endpoint, c.Meant())
	}
}

// A misspelt standard variable takes nothing from the right one.
func TestMisspeltStandardVariableLeavesTheRightOne(t *testing.T) {
	for _, in := range []Input{
		world(lines("OTEL_EXPORTER_OTLP_ENDPOINT=http://h", "OTEL_EXPORTER_OTLP_ENDPIONT=http://x"), ""),
		world(lines("OTEL_EXPORTER_OTLP_ENDPOINT=http://h"), "", "OTEL_EXPORTER_OTLP_ENDPIONT=http://x"),
	} {
		if c, err := Load(in); err == nil || c.OTLP().Endpoint != "http://h/v1/traces" {
			t.Errorf("endpoint %q, error %v", c.OTLP().Endpoint, err)
		}
	}
}

func TestEndpointWithPathOfTracesIsReported(t *testing.T) {
	const want = `OTEL_EXPORTER_OTLP_ENDPOINT: ends in /v1/traces, which is appended, so traces go to http://h:4318/v1/traces/v1/traces (in the environment): ` +
		`allowed the address without it, or OTEL_EXPORTER_OTLP_TRACES_ENDPOINT, which is used as it is`
	for environ, want := range map[string]string{
		"OTEL_EXPORTER_OTLP_ENDPOINT=http://h:4318/v1/traces": want, "OTEL_EXPORTER_OTLP_ENDPOINT=http://h:4318/v1/traces/": want,
		"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://h:4318/v1/traces": "", "OTEL_EXPORTER_OTLP_ENDPOINT=http://h:4318/v1": "",
	} {
		if _, err := Load(world("", "", environ)); errText(err) != want {
			t.Errorf("%s:\ngot  %v\nwant %s", environ, err, want)
		}
	}
}

func TestNearComparesNames(t *testing.T) {
	for _, tt := range []struct {
		a, b    string
		letters int
		near    bool
	}{
		{"abc", "abc", 0, true},
		{"abc", "ac", 1, true},
		{"abc", "abcd", 1, true},
		{"abc", "axc", 2, true},
		{"abc", "acb", 4, true},
		{"abcd", "a", 3, false},
		{"", "abc", 3, false},
		{"aXbcdYe", "abcde", 5, false},
	} {
		if n, ok := near(tt.a, tt.b); ok != tt.near || ok && n != tt.letters {
			t.Errorf("%q and %q: got %d, %t; want %d, %t", tt.a, tt.b, n, ok, tt.letters, tt.near)
		}
	}
}

// What the user's file says of guards stays, whatever the environment and a file that it
// names say. It may ask for more.
func TestEnvironmentOnlyTightensGuards(t *testing.T) {
	for _, tc := range []struct{ own, other, want string }{
		{"HOOKSPAN_HOOKS=true", "HOOKSPAN_HOOKS=false", "true"},
		{"HOOKSPAN_HOOKS=false", "HOOKSPAN_HOOKS=true", "true"},
		{"", "HOOKSPAN_HOOKS=false", "false"},
		{"HOOKSPAN_HOOKS_ON_ERROR=deny", "HOOKSPAN_HOOKS_ON_ERROR=limits", "deny"},
		{"HOOKSPAN_HOOKS_ON_ERROR=limits", "HOOKSPAN_HOOKS_ON_ERROR=allow", "limits"},
		{"HOOKSPAN_HOOKS_ON_ERROR=allow", "HOOKSPAN_HOOKS_ON_ERROR=deny", "deny"},
		{"HOOKSPAN_HOOKS_ON_ERROR=maybe", "HOOKSPAN_HOOKS_ON_ERROR=allow", "deny"},
		{"", "HOOKSPAN_HOOKS_ON_ERROR=allow", "allow"},
		{"HOOKSPAN_HOOKS_STRICT_EXIT=true", "HOOKSPAN_HOOKS_STRICT_EXIT=false", "true"},
		{"HOOKSPAN_HOOKS_STRICT_EXIT=false", "HOOKSPAN_HOOKS_STRICT_EXIT=true", "true"},
		{"HOOKSPAN_HOOKS_ASK=deny", "HOOKSPAN_HOOKS_ASK=host", "deny"},
		{"HOOKSPAN_HOOKS_ASK=host", "HOOKSPAN_HOOKS_ASK=deny", "deny"},
	} {
		name, _, _ := strings.Cut(tc.other, "=")
		for place, in := range map[string]Input{
			"the environment": world(lines(tc.own), "", tc.other),
			"a named file":    world(lines(tc.own), lines(tc.other), "HOOKSPAN_CONFIG_FILE="+namedPath),
		} {
			c, err := Load(in)
			got := map[string]string{
				"HOOKSPAN_HOOKS": strconv.FormatBool(c.Hooks), "HOOKSPAN_HOOKS_ON_ERROR": c.HooksOnError,
				"HOOKSPAN_HOOKS_STRICT_EXIT": strconv.FormatBool(c.HooksStrictExit), "HOOKSPAN_HOOKS_ASK": c.HooksAsk,
			}[name]
			loosens := tc.own != "" && !strings.HasSuffix(tc.other, "="+tc.want)
			if got != tc.want || loosens != (err != nil && strings.Contains(err.Error(), name)) {
				t.Errorf("%q of the user, %s by %s: %s, %v; want %s, and the variable named %t", tc.own, tc.other, place, got, err, tc.want, loosens)
			}
		}
	}
}

func TestLatestNamesCountOnlyBesideTheAddress(t *testing.T) {
	const (
		opt      = "OTEL_SEMCONV_STABILITY_OPT_IN=http/dup, gen_ai_latest_experimental"
		endpoint = "OTEL_EXPORTER_OTLP_ENDPOINT=https://mine.example"
		traces   = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=https://mine.example/v1/traces"
		other    = "OTEL_EXPORTER_OTLP_ENDPOINT=https://other.example"
		file     = "HOOKSPAN_FILE_PATH=/t.jsonl"
	)
	tests := []struct {
		name       string
		own, envs  []string
		otlp, file bool
	}{
		{"all in the file", []string{endpoint, file, opt}, nil, true, true},
		{"all in the environment", nil, []string{endpoint, file, opt}, true, true},
		{"the environment opts in for a project's program", []string{endpoint, file}, []string{opt}, false, false},
		{"the file opts in, the environment has the address", []string{opt}, []string{endpoint, file}, false, false},
		{"both have the same address", []string{endpoint, opt}, []string{traces}, true, false},
		{"both have an address", []string{endpoint, opt}, []string{other}, false, false},
		{"one of each", []string{endpoint, opt}, []string{file}, true, false},
		{"the environment opts in for something else", []string{endpoint, file, opt}, []string{"OTEL_SEMCONV_STABILITY_OPT_IN=http"}, true, true},
		{"the default address", []string{"HOOKSPAN_EXPORTERS=otlp", opt}, nil, true, false},
		{"another opt-in", []string{endpoint, file, "OTEL_SEMCONV_STABILITY_OPT_IN=http,gen_ai"}, nil, false, false},
	}
	for _, tt := range tests {
		c, err := Load(world(lines(tt.own...), "", tt.envs...))
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		if otlp, file := c.LatestNames(ExporterOTLP), c.LatestNames(ExporterFile); otlp != tt.otlp || file != tt.file {
			t.Errorf("%s: otlp %v, file %v; want %v, %v", tt.name, otlp, file, tt.otlp, tt.file)
		}
	}
}
