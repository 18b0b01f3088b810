package ui

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/hookspan/hookspan/internal/testkit/skip"
)

// markdownKinds are the kinds of blocks and inlines, each a text to repeat; before an arrow
// is what is repeated before all of what is behind it.
var markdownKinds = []string{
	"*a ", "**a ", "_a ", "*a_ ", "*a*b_c_ ", "~~a ", "~a*b_", "a*a", "a_a_", "***a** b*", "*a → a*", "**a → a**", "_a → a_", "~~a → a~~", "*a **b → c** d*",
	"[", "![", "]", "[] ", "[a][", "[a](", "[a](<", "[a](b \"", "[a](b 'c' ", "[*a](http://b)* ", "[a](http://a.b) ", "![a](http://a.b) ", "[→]", "[→](b)", "![→](http://b)", "[a→](b [",
	"`", "``a", "`a``", "`a` ", "` →` ", "<", "<a@", "<http:", "<http://a.b> ", "<a@b.c> ", "http://a.b/(", "http://a.b/(a)", "http://a.b/&a;", "http://a.b ", "www.a.b_", "_a@b.c", "(a@", "~a@b",
	"&amp;", "&#35;", "\\*", "\\[", "a  \n", "a\\\n", "a\n", "\n", "\t", "\ta\n", "    a\n", "    a\n\n",
	"> ", "> a\n", "> a\n\n", "> - a\n", "- ", "- a\n", "- a\n\n", "-\n", "+ a\n", "1. a\n", "1. a\n\n", "- a\n  - b\n", "- [ ] a\n", "- [x] a\n\n", "- ```\n", "- \ta *b*\n",
	"# ", "# a\n", "a\n===\n", "a\n---\n", "---\n", "* * *\n", "```\n", "```go\na\n```\n", "~~~\n", "a|b\n-|-\n", "|a|b|\n|-|-|\n", "|a|b|\n|-|-|\n|`c`|*d*|\n\n", "a|b\n", "-|-\n",
}

// drawnKind is a text of a kind.
func drawnKind(kind string, bytes int) string {
	begin, end, _ := strings.Cut(kind, "→")
	n := bytes / max(1, len(begin)+len(end))
	return strings.Repeat(begin, n) + strings.Repeat(end, n)
}

// TestMarkdownOfKinds reads a text of each kind, whose work TestMarkdownIsLinear counts.
func TestMarkdownOfKinds(t *testing.T) {
	size, err := strconv.Atoi(os.Getenv("MARKDOWN_SIZE"))
	if err != nil {
		skip.Elsewhere(t, "TestMarkdownIsLinear starts it")
	}
	for _, kind := range markdownKinds {
		markdown(drawnKind(kind, size))
	}
}

// TestMarkdownIsLinear counts how often the statements of the parsers run for texts of all
// kinds and for texts of twice the size.
func TestMarkdownIsLinear(t *testing.T) {
	command, err := exec.LookPath("go")
	if err != nil {
		skip.Missing(t, "the go command, which builds the parsers with counters")
	}
	dir := t.TempDir()
	program, profile := filepath.Join(dir, "counted.test"), filepath.Join(dir, "profile")
	build := exec.CommandContext(t.Context(), command, "test", "-c", "-o", program, "-covermode=count", "-coverpkg=.,github.com/yuin/goldmark/...,github.com/nlnwa/whatwg-url/...,regexp", ".") //nolint:gosec // The go command.
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	work := func(size int) (sum int) {
		cmd := exec.CommandContext(t.Context(), program, "-test.run=^TestMarkdownOfKinds$", "-test.coverprofile="+profile) //nolint:gosec // It was built above.
		cmd.Env = append(os.Environ(), "MARKDOWN_SIZE="+strconv.Itoa(size))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		b, err := os.ReadFile(profile)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(b)) {
			var statements, times int
			_, counts, _ := strings.Cut(line, " ")
			_, _ = fmt.Sscanf(counts, "%d %d", &statements, &times)
			sum += statements * times
		}
		return sum
	}
	one, two := work(maxMarkdown/2-100), work(maxMarkdown-200)
	each := two / maxMarkdown / len(markdownKinds)
	t.Logf("%d statements, %d for texts of twice the size: %d a byte", one, two, each)
	if two > one*21/10 || each > 300 {
		t.Errorf("%d statements, %d for texts of twice the size: %d a byte", one, two, each)
	}
}
