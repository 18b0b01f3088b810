package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPagesStayShort counts words as `wc -w` does, those of generated lists as well.
func TestPagesStayShort(t *testing.T) {
	for _, limit := range []struct {
		what, folder string
		more         []string
		words        int
	}{
		{"docs/results", "docs/results", nil, 6_000},
		{"README.md and docs", "docs", []string{"README.md"}, 28800},
	} {
		words := 0
		for _, name := range append(limit.more, markdown(t, limit.folder)...) {
			words += len(strings.Fields(page(t, name)))
		}
		if words == 0 || words > limit.words {
			t.Errorf("%s: %d words, at most %d: say each thing once and link to it, or shorten what it is made from", limit.what, words, limit.words)
		}
	}
}

// markdown is the Markdown files of a folder and those below it, from the module's root.
func markdown(t *testing.T, folder string) (out []string) {
	t.Helper()
	err := fs.WalkDir(os.DirFS(root), folder, func(name string, _ fs.DirEntry, err error) error {
		if filepath.Ext(name) == ".md" {
			out = append(out, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestResultsHaveOneTableEach(t *testing.T) {
	for _, name := range markdown(t, "docs/results") {
		if n := strings.Count(page(t, name), "\n|---"); n > 1 {
			t.Errorf("%s has %d tables, want one: the others are in dist/results", name, n)
		}
	}
}

// TestChangelogBeginsWithARelease: before there is one, nothing has changed.
func TestChangelogBeginsWithARelease(t *testing.T) {
	_, text, found := strings.Cut(page(t, "CHANGELOG.md"), "\n## [Unreleased]\n")
	if !found {
		t.Fatal("CHANGELOG.md has no section Unreleased")
	}
	if !strings.Contains(text, "\n## [") && strings.TrimSpace(text) != "The first release." {
		t.Errorf("CHANGELOG.md: Unreleased has %q before the first release, want %q alone", strings.TrimSpace(text), "The first release.")
	}
}
