package deps

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestEverySkipIsListed: a test leaves itself out by internal/testkit/skip or by a row's
// Skip, so that the run says in the end what it did not prove. The module that
// bundles the page must not need hookspan's.
func TestEverySkipIsListed(t *testing.T) {
	root := filepath.Join("..", "..")
	tests := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(root, path)
		if d.IsDir() {
			if strings.HasPrefix(d.Name(), ".") && name != "." || d.Name() == "node_modules" || name == filepath.Join("internal", "testkit", "skip") || name == filepath.Join("internal", "ui", "web") {
				return filepath.SkipDir
			}
			return nil
		}
		if filepath.Ext(path) != ".go" || !strings.HasSuffix(path, "_test.go") && !strings.HasPrefix(name, "tests") {
			return nil
		}
		tests++
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.SelectorExpr)
			if !ok || !slices.Contains([]string{"Skip", "Skipf", "SkipNow"}, call.Sel.Name) {
				return true
			}
			if of, ok := call.X.(*ast.Ident); ok && slices.Contains([]string{"t", "b", "f", "tb"}, of.Name) {
				t.Errorf("%s: %s.%s: use skip.Missing or skip.Elsewhere", fset.Position(call.Pos()), of.Name, call.Sel.Name)
			}
			return true
		})
		return nil
	})
	if err != nil || tests == 0 {
		t.Fatalf("%d files of tests: %v", tests, err)
	}
}
