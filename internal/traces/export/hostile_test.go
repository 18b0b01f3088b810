package export

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"
	"golang.org/x/net/html"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/rawjson"
	"github.com/hookspan/hookspan/internal/traces/view"
	"github.com/hookspan/hookspan/otelmap"
)

// hostileTexts try to become markup, in HTML or in Markdown. TARGET is an address
// that must never be asked for.
var hostileTexts = []string{
	`<script>document.title="PWNED"</script><script src=TARGET/s></script>`,
	`</style><script>document.title="PWNED"</script>`,
	`</title></head><body onload=document.title="PWNED">`,
	`"><img src=TARGET/i onerror=document.title="PWNED">`,
	`'><svg/onload=document.title="PWNED">`,
	`<svg><script href=TARGET/v /></svg>`,
	`</pre></details></div></article><iframe src=TARGET/f></iframe>`,
	`<a href="javascript:document.title='PWNED'">x</a>`,
	`<meta http-equiv=refresh content="0;url=TARGET/m">`,
	`<link rel=stylesheet href=TARGET/l><style>@import "TARGET/c";*{background:url(TARGET/b)}</style>`,
	`<base href=TARGET/><form action=TARGET/><input autofocus onfocus=document.title="PWNED">`,
	`<!--`, `-->`, `<![CDATA[`, `]]>`, `<plaintext>`, `<template>`, `<noscript><p title="</noscript><img src=TARGET/n>">`,
	`{{.}}`, `{{define "row"}}`, `${7*7}`, `&lt;script&gt;&#60;script&#62;`, "\x00<scr\x00ipt>", "\u202egnp.exe\u202c", "\x1b]0;PWNED\x07\x1b[2J",
	"```\n# escaped the fence\n```", "````\n<b>x</b>\n````", "~~~\n# x\n~~~", "`` ` ``` ````", "`", "``", " ` ",
	"![x](TARGET/md)", "[x](javascript:alert(1))", "[x]: TARGET/ref\n\n![x]", "<TARGET/auto>", "# heading", "- item\n  - item", "1. item", "1) item",
	"> quote", "---", "===", "text\n===", "text\n---", "| a | b |\n|---|---|\n| c | d |", "*bold* _it_ __b__ **b** ~~s~~", "    indented code", "\tcode",
	"line\\", "\\`", "\\\\`x`", "a  \nb", "<details><summary>x", "</details>", "[^1]: note", "- [ ] task", "$x$ $$y$$", "+ item", "a\r\n# b", "a\r# b", "a\u2028# b",
}

// hostileTrace has each text in every place that a trace has for one.
func hostileTrace(target string) []*tracepb.ResourceSpans {
	b := newBuild()
	for i, s := range hostileTexts {
		s = strings.ReplaceAll(s, "TARGET", target)
		span := b.tool(s, `{`+rawjson.Encode(s)+`:`+rawjson.Encode(s)+`,"old_string":`+rawjson.Encode(s)+`,"new_string":`+rawjson.Encode("new "+s)+`}`, s)
		switch i % 4 {
		case 0:
			span.Attributes = append(span.Attributes, otlp.String(otelmap.KeyErrorType, s))
			span.Status = &tracepb.Status{Code: tracepb.Status_STATUS_CODE_ERROR, Message: "failed: " + s}
		case 1:
			otlp.Find(span.Attributes, otelmap.KeyToolArguments).Value = &commonpb.AnyValue_StringValue{StringValue: s}
		case 2:
			otlp.Find(span.Attributes, otelmap.KeyToolArguments).Value = &commonpb.AnyValue_StringValue{StringValue: `{` + rawjson.Encode(s) + `:` + rawjson.Encode(s) + `}`}
		}
		b.span(s, otlp.String(otelmap.KeyOperation, otelmap.OpChat), otlp.String(otelmap.KeyRequestModel, s), otlp.String(otelmap.KeyOutputMessages, otelmap.AnswerMessages(s, "")))
		b.span(s, otlp.String(otelmap.KeyOperation, otelmap.OpInvokeAgent), otlp.String(otelmap.KeyAgentName, s))
		b.span(s)
		for _, name := range []string{otelmap.EventPrompt, otelmap.EventNotification, otelmap.EventHook, s} {
			b.root.Events = append(b.root.Events, &tracepb.Span_Event{Name: name, TimeUnixNano: b.root.StartTimeUnixNano, Attributes: []*commonpb.KeyValue{
				otlp.String(otelmap.KeyText, s), otlp.String(otelmap.KeyHookCommand, s), otlp.String(otelmap.KeyHookReason, s),
				otlp.String(otelmap.KeyHookDecision, "deny"), otlp.String(s, s),
			}})
		}
	}
	all := strings.ReplaceAll(strings.Join(hostileTexts, " "), "TARGET", target)
	lines := strings.ReplaceAll(strings.Join(hostileTexts, "\n"), "TARGET", target)
	for _, key := range []string{otelmap.KeyWorkingDirectory, otelmap.KeyConversationID, otelmap.KeyRequestModel} {
		b.root.Attributes = append(b.root.Attributes, otlp.String(key, all))
	}
	b.root.Attributes = append(b.root.Attributes, otlp.String(otelmap.KeyInputMessages, otelmap.TextMessages(otelmap.RoleUser, lines)), otlp.String(otelmap.KeyOutputMessages, otelmap.AnswerMessages(lines, "")))
	otlp.Find(b.root.Attributes, otelmap.KeyHost).Value = &commonpb.AnyValue_StringValue{StringValue: all}
	return b.messages()
}

