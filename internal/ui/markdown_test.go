package ui

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/internal/rawjson"
)

// drawn writes elements as the page would see them, one line.
func drawn(kids []any) string {
	var b strings.Builder
	for _, k := range kids {
		if e, ok := k.(element); ok {
			info := ""
			if e.Info != "" {
				info = "=" + e.Info
			}
			fmt.Fprintf(&b, "<%s%s>%s</>", e.Tag, info, drawn(e.Kids))
			continue
		}
		b.WriteString(k.(string))
	}
	return b.String()
}

func TestMarkdownIsElements(t *testing.T) {
	for source, want := range map[string]string{
		"":                                              "",
		"plain\ntwo lines":                              "<p>plain\ntwo lines</>",
		"## Done\n\n**all** *48* ~~no~~ `x`":            "<h2=2>Done</><p><strong>all</> <em>48</> <del>no</> <code>x</></>",
		"- one\n- two\n  - three":                       "<ul><li>one</><li>two<ul><li>three</></></></>",
		"3. a\n\n4. b":                                  "<ol=3><li><p>a</></><li><p>b</></></>",
		"- [x] done\n- [ ] not":                         "<ul><li>☑ done</><li>☐ not</></>",
		"> quoted":                                      "<blockquote><p>quoted</></>",
		"Q&A **x** & \\*y &amp; `z`":                    "<p>Q&A <strong>x</> & *y & <code>z</></>",
		"```go title=x\na < b\n```":                     "<pre=go title=x>a < b\n</>",
		"~~~\nnot closed":                               "<pre>not closed\n</>",
		"    indented":                                  "<pre>indented\n</>",
		"|a|b|\n|-|-:|\n|1|`2\\|3`|":                    "<table><tr><th>a</><th>b</></><tr><td>1</><td><code>2|3</></></></>",
		"a\n\n---\n\nb":                                 "<p>a</><hr></><p>b</>",
		`2 \* 3 &lt; 7 &copy &#8238;`:                   "<p>2 * 3 < 7 &copy \ufffd</>",
		"[docs](https://a.test/x?y=1&z#w)":              "<p><a=https://a.test/x?y=1&z#w>docs</></>",
		"see https://a.test/x, or <http://b>":           "<p>see <a=https://a.test/x>https://a.test/x</>, or <a=http://b/>http://b</></>",
		"![chart](https://a.test/c.png)":                "<p><a=https://a.test/c.png>chart</></>",
		"[IDN](https://gооgle.com)":                     "<p><a=https://xn--ggle-55da.com/>IDN</></>",
		"[x](javascript:alert`1`)":                      "<p>x (javascript:alert`1`)</>",
		"[x](JavaScript&colon;alert)":                   "<p>x (JavaScript&colon;alert)</>",
		"[x](data:text/html,y)":                         "<p>x (data:text/html,y)</>",
		"[x](//a.test)":                                 "<p>x (//a.test)</>",
		"[x](src/a.go:12)":                              "<p>x (src/a.go:12)</>",
		"[bank](https://bank.test@evil.test)":           "<p>bank (https://bank.test@evil.test)</>",
		`[b](https:\\evil.test\@bank.test)`:             "<p><a=https://evil.test/@bank.test>b</></>",
		"me@a.test and <me@a.test>":                     "<p>me@a.test and me@a.test</>",
		"<b onclick=x>**bold**</b>":                     "<p><b onclick=x><strong>bold</></b></>",
		"<script>\nalert(1)\n</script>":                 "<p><script>\nalert(1)\n</script></>",
		"<!-- a\n\nb -->":                               "<p><!-- a</><p>b --></>",
		"[a]: https://a.test\n\n[a]":                    "<p>[a]: <a=https://a.test/>https://a.test</></><p>[a]</>",
		"[![CI](https://b.test/x.svg)](https://c.test)": "<p><a=https://c.test/>CI (https://b.test/x.svg)</></>",
		"[![a](https://b.test)](file:///x)":             "<p>a (https://b.test) (file:///x)</>",
	} {
		if diff := cmp.Diff(want, drawn(markdown(source))); diff != "" {
			t.Errorf("%q: %s", source, diff)
		}
	}
}

