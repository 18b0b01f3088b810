package config

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// input is that of a Linux user with an env file of the given text; without
// text there is no file.
func input(file string, environ ...string) Input {
	return Input{
		Environ: environ, Home: "/home/u", GOOS: "linux",
		ReadFile: func(p string) ([]byte, error) {
			if file == "" || p != "/home/u/.config/hookspan/hookspan.env" {
				return nil, &fs.PathError{Op: "open", Path: p, Err: fs.ErrNotExist}
			}
			return []byte(file), nil
		},
	}
}

func load(t *testing.T, in Input) *Config {
	t.Helper()
	c, err := Load(in)
	if err != nil {
		t.Fatalf("Load: %v", err)
	}
	return c
}

func TestLoadDefaults(t *testing.T) {
	c := load(t, input(""))
	got := []any{
		c.Capture, c.SpoolSync, c.MaxEventBytes, c.IdleTimeout, c.Disabled, c.Traceparent, c.Redact, c.RedactFiles()[0].Path,
		c.Retention, c.StoreMaxBytes, c.SpoolMaxBytes, c.AllowInsecure, c.MaxInput, c.MaxOutput, c.InfiniumBaseURL, c.InfiniumGranularity, c.StateDir, c.ConfigDir,
		c.ConfigFile, c.SpoolDir(), c.StorePath(), c.LogPath(), c.PausePath(), c.Off(), c.Service(), len(c.Exporters),
	}
	want := []any{
		"preview", "boundary", int64(1 << 20), 30 * time.Minute, false, "", true, "/home/u/.config/hookspan/redact.rules",
		720 * time.Hour, int64(2 << 30), int64(1 << 30), false, 0, 0, "https://platform.i42m.ai/api/v1", "turn", "/home/u/.local/state/hookspan", "/home/u/.config/hookspan",
		"/home/u/.config/hookspan/hookspan.env", "/home/u/.local/state/hookspan/spool", "/home/u/.local/state/hookspan/traces.db", "/home/u/.local/state/hookspan/hookspan.log", "/home/u/.local/state/hookspan/paused", false, "", 0,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("defaults (-want +got):\n%s", d)
	}
	if d := cmp.Diff(OTLP{Timeout: 10 * time.Second, Compression: "none", Protocol: "http/protobuf"}, c.OTLP()); d != "" {
		t.Errorf("OTLP (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]string{"store"}, c.Destinations()); d != "" {
		t.Errorf("Destinations (-want +got):\n%s", d)
	}
}

const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

func TestEachVariableIsChecked(t *testing.T) {
	exporters := func(c *Config) any { return strings.Join(c.Exporters, ",") }
	tests := []struct {
		name  string
		get   func(*Config) any
		right map[string]any // raw value -> value in force
		wrong []string
		// found replaces the value in the message of every wrong one.
		found string
	}{
		{"HOOKSPAN_EXPORTERS", exporters, map[string]any{"store": "store", " Store, otlp,store": "store,otlp"}, []string{"stdout", "store,,file", ","}, ""},
		{"HOOKSPAN_FILE_PATH", func(c *Config) any { return c.FilePath }, map[string]any{"/tmp/x.jsonl": "/tmp/x.jsonl", "~/x.jsonl": "/home/u/x.jsonl"}, []string{"x.jsonl", "~other/x"}, ""},
		{"HOOKSPAN_TRACEPARENT", func(c *Config) any { return c.Traceparent }, map[string]any{parent: parent, "cc" + parent[2:] + "-more": "cc" + parent[2:] + "-more"}, []string{"00", strings.ToUpper(parent), parent + "-more", "ff" + parent[2:], "00-00000000000000000000000000000000-b7ad6b7169203331-01", "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01", "cc" + parent[2:] + "more"}, ""},
		{"HOOKSPAN_DISABLED", func(c *Config) any { return c.Disabled }, map[string]any{"true": true, "1": true, "Yes": true, "on": true, "false": false, "0": false, "no": false, "OFF": false}, []string{"maybe", "2"}, ""},
		{"HOOKSPAN_CAPTURE", func(c *Config) any { return c.Capture }, map[string]any{"none": "none", "FULL": "full", " preview ": "preview"}, []string{"x", "all", "preview,none"}, ""},
		{"HOOKSPAN_OTLP_CAPTURE", func(c *Config) any { return c.OTLPCapture }, map[string]any{"none": "none", "FULL": "full", " preview ": "preview"}, []string{"x", "all", "preview,none"}, ""},
		{"HOOKSPAN_INFINIUM_CAPTURE", func(c *Config) any { return c.InfiniumCapture }, map[string]any{"none": "none", "FULL": "full", " preview ": "preview"}, []string{"x", "all", "preview,none"}, ""},
		{"HOOKSPAN_FILE_CAPTURE", func(c *Config) any { return c.FileCapture }, map[string]any{"none": "none", "FULL": "full", " preview ": "preview"}, []string{"x", "all", "preview,none"}, ""},
		{"CONNECTOR_MAX_INPUT_PREVIEW", func(c *Config) any { return c.MaxInput }, map[string]any{"0": 0, "500": 500, "1000000": 1000000}, []string{"-1", "1000001", "many", "1.5", "99999999999999999999"}, ""},
		{"CONNECTOR_MAX_OUTPUT_PREVIEW", func(c *Config) any { return c.MaxOutput }, map[string]any{"7": 7}, []string{"-7"}, ""},
		{"HOOKSPAN_USAGE_COST", func(c *Config) any { return c.UsageCost }, map[string]any{"true": true, "false": false}, []string{"2", "never"}, ""},
		{"HOOKSPAN_IDLE_TIMEOUT", func(c *Config) any { return c.IdleTimeout }, map[string]any{"5m": 5 * time.Minute, "1h30m": 90 * time.Minute}, []string{"30", "0", "-5m", "999ms", "9000h"}, ""},
		{"HOOKSPAN_REDACT", func(c *Config) any { return c.Redact }, map[string]any{"true": true, "on": true}, []string{"never"}, ""},
		{"HOOKSPAN_DISABLED_PROJECTS", func(c *Config) any { return c.DisabledProjects }, map[string]any{"/a, /b/*/c": "/a,/b/*/c", "/": "/"}, []string{"work", "/a,b", ","}, ""},
		{"HOOKSPAN_REDACT_FILE", func(c *Config) any { return c.RedactFile }, map[string]any{"/etc/rules": "/etc/rules"}, []string{"rules"}, ""},
		{"HOOKSPAN_MAX_EVENT_BYTES", func(c *Config) any { return c.MaxEventBytes }, map[string]any{"1048576": int64(1 << 20), "1MiB": int64(1 << 20), "512KiB": int64(512 << 10), "32 mib": int64(32 << 20), "5MB": int64(5e6), "4096": int64(4096)}, []string{"4095", "33MiB", "64MiB", "1 M", "MiB", "-1MiB", "1.5MiB", "9999999999TiB"}, ""},
		{"HOOKSPAN_SPOOL_SYNC", func(c *Config) any { return c.SpoolSync }, map[string]any{"always": "always", "never": "never", "boundary": "boundary"}, []string{"sometimes"}, ""},
		{"HOOKSPAN_SPOOL_MAX_BYTES", func(c *Config) any { return c.SpoolMaxBytes }, map[string]any{"2GiB": int64(2 << 30), "1TiB": int64(1 << 40)}, []string{"1KiB", "2TiB"}, ""},
		{"HOOKSPAN_MCP", func(c *Config) any { return c.MCP }, map[string]any{"true": true, "false": false}, []string{"maybe"}, ""},
		{"HOOKSPAN_STORE_MAX_BYTES", func(c *Config) any { return c.StoreMaxBytes }, map[string]any{"2GiB": int64(2 << 30), "16MiB": int64(16 << 20)}, []string{"1MiB", "2TiB"}, ""},
		{"HOOKSPAN_RETENTION", func(c *Config) any { return c.Retention }, map[string]any{"0": time.Duration(0), "24h": 24 * time.Hour}, []string{"-1h", "30d", "7"}, ""},
		{"HOOKSPAN_HOOKS", func(c *Config) any { return c.Hooks }, map[string]any{"false": false, "on": true}, []string{"never"}, ""},
		{"HOOKSPAN_HOOKS_ON_ERROR", func(c *Config) any { return c.HooksOnError }, map[string]any{"allow": "allow", "Deny": "deny", "limits": "limits"}, []string{"block"}, ""},
		{"HOOKSPAN_HOOKS_STRICT_EXIT", func(c *Config) any { return c.HooksStrictExit }, map[string]any{"true": true, "false": false}, []string{"2"}, ""},
		{"HOOKSPAN_HOOKS_SOFT_DENY", func(c *Config) any { return c.HooksSoftDeny }, map[string]any{"true": true}, []string{"soft"}, ""},
		{"HOOKSPAN_HOOKS_ASK", func(c *Config) any { return c.HooksAsk }, map[string]any{"host": "host", "deny": "deny"}, []string{"allow"}, ""},
		{"HOOKSPAN_HOOKS_DEBUG", func(c *Config) any { return c.HooksDebug }, map[string]any{"true": true}, []string{"loud"}, ""},
		{"HTTPS_PROXY", func(c *Config) any { return c.HTTPSProxy }, map[string]any{"http://proxy:3128": "http://proxy:3128", "proxy:3128": "http://proxy:3128"}, []string{"ftp://x", "http://"}, ""},
		{"HTTP_PROXY", func(c *Config) any { return c.HTTPProxy }, map[string]any{"socks5://p:1": "socks5://p:1"}, []string{"://"}, ""},
		{"NO_PROXY", func(c *Config) any { return c.NoProxy }, map[string]any{".internal,10.0.0.0/8": ".internal,10.0.0.0/8"}, nil, ""},
		{"HOOKSPAN_ALLOW_INSECURE", func(c *Config) any { return c.AllowInsecure }, map[string]any{"true": true}, []string{"si"}, ""},
		{"INFINIUM_AGENT_ID", func(c *Config) any { return c.InfiniumAgentID }, map[string]any{"0199-ab": "0199-ab"}, []string{"a/b", "a b", strings.Repeat("a", 201)}, ""},
		{"INFINIUM_AGENT_SECRET", func(c *Config) any { return string(c.InfiniumAgentSecret) }, map[string]any{"s3cret!": "s3cret!"}, []string{"two words", "bad\x01"}, masked},
		{"INFINIUM_BASE_URL", func(c *Config) any { return c.InfiniumBaseURL }, map[string]any{"https://i.example/api/v1/": "https://i.example/api/v1", "http://localhost:8080": "http://localhost:8080"}, []string{"i.example", "ftp://i.example", "https://"}, ""},
		{"HOOKSPAN_INFINIUM_GRANULARITY", func(c *Config) any { return c.InfiniumGranularity }, map[string]any{"turn": "turn", " Session ": GranularitySession}, []string{"task", "turn,session", "sessions"}, ""},
		{"OTEL_EXPORTER_OTLP_ENDPOINT", func(c *Config) any { return c.Export.Endpoint }, map[string]any{"http://localhost:4318": "http://localhost:4318"}, []string{"localhost:4318", "grpc://x:1", "http://", "http://a b"}, ""},
		{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", func(c *Config) any { return c.Export.Endpoint }, map[string]any{"https://h/x": "https://h/x"}, []string{"/v1/traces"}, ""},
		{"OTEL_EXPORTER_OTLP_HEADERS", func(c *Config) any { return map[string]string(c.OTLP().Headers) }, map[string]any{"api-key=abc,x=a%20b": map[string]string{"api-key": "abc", "x": "a b"}}, []string{"abc", "=v", "a=%zz", "a b=c", "a=b%0d%0aInjected: 1"}, masked},
		{"OTEL_EXPORTER_OTLP_TRACES_HEADERS", func(c *Config) any { return map[string]string(c.OTLP().Headers) }, map[string]any{"a=1": map[string]string{"a": "1"}}, []string{"a"}, masked},
		{"OTEL_EXPORTER_OTLP_TIMEOUT", func(c *Config) any { return c.OTLP().Timeout }, map[string]any{"2500": 2500 * time.Millisecond}, []string{"0", "10s", "-1", "3600001"}, ""},
		{"OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", func(c *Config) any { return c.OTLP().Timeout }, map[string]any{"1": time.Millisecond}, []string{"1.5"}, ""},
		{"OTEL_EXPORTER_OTLP_COMPRESSION", func(c *Config) any { return c.OTLP().Compression }, map[string]any{"gzip": "gzip", "none": "none"}, []string{"zstd"}, ""},
		{"OTEL_EXPORTER_OTLP_TRACES_COMPRESSION", func(c *Config) any { return c.OTLP().Compression }, map[string]any{"gzip": "gzip"}, []string{"br"}, ""},
		{"OTEL_EXPORTER_OTLP_PROTOCOL", func(c *Config) any { return c.OTLP().Protocol }, map[string]any{"http/json": "http/json", "http/protobuf": "http/protobuf"}, []string{"http"}, ""},
		{"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", func(c *Config) any { return c.OTLP().Protocol }, map[string]any{"http/json": "http/json"}, []string{"json"}, ""},
		{"OTEL_EXPORTER_OTLP_CERTIFICATE", func(c *Config) any { return c.OTLP().Certificate }, map[string]any{"/etc/ca.pem": "/etc/ca.pem", "~/ca.pem": "/home/u/ca.pem"}, []string{"a\x01b", "ca.pem"}, ""},
		{"OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE", func(c *Config) any { return c.OTLP().Certificate }, map[string]any{"/t.pem": "/t.pem"}, []string{"a\x01b"}, ""},
		{"OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE", func(c *Config) any { return c.OTLP().ClientCertificate }, map[string]any{"/c.pem": "/c.pem"}, []string{"a\x01b"}, ""},
		{"OTEL_EXPORTER_OTLP_TRACES_CLIENT_CERTIFICATE", func(c *Config) any { return c.OTLP().ClientCertificate }, map[string]any{"/c.pem": "/c.pem"}, []string{"a\x01b"}, ""},
		{"OTEL_EXPORTER_OTLP_CLIENT_KEY", func(c *Config) any { return c.OTLP().ClientKey }, map[string]any{"/k.pem": "/k.pem"}, []string{"a\x01b"}, ""},
		{"OTEL_EXPORTER_OTLP_TRACES_CLIENT_KEY", func(c *Config) any { return c.OTLP().ClientKey }, map[string]any{"/k.pem": "/k.pem"}, []string{"a\x01b"}, ""},
		{"HOOKSPAN_OTLP_ACCOUNT", func(c *Config) any { return c.OTLPAccount }, map[string]any{"team a": "team a"}, nil, ""},
		{"OTEL_SERVICE_NAME", func(c *Config) any { return c.Service() }, map[string]any{"my agent": "my agent"}, nil, ""},
		{"OTEL_RESOURCE_ATTRIBUTES", func(c *Config) any { return c.ResourceAttributes() }, map[string]any{"a=1,b=x%2Cy, a=2": []Pair{{"a", "2"}, {"b", "x,y"}}}, []string{"a", "a=%g", "=x"}, ""},
		{"OTEL_TRACES_EXPORTER", func(c *Config) any { return c.TracesExporter }, map[string]any{"none": "none", "otlp,console": "otlp,console"}, nil, ""},
		{"OTEL_ATTRIBUTE_COUNT_LIMIT", func(c *Config) any { l, _ := c.Limits(); return l.Attributes }, nil, nil, ""},             // only in the env file
		{"OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT", func(c *Config) any { l, _ := c.Limits(); return l.Length }, nil, nil, ""},          // only in the env file
		{"OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", func(c *Config) any { l, _ := c.Limits(); return l.SpanAttributes }, nil, nil, ""},    // only in the env file
		{"OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT", func(c *Config) any { l, _ := c.Limits(); return l.SpanLength }, nil, nil, ""}, // only in the env file
		{"OTEL_SPAN_EVENT_COUNT_LIMIT", func(c *Config) any { l, _ := c.Limits(); return l.Events }, nil, nil, ""},                // only in the env file
		{"OTEL_SPAN_LINK_COUNT_LIMIT", func(c *Config) any { l, _ := c.Limits(); return l.Links }, nil, nil, ""},                  // only in the env file
		{"OTEL_EVENT_ATTRIBUTE_COUNT_LIMIT", func(c *Config) any { l, _ := c.Limits(); return l.EventAttributes }, nil, nil, ""},  // only in the env file
		{"OTEL_LINK_ATTRIBUTE_COUNT_LIMIT", func(c *Config) any { l, _ := c.Limits(); return l.LinkAttributes }, nil, nil, ""},    // only in the env file
		{"OTEL_SEMCONV_STABILITY_OPT_IN", func(c *Config) any { return c.Stability }, map[string]any{"http,gen_ai_latest_experimental": "http,gen_ai_latest_experimental"}, nil, ""},
		{"OTEL_SDK_DISABLED", func(c *Config) any { return c.Off() }, map[string]any{"TRUE": true, "false": false}, []string{"1", "yes"}, ""},
		{"HOOKSPAN_CONFIG_FILE", func(c *Config) any { return c.ConfigFile }, nil, []string{"relative.env"}, ""},
	}
	zero := load(t, input(""))
	covered := map[string]bool{managedName: true, headersCommand: true, allowOtherUsers: true} // which have no effect in the environment
	for _, tt := range tests {
		covered[tt.name] = true
		t.Run(tt.name, func(t *testing.T) {
			for raw, want := range tt.right {
				c := load(t, input("", tt.name+"="+raw))
				if d := cmp.Diff(want, tt.get(c)); d != "" {
					t.Errorf("%q (-want +got):\n%s", raw, d)
				}
				if got := c.Source(tt.name); got != Environment {
					t.Errorf("%q: source %q, want %q", raw, got, Environment)
				}
			}
			for _, raw := range tt.wrong {
				c, err := Load(input("", tt.name+"="+raw))
				shown := raw
				if tt.found != "" {
					shown = tt.found
				} else {
					shown = shorten(shown)
				}
				want := fmt.Sprintf("%s: found %q in the environment: allowed %s", tt.name, shown, find(tt.name).allowed)
				if err == nil || err.Error() != want {
					t.Errorf("%q:\ngot  %v\nwant %s", raw, err, want)
				}
				want2, ok := private[tt.name]
				if !ok {
					want2 = tt.get(zero)
				}
				if d := cmp.Diff(want2, tt.get(c)); d != "" {
					t.Errorf("%q: not what a wrong value gives (-want +got):\n%s", raw, d)
				}
				if got := c.Source(tt.name); got != Default {
					t.Errorf("%q: source %q, want %q", raw, got, Default)
				}
			}
		})
	}
	for _, s := range zero.Settings() {
		if !covered[s.Name] && !strings.Contains(s.Name, "METRIC") && !strings.Contains(s.Name, "BUDGET") { // only in files: see TestMetricsGoWhereTheFilesSay
			t.Errorf("no test for %s", s.Name)
		}
	}
}

func TestPrecedence(t *testing.T) {
	const file = "HOOKSPAN_CAPTURE=full\nHOOKSPAN_SPOOL_SYNC=never\nOTHER_PROGRAM=1\n"
	tests := []struct {
		name, file   string
		environ      []string
		want, source string
	}{
		{"default", "", nil, "preview", Default},
		{"file", file, nil, "full", File},
		{"environment over file", file, []string{"HOOKSPAN_CAPTURE=none"}, "none", Environment},
		{"empty environment counts as unset", file, []string{"HOOKSPAN_CAPTURE="}, "full", File},
		{"first of two entries", "", []string{"HOOKSPAN_CAPTURE=full", "HOOKSPAN_CAPTURE=none"}, "full", Environment},
		{"later of two lines", "HOOKSPAN_CAPTURE=none\nHOOKSPAN_CAPTURE=full\n", nil, "full", File},
		{"quotes, export and comments", "# c\nexport HOOKSPAN_CAPTURE=\"none\" # why\n", nil, "none", File},
		{"byte order mark and CRLF", "\uFEFFHOOKSPAN_CAPTURE=none\r\n", nil, "none", File},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := load(t, input(tt.file, tt.environ...))
			if c.Capture != tt.want || c.Source("HOOKSPAN_CAPTURE") != tt.source {
				t.Errorf("got %q from %q, want %q from %q", c.Capture, c.Source("HOOKSPAN_CAPTURE"), tt.want, tt.source)
			}
		})
	}
}

