package deps

import (
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// naming are the packages besides otelmap and otelmap/step that name attributes, how often,
// and why. All others ask otelmap/step what a span means. The numbers may only fall.
var naming = map[string]struct {
	uses int
	why  string
}{
	"config":                      {1, "a resource's attribute in a standard variable"},
	"internal/deliver":            {3, "of hook events, before there is a span"},
	"internal/importer":           {3, "marks what is sent from history, and sets the user"},
	"internal/pipeline":           {4, "makes the resource, and marks the trace of hookspan test"},
	"internal/redact/redactspans": {15, "which attributes are texts; redaction links no mapping"},
	"internal/traces/view":        {1, "of hook events, before there is a span"},
}

// mostNamed bounds them together.
const mostNamed = 27

// namers write attributes: decoders those of their events, examples and the Collector's
// components those of any program.
var namers = regexp.MustCompile(`^(otelmap|hook|collector-config|examples)(/|$)`)

// TestSpansAreReadByOnePackage counts the attributes that the product names, by a constant of
// otelmap or of the conventions, or by their text.
func TestSpansAreReadByOnePackage(t *testing.T) {
	names := attributeNames(t)
	found := make(map[string]int)
	for _, f := range sources(t) {
		if forTests(f.folder) || namers.MatchString(f.folder) {
			continue
		}
		mapping, conventions := importedAs(f.syntax, module+"/otelmap"), importedAs(f.syntax, "go.opentelemetry.io/otel/semconv/v1.41.0")
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				x, ok := n.X.(*ast.Ident)
				if ok && (x.Name == mapping && strings.HasPrefix(n.Sel.Name, "Key") || x.Name == conventions && strings.HasSuffix(n.Sel.Name, "Key")) {
					found[f.folder]++
				}
			case *ast.BasicLit:
				if text, err := strconv.Unquote(n.Value); err == nil && names[text] {
					found[f.folder]++
				}
			}
			return true
		})
	}
	sum := 0
	for folder, n := range found {
		if sum += n; n > naming[folder].uses {
			t.Errorf("%s names %d attributes of spans, want %d: ask otelmap/step", folder, n, naming[folder].uses)
		}
	}
	for folder, most := range naming {
		if n := found[folder]; n < most.uses {
			t.Errorf("%s names %d attributes, not %d (%s): write down that they are fewer", folder, n, most.uses, most.why)
		}
	}
	if sum > mostNamed {
		t.Errorf("%d attributes are named outside of otelmap, want at most %d", sum, mostNamed)
	}
}

// attributeNames are those that the registry describes or refers to.
func attributeNames(t *testing.T) map[string]bool {
	t.Helper()
	files, err := filepath.Glob("../../otelmap/registry/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	names := make(map[string]bool)
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(?m)(?:id|key|ref):\s*"?([a-z_]+\.[a-z_.]+)"?\s*$`).FindAllSubmatch(text, -1) {
			names[string(m[1])] = true
		}
	}
	for _, want := range []string{"gen_ai.tool.name", "hookspan.tool.outcome", "hookspan.text"} {
		if !names[want] {
			t.Errorf("the registry does not name %s", want)
		}
	}
	return names
}