// elements are those of the page, with their attributes.
var elements = map[string][]string{
	"html": {"lang"}, "head": nil, "meta": {"charset", "http-equiv", "content", "name"}, "title": nil, "style": nil, "body": nil,
	"header": nil, "main": nil, "footer": nil, "article": {"id"}, "section": {"class"}, "div": {"class"}, "span": {"class", "title"},
	"h1": nil, "h2": nil, "h3": nil, "h4": nil, "p": {"class"}, "ol": {"class"}, "li": nil, "a": {"href"}, "dl": nil, "dt": nil, "dd": nil,
	"details": {"open"}, "summary": nil, "b": {"class"}, "pre": nil, "code": nil,
	"svg": {"class", "viewbox", "preserveaspectratio", "aria-hidden"}, "rect": {"x", "y", "width", "height"},
}

func TestHostileTextsAreNoMarkupInHTML(t *testing.T) {
	pages := map[string]string{
		"alone": written(t, HTML, hostileTrace("http://target.test")),
		"two":   written(t, HTML, hostileTrace("http://target.test"), recorded(t, "claude")),
	}
	for name, page := range pages {
		root, err := html.Parse(strings.NewReader(page))
		if err != nil {
			t.Fatal(err)
		}
		shown := ""
		for n := range root.Descendants() {
			switch n.Type {
			case html.TextNode:
				shown += n.Data
			case html.CommentNode:
				t.Errorf("%s: a comment: %q", name, n.Data)
			case html.ElementNode:
				allowed, ok := elements[n.Data]
				if !ok {
					t.Errorf("%s: element %q", name, n.Data)
				}
				for _, a := range n.Attr {
					switch {
					case !slices.Contains(allowed, strings.ToLower(a.Key)):
						t.Errorf("%s: attribute %q of %q", name, a.Key, n.Data)
					case a.Key == "href" && !strings.HasPrefix(a.Val, "#t"):
						t.Errorf("%s: a link to %q", name, a.Val)
					case a.Key == "class" && strings.ContainsAny(a.Val, `<>"'`):
						t.Errorf("%s: class %q", name, a.Val)
					}
				}
				if n.Data == "style" && n.FirstChild.Data != pageCSS {
					t.Errorf("%s: the style sheet is not the program's", name)
				}
			}
		}
		for _, s := range hostileTexts {
			if want := view.Text(strings.ReplaceAll(s, "TARGET", "http://target.test")); !strings.Contains(shown, strings.TrimSpace(want)) && want != "" {
				t.Errorf("%s: %q is not shown", name, want)
			}
		}
		if strings.ContainsAny(page, "\x00\x1b\x07\u202e") {
			t.Errorf("%s holds characters that control a terminal", name)
		}
	}
}

