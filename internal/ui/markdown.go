package ui

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"html"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/nlnwa/whatwg-url/url"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extended "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	writer "github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/internal/traces/view"
)

// element is a part of a text that is Markdown.
type element struct {
	// Tag is one of p, h2, ul, ol, li, blockquote, pre, hr, table, tr, th, td, strong, em, del, code and a.
	Tag string `json:"tag"`
	// Info is the language of a pre, the level of an h2, the first number of an ol, the target of an a.
	Info string `json:"info,omitempty"`
	// Kids are elements and strings.
	Kids []any `json:"kids,omitempty"`
}

// part is a text of a row, with its elements if it is prose.
type part struct {
	view.Part
	Doc []any `json:"doc,omitempty"`
}

// parsedTexts keeps the elements of texts by their digest, up to maxParsed bytes of memory: a
// page asks for the same texts after each event.
type parsedTexts struct {
	mu    sync.Mutex
	by    map[[sha256.Size]byte][]any
	bytes int
}

const maxParsed = 16 << 20

// of returns markdown(source).
func (c *parsedTexts) of(source string) []any {
	key := sha256.Sum256([]byte(source))
	c.mu.Lock()
	doc, ok := c.by[key]
	c.mu.Unlock()
	if ok {
		return doc
	}
	doc = markdown(source)
	size := sizeOf(doc)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.bytes += size; c.by == nil || c.bytes > maxParsed {
		c.by, c.bytes = make(map[[sha256.Size]byte][]any), size
	}
	c.by[key] = doc
	return doc
}

func (c *parsedTexts) drop() {
	c.mu.Lock()
	c.by, c.bytes = nil, 0
	c.mu.Unlock()
}

// sizeOf is about how many bytes of memory elements take.
func sizeOf(kids []any) int {
	size := 128
	for _, k := range kids {
		if e, ok := k.(element); ok {
			size += sizeOf(e.Kids) + len(e.Info)
		} else {
			size += 32 + len(k.(string))
		}
	}
	return size
}

func (c *parsedTexts) parts(parts []view.Part) []part {
	out := make([]part, len(parts))
	for i, p := range parts {
		if out[i].Part = p; p.Prose {
			out[i].Doc = c.of(p.Text)
		}
	}
	return out
}

// Limits of what is read as Markdown: a longer text, or one whose tables may have more cells, is
// shown as it is. What is deeper is in the element above it. Of a paragraph's marks of a kind,
// and of the bytes of an address, more are text: a parser compares each mark with those before.
const (
	maxMarkdown = 64 << 10
	maxCells    = 20_000
	maxDeep     = 12
	maxMarks    = 400
	maxAddress  = 2000
)

// markdown returns the elements of a text, none for one that is shown as it is.
func markdown(source string) []any {
	widest := 0
	for l := range strings.SplitSeq(source, "\n") {
		widest = max(widest, strings.Count(l, "|"))
	}
	if len(source) > maxMarkdown || widest*strings.Count(source, "\n") > maxCells {
		return nil
	}
	d := document(source)
	return d.kids(dialect().Parse(text.NewReader(d)), 0)
}

// dialect returns a parser of GitHub's Markdown without HTML and definitions of links, which are text
// like any other.
// The parsers' priorities are their names: 300 is that of lists, 400 and 900 those of HTML, 800 of quotes.
func dialect() parser.Parser {
	without := func(all []util.PrioritizedValue, priority int) []util.PrioritizedValue {
		return slices.DeleteFunc(all, func(v util.PrioritizedValue) bool { return v.Priority == priority })
	}
	blocks := without(parser.DefaultBlockParsers(), 900)
	for i, b := range blocks {
		if b.Priority == 300 || b.Priority == 800 {
			blocks[i].Value = shallow{b.Value.(parser.BlockParser)}
		}
	}
	inlines := append(without(parser.DefaultInlineParsers(), 400),
		util.Prioritized(extension.NewTaskCheckBoxParser(), 0), util.Prioritized(extension.NewStrikethroughParser(), 500))
	for i, p := range inlines {
		inlines[i].Value = &bounded{InlineParser: p.Value.(parser.InlineParser)}
	}
	return parser.NewParser(
		parser.WithBlockParsers(blocks...),
		parser.WithInlineParsers(append(inlines, util.Prioritized(extension.NewLinkifyParser(extension.WithLinkifyAllowedProtocols([]string{"http:", "https:"})), 999))...),
		parser.WithParagraphTransformers(util.Prioritized(extension.NewTableParagraphTransformer(), 200)),
		parser.WithASTTransformers(util.Prioritized(extension.NewTableASTTransformer(), 0)),
	)
}

// bounded reads the first marks of its kind in a paragraph.
type bounded struct {
	parser.InlineParser
	paragraph ast.Node
	marks     int
}

func (b *bounded) Parse(parent ast.Node, r text.Reader, pc parser.Context) ast.Node {
	if b.paragraph != parent {
		b.paragraph, b.marks = parent, 0
	}
	if b.marks++; b.marks > maxMarks {
		return nil
	}
	return b.InlineParser.Parse(parent, r, pc)
}

