package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A session holds tasks, one trace each; a task has calls and requests. Other words for a
// task are allowed only in these lines: names, and what has nothing to do with tasks.
var (
	otherWords = regexp.MustCompile(`(?i)\bturns?\b|\b(the|a|each|one|every|per|of|its|whole|last|next|such|several|many|[0-9]+) runs?\b`)
	allowed    = regexp.MustCompile(strings.Join([]string{
		`hookspan turns the hook events`, `What turns out later`, `takes turns with`, `turns? (on|off|to|into)\b`, // verbs
		`HOOKSPAN_INFINIUM_GRANULARITY`, `\(3 turns\)`, `hookspan\.turns?`, `hookspan\.turn_failed`, // names
		`each turn`,    // in the table of what agents report
		`one run each`, // of programs
	}, "|"))
	// named are the pages of names that others give: those of spans, and the panels of
	// dashboards.
	named = []string{"spans.md", "dashboards.md"}
)

func TestPagesCallATaskATask(t *testing.T) {
	pages, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil || len(pages) == 0 {
		t.Fatal(pages, err)
	}
	for _, page := range append(pages, filepath.Join(root, "README.md")) {
		if slices.Contains(named, filepath.Base(page)) {
			continue
		}
		b, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for n, line := range strings.Split(string(b), "\n") {
			if word := otherWords.FindString(line); word != "" && !allowed.MatchString(line) {
				t.Errorf("%s:%d: %q: say task, or add it to what is allowed:\n%s", filepath.Base(page), n+1, word, line)
			}
		}
	}
}
