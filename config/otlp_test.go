package config

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// The examples of the OTLP exporter specification, "Endpoint URLs for
// OTLP/HTTP" and "Specifying headers via environment variables".
func TestOTLPEndpoint(t *testing.T) {
	const general, traces = "OTEL_EXPORTER_OTLP_ENDPOINT=", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT="
	tests := []struct {
		name    string
		environ []string
		want    string
	}{
		{"not set", nil, ""},
		{"general", []string{general + "http://collector:4318"}, "http://collector:4318/v1/traces"},
		{"general ends in a slash", []string{general + "http://collector:4318/"}, "http://collector:4318/v1/traces"},
		{"general with a path", []string{general + "http://collector:4318/mycollector/"}, "http://collector:4318/mycollector/v1/traces"},
		{"general with a path without a slash", []string{general + "http://collector:4318/mycollector"}, "http://collector:4318/mycollector/v1/traces"},
		{"general with a query", []string{general + "https://c.example/x?k=v"}, "https://c.example/x/v1/traces?k=v"},
		{"traces as it is", []string{general + "http://collector:4318", traces + "https://example.com:4318/x/traces"}, "https://example.com:4318/x/traces"},
		{"traces without a path", []string{traces + "http://collector:4318"}, "http://collector:4318/"},
		{"scheme in capitals", []string{general + "HTTPS://c.example"}, "https://c.example/v1/traces"},
		{"default when asked for", []string{"HOOKSPAN_EXPORTERS=otlp"}, "http://localhost:4318/v1/traces"},
		{"empty is not set", []string{general, traces}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := load(t, input("", tt.environ...)).OTLP().Endpoint; got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestTracesVariablesReplaceGeneralOnes(t *testing.T) {
	pre := "OTEL_EXPORTER_OTLP_"
	c := load(t, input("",
		pre+"ENDPOINT=https://a.example", pre+"TRACES_ENDPOINT=https://b.example/t",
		pre+"HEADERS=a=1,b=2", pre+"TRACES_HEADERS=c=3",
		pre+"TIMEOUT=1000", pre+"TRACES_TIMEOUT=2000",
		pre+"COMPRESSION=gzip", pre+"TRACES_COMPRESSION=none",
		pre+"PROTOCOL=http/protobuf", pre+"TRACES_PROTOCOL=http/json",
		pre+"CERTIFICATE=/a", pre+"TRACES_CERTIFICATE=/b",
		pre+"CLIENT_CERTIFICATE=/c", pre+"TRACES_CLIENT_CERTIFICATE=/d",
		pre+"CLIENT_KEY=/e", pre+"TRACES_CLIENT_KEY=/f",
	))
	want := OTLP{
		Endpoint: "https://b.example/t", Headers: map[string]string{"c": "3"}, Timeout: 2 * time.Second,
		Compression: "none", Protocol: "http/json", Certificate: "/b", ClientCertificate: "/d", ClientKey: "/f",
	}
	if d := cmp.Diff(want, c.OTLP()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestParseHeaders(t *testing.T) {
	tests := []struct {
		name, text string
		want       map[string]string
		wrong      bool
	}{
		{"none", "", nil, false},
		{"one", "api-key=key", map[string]string{"api-key": "key"}, false},
		{"two", "api-key=key,other-config-value=value", map[string]string{"api-key": "key", "other-config-value": "value"}, false},
		{"blanks around", " a = 1 , b = 2 ", map[string]string{"a": "1", "b": "2"}, false},
		{"percent-encoded", "authorization=Basic%20dTpw%3D%3D", map[string]string{"authorization": "Basic dTpw=="}, false},
		{"= in the value", "a=b=c==", map[string]string{"a": "b=c=="}, false},
		{"+ stays", "a=b+c", map[string]string{"a": "b+c"}, false},
		{"plain blank in the value", "Authorization=Bearer abc", map[string]string{"Authorization": "Bearer abc"}, false},
		{"empty value", "a=", map[string]string{"a": ""}, false},
		{"comma too many", "a=1,,b=2,", map[string]string{"a": "1", "b": "2"}, false},
		{"no =", "abc", nil, true},
		{"no name", "=v", nil, true},
		{"bad escape", "a=%4", nil, true},
		{"name with a blank", "a b=c", nil, true},
		{"name with an escaped colon", "a%3A=c", nil, true},
		{"line end in the value", "a=b%0Ac", nil, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, ok := parseHeaders(tt.text)
			if d := cmp.Diff(tt.want, got); d != "" || ok == tt.wrong {
				t.Errorf("valid: %t, (-want +got):\n%s", ok, d)
			}
		})
	}
}

func TestService(t *testing.T) {
	tests := []struct {
		name    string
		environ []string
		want    string
	}{
		{"none", nil, ""},
		{"from the resource", []string{"OTEL_RESOURCE_ATTRIBUTES=a=1,service.name=my%20svc"}, "my svc"},
		{"own variable wins", []string{"OTEL_RESOURCE_ATTRIBUTES=service.name=x", "OTEL_SERVICE_NAME=y"}, "y"},
	}
	for _, tt := range tests {
		if got := load(t, input("", tt.environ...)).Service(); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

func FuzzLoad(f *testing.F) {
	f.Add("HOOKSPAN_CAPTURE=none\nOTEL_EXPORTER_OTLP_ENDPOINT=http://u:p@h\n", "a=b,c", "00-x")
	f.Add("export A='\n=\n\"", "%", "1TiB")
	f.Fuzz(func(t *testing.T, file, headers, value string) {
		in := input(file+"\n", "OTEL_EXPORTER_OTLP_HEADERS="+headers, "HOOKSPAN_MAX_EVENT_BYTES="+value, "HOOKSPAN_TRACEPARENT="+value,
			"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT="+value, "OTEL_RESOURCE_ATTRIBUTES="+value, "HOOKSPAN_RETENTION="+value)
		c, err := Load(in)
		if c == nil {
			t.Fatal("no Config")
		}
		if c.MaxEventBytes < 4<<10 || c.MaxEventBytes > 64<<20 || c.Retention < 0 || c.IdleTimeout <= 0 {
			t.Errorf("out of range: %d %s %s", c.MaxEventBytes, c.Retention, c.IdleTimeout)
		}
		if err != nil && len(Problems(err)) == 0 {
			t.Errorf("an error that is no problem: %v", err)
		}
		if o := c.OTLP(); o.Timeout <= 0 || strings.ContainsAny(strings.Join(values(o.Headers), ""), "\r\n") {
			t.Errorf("not valid in a request: %+v", o)
		}
		c.Destinations()
		c.Settings()
	})
}

func values(m map[string]string) []string {
	var out []string
	for _, v := range m {
		out = append(out, v)
	}
	return out
}

func TestMeantNamesDestinationsWithAWrongSettingToo(t *testing.T) {
	for want, environ := range map[string][]string{
		"":              {},
		"otlp,infinium": {"INFINIUM_AGENT_ID=a", "OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:4318", "OTEL_EXPORTER_OTLP_PROTOCOL=carrier-pigeon"},
		"otlp":          {"HOOKSPAN_EXPORTERS=otlp", "OTEL_EXPORTER_OTLP_ENDPOINT=ftp://x"},
		"otlp,file":     {"HOOKSPAN_EXPORTERS=file,otlp", "HOOKSPAN_FILE_PATH=/tmp/x"},
		"infinium":      {"INFINIUM_AGENT_ID=a", "INFINIUM_BASE_URL=nothing"},
	} {
		c, _ := Load(Input{Environ: environ, Home: "/home/dev", GOOS: "linux"})
		if got := c.Meant(); got != want {
			t.Errorf("%q: %q, want %q", environ, got, want)
		}
	}
}

func TestLimitsCountInTheEnvFileAlone(t *testing.T) {
	own := lines("OTEL_ATTRIBUTE_COUNT_LIMIT=40", "OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT=2048", "OTEL_SPAN_EVENT_COUNT_LIMIT=many", "OTEL_BSP_MAX_QUEUE_SIZE=1")
	c, err := Load(world(own, lines("OTEL_SPAN_LINK_COUNT_LIMIT=4"), "OTEL_ATTRIBUTE_COUNT_LIMIT=3", "OTEL_LINK_ATTRIBUTE_COUNT_LIMIT=few",
		"OTEL_TRACES_SAMPLER=always_off", "OTEL_PROPAGATORS=", "HOOKSPAN_CONFIG_FILE="+namedPath))
	if l, set := c.Limits(); l != (Limits{40, -1, -1, 2048, -1, -1, -1, -1}) || !set {
		t.Errorf("got %+v", l)
	}
	if p := Problems(err); len(p) != 1 || p[0].Variable != "OTEL_SPAN_EVENT_COUNT_LIMIT" {
		t.Errorf("problems: %v", err)
	}
	want := []string{"OTEL_ATTRIBUTE_COUNT_LIMIT", "OTEL_BSP_MAX_QUEUE_SIZE", "OTEL_LINK_ATTRIBUTE_COUNT_LIMIT", "OTEL_SPAN_LINK_COUNT_LIMIT", "OTEL_TRACES_SAMPLER"}
	if got := c.Ineffective(); !slices.Equal(got, want) {
		t.Errorf("without effect: %q, want %q", got, want)
	}
	c, _ = Load(world(own, ""))
	if got := c.Ineffective(); !slices.Equal(got, []string{"OTEL_BSP_MAX_QUEUE_SIZE"}) {
		t.Errorf("without effect in the env file: %q", got)
	}
	c, err = Load(world("", ""))
	for _, c := range []*Config{c, {}} {
		if l, set := c.Limits(); set || l != (Limits{-1, -1, -1, -1, -1, -1, -1, -1}) || err != nil {
			t.Errorf("limits without a setting: %+v, %v", l, err)
		}
	}
}

func TestTracesExporterNoneSwitchesOTLPOff(t *testing.T) {
	const endpoint, none = "OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:4318", "OTEL_TRACES_EXPORTER=none"
	tests := []struct {
		name      string
		own, envs []string
		want      string
		off       bool
	}{
		{"both in the file", []string{endpoint, none}, nil, "store", true},
		{"both in the environment", nil, []string{endpoint, "OTEL_TRACES_EXPORTER= None "}, "store", true},
		{"one in each", []string{endpoint}, []string{none}, "store", true},
		{"HOOKSPAN_EXPORTERS is explicit", []string{endpoint, none, "HOOKSPAN_EXPORTERS=store,otlp"}, nil, "store,otlp", false},
		{"another exporter", []string{endpoint, "OTEL_TRACES_EXPORTER=console"}, nil, "store,otlp", false},
		{"without an address", []string{none}, nil, "store", false},
	}
	for _, tt := range tests {
		c, err := Load(world(lines(tt.own...), "", tt.envs...))
		if got := strings.Join(c.Destinations(), ","); got != tt.want || c.OTLPOff() != tt.off || err != nil {
			t.Errorf("%s: %s, off %v, %v; want %s, %v", tt.name, got, c.OTLPOff(), err, tt.want, tt.off)
		}
		if tt.off && c.Meant() != "" {
			t.Errorf("%s: events are kept for %s", tt.name, c.Meant())
		}
	}
}

func TestGRPCIsExplainedInAnyCase(t *testing.T) {
	for _, value := range []string{"grpc", "GRPC", " gRPC "} {
		_, err := Load(input("", "OTEL_EXPORTER_OTLP_PROTOCOL="+value))
		if err == nil || !strings.Contains(err.Error(), "grpc is not supported") {
			t.Errorf("%q: %v", value, err)
		}
	}
}