// private are the values that replace a wrong one if the default would send more
// or deny less.
var private = map[string]any{
	"HOOKSPAN_EXPORTERS": "store", "HOOKSPAN_CAPTURE": "none", "HOOKSPAN_DISABLED": true, "HOOKSPAN_MCP": false, "HOOKSPAN_DISABLED_PROJECTS": "/",
	"HOOKSPAN_OTLP_CAPTURE": "none", "HOOKSPAN_INFINIUM_CAPTURE": "none", "HOOKSPAN_FILE_CAPTURE": "none",
	"HOOKSPAN_HOOKS_ON_ERROR": "deny", "HOOKSPAN_HOOKS_STRICT_EXIT": true, "HOOKSPAN_HOOKS_ASK": "deny",
	"CONNECTOR_MAX_INPUT_PREVIEW": 1, "CONNECTOR_MAX_OUTPUT_PREVIEW": 1,
}

func TestWrongValueShowsItsReplacement(t *testing.T) {
	c, _ := Load(input("", "HOOKSPAN_CAPTURE=x"))
	for _, s := range c.Settings() {
		if s.Name == "HOOKSPAN_CAPTURE" && (s.Value != "none" || s.Source != Fallback) {
			t.Errorf("shown as %q from %s, want none from %s", s.Value, s.Source, Fallback)
		}
	}
}

