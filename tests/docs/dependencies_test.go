package docs_test

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestEveryDependencyHasAReason holds the direct requirements of hookspan and of its
// tests against the lines of docs/dependencies.md.
func TestEveryDependencyHasAReason(t *testing.T) {
	lines := reasons(page(t, "docs/dependencies.md"))
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
		if !lines[r.Path] {
			t.Errorf("docs/dependencies.md has no line for %s, which go.mod requires", r.Path)
		}
	}
	if direct == 0 {
		t.Fatal("go.mod requires nothing")
	}
	for path := range lines {
		if required[path] == "" {
			t.Errorf("docs/dependencies.md: %s is not in go.mod", path)
		}
	}
}

// line names a module, its licence and why it is needed.
var line = regexp.MustCompile("(?m)^- `([^`]+)` \\([^)]+\\): .{10}")

// reasons returns the modules that have a line.
func reasons(text string) map[string]bool {
	out := make(map[string]bool)
	for _, m := range line.FindAllStringSubmatch(text, -1) {
		out[m[1]] = true
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
