package collector_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hookspan/hookspan/tests/internal/otelcol"
)

// A wrong value stops the Collector at its start, and what it says names the key
// or the value. Where the value comes from a variable that is not set, it names
// the variable in a warning.
func TestWrongValuesAreRefused(t *testing.T) {
	t.Parallel()
	agent, gateway := []string{"agent.yaml"}, []string{"gateway.yaml"}
	infinium := []string{"gateway.yaml", "infinium.yaml"}
	for _, c := range []struct {
		name  string
		files []string
		// overlay is merged behind the files; env is set, or unset where it ends
		// with "-".
		overlay string
		env     []string
		want    []string
	}{
		{name: "a misspelt key", files: agent, overlay: "exporters::otlp_http::sending_queue::queue_sise: 5", want: []string{`"otlp_http"`, "sending_queue", "invalid keys: queue_sise"}},
		{name: "a misspelt section", files: agent, overlay: "exporter: {}", want: []string{"invalid keys: exporter"}},
		{name: "a processor that is not there", files: agent, overlay: "service::pipelines::traces/backend::processors: [redactoin]", want: []string{"traces/backend", `"redactoin"`}},
		{name: "an exporter that is not there", files: gateway, overlay: "service::pipelines::traces/backend::exporters: [otlp_htp]", want: []string{"traces/backend", `"otlp_htp"`}},
		{name: "a component that is not built in", files: agent, overlay: `exporters: {kafka: {}}`, want: []string{"unknown type", `"kafka"`, "otlp_http"}},
		{name: "a component of the other signal", files: gateway, overlay: "service::pipelines::traces/backend::exporters: [prometheus]", want: []string{`"prometheus"`, `"traces"`}},
		{name: "a connector with one end", files: gateway, overlay: "service::pipelines::metrics::receivers: [otlp]", want: []string{`"agent_metrics"`, "traces/measured"}},
		{name: "a word for a number", files: agent, overlay: "exporters::otlp_http::sending_queue::queue_size: many", want: []string{`"otlp_http"`, "queue_size"}},
		{name: "a negative queue", files: agent, overlay: "exporters::otlp_http::sending_queue::queue_size: -1", want: []string{"otlp_http", "queue_size"}},
		{name: "a negative file", files: agent, overlay: "extensions::file_storage::max_size: -5", want: []string{"file_storage", "max size"}},
		{name: "a file smaller than its compaction", files: agent, overlay: "extensions::file_storage::max_size: 1000", want: []string{"file_storage", "rebound", "max size"}},
		{name: "a duration in words", files: agent, overlay: "exporters::otlp_http::retry_on_failure::initial_interval: 5 minutes", want: []string{`"otlp_http"`, "retry_on_failure.initial_interval", "unit"}},
		{name: "a negative duration", files: agent, overlay: "exporters::otlp_http::retry_on_failure::max_elapsed_time: -1s", want: []string{"otlp_http", "max_elapsed_time"}},
		{name: "a batch larger than its limit", files: agent, overlay: "exporters::otlp_http::sending_queue::batch::max_size: 10", want: []string{"otlp_http", "max_size", "10", "256"}},
		{name: "an unknown unit of a queue", files: agent, overlay: "exporters::otlp_http::sending_queue::sizer: spans", want: []string{"sizer", `"spans"`}},
		{name: "a storage that is not there", files: agent, overlay: "exporters::otlp_http::sending_queue::storage: file_store", want: []string{`"otlp_http"`, "no storage client extension found"}},
		{name: "a storage that is not switched on", files: agent, overlay: "service::extensions: [refusals]", want: []string{`"otlp_http"`, "no storage client extension found"}},
		{name: "a missing directory", files: agent, overlay: "extensions::file_storage::create_directory: false", want: []string{"file_storage", "queue", "create_directory"}},
		{name: "a file for a directory", files: agent, env: []string{"QUEUE_DIRECTORY=FILE"}, want: []string{"file_storage", "FILE"}},
		{name: "a mode that is none", files: agent, overlay: `extensions::file_storage::directory_permissions: "0999"`, want: []string{"file_storage", "directory_permissions"}},
		{name: "no memory", files: agent, overlay: "processors::memory_limiter::limit_mib: 0", want: []string{"memory_limiter", "limit_mib"}},
		{name: "a spike above the limit", files: agent, overlay: "processors::memory_limiter::spike_limit_mib: 5000", want: []string{"memory_limiter", "spike_limit_mib"}},
		{name: "a bad expression in redaction", files: agent, overlay: `processors::redaction::blocked_values: ["sk-[a-z"]`, want: []string{`"redaction"`, "`[a-z`"}},
		{name: "an unknown compression", files: agent, overlay: "exporters::otlp_http::compression: zip", want: []string{"compression", `"zip"`}},
		{name: "a certificate that is not there", files: agent, overlay: "exporters::otlp_http::tls::ca_file: ./none.pem", want: []string{`"otlp_http"`, "none.pem"}},
		{name: "an address without a port", files: agent, env: []string{"AGENT_LISTEN=4318"}, want: []string{`"otlp"`, "4318: missing port"}},
		{name: "headers that are no pairs", files: agent, env: []string{"BACKEND_HEADERS=Basic abc"}, want: []string{`"otlp_http"`, "headers"}},
		{name: "no backend", files: agent, env: []string{"BACKEND_ENDPOINT-"}, want: []string{"otlp_http", "endpoint must be specified"}},
		{name: "no queue", files: agent, env: []string{"QUEUE_DIRECTORY-"}, want: []string{"unset environment variable", `"QUEUE_DIRECTORY"`, `"file_storage"`}},
		{name: "no ClickHouse", files: []string{"gateway.yaml", "examples/clickhouse.yaml"}, want: []string{"clickhouse", "endpoint"}},
		{name: "a bad condition", files: gateway, env: []string{"KEEP_COST_USD=1,5"}, want: []string{`"tail_sampling"`, `"costly"`, `","`}},
		{name: "a duration for milliseconds", files: gateway, env: []string{"KEEP_SLOW_MS=15m"}, want: []string{`"tail_sampling"`, "latency.threshold_ms"}},
		{name: "a share in words", files: gateway, env: []string{"KEEP_PERCENT=ten"}, want: []string{`"tail_sampling"`, "sampling_percentage"}},
		{name: "an unknown policy", files: gateway, overlay: "processors::tail_sampling::policies: [{name: a, type: sometimes}]", want: []string{`"tail_sampling"`, `"a"`, "sometimes"}},
		{name: "a label that is one already", files: gateway, env: []string{"GATEWAY_LABELS=team.id,gen_ai.tool.name"}, want: []string{"agent_metrics", `"gen_ai.tool.name"`}},
		{name: "a label twice", files: gateway, env: []string{"GATEWAY_LABELS=team.id,team.id"}, want: []string{"agent_metrics", `"team.id"`}},
		{name: "a limit in words", files: gateway, env: []string{"GATEWAY_LABELS_LIMIT=many"}, want: []string{`"agent_metrics"`, "label_limit"}},
		{name: "a storage of metrics that is not there", files: gateway, overlay: "connectors::agent_metrics::storage: file_store", want: []string{`"agent_metrics"`, "file_store"}},
		{name: "no folder for what is refused", files: agent, overlay: `extensions::refusals::directory: ""`, want: []string{"refusals", "directory"}},
		{name: "no gateways", files: gateway, env: []string{"GATEWAY_PEERS="}, want: []string{`"load_balancing"`, "no endpoints"}},
		{name: "two ways to the gateways", files: gateway, overlay: "exporters::load_balancing::resolver::dns::hostname: x", want: []string{`"load_balancing"`, "only one resolver"}},
		{name: "a key to balance by that is none", files: gateway, overlay: "exporters::load_balancing::routing_key: tracid", want: []string{`"load_balancing"`, "tracid"}},
		{name: "one port for two", files: gateway, env: []string{"GATEWAY_PEER_LISTEN=LISTEN"}, want: []string{"LISTEN", "in use"}},
		{name: "a file that is not there", files: gateway, overlay: "processors::redaction: ${file:./none.yaml}", want: []string{"none.yaml"}},
		{name: "no agent of Infinium", files: infinium, env: []string{"INFINIUM_AGENT_ID-", "INFINIUM_AGENT_SECRET=secret-of-a-test"}, want: []string{"infinium", "agent_id"}},
		{name: "no secret of Infinium", files: infinium, env: []string{"INFINIUM_AGENT_ID=agent", "INFINIUM_AGENT_SECRET-"}, want: []string{"infinium", "agent_secret"}},
		{name: "an address of Infinium that is none", files: infinium, env: []string{"INFINIUM_AGENT_ID=agent", "INFINIUM_AGENT_SECRET=secret-of-a-test", "INFINIUM_BASE_URL=platform"}, want: []string{"infinium", "base_url", `"platform"`}},
		{name: "a misspelt key of Infinium", files: infinium, overlay: "exporters::infinium::agent: a", env: []string{"INFINIUM_AGENT_ID=agent", "INFINIUM_AGENT_SECRET=secret-of-a-test"}, want: []string{`"infinium"`, "invalid keys: agent"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			ports, err := otelcol.OpenPorts()
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = ports.Close() })
			dir := t.TempDir()
			file := filepath.Join(dir, "file")
			if err := os.WriteFile(file, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			env := []string{"BACKEND_ENDPOINT=http://127.0.0.1:1", "QUEUE_DIRECTORY=" + filepath.Join(dir, "queue")}
			var listen string
			for _, name := range []string{"AGENT_LISTEN", "GATEWAY_PEER_LISTEN", "GATEWAY_METRICS", "GATEWAY_HEALTH", "GATEWAY_OWN_METRICS_PORT", "GATEWAY_LISTEN"} {
				if listen, err = ports.Next(); err != nil {
					t.Fatal(err)
				}
				value := listen
				if strings.HasSuffix(name, "_PORT") {
					value = listen[strings.LastIndexByte(listen, ':')+1:]
				}
				env = append(env, name+"="+value)
			}
			words := strings.NewReplacer("FILE", file, "LISTEN", listen)
			for _, e := range c.env {
				name, value, set := strings.Cut(e, "=")
				name = strings.TrimSuffix(name, "-")
				env = slices.DeleteFunc(env, func(have string) bool { return strings.HasPrefix(have, name+"=") })
				if set {
					env = append(env, name+"="+words.Replace(value))
				}
			}
			configs := shippedConfig{files: c.files}.paths(t)
			if c.overlay != "" {
				configs = append(configs, "yaml:"+c.overlay)
			}
			out, err := runCollector(t, "", dir, configs, env)
			if err == nil {
				t.Fatalf("the Collector has started:\n%s", end(complaints(out)))
			}
			for _, want := range c.want {
				// Within the log's own lines quotes are escaped.
				if want = words.Replace(want); !strings.Contains(strings.ReplaceAll(out, `\"`, `"`), want) {
					t.Errorf("does not say %s:\n%s", want, end(out))
				}
			}
		})
	}
}

// The Collector takes a variable that is not set for an empty text. Where that
// stops nothing, such as for a key, its warning is all there is.
func TestAVariableThatIsNotSetIsNamed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ example, variable string }{
		{"examples/honeycomb.yaml", "HONEYCOMB_API_KEY"},
		{"examples/langfuse.yaml", "LANGFUSE_AUTH"},
	} {
		t.Run(c.variable, func(t *testing.T) {
			t.Parallel()
			s := startShipped(t, shippedConfig{files: []string{"agent.yaml", c.example}})
			if log := s.Log(); !strings.Contains(log, "unset environment variable") || !strings.Contains(log, `"`+c.variable+`"`) {
				t.Errorf("no warning names %s:\n%s", c.variable, complaints(log))
			}
		})
	}
}
