package config

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestMetricsGoWhereTheFilesSay(t *testing.T) {
	const on = "HOOKSPAN_METRICS=true\n"
	minimal := OTLP{Endpoint: "http://localhost:4318/v1/metrics"}
	for name, tt := range map[string]struct {
		file, machine, environment string
		want                       OTLP
		delta                      bool
		problem                    string
	}{
		"off by default": {file: "OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:4318", want: minimal},
		"on":             {file: on + "OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:4318", want: minimal},
		"the variables of metrics, not those of traces": {
			file: on + `OTEL_EXPORTER_OTLP_METRICS_ENDPOINT=https://m.example
OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:4318
OTEL_EXPORTER_OTLP_METRICS_HEADERS=key=m
OTEL_EXPORTER_OTLP_HEADERS=key=general
OTEL_EXPORTER_OTLP_TRACES_HEADERS=key=traces
OTEL_EXPORTER_OTLP_TRACES_COMPRESSION=none
OTEL_EXPORTER_OTLP_COMPRESSION=gzip
OTEL_EXPORTER_OTLP_METRICS_TIMEOUT=2500
HOOKSPAN_METRICS_REPOSITORY=true
OTEL_METRIC_EXPORT_INTERVAL=15000
OTEL_EXPORTER_OTLP_METRICS_PROTOCOL=http/json
OTEL_EXPORTER_OTLP_METRICS_CERTIFICATE=/ca.pem
OTEL_EXPORTER_OTLP_METRICS_CLIENT_CERTIFICATE=/c.pem
OTEL_EXPORTER_OTLP_METRICS_CLIENT_KEY=/k.pem
OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE=Delta`,
			want: OTLP{
				Endpoint: "https://m.example/", Headers: Headers{"key": "m"}, Compression: "gzip", Timeout: 2500 * time.Millisecond, Protocol: "http/json",
				Certificate: "/ca.pem", ClientCertificate: "/c.pem", ClientKey: "/k.pem",
			},
			delta: true,
		},
		"a project's environment has no say": {
			file:        on + "OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:4318",
			environment: "OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:1 OTEL_EXPORTER_OTLP_METRICS_ENDPOINT=http://localhost:2 OTEL_EXPORTER_OTLP_METRICS_HEADERS=a=b OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE=delta HOOKSPAN_METRICS=false HOOKSPAN_METRICS_REPOSITORY=true",
			want:        minimal,
		},
		"nor switches it on": {environment: "HOOKSPAN_METRICS=true OTEL_EXPORTER_OTLP_METRICS_ENDPOINT=http://localhost:2"},
		"no endpoint": {
			file: on, environment: "OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:1",
			problem: "HOOKSPAN_METRICS: true has no effect, because no endpoint is set in an env file",
		},
		"a wrong endpoint": {
			file: on + "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT=localhost\nOTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:4318", problem: "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: found",
		},
		"a wrong protocol": {
			file: on + "OTEL_EXPORTER_OTLP_METRICS_PROTOCOL=grpc\nOTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:4318", problem: "OTEL_EXPORTER_OTLP_METRICS_PROTOCOL: found",
		},
		"without the store there are no sums": {
			file: on + "OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:4318\nHOOKSPAN_EXPORTERS=otlp", want: minimal,
			problem: "HOOKSPAN_METRICS: true has no effect, because HOOKSPAN_EXPORTERS leaves out store",
		},
		"the administrator's credential goes to the administrator's address alone": {
			file: on + "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT=https://elsewhere.example/x", machine: "OTEL_EXPORTER_OTLP_METRICS_HEADERS=key=secret",
			want:    OTLP{Headers: Headers{"key": "secret"}},
			problem: "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: may not get the credential of the machine-wide file",
		},
		"the machine's": {
			machine: on + "OTEL_EXPORTER_OTLP_METRICS_HEADERS=key=secret\nOTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:4318",
			want:    OTLP{Endpoint: minimal.Endpoint, Headers: Headers{"key": "secret"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := input(tt.file, strings.Fields(tt.environment)...)
			in.MachineFile, in.ReadMachine = "/etc/hookspan/hookspan.env", func(string) ([]byte, error) { return []byte(tt.machine), nil }
			c, err := Load(in)
			if d := cmp.Diff(tt.want, c.MetricsOTLP()); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			if c.MetricsDelta() != tt.delta {
				t.Errorf("delta %t", c.MetricsDelta())
			}
			if got := c.MetricsRepository(); got != strings.Contains(tt.file, "REPOSITORY=true") {
				t.Errorf("repository %t", got)
			}
			if got, want := c.MetricsInterval(), map[bool]time.Duration{true: 15 * time.Second, false: time.Minute}[c.MetricsRepository()]; got != want {
				t.Errorf("interval %v, want %v", got, want)
			}
			asked := strings.Contains(tt.file+tt.machine, "HOOKSPAN_METRICS")
			if got, want := c.MetricsOn(), asked && tt.problem == ""; got != want {
				t.Errorf("on %t, want %t", got, want)
			}
			if tt.problem == "" && err != nil || tt.problem != "" && (err == nil || !strings.HasPrefix(err.Error(), tt.problem)) {
				t.Errorf("error %v, want %q", err, tt.problem)
			}
		})
	}
}

// TestWrongIntervalIsTheDefault has one that is longer than a delivery may take.
func TestWrongIntervalIsTheDefault(t *testing.T) {
	c, err := Load(input("HOOKSPAN_METRICS=true\nOTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:4318\nOTEL_METRIC_EXPORT_INTERVAL=300001"))
	if err == nil || !strings.HasPrefix(err.Error(), "OTEL_METRIC_EXPORT_INTERVAL: found") || !c.MetricsOn() || c.MetricsInterval() != time.Minute {
		t.Errorf("interval %v, on %t, error %v", c.MetricsInterval(), c.MetricsOn(), err)
	}
}

func TestAccountsOfMetricsDiffer(t *testing.T) {
	account := func(headers string) string {
		c := load(t, input("HOOKSPAN_METRICS=true\nOTEL_EXPORTER_OTLP_METRICS_ENDPOINT=http://localhost:4318\n"+headers))
		return c.Account(DestinationMetrics)
	}
	bob := account("OTEL_EXPORTER_OTLP_METRICS_HEADERS=authorization=Basic%20Ym9iOng=")
	if account("") != "" || bob == "" || bob == account("OTEL_EXPORTER_OTLP_METRICS_HEADERS=authorization=Basic%20YW5uOng=") {
		t.Errorf("account of the user bob: %q, want one that differs from no user's and from ann's", bob)
	}
}
