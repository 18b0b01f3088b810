package collector_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hookspan/hookspan/tests/internal/built"
)

// shippedConfig is a way to run a Collector with files of collector-config: one
// to start from and what is merged behind it.
type shippedConfig struct {
	files []string
	// env is what the headers of the files ask for.
	env map[string]string
}

// shippedConfigs are all ways that the files' headers name. A directory of
// the test's own takes the place of DIR.
var shippedConfigs = []shippedConfig{
	{files: []string{"agent.yaml"}, env: map[string]string{"BACKEND_ENDPOINT": "http://127.0.0.1:1"}},
	{files: []string{"gateway.yaml"}, env: map[string]string{"BACKEND_ENDPOINT": "http://127.0.0.1:1"}},
	{files: []string{"gateway.yaml", "archive.yaml"}, env: map[string]string{"BACKEND_ENDPOINT": "http://127.0.0.1:1", "ARCHIVE_DIRECTORY": "DIR/archive"}},
	{files: []string{"gateway.yaml", "kubernetes.yaml"}, env: map[string]string{
		"BACKEND_ENDPOINT": "http://127.0.0.1:1", "GATEWAY_SERVICE": "gateways.example.invalid", "GATEWAY_NAME": "gateways-0",
	}},
	{files: []string{"gateway.yaml", "infinium.yaml"}, env: map[string]string{
		"BACKEND_ENDPOINT": "http://127.0.0.1:1", "INFINIUM_AGENT_ID": "agent", "INFINIUM_AGENT_SECRET": "secret-of-a-test",
	}},
	{files: []string{"gateway.yaml", "infinium.yaml", "archive.yaml", "kubernetes.yaml", "examples/langfuse.yaml", "examples/prometheus.yaml"}, env: map[string]string{
		"INFINIUM_AGENT_ID": "agent", "INFINIUM_AGENT_SECRET": "secret-of-a-test", "ARCHIVE_DIRECTORY": "DIR/archive",
		"GATEWAY_SERVICE": "gateways.example.invalid", "GATEWAY_NAME": "gateways-0", "LANGFUSE_AUTH": "eDp5", "PROMETHEUS_ENDPOINT": "http://127.0.0.1:1",
	}},
	{files: []string{"gateway.yaml", "notext.yaml"}, env: map[string]string{"BACKEND_ENDPOINT": "http://127.0.0.1:1"}},
	{files: []string{"gateway.yaml", "tokens.yaml"}, env: map[string]string{"BACKEND_ENDPOINT": "http://127.0.0.1:1", "TOKENS_FILE": "DIR/tokens"}},
	{files: []string{"gateway.yaml", "oidc.yaml", "notext.yaml"}, env: map[string]string{
		"BACKEND_ENDPOINT": "http://127.0.0.1:1", "OIDC_ISSUER": issuer, "OIDC_AUDIENCE": "gateways",
	}},
	{files: []string{"agent.yaml", "examples/jaeger.yaml"}},
	{files: []string{"gateway.yaml", "examples/jaeger.yaml"}},
	{files: []string{"agent.yaml", "examples/tempo.yaml"}, env: map[string]string{"TEMPO_ENDPOINT": "http://127.0.0.1:1"}},
	{files: []string{"gateway.yaml", "examples/tempo.yaml"}, env: map[string]string{"TEMPO_ENDPOINT": "http://127.0.0.1:1"}},
	{files: []string{"agent.yaml", "examples/langfuse.yaml"}, env: map[string]string{"LANGFUSE_AUTH": "eDp5"}},
	{files: []string{"gateway.yaml", "examples/langfuse.yaml"}, env: map[string]string{"LANGFUSE_AUTH": "eDp5"}},
	{files: []string{"agent.yaml", "examples/honeycomb.yaml"}, env: map[string]string{"HONEYCOMB_API_KEY": "key"}},
	{files: []string{"gateway.yaml", "examples/honeycomb.yaml"}, env: map[string]string{"HONEYCOMB_API_KEY": "key"}},
	{files: []string{"gateway.yaml", "examples/clickhouse.yaml"}, env: clickhouse},
	{files: []string{"gateway.yaml", "examples/prometheus.yaml"}, env: map[string]string{
		"BACKEND_ENDPOINT": "http://127.0.0.1:1", "PROMETHEUS_ENDPOINT": "http://127.0.0.1:1",
	}},
}

var clickhouse = map[string]string{"CLICKHOUSE_ENDPOINT": "clickhouse://127.0.0.1:9000", "CLICKHOUSE_USER": "u", "CLICKHOUSE_PASSWORD": "p"}

// withoutOwnMetrics keeps a gateway off port 8888, which another test's may have.
const withoutOwnMetrics = "yaml:service::telemetry::metrics::level: none"

func (c shippedConfig) name() string { return strings.Join(c.files, " ") }