func TestWrongEnvironmentValueDoesNotFallBackToFile(t *testing.T) {
	c, err := Load(input("HOOKSPAN_CAPTURE=full\n", "HOOKSPAN_CAPTURE=x"))
	if err == nil || c.Capture != "none" {
		t.Errorf("got %q, error %v; want none and an error", c.Capture, err)
	}
}

func TestLoadChecksSettingsTogether(t *testing.T) {
	tests := []struct {
		name    string
		environ []string
		want    string // destinations
		problem string // prefix of the only problem
	}{
		{"headers in clear text", []string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://c.example:4318", "OTEL_EXPORTER_OTLP_HEADERS=k=v"}, "store", "OTEL_EXPORTER_OTLP_ENDPOINT: would send credentials over cleartext http (in the environment): allowed https"},
		{"user in clear text", []string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://u:p@c.example/x"}, "store", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: would send"},
		{"headers in clear text allowed", []string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://c.example:4318", "OTEL_EXPORTER_OTLP_HEADERS=k=v", "HOOKSPAN_ALLOW_INSECURE=true"}, "store otlp", ""},
		{"clear text without credentials", []string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://c.example:4318"}, "store otlp", ""},
		{"headers to loopback", []string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://[::1]:4318", "OTEL_EXPORTER_OTLP_HEADERS=k=v"}, "store otlp", ""},
		{"headers to 127.0.0.2", []string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.2:4318", "OTEL_EXPORTER_OTLP_HEADERS=k=v"}, "store otlp", ""},
		{"headers to a name that begins like loopback", []string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1.example:4318", "OTEL_EXPORTER_OTLP_HEADERS=k=v"}, "store", "OTEL_EXPORTER_OTLP_ENDPOINT: would send"},
		{"secret in clear text", []string{"INFINIUM_AGENT_ID=a", "INFINIUM_AGENT_SECRET=b", "INFINIUM_BASE_URL=http://i.example"}, "store", "INFINIUM_BASE_URL: would send"},
		{"wrong base URL leaves infinium out", []string{"INFINIUM_AGENT_ID=a", "INFINIUM_AGENT_SECRET=b", "INFINIUM_BASE_URL=i.example"}, "store", "INFINIUM_BASE_URL: found"},
		{"wrong traces endpoint leaves otlp out", []string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=c.example", "OTEL_EXPORTER_OTLP_ENDPOINT=https://c.example"}, "store", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: found"},
		{"grpc leaves otlp out", []string{"OTEL_EXPORTER_OTLP_ENDPOINT=https://c.example", "OTEL_EXPORTER_OTLP_PROTOCOL=grpc"}, "store", "OTEL_EXPORTER_OTLP_PROTOCOL: found \"grpc\" in the environment: allowed http/protobuf, http/json (grpc is not supported; name an endpoint that speaks OTLP over HTTP, usually on port 4318)"},
		{"grpc for others only", []string{"OTEL_EXPORTER_OTLP_ENDPOINT=https://c.example", "OTEL_EXPORTER_OTLP_PROTOCOL=grpc", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=http/json"}, "store otlp", "OTEL_EXPORTER_OTLP_PROTOCOL: found"},
		{"file without path", []string{"HOOKSPAN_EXPORTERS=file,store"}, "store", "HOOKSPAN_FILE_PATH: not set, but HOOKSPAN_EXPORTERS names file (in the environment): allowed an absolute path"},
		{"infinium without id", []string{"HOOKSPAN_EXPORTERS=infinium"}, "", "INFINIUM_AGENT_ID: not set"},
		{"otlp without endpoint", []string{"HOOKSPAN_EXPORTERS=otlp"}, "otlp", ""},
		{"a wrong list of exporters opens nothing", []string{"HOOKSPAN_EXPORTERS=stor", "HOOKSPAN_FILE_PATH=/f", "INFINIUM_AGENT_ID=a", "INFINIUM_AGENT_SECRET=b", "OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:4318"}, "store", "HOOKSPAN_EXPORTERS: found"},
		{"all automatic", []string{"HOOKSPAN_FILE_PATH=/f", "INFINIUM_AGENT_ID=a", "INFINIUM_AGENT_SECRET=b", "OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:4318"}, "store otlp infinium file", ""},
		{"only what is named", []string{"HOOKSPAN_EXPORTERS=infinium", "INFINIUM_AGENT_ID=a", "INFINIUM_AGENT_SECRET=b", "OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:4318"}, "infinium", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, err := Load(input("", tt.environ...))
			if got := strings.Join(c.Destinations(), " "); got != tt.want {
				t.Errorf("Destinations %q, want %q", got, tt.want)
			}
			if tt.problem == "" && err != nil {
				t.Fatalf("Load: %v", err)
			}
			if tt.problem != "" && (err == nil || len(Problems(err)) != 1 || !strings.HasPrefix(err.Error(), tt.problem)) {
				t.Errorf("error %v, want one with %q", err, tt.problem)
			}
		})
	}
}

func TestSecretFromKeyringCounts(t *testing.T) {
	c := load(t, input("", "INFINIUM_AGENT_ID=a"))
	if d := cmp.Diff([]string{"store"}, c.Destinations()); d != "" {
		t.Error(d)
	}
	c.InfiniumAgentSecret = "from the keyring"
	if d := cmp.Diff([]string{"store", "infinium"}, c.Destinations()); d != "" {
		t.Error(d)
	}
}

func TestLoadWithoutFileReader(t *testing.T) {
	c, err := Load(Input{Home: "/home/u", GOOS: "linux"})
	if err != nil || c.Capture != "preview" {
		t.Errorf("got %v, %v", c.Capture, err)
	}
}

func BenchmarkLoad(b *testing.B) {
	environ := make([]string, 0, 80)
	for i := range 70 {
		environ = append(environ, fmt.Sprintf("SOME_VARIABLE_%d=some value", i))
	}
	environ = append(environ, "OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:4318", "HOOKSPAN_CAPTURE=full")
	in := input("", environ...)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Load(in); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkLoadFile(b *testing.B) {
	in := input("HOOKSPAN_CAPTURE=none\nOTEL_EXPORTER_OTLP_ENDPOINT=https://c.example\nOTEL_EXPORTER_OTLP_HEADERS=\"k=v\"\n")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Load(in); err != nil {
			b.Fatal(err)
		}
	}
}

func TestProblemsFindsJoinedErrors(t *testing.T) {
	_, err := Load(input("", "HOOKSPAN_CAPTURE=x", "HOOKSPAN_REDACT=y"))
	got := Problems(fmt.Errorf("load: %w", errors.Join(err, errors.New("other"))))
	if len(got) != 2 || len(Problems(err)) != 2 {
		t.Errorf("got %d and %d problems", len(got), len(Problems(err)))
	}
}

// The private folders of the machine, the user and the environment add up. A wrong list makes every folder private.
func TestPrivateFoldersAddUp(t *testing.T) {
	const name = "HOOKSPAN_DISABLED_PROJECTS="
	for _, tt := range []struct {
		machine, own, environ string
		want                  []string
		wrong                 bool
	}{
		{"", "", "", nil, false},
		{"", name + "~/private, /srv/*/keys,", "", lns("/home/u/private", "/srv/*/keys"), false},
		{"", name + "~", "", lns("/home/u/"), false},
		{"", name + "/a", name + "/b", lns("/a", "/b"), false},
		{name + "/c", name + "/a", name + "/b", lns("/a", "/b", "/c"), false},
		{"HOOKSPAN_MANAGED=true\n" + name + "/c", name + "/a", name + "/b", lns("/a", "/b", "/c"), false},
		{"HOOKSPAN_MANAGED=true", name + "/a", "", lns("/a"), false},
		{"", name + "private", "", lns("/"), true},
		{"", name + "/a,work", name + "/b", lns("/", "/b"), true},
		{"", name + "/a", name + "work", lns("/a", "/"), true},
		{"", "HOOKSPAN_DISABLED_PROJECT=/a", "", lns("/"), true},
	} {
		c, err := Load(under(tt.machine, tt.own, tt.environ))
		if got := c.PrivateFolders(); !slices.Equal(slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(tt.want))) || (err != nil) != tt.wrong {
			t.Errorf("%+v: got %q, error %v", tt, got, err)
		}
	}
	c, _ := Load(world(lines(name+"/a", "X=y"), lines("HOOKSPAN_CAPTURE=none"), "HOOKSPAN_CONFIG_FILE="+namedPath))
	if got := c.PrivateFolders(); !slices.Equal(got, lns("/a")) {
		t.Errorf("with another env file: %q", got)
	}
}
