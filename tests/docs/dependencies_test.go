package docs_test

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"
)

// TestEveryDependencyHasAReason holds the direct requirements of go.mod against
// the lines of docs/dependencies.md.
func TestEveryDependencyHasAReason(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "go", "mod", "edit", "-json")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("read go.mod: %v", err)
	}
	var mod struct {
		Require []struct {
			Path, Version string
			Indirect      bool
		}
	}
	if err := json.Unmarshal(out, &mod); err != nil {
		t.Fatal(err)
	}
	lines := table(page(t, "docs/dependencies.md"))
	required := make(map[string]string)
	direct := 0
	for _, r := range mod.Require {
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
