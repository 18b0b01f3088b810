// Package docs_test holds the pages of the documentation against what they
// describe: the names on spans, the modules in use, the settings in examples.
package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

const root = "../.."

func page(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// parseFile reads one Go file of the module.
func parseFile(t *testing.T, name string) *ast.File {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, filepath.FromSlash(name)), nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func parseImports(t *testing.T, name string) []string {
	t.Helper()
	var out []string
	for _, i := range parseFile(t, name).Imports {
		path, err := strconv.Unquote(i.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, path)
	}
	return out
}

// mentions reports whether the page has the word as code.
func mentions(text, word string) bool { return strings.Contains(text, "`"+word+"`") }

// pages are the Markdown files that people read, by their path from the
// module's root. Those below testdata and installed packages are not ours.
func pages(t *testing.T) []string {
	t.Helper()
	var out []string
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/results/*.md", "examples/*.md", "collector-config/*.md", "spool/*.md", "tests/golden/testdata/*.md"} {
		found, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(pattern)))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range found {
			rel, err := filepath.Rel(root, name)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, filepath.ToSlash(rel))
		}
	}
	return out
}

var link = regexp.MustCompile(`\]\(([^)\s]+)\)`)

// TestLinksBetweenFilesLead follows each link that stays inside the module, to
// the file and to the heading in it.
func TestLinksBetweenFilesLead(t *testing.T) {
	found := 0
	for _, name := range pages(t) {
		for _, m := range link.FindAllStringSubmatch(page(t, name), -1) {
			target, heading, _ := strings.Cut(m[1], "#")
			if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
				continue
			}
			found++
			path := filepath.ToSlash(filepath.Join(filepath.Dir(filepath.FromSlash(name)), filepath.FromSlash(target)))
			if target == "" {
				path = name
			}
			info, err := os.Stat(filepath.Join(root, filepath.FromSlash(path)))
			if err != nil {
				t.Errorf("%s: the link %q leads nowhere: %v", name, m[1], err)
				continue
			}
			if heading != "" && !info.IsDir() && !headings(page(t, path))[heading] {
				t.Errorf("%s: the link %q names no heading of %s", name, m[1], path)
			}
		}
	}
	if found == 0 {
		t.Fatal("no link found")
	}
}

// headings gives the anchors that GitHub makes of a page's headings.
func headings(text string) map[string]bool {
	out := make(map[string]bool)
	for line := range strings.Lines(text) {
		word, ok := strings.CutPrefix(strings.TrimLeft(line, "#"), " ")
		if !ok || !strings.HasPrefix(line, "#") {
			continue
		}
		anchor := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || r == '_' || 'a' <= r && r <= 'z' || '0' <= r && r <= '9':
				return r
			}
			return -1
		}, strings.ToLower(strings.TrimSpace(word)))
		out[anchor] = true
	}
	return out
}
