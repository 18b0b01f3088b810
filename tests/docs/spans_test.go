package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestSpansPageNamesEveryConstant reads the constants of otelmap/names.go and
// looks for the value of each on the page.
func TestSpansPageNamesEveryConstant(t *testing.T) {
	text := page(t, "docs/spans.md")
	standard := conventions(t)
	names := constants(parseFile(t, "otelmap/names.go"), standard)
	if len(names) < 40 {
		t.Fatalf("found only %d constants in otelmap/names.go", len(names))
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		value := names[name]
		switch {
		case value == "":
			t.Errorf("%s: its value cannot be read; write it as a string or a name of semconv", name)
		case !mentions(text, value):
			t.Errorf("%s: docs/spans.md does not mention `%s`", name, value)
		}
	}
}

// constants returns the values of a file's constants that name an attribute, an
// event, an outcome or an error; a value that is written in a form this does
// not know is empty.
func constants(f *ast.File, standard map[string]string) map[string]string {
	out := make(map[string]string)
	for _, d := range f.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.CONST {
			continue
		}
		for _, s := range g.Specs {
			v, ok := s.(*ast.ValueSpec)
			if !ok {
				continue
			}
			for i, n := range v.Names {
				for _, prefix := range []string{"Key", "Event", "Outcome", "Error"} {
					if strings.HasPrefix(n.Name, prefix) && i < len(v.Values) {
						out[n.Name] = value(v.Values[i], standard)
					}
				}
			}
		}
	}
	return out
}

// value reads "text", string("text") and semconv.Name.
func value(e ast.Expr, standard map[string]string) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		s, err := strconv.Unquote(e.Value)
		if err != nil {
			return ""
		}
		return s
	case *ast.CallExpr:
		if len(e.Args) == 1 {
			return value(e.Args[0], standard)
		}
	case *ast.SelectorExpr:
		return standard[e.Sel.Name]
	}
	return ""
}

// conventions reads the keys of the semantic conventions from their source, in
// the version that otelmap imports.
func conventions(t *testing.T) map[string]string {
	t.Helper()
	path := ""
	for _, i := range parseImports(t, "otelmap/names.go") {
		if strings.Contains(i, "/semconv/") {
			path = i
		}
	}
	cmd := exec.CommandContext(t.Context(), "go", "list", "-f", "{{.Dir}}", path)
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("find the source of %q: %v", path, err)
	}
	files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(out)), "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no source of %q: %v", path, err)
	}
	keys := make(map[string]string)
	for _, name := range files {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.CONST {
				continue
			}
			for _, s := range g.Specs {
				if v, ok := s.(*ast.ValueSpec); ok && len(v.Names) == 1 && len(v.Values) == 1 {
					keys[v.Names[0].Name] = value(v.Values[0], nil)
				}
			}
		}
	}
	return keys
}

// TestEveryGoldenFileIsExplained holds the list of golden files against the
// sentences about them.
func TestEveryGoldenFileIsExplained(t *testing.T) {
	text := page(t, "tests/golden/testdata/README.md")
	files, err := fs.Glob(os.DirFS(filepath.Join(root, "tests", "golden", "testdata")), "*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden files: %v", err)
	}
	for _, name := range files {
		if short := strings.TrimSuffix(name, ".txt"); !mentions(text, short) {
			t.Errorf("tests/golden/testdata/README.md says nothing of `%s`", short)
		}
	}
	for _, line := range strings.Split(text, "\n") {
		if word, ok := strings.CutPrefix(line, "- `"); ok {
			word, _, _ = strings.Cut(word, "`")
			if !slices.Contains(files, word+".txt") {
				t.Errorf("tests/golden/testdata/README.md speaks of `%s`, which is not there", word)
			}
		}
	}
}