// TestHostileTextsAreNoMarkupInMarkdown parses the text as GitHub does: what people
// wrote is in quotes, everything else in fences and code spans.
func TestHostileTextsAreNoMarkupInMarkdown(t *testing.T) {
	for name, source := range map[string]string{
		"alone": written(t, Markdown, hostileTrace("http://target.test")),
		"two":   written(t, Markdown, hostileTrace("http://target.test"), recorded(t, "claude")),
	} {
		body := []byte(source)
		doc := goldmark.New(goldmark.WithExtensions(extension.Table, extension.Strikethrough, extension.TaskList, extension.Footnote)).
			Parser().Parse(text.NewReader(body))
		titles := 0
		err := ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
			if !entering {
				return ast.WalkContinue, nil
			}
			quoted := false
			for p := n.Parent(); p != nil; p = p.Parent() {
				quoted = quoted || p.Kind() == ast.KindBlockquote
			}
			kind := n.Kind()
			switch {
			case slices.Contains([]ast.NodeKind{
				ast.KindHTMLBlock, ast.KindRawHTML, ast.KindImage, ast.KindLink, ast.KindAutoLink, ast.KindEmphasis, ast.KindCodeBlock,
			}, kind), strings.Contains(kind.String(), "Table"), strings.Contains(kind.String(), "Strike"),
				strings.Contains(kind.String(), "Footnote"), kind.String() == "TaskCheckBox":
				return 0, fmt.Errorf("a %s: %q", kind, describe(n, body))
			case quoted && !slices.Contains([]ast.NodeKind{ast.KindParagraph, ast.KindText, ast.KindString}, kind):
				return 0, fmt.Errorf("a %s in a quote: %q", kind, describe(n, body))
			}
			if h, ok := n.(*ast.Heading); ok && h.Level == 1 {
				titles++
			}
			return ast.WalkContinue, nil
		})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if titles != 1 {
			t.Errorf("%s: %d headings of the first level, want 1", name, titles)
		}
		if strings.ContainsAny(source, "\x00\x1b\x07\u202e\r\u2028") {
			t.Errorf("%s holds characters that control a terminal", name)
		}
	}
}

// describe returns the source of the nearest block.
func describe(n ast.Node, source []byte) string {
	for ; n != nil; n = n.Parent() {
		if n.Type() == ast.TypeBlock && n.Lines().Len() > 0 {
			return string(n.Lines().Value(source))
		}
	}
	return ""
}

// TestDeepTracesStayShallow builds a chain of spans that is deeper than browsers
// nest elements.
func TestDeepTracesStayShallow(t *testing.T) {
	b := newBuild()
	for range 2000 {
		above := b.spans[len(b.spans)-1]
		b.span("deeper").ParentSpanId = above.SpanId
	}
	page := written(t, HTML, b.messages())
	depth, deepest := 0, 0
	z := html.NewTokenizer(strings.NewReader(page))
	for tt := z.Next(); tt != html.ErrorToken; tt = z.Next() {
		if name, _ := z.TagName(); string(name) == "details" {
			switch tt {
			case html.StartTagToken:
				depth++
			case html.EndTagToken:
				depth--
			}
			deepest = max(deepest, depth)
		}
	}
	if deepest > maxDepth+1 || deepest < maxDepth {
		t.Errorf("rows nest %d deep, want %d", deepest, maxDepth)
	}
	if n := strings.Count(page, ">deeper<"); n != 2000 {
		t.Errorf("%d rows are shown, want 2000", n)
	}
}

func FuzzMarkdown(f *testing.F) {
	for _, s := range hostileTexts {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, line := range strings.Split(view.Text(s), "\n") {
			source := []byte("# " + escape(strings.TrimSpace(line)) + " " + code(line) + "\n")
			doc := goldmark.DefaultParser().Parse(text.NewReader(source))
			for n := doc.FirstChild().FirstChild(); n != nil; n = n.NextSibling() {
				if k := n.Kind(); k != ast.KindText && k != ast.KindCodeSpan && k != ast.KindString {
					t.Errorf("%q becomes a %s: %q", line, k, source)
				}
			}
			if doc.ChildCount() != 1 {
				t.Errorf("%q: %d blocks, want 1: %q", line, doc.ChildCount(), source)
			}
		}
	})
}
