package docs_test

import (
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hookspan/hookspan/config"
	"github.com/hookspan/hookspan/internal/record"
)

// load reads text as the env file of a user without any other setting.
func load(text string) (*config.Config, []string) {
	const file = "/home/dev/.config/hookspan/hookspan.env"
	c, err := config.Load(config.Input{
		Home: "/home/dev", GOOS: "linux",
		ReadFile: func(name string) ([]byte, error) {
			if name != file {
				return nil, fs.ErrNotExist
			}
			return []byte(text), nil
		},
	})
	var said []string
	for _, p := range config.Problems(err) {
		said = append(said, p.Error())
	}
	return c, said
}

var fenced = regexp.MustCompile("(?s)```env\n(.*?)```")

// TestSettingsOnPagesLoad loads each block of settings on a page as an env file.
func TestSettingsOnPagesLoad(t *testing.T) {
	found := 0
	for _, name := range pages(t) {
		for _, m := range fenced.FindAllStringSubmatch(page(t, name), -1) {
			found++
			c, problems := load(m[1])
			for _, p := range problems {
				t.Errorf("%s: %s\n%s", name, p, m[1])
			}
			if !slices.ContainsFunc(c.Settings(), func(s config.Setting) bool { return s.Source == config.File }) {
				t.Errorf("%s: nothing of this is in force:\n%s", name, m[1])
			}
		}
	}
	if found == 0 {
		t.Fatal("no block of settings found")
	}
}

// TestHeadersOnBackendPage holds what the page writes encoded against what a
// backend must get.
func TestHeadersOnBackendPage(t *testing.T) {
	got := make(map[string][]map[string]string)
	for _, m := range fenced.FindAllStringSubmatch(page(t, "docs/backends.md"), -1) {
		c, _ := load(m[1])
		if o := c.OTLP(); len(o.Headers) > 0 {
			got[o.Endpoint] = append(got[o.Endpoint], o.Headers)
		}
	}
	tests := map[string]map[string]string{
		"https://otlp-gateway-prod-eu-west-2.grafana.net/otlp/v1/traces": {"Authorization": "Basic BASE64"},
		"https://api.honeycomb.io/v1/traces":                             {"x-honeycomb-team": "INGEST_KEY"},
		"https://cloud.langfuse.com/api/public/otel/v1/traces": {
			"Authorization": "Basic BASE64", "x-langfuse-ingestion-version": "4",
		},
		"http://127.0.0.1:5000/v1/traces":              {"x-mlflow-experiment-id": "1"},
		"https://otlp.datadoghq.com/v1/traces":         {"dd-api-key": "API_KEY", "dd-otlp-source": "llmobs"},
		"https://ingest.eu.signoz.cloud:443/v1/traces": {"signoz-ingestion-key": "INGESTION_KEY"},
		"https://api.smith.langchain.com/otel/v1/traces": {
			"x-api-key": "API_KEY", "Langsmith-Project": "agents",
		},
		"https://api.braintrust.dev/otel/v1/traces": {
			"Authorization": "Bearer API_KEY", "x-bt-parent": "project_name:agents",
		},
		"https://otlp.nr-data.net/v1/traces": {"api-key": "LICENSE_KEY"},
		"https://trace.wandb.ai/otel/v1/traces": {
			"wandb-api-key": "API_KEY", "project_id": "ENTITY/PROJECT",
		},
		"https://ingress.eu-west-1.aws.dash0.com/v1/traces": {"Authorization": "Bearer TOKEN"},
	}
	for endpoint, want := range tests {
		if len(got[endpoint]) != 1 {
			t.Errorf("%s: want one block with headers, found %d", endpoint, len(got[endpoint]))
			continue
		}
		for k, v := range want {
			if have := got[endpoint][0][k]; have != v {
				t.Errorf("%s: header %s is %q, want %q", endpoint, k, have, v)
			}
		}
		if len(got[endpoint][0]) != len(want) {
			t.Errorf("%s: headers %v, want %v", endpoint, got[endpoint][0], want)
		}
	}
	if len(got) != len(tests) {
		t.Errorf("docs/backends.md sends headers to %d endpoints, %d are looked at", len(got), len(tests))
	}
}

// TestExampleFileLoads loads the example as it is and with every setting in it
// switched on.
func TestExampleFileLoads(t *testing.T) {
	text := page(t, "examples/hookspan.env")
	if _, problems := load(text); len(problems) > 0 {
		t.Errorf("as it is: %s", strings.Join(problems, "\n"))
	}
	all := regexp.MustCompile(`(?m)^# ([A-Z_]+=)`).ReplaceAllString(text, "$1")
	c, problems := load(all)
	if len(problems) > 0 {
		t.Errorf("with every setting: %s", strings.Join(problems, "\n"))
	}
	set := 0
	for _, s := range c.Settings() {
		if s.Source == config.File {
			set++
		}
	}
	if want := len(regexp.MustCompile(`(?m)^[A-Z_]+=`).FindAllString(all, -1)); set != want {
		t.Errorf("%d of the file's %d settings are in force", set, want)
	}
}

var variable = regexp.MustCompile(`\b(?:HOOKSPAN|CONNECTOR|INFINIUM)_[A-Z_]*[A-Z]\b`)

// TestVariablesOnPagesExist looks up each hookspan variable that a page names: a
// setting, one of the install script, or that of a run.
func TestVariablesOnPagesExist(t *testing.T) {
	known := map[string]bool{record.RunVariable: true}
	c, _ := load("")
	for _, s := range c.Settings() {
		known[s.Name] = true
	}
	for _, v := range variable.FindAllString(page(t, "packaging/install.sh"), -1) {
		known[v] = true
	}
	found := 0
	for _, name := range append(pages(t), "examples/hookspan.env") {
		for _, v := range variable.FindAllString(page(t, name), -1) {
			found++
			if !known[v] {
				t.Errorf("%s names %s, which nothing reads", name, v)
			}
		}
	}
	if found == 0 {
		t.Fatal("no variable found")
	}
}
