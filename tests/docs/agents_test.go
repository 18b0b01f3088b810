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

// TestEachAgentHasItsTests looks for what an agent's packages and lists have to test, which fails
// nowhere where it is missing. A fork of opencode shares opencode's, and Cline is older than they are.
func TestEachAgentHasItsTests(t *testing.T) {
	for _, a := range hook.Agents() {
		if a.Host == hook.HostCline || a.Host != hook.HostOpencode && a.Plugin != "" {
			continue
		}
		for _, want := range [][2]string{
			{"hook/WORD/*_test.go", "func Fuzz"},
			{"internal/transcript/WORD/*_test.go", "func Fuzz"},
			{"internal/transcript/WORD/*_test.go", "transcripttest.Golden("},
			{"internal/transcript/WORD/*_test.go", "transcripttest.Growth("},
			{"internal/transcript/WORD/*_test.go", "transcripttest.Jumps("},
			{"internal/transcript/testdata/README.md", "\n- `WORD/`: "},
			{"cmd/hookspan/testdata/script/install_WORD.txtar", "hookspan uninstall WORD\n"},
			{"tests/WORDcli/*_test.go", "func Test"},
			{"tests/internal/programs/programs.go", "WORDcli.Agent"},
		} {
			if a.Host == hook.HostOpencode && strings.Contains(want[1], "Jumps") {
				continue // the order of its rows is that of their ids
			}
			pattern, text := strings.ReplaceAll(want[0], "WORD", a.Word), strings.ReplaceAll(want[1], "WORD", a.Word)
			files, err := fs.Glob(os.DirFS(root), pattern)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.ContainsFunc(files, func(name string) bool { return strings.Contains(page(t, name), text) }) {
				t.Errorf("%s: no %s has %q: CONTRIBUTING.md, Adding an agent", a.Name, pattern, text)
			}
		}
	}
}

// TestEachRecordedSessionIsExplained: the page beside the goldens says what to expect of each.
func TestEachRecordedSessionIsExplained(t *testing.T) {
	const folder = "tests/golden/testdata/"
	explained := page(t, folder+"README.md")
	files, err := fs.Glob(os.DirFS(root), folder+"*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		if name := strings.TrimSuffix(path.Base(file), ".txt"); !mentions(explained, name) {
			t.Errorf("%sREADME.md does not say what %s has", folder, name)
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
