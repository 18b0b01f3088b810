package collector_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/tests/internal/built"
)

// manifest is what builder.yaml says: modules with their versions by section,
// and what replaces what.
type manifest struct {
	modules  map[string][]string
	replaces []string
	version  string
}

var (
	sectionLine = regexp.MustCompile(`^([a-z]+):$`)
	moduleLine  = regexp.MustCompile(`^  - gomod: (\S+ v\S+)$`)
	replaceLine = regexp.MustCompile(`^  - (\S+ => .+)$`)
	versionLine = regexp.MustCompile(`^  version: (\S+)$`)
)

func builderYAML(t *testing.T) manifest {
	t.Helper()
	m := manifest{modules: map[string][]string{}}
	section := ""
	lines := bufio.NewScanner(strings.NewReader(readConfig(t, "builder.yaml")))
	for lines.Scan() {
		line := lines.Text()
		if s := sectionLine.FindStringSubmatch(line); s != nil {
			section = s[1]
			continue
		}
		if v := versionLine.FindStringSubmatch(line); v != nil {
			m.version = v[1]
			continue
		}
		if section == "dist" || line == "" || strings.HasPrefix(strings.TrimSpace(line), "#") {
			continue
		}
		if g := moduleLine.FindStringSubmatch(line); g != nil {
			m.modules[section] = append(m.modules[section], g[1])
		} else if r := replaceLine.FindStringSubmatch(line); r != nil && section == "replaces" {
			m.replaces = append(m.replaces, r[1])
		} else {
			t.Fatalf("builder.yaml: a line that is neither a module nor a replacement: %q", line)
		}
	}
	return m
}

func distribution(t *testing.T, name string) string {
	t.Helper()
	root, err := built.Root()
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(root, "collector-config", "distribution", name)) //nolint:gosec // Of this repository.
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

var componentModule = regexp.MustCompile(`"(\S+ v\S+)"`)

// Who changes builder.yaml runs "make collector-sources".
func TestDistributionIsInStepWithTheManifest(t *testing.T) {
	t.Parallel()
	m := builderYAML(t)
	sorted := func(set map[string]bool) []string { return slices.Sorted(maps.Keys(set)) }

	want, got := map[string]bool{}, map[string]bool{}
	for _, section := range []string{"receivers", "processors", "connectors", "exporters", "extensions"} {
		for _, g := range m.modules[section] {
			want[g] = true
		}
	}
	if len(want) < 10 {
		t.Fatalf("builder.yaml has %d components", len(want))
	}
	for _, g := range componentModule.FindAllStringSubmatch(distribution(t, "components.go"), -1) {
		got[g[1]] = true
	}
	if diff := cmp.Diff(sorted(want), sorted(got)); diff != "" {
		t.Errorf("components.go is not of this builder.yaml (-want +got):\n%s", diff)
	}

	mod := distribution(t, "go.mod")
	for _, g := range slices.Concat(slices.Sorted(maps.Keys(want)), m.modules["providers"]) {
		if !strings.Contains(mod, "\t"+g+"\n") {
			t.Errorf("go.mod of the distribution does not require %s", g)
		}
	}
	for _, r := range m.replaces {
		if !strings.Contains(mod, r+"\n") {
			t.Errorf("go.mod of the distribution does not replace %s", r)
		}
	}
	main := distribution(t, "main.go")
	for _, g := range m.modules["providers"] {
		module, _, _ := strings.Cut(g, " ")
		if !strings.Contains(main, module) {
			t.Errorf("main.go of the distribution does not have %s", module)
		}
	}
	if m.version == "" || !strings.Contains(main, fmt.Sprintf("%q", m.version)) {
		t.Errorf("main.go of the distribution does not say the version %q", m.version)
	}
}

var (
	componentName = regexp.MustCompile(`^    - name: (\S+)$`)
	componentOf   = regexp.MustCompile(`^      module: (\S+ v\S+)$`)
)

// What is built in is what the files use: none is missing, none is there for
// nothing.
func TestTheManifestHasWhatTheFilesUse(t *testing.T) {
	t.Parallel()
	out, err := runCollector(t, "components", t.TempDir(), nil, nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	// built has the module of each type, by section.
	built := map[string]map[string]string{}
	section, name := "", ""
	for line := range strings.Lines(out) {
		line = strings.TrimRight(line, "\n")
		if s := sectionLine.FindStringSubmatch(line); s != nil {
			section = s[1]
			built[section] = map[string]string{}
		} else if n := componentName.FindStringSubmatch(line); n != nil {
			name = n[1]
		} else if m := componentOf.FindStringSubmatch(line); m != nil {
			built[section][name] = m[1]
		}
	}
	used := map[string]map[string]bool{}
	for _, c := range shippedConfigs {
		dir := t.TempDir()
		out, err := runCollector(t, "print-config --format json", dir, c.paths(t), c.environ(dir))
		if err != nil {
			t.Fatalf("%s: %v\n%s", c.name(), err, out)
		}
		var sections map[string]map[string]json.RawMessage
		var document map[string]json.RawMessage
		if err := json.Unmarshal([]byte(out), &document); err != nil {
			t.Fatalf("%s: %v\n%s", c.name(), err, end(out))
		}
		delete(document, "service")
		sections = map[string]map[string]json.RawMessage{}
		for s, raw := range document {
			var ids map[string]json.RawMessage
			if err := json.Unmarshal(raw, &ids); err != nil {
				t.Fatalf("%s: %s: %v", c.name(), s, err)
			}
			sections[s] = ids
		}
		for s, ids := range sections {
			for id := range ids {
				kind, _, _ := strings.Cut(id, "/")
				if used[s] == nil {
					used[s] = map[string]bool{}
				}
				used[s][built[s][kind]] = true
			}
		}
	}
	// The load balancer is made of the gRPC exporter, which jaeger.yaml uses too.
	for section, modules := range builderYAML(t).modules {
		if section == "providers" {
			continue
		}
		if diff := cmp.Diff(slices.Sorted(slices.Values(modules)), slices.Sorted(maps.Keys(used[section]))); diff != "" {
			t.Errorf("%s (-builder.yaml +used):\n%s", section, diff)
		}
	}
}
