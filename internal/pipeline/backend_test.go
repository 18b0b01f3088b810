package pipeline

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestBackendIsRecognisedByItsAddress(t *testing.T) {
	with := func(name string) map[string]string { return map[string]string{name: "x"} }
	for _, c := range []struct {
		endpoint string
		headers  map[string]string
		want     string
	}{
		{"https://cloud.langfuse.com/api/public/otel/v1/traces", nil, "Langfuse"},
		{"https://us.cloud.langfuse.com/api/public/otel/v1/traces", nil, "Langfuse"},
		{"http://langfuse.internal:3000/api/public/otel/v1/traces", nil, "Langfuse"},
		{"http://localhost:6006/v1/traces", nil, "Phoenix"},
		{"https://app.phoenix.arize.com/s/team/v1/traces", nil, "Phoenix"},
		{"http://localhost:5000/v1/traces", with("X-MLflow-Experiment-Id"), "MLflow"},
		{"https://otlp.us5.datadoghq.com/v1/traces", with("dd-api-key"), "Datadog"},
		{"https://ingest.eu.signoz.cloud:443/v1/traces", nil, "SigNoz"},
		{"https://API.Honeycomb.io/v1/traces", nil, "Honeycomb"},
		{"https://eu.api.smith.langchain.com/otel/v1/traces", nil, "LangSmith"},
		{"https://api.braintrust.dev/otel/v1/traces", nil, "Braintrust"},
		{"https://trace.wandb.ai/otel/v1/traces", nil, "Weave"},
		{"https://otlp-gateway-prod-eu-west-2.grafana.net/otlp/v1/traces", nil, "Grafana Tempo"},
		{"https://otlp.eu01.nr-data.net/v1/traces", nil, "New Relic"},
		{"https://ingress.eu-west-1.aws.dash0.com/v1/traces", nil, "Dash0"},
		// A host's name counts before a header that another backend has, too.
		{"https://api.honeycomb.io/v1/traces", with("x-mlflow-experiment-id"), "Honeycomb"},
		// What may be anything is not named.
		{"http://localhost:4318/v1/traces", nil, ""},
		{"http://localhost:4318/v1/traces", with("authorization"), ""},
		{"https://notlangfuse.com/v1/traces", nil, ""},
		{"https://honeycomb.io.example.org/v1/traces", nil, ""},
		{"://", nil, ""},
	} {
		got := ""
		if b := recognise(c.endpoint, c.headers); b != nil {
			got = b.name
		}
		if got != c.want {
			t.Errorf("%s with %v: got %q, want %q", c.endpoint, c.headers, got, c.want)
		}
	}
}

// TestBackendsAreDocumented looks for each backend and what it shows in the documentation.
func TestBackendsAreDocumented(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "backends.md"))
	if err != nil {
		t.Fatal(err)
	}
	head, _, _ := strings.Cut(string(text), "\n## ")
	_, head, _ = strings.Cut(head, "Tests send")
	for _, b := range backends {
		_, section, found := strings.Cut(string(text), "\n## "+b.name+"\n")
		section, _, _ = strings.Cut(section, "\n## ")
		words := strings.Join(strings.Fields(strings.ReplaceAll(section, "`", "")), " ")
		if !found || !strings.Contains(words, b.shows) {
			t.Errorf("docs/backends.md has no section %q with the words %q", b.name, b.shows)
		}
		if slices.Contains(strings.Fields(head), b.name) != b.tried {
			t.Errorf("docs/backends.md: want %q among the backends that tests run exactly if they do", b.name)
		}
	}
}