// hostileMarkdown are texts of which a parser makes much, or takes long.
func hostileMarkdown() (out []string) {
	for _, s := range []string{
		">", "> ", "- ", "* * ", "1. ", "+ ", "[", "![", "[a](", "[](http://a)", "[][", "]", "[[[a](b)", "![[]()", "*a ", "**a ", "_a_", "*_", "a**b", "*](", "~~a", "`", "``a", "<", "<a@", "&amp;", "&#", "\\", "\\[",
		"# ", "```\n", "a\n===\n", "|", "a|\n-|\n", "|a|b|\n|-|-|\n", "- a\n\n", "- [ ] ", "-\n", "\t", "\n", "http://", "http://a ", "www.", "a@b.", "[a]: /x\n", "[^a]", "a\n    ", "\x00", "\xff", "\u202e",
	} {
		out = append(out, strings.Repeat(s, 40), strings.Repeat(s, maxMarkdown/len(s)))
	}
	columns := strings.Repeat("|a", 9000)
	return append(out, columns+"\n"+strings.Repeat("|-", 9000)+"\n"+strings.Repeat("a\n", 9000), strings.Repeat("`a` ", 1<<20))
}

// TestHostileMarkdownStaysSmall also ends: what grows faster than its text would not.
func TestHostileMarkdownStaysSmall(t *testing.T) {
	for _, source := range append(hostileMarkdown(), `<img src=x onerror=alert(1)>`, `[<script>](javascript:x)`) {
		check(t, source)
	}
}

var (
	allowedTags = []string{"p", "h2", "ul", "ol", "li", "blockquote", "pre", "hr", "table", "tr", "th", "td", "strong", "em", "del", "code", "a"}
	target      = regexp.MustCompile(`^https?://[!-.0-?A-~]+(/[!-~]*)?$`)
)

// check fails the test if elements are none that the page knows, nest too deep, are many, link to
// anything but the web, or lack a word of the text.
func check(t *testing.T, source string) {
	t.Helper()
	kids := markdown(source)
	var words strings.Builder
	count := 0
	var walk func(kids []any, depth int)
	walk = func(kids []any, depth int) {
		if depth > 2*maxDeep+4 {
			t.Fatalf("%.40q: elements nest %d deep", source, depth)
		}
		for _, k := range kids {
			count++
			e, ok := k.(element)
			if !ok {
				words.WriteString(k.(string))
				continue
			}
			if !slices.Contains(allowedTags, e.Tag) || e.Tag == "a" && !target.MatchString(e.Info) {
				t.Errorf("%.40q: %s %q", source, e.Tag, e.Info)
			}
			words.WriteString(" " + e.Info + " ")
			walk(e.Kids, depth+1)
			words.WriteString(" ")
		}
	}
	walk(kids, 0)
	if count > 3*maxCells+2*len(source) {
		t.Errorf("%.40q: %d elements of %d bytes", source, count, len(source))
	}
	if _, err := rawjson.Marshal(kids); err != nil {
		t.Errorf("%.40q: %v", source, err)
	}
	if kids == nil || strings.ContainsAny(source, "&|%\\") || strings.Contains(source, "://") {
		return // A character's name, a column too many, and an address are written another way.
	}
	for _, w := range strings.FieldsFunc(source, func(r rune) bool { return !unicode.IsLetter(r) }) {
		if !strings.Contains(words.String(), w) {
			t.Fatalf("%.80q: %q is lost: %.200q", source, w, words.String())
		}
	}
}

// TestParsedTextsAreKeptInABound parses a text once, and many texts within their bound.
func TestParsedTextsAreKeptInABound(t *testing.T) {
	var c parsedTexts
	if first, again := c.of("*a* b"), c.of("*a* b"); &first[0] != &again[0] {
		t.Error("a text was parsed again")
	}
	for i := range 20 {
		c.of(strings.Repeat(fmt.Sprintf("*%d*\n\n", i), 5000))
		sum := 0
		for _, doc := range c.by {
			sum += sizeOf(doc)
		}
		if sum != c.bytes || sum > maxParsed {
			t.Fatalf("%d bytes are kept as %d, at most %d", sum, c.bytes, maxParsed)
		}
	}
	if len(c.by) == 0 || len(c.by) == 21 {
		t.Errorf("%d texts are kept", len(c.by))
	}
}

func FuzzMarkdown(f *testing.F) {
	for _, s := range hostileMarkdown() {
		if len(s) < 400 {
			f.Add(s)
		}
	}
	f.Add("# a\n\n- b\n\n```go\nc\n```\n\n|d|e|\n|-|-|\n|f|g|\n\n[h](i) **j** > k\n")
	f.Fuzz(check)
}