func TestEachShippedFileIsValid(t *testing.T) {
	t.Parallel()
	unused := map[string]bool{}
	for _, f := range configFiles(t) {
		unused[f] = true
	}
	for _, c := range shippedConfigs {
		for _, f := range c.files {
			delete(unused, f)
		}
		t.Run(c.name(), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			out, err := runCollector(t, "validate", dir, c.paths(t), c.environ(dir))
			if err != nil {
				t.Errorf("%v\n%s", err, out)
			}
			// With what the headers name, nothing else is asked of the environment.
			if strings.Contains(out, "unset environment variable") {
				t.Errorf("the headers do not name all variables:\n%s", out)
			}
		})
	}
	if len(unused) > 0 {
		t.Errorf("validated with no test: %q", slices.Sorted(maps.Keys(unused)))
	}
}

var (
	usedVariable       = regexp.MustCompile(`\$\{env:([A-Za-z_][A-Za-z0-9_]*)(:-[^}]*)?\}`)
	documentedVariable = regexp.MustCompile(`^#   ([A-Z][A-Z0-9_]+)( |$)`)
)

func TestHeadersNameTheVariables(t *testing.T) {
	t.Parallel()
	for _, name := range configFiles(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := readConfig(t, name)
			must, may := header(text)
			used := map[string]bool{}
			for _, m := range usedVariable.FindAllStringSubmatch(withoutComments(text), -1) {
				used[m[1]] = true
				switch {
				case m[2] == "" && !must[m[1]]:
					t.Errorf("${env:%s} has no default, and the header does not list it under \"Set in the environment\"", m[1])
				case m[2] != "" && !may[m[1]]:
					t.Errorf("${env:%s} has a default, and the header does not list it under \"Optional\"", m[1])
				}
			}
			// An overlay may ask for what the file below it has a default for.
			base := withoutComments(readConfig(t, "gateway.yaml"))
			for v := range maps.Keys(must) {
				if !used[v] && (name == "gateway.yaml" || !strings.Contains(base, "${env:"+v+":-")) {
					t.Errorf("the header lists %s, which is not used", v)
				}
			}
			for v := range maps.Keys(may) {
				if !used[v] {
					t.Errorf("the header lists %s, which is not used", v)
				}
			}
		})
	}
}

// header are the variables that the comment at the top of a file lists.
func header(text string) (must, may map[string]bool) {
	must, may = map[string]bool{}, map[string]bool{}
	list := map[string]bool(nil)
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		switch {
		case !strings.HasPrefix(line, "#"):
			return must, may
		case strings.HasPrefix(line, "# Set in the environment"):
			list = must
		case strings.HasPrefix(line, "# Optional"):
			list = may
		case line == "#":
			list = nil
		}
		if m := documentedVariable.FindStringSubmatch(line); m != nil && list != nil {
			list[m[1]] = true
		}
	}
	return must, may
}

var comment = regexp.MustCompile(`(?m)(^|\s)#.*$`)

func withoutComments(text string) string { return comment.ReplaceAllString(text, "") }

// configFiles are the Collector's configurations, without the builder's and Kubernetes'.
func configFiles(t *testing.T) []string {
	t.Helper()
	root, err := built.Root()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	err = fs.WalkDir(os.DirFS(filepath.Join(root, "collector-config")), ".", func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && slices.Contains([]string{"distribution", "grafana", "kubernetes"}, d.Name()) {
			return fs.SkipDir
		}
		if err == nil && path.Ext(p) == ".yaml" && p != "builder.yaml" && p != "kustomization.yaml" {
			names = append(names, p)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func readConfig(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(shipped(t, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func (c shippedConfig) paths(t *testing.T) []string {
	t.Helper()
	var out []string
	for _, f := range c.files {
		out = append(out, shipped(t, filepath.FromSlash(f)))
	}
	return out
}

func (c shippedConfig) environ(dir string) []string {
	env := []string{"QUEUE_DIRECTORY=" + filepath.Join(dir, "queue")}
	for k, v := range c.env {
		env = append(env, k+"="+strings.ReplaceAll(v, "DIR", dir))
	}
	return env
}

// runCollector runs a subcommand, or the Collector itself where that is "", and
// returns what it said. A Collector that is still there after half a minute is
// ended, and then err is nil.
func runCollector(t *testing.T, command, dir string, configs, env []string) (string, error) {
	t.Helper()
	binary, err := collector()
	if err != nil {
		t.Fatal(err)
	}
	var args []string
	if command != "" {
		args = strings.Fields(command)
	}
	for _, c := range configs {
		args = append(args, "--config", c)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, args...) //nolint:gosec // Our own program.
	cmd.Dir = dir
	cmd.Env = slices.Concat([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + dir}, env)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Run()
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		err = nil
	}
	return out.String(), err
}
