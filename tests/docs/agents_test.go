package docs_test

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/agents"
)

// TestEachAgentIsInTheDocuments: pages name the agents by their names, the workflow by the words.
func TestEachAgentIsInTheDocuments(t *testing.T) {
	_, drawn, _ := strings.Cut(page(t, ".github/workflows/weekly.yml"), "agent: [")
	drawn, _, _ = strings.Cut(drawn, "]")
	for _, a := range hook.Agents() {
		for _, name := range []string{"README.md", "docs/install.md", "docs/ci.md"} {
			if !regexp.MustCompile(`\b` + strings.ReplaceAll(a.Name, " ", `\s`) + `\b`).MatchString(page(t, name)) {
				t.Errorf("%s does not name %s", name, a.Name)
			}
		}
		if !slices.Contains(strings.Split(drawn, ", "), a.Word) {
			t.Errorf("weekly.yml draws no sessions of %s: %s", a.Word, drawn)
		}
	}
}

// TestAddingAnAgentNamesItsPlaces looks for the files that name every agent that starts
// claude-hook: another agent needs a row in them.
func TestAddingAnAgentNamesItsPlaces(t *testing.T) {
	_, text, _ := strings.Cut(page(t, "CONTRIBUTING.md"), "## Adding an agent")
	text, _, found := strings.Cut(text, "\n## ")
	if !found {
		t.Fatal("CONTRIBUTING.md has no section about adding an agent")
	}
	var words []string
	for _, a := range agents.All() {
		if a.Program == hook.AgentOf(hook.HostClaude).Program {
			words = append(words, a.Word)
		}
	}
	// A file is named by its path, or by its name in the row of its folder.
	named := func(name string) bool {
		for line := range strings.Lines(text) {
			if mentions(line, name) || strings.Contains(line, path.Base(path.Dir(name))) && strings.Contains(line, path.Base(name)+"`") {
				return true
			}
		}
		return false
	}
	skipped := []string{".git", ".cache", "bin", "dist", "node_modules", "testdata", "secretforms"}
	places := 0
	err := fs.WalkDir(os.DirFS(root), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains(skipped, d.Name()):
			return fs.SkipDir
		case d.IsDir() || name == "CONTRIBUTING.md" || !slices.Contains([]string{"", ".go", ".md", ".txt", ".yaml", ".yml"}, filepath.Ext(name)):
			return nil
		}
		body := strings.ToLower(page(t, name))
		if slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(body, w) }) {
			return nil
		}
		places++
		if !named(name) {
			t.Errorf("%s names every agent, but CONTRIBUTING.md, Adding an agent, does not name it", name)
		}
		return nil
	})
	if err != nil || places == 0 {
		t.Fatalf("%d places: %v", places, err)
	}
	t.Logf("%d places", places)
}