// CloseBlock implements parser.CloseBlocker.
func (b *bounded) CloseBlock(parent ast.Node, r text.Reader, pc parser.Context) {
	if c, ok := b.InlineParser.(parser.CloseBlocker); ok {
		c.CloseBlock(parent, r, pc)
	}
}

// shallow begins no list or quote within too many others.
type shallow struct{ parser.BlockParser }

func (s shallow) Open(parent ast.Node, r text.Reader, pc parser.Context) (ast.Node, parser.State) {
	depth := 0
	for n := parent; n != nil; n = n.Parent() {
		depth++
	}
	if depth > maxDeep {
		return nil, parser.NoChildren
	}
	return s.BlockParser.Open(parent, r, pc)
}

// document is a text whose syntax tree becomes elements.
type document []byte

// kids returns what is in a node. Of texts side by side it makes one.
func (d document) kids(n ast.Node, depth int) (out []any) {
	var words strings.Builder
	end := func() {
		if words.Len() > 0 {
			out = append(out, words.String())
			words.Reset()
		}
	}
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		for _, one := range d.node(c, depth) {
			if s, ok := one.(string); ok {
				_, _ = words.WriteString(s)
				continue
			}
			end()
			out = append(out, one)
		}
	}
	end()
	return out
}

func (d document) node(n ast.Node, depth int) []any {
	within := func(tag, info string) []any {
		if depth >= maxDeep {
			return append(d.kids(n, depth), "\n")
		}
		return []any{element{tag, info, d.kids(n, depth+1)}}
	}
	switch n := n.(type) {
	case *ast.Text:
		s := meant(n.Value(d))
		if n.SoftLineBreak() || n.HardLineBreak() {
			s += "\n"
		}
		return []any{s}
	case *ast.CodeSpan:
		var raw []byte
		for c := n.FirstChild(); c != nil; c = c.NextSibling() {
			raw = append(raw, c.(*ast.Text).Value(d)...)
		}
		return []any{element{"code", "", []any{strings.ReplaceAll(string(raw), "\n", " ")}}}
	case *ast.FencedCodeBlock:
		info := ""
		if n.Info != nil {
			info = termtext.Line(string(n.Info.Value(d)))
		}
		return []any{element{"pre", info, []any{string(n.Lines().Value(d))}}}
	case *ast.CodeBlock:
		return []any{element{"pre", "", []any{string(n.Lines().Value(d))}}}
	case *ast.AutoLink:
		return link(n, string(n.URL(d)), []any{string(n.Label(d))})
	case *ast.Link:
		return link(n, string(n.Destination), d.kids(n, depth))
	case *ast.Image:
		return link(n, string(n.Destination), d.kids(n, depth))
	case *ast.Heading:
		return within("h2", strconv.Itoa(n.Level))
	case *ast.List:
		if n.IsOrdered() {
			return within("ol", strconv.Itoa(n.Start))
		}
		return within("ul", "")
	case *extended.TaskCheckBox:
		return []any{map[bool]string{true: "☑ ", false: "☐ "}[n.IsChecked]}
	case *ast.Emphasis:
		return within(map[bool]string{true: "strong", false: "em"}[n.Level > 1], "")
	}
	if tag := tags[n.Kind()]; tag != "" {
		if tag == "td" && n.Parent().Kind() == extended.KindTableHeader {
			tag = "th"
		}
		return within(tag, "")
	}
	return d.kids(n, depth) // A paragraph of a list without space between its items.
}

var tags = map[ast.NodeKind]string{
	ast.KindParagraph: "p", ast.KindListItem: "li", ast.KindBlockquote: "blockquote", ast.KindThematicBreak: "hr", extended.KindStrikethrough: "del",
	extended.KindTable: "table", extended.KindTableHeader: "tr", extended.KindTableRow: "tr", extended.KindTableCell: "td",
}

// meant is what a part of a text stands for: a sign behind a backslash, and a character by its name.
func meant(part []byte) string {
	if !bytes.ContainsAny(part, "\\&") {
		return string(part)
	}
	var b bytes.Buffer
	w := bufio.NewWriter(&b)
	writer.DefaultWriter.Write(w, part)
	_ = w.Flush()
	return termtext.Value(html.UnescapeString(b.String()))
}

// link returns a link to an address of the web. Another target, such as a file or what a browser
// would run, is text, and so are one that names a user, which would look like a host, one in
// another link, and one that is too long.
func link(n ast.Node, target string, shown []any) []any {
	u, err := url.Parse(target[:min(len(target), maxAddress)])
	if err == nil && len(target) <= maxAddress && (u.Scheme() == "http" || u.Scheme() == "https") && u.Username() == "" && u.Password() == "" && !inLink(n) {
		return []any{element{"a", u.Href(false), shown}}
	}
	if len(shown) == 1 && shown[0] == target || target == "" {
		return shown
	}
	return append(shown, " ("+termtext.Value(target)+")")
}

func inLink(n ast.Node) bool {
	for n = n.Parent(); n != nil && n.Kind() != ast.KindLink && n.Kind() != ast.KindImage; n = n.Parent() {
	}
	return n != nil
}
