package docs_test

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestEveryDependencyHasAReason holds the direct requirements of hookspan and of its
// tests against the lines of docs/dependencies.md.
func TestEveryDependencyHasAReason(t *testing.T) {
	lines := table(page(t, "docs/dependencies.md"))
	required := make(map[string]string)
	direct := 0
	for _, r := range slices.Concat(requirements(t, "."), requirements(t, "tests"), requirements(t, "tests/bench")) {
		if strings.HasPrefix(r.Path, "github.com/hookspan/hookspan") {
			continue
		}
		if other := required[r.Path]; other != "" && other != r.Version {
			t.Errorf("%s is required in %s and %s: want one version", r.Path, other, r.Version)
		}
		required[r.Path] = r.Version
		if r.Indirect {
			continue
		}
		direct++
		cells, ok := lines[r.Path]
		if !ok {
			t.Errorf("docs/dependencies.md has no line for %s, which go.mod requires", r.Path)
			continue
		}
		for i, name := range []string{"module", "version", "licence", "reason", "health", "cost in the hook"} {
			if i >= len(cells) || cells[i] == "" {
				t.Errorf("docs/dependencies.md: %s: no %s", r.Path, name)
			}
		}
	}
	if direct == 0 {
		t.Fatal("go.mod requires nothing")
	}
	for path, cells := range lines {
		switch {
		case required[path] == "":
			t.Errorf("docs/dependencies.md: %s is not in go.mod", path)
		case len(cells) > 1 && cells[1] != required[path]:
			t.Errorf("docs/dependencies.md: %s %s, but go.mod has %s", path, cells[1], required[path])
		}
	}
}

// table returns the rows whose first cell is a module path, by that path.
func table(text string) map[string][]string {
	out := make(map[string][]string)
	for line := range strings.Lines(text) {
		row, ok := strings.CutPrefix(strings.TrimSpace(line), "| `")
		if !ok {
			continue
		}
		cells := strings.Split(strings.TrimSuffix(row, "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		path := strings.TrimSuffix(cells[0], "`")
		cells[0] = path
		out[path] = cells
	}
	return out
}

// requirement is a module that a go.mod requires.
type requirement struct {
	Path, Version string
	Indirect      bool
}

// requirements are those of the go.mod in a folder.
func requirements(t *testing.T, folder string) []requirement {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "mod", "edit", "-json")
	cmd.Dir = filepath.Join(root, folder)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("read %s/go.mod: %v", folder, err)
	}
	var mod struct{ Require []requirement }
	if err := json.Unmarshal(out, &mod); err != nil {
		t.Fatal(err)
	}
	return mod.Require
}
