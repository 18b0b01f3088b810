package store

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/hookspan/hookspan/otelmap"
)

// collapseAfter is how many similar siblings the tree shows; the others are
// counted on one line.
const collapseAfter = 200

// The columns at the right: the offset from the trace's start, the duration.
const (
	offsetWidth   = 9
	durationWidth = 8
)

// TreeOptions say how a trace is drawn. The zero value gives plain text, 100
// columns wide, in the local time zone.
type TreeOptions struct {
	// Color allows colours.
	Color bool
	// ASCII draws with ASCII alone; texts from the spans stay as they are.
	ASCII bool
	// Width is the number of columns; if zero, 100. At least 40 are used.
	Width int
	// Verbose adds ids, whole arguments, results and texts, and leaves out no
	// sibling.
	Verbose bool
	// Location is the time zone of the start; if nil, time.Local.
	Location *time.Location
}

// Tree writes a header and the spans as a tree in the order of time, with
// prompts, compactions and notifications between them. A span whose parent is
// missing stands under the root and says so.
func (t *Trace) Tree(w io.Writer, o TreeOptions) error {
	p := &treePrinter{
		w: bufio.NewWriter(w), style: newStyle(o.Color, o.ASCII, o.Location),
		width: max(40, cmp.Or(max(o.Width, 0), defaultWidth)), verbose: o.Verbose, start: t.Started, model: t.Model,
	}
	p.header(t)
	for _, top := range tree(t.Spans) {
		p.node(top, "", "")
	}
	p.answer(t)
	return p.w.Flush()
}

// treePrinter writes through a buffer, which keeps the first error for Flush.
type treePrinter struct {
	*style
	w       *bufio.Writer
	width   int
	verbose bool
	start   time.Time
	// model is the trace's own, which its requests need not repeat.
	model string
}

func (p *treePrinter) line(s string) {
	_, _ = p.w.WriteString(s)
	_ = p.w.WriteByte('\n')
}

// header writes what holds for the whole trace.
func (p *treePrinter) header(t *Trace) {
	p.line(p.paint(sgrBold, p.cut(cmp.Or(clean(t.Title), "untitled"), p.width)))

	outcome := cmp.Or(clean(t.Outcome), "no root span")
	first := []string{outcome, duration(t.Duration()), p.moment(t.Started), clean(t.Model), clean(t.Host)}
	if t.Runs > 1 {
		first = append(first, plural(t.Runs, "run"))
	}
	p.line(p.symbol(outcomeMark(t.Outcome)) + " " + p.cut(p.join(first...), p.width-2))

	counts := []string{p.usage(t.Usage)}
	if t.Tools > 0 {
		var not []string
		if t.ToolFailures > 0 {
			not = append(not, fmt.Sprintf("%d failed", t.ToolFailures))
		}
		if t.ToolsUnknown > 0 {
			not = append(not, fmt.Sprintf("%d unknown", t.ToolsUnknown))
		}
		tools := plural(t.Tools, "tool")
		if not != nil {
			tools += " (" + strings.Join(not, ", ") + ")"
		}
		counts = append(counts, tools)
	}
	for _, l := range []string{
		p.join(counts...),
		p.field("session", t.Session),
		p.field("folder", t.Directory),
		p.field("trace", t.TraceID),
	} {
		if l != "" {
			p.line(p.paint(sgrDim, p.cut(l, p.width)))
		}
	}
	p.line("")
}

// answer writes how the agent closed, which is what most people look for. A
// verbose view has it at the root.
func (p *treePrinter) answer(t *Trace) {
	result := ""
	for i := range t.Spans {
		a := attrs(t.Spans[i].Attributes)
		if a.str(otelmap.KeyOutcome) != "" {
			result = cmp.Or(a.str(otelmap.KeyResult), result)
		}
	}
	if p.verbose || result == "" {
		return
	}
	p.line("")
	const most = 4
	lines := cleanLines(cutBytes(result, maxPreview))
	for i, l := range lines[:min(len(lines), most)] {
		lead := padRight("", 8)
		if i == 0 {
			lead = padRight("answer", 8)
		}
		if i == most-1 && len(lines) > most {
			l += " " + p.ellipsis
		}
		p.line(p.paint(sgrDim, lead) + p.cut(l, p.width-8))
	}
}

// join puts the parts that are not empty on one line.
func (p *treePrinter) join(parts ...string) string {
	var out []string
	for _, s := range parts {
		if s != "" {
			out = append(out, s)
		}
	}
	return strings.Join(out, p.dot)
}

func (p *treePrinter) field(name, value string) string {
	if value == "" {
		return ""
	}
	return padRight(name, 8) + clean(value)
}

func (p *treePrinter) usage(u *Usage) string {
	if u == nil {
		return ""
	}
	in := tokens(u.Input) + " in"
	if u.CacheRead > 0 {
		in += " (" + tokens(u.CacheRead) + " cached)"
	}
	var cost string
	if u.CostUSD != nil {
		cost = dollars(*u.CostUSD)
	}
	return p.join(in, tokens(u.Output)+" out", cost)
}

// node writes a node and what is below it. lead stands before the node's own
// line, rest before every further line.
func (p *treePrinter) node(n *node, lead, rest string) {
	below := rest + p.none
	if len(n.children) > 0 {
		below = rest + p.trunk
	}
	p.own(n, lead)
	p.problem(n, below)
	if p.verbose {
		p.details(n, below)
	}
	// A chain of spans deeper than the view is wide stays at one indentation.
	branch, corner, trunk, none := rest+p.branch, rest+p.corner, rest+p.trunk, rest+p.none
	if width(rest) > p.width/3 {
		trunk, none = rest, rest
	}
	shown := p.collapse(n.children)
	for i, c := range shown {
		l, r := branch, trunk
		if i == len(shown)-1 {
			l, r = corner, none
		}
		if c.count == 0 {
			p.node(c.node, l, r)
			continue
		}
		p.row(l, p.paint(sgrDim, p.ellipsis), fmt.Sprintf("%d more %s", c.count, p.label(c.node)), c.below(), "", duration(c.sum))
	}
}

// entry is a node to show or, with a count, a number of nodes like it.
type entry struct {
	node   *node
	count  int
	nested int
	sum    time.Duration
}

func (e *entry) below() string {
	if e.nested == 0 {
		return ""
	}
	return fmt.Sprintf("and %d below them", e.nested)
}

// collapse counts similar siblings, those of one name and one ending, instead
// of showing them all.
func (p *treePrinter) collapse(children []*node) []*entry {
	type likeness struct {
		label string
		mark  mark
	}
	shown := make([]*entry, 0, len(children))
	if p.verbose || len(children) <= collapseAfter {
		for _, c := range children {
			shown = append(shown, &entry{node: c})
		}
		return shown
	}
	total := make(map[likeness]int)
	for _, c := range children {
		total[likeness{p.label(c), c.mark()}]++
	}
	seen := make(map[likeness]int)
	more := make(map[likeness]*entry)
	for _, c := range children {
		k := likeness{p.label(c), c.mark()}
		seen[k]++
		// One that would be counted alone takes no more room when shown.
		if seen[k] <= collapseAfter || total[k] == collapseAfter+1 {
			shown = append(shown, &entry{node: c})
			continue
		}
		e := more[k]
		if e == nil {
			e = &entry{node: c}
			more[k] = e
			shown = append(shown, e)
		}
		e.count++
		e.nested += c.descendants()
		if c.span != nil {
			e.sum += length(c)
		}
	}
	return shown
}

func length(n *node) time.Duration {
	if n.span == nil || n.span.EndTime.IsZero() {
		return 0
	}
	return max(0, n.span.EndTime.Sub(n.span.StartTime))
}

// own writes the node's own line.
func (p *treePrinter) own(n *node, lead string) {
	if n.span == nil && n.event == nil {
		p.row(lead, p.symbol(markUnfinished), "(no root span)", "", "", "")
		return
	}
	label, detail, took := p.label(n), "", ""
	if n.span != nil {
		detail = p.spanDetail(n)
		took = p.ellipsis
		if !n.span.EndTime.IsZero() {
			took = duration(length(n))
		}
		if n.orphan {
			label += " (parent missing)"
		}
	} else {
		detail = p.eventDetail(n)
	}
	var offset string
	if !n.at.IsZero() && !p.start.IsZero() {
		offset = "+" + duration(n.at.Sub(p.start))
		if n.at.Before(p.start) {
			offset = duration(n.at.Sub(p.start))
		}
	}
	if n.event != nil {
		p.columns(lead, p.symbol(n.mark()), label, sgrDim, detail, offset, eventTook(n.event))
		return
	}
	p.row(lead, p.symbol(n.mark()), label, detail, offset, took)
}

// row writes one line: symbol, label and detail at the left, the times at the
// right. label and detail must be clean.
func (p *treePrinter) row(lead, symbol, label, detail, offset, took string) {
	p.columns(lead, symbol, label, "", detail, offset, took)
}

func (p *treePrinter) columns(lead, symbol, label, labelSGR, detail, offset, took string) {
	room := p.width - offsetWidth - durationWidth - width(lead) - 2
	label = p.cut(label, room)
	left := p.paint(sgrDim, lead) + symbol + " " + p.paint(labelSGR, label)
	room -= width(label)
	if detail != "" && room > 6 {
		detail = p.cut(detail, room-2)
		left += "  " + p.paint(sgrDim, detail)
		room -= 2 + width(detail)
	}
	right := padLeft(offset, offsetWidth) + padLeft(took, durationWidth)
	if strings.TrimSpace(right) == "" {
		p.line(left)
		return
	}
	right = strings.TrimRight(right, " ")
	p.line(left + strings.Repeat(" ", max(0, room)) + p.paint(sgrDim, right))
}

// label names a node. A tool is called by its own name; an event without our
// prefix.
func (p *treePrinter) label(n *node) string {
	if n.event != nil {
		return clean(strings.TrimPrefix(n.event.Name, "hookspan."))
	}
	if n.span == nil {
		return ""
	}
	a := attrs(n.span.Attributes)
	if roleOf(a) == roleTool {
		if name := clean(a.str(otelmap.KeyToolName)); name != "" {
			return name
		}
	}
	if roleOf(a) == roleChat && p.model != "" && a.str(otelmap.KeyRequestModel) == p.model {
		return otelmap.OpChat
	}
	return cmp.Or(clean(n.span.Name), "unnamed")
}

func (p *treePrinter) spanDetail(n *node) string {
	a := attrs(n.span.Attributes)
	switch roleOf(a) {
	case roleTool:
		return preview(a.str(otelmap.KeyToolArguments))
	case roleChat:
		return p.join(p.usage(a.usage()), clean(cutBytes(a.str(otelmap.KeyText), maxPreview)))
	case roleAgent:
		return p.usage(a.usage())
	}
	return ""
}

// cutBytes bounds the work on a long text; what is cut off would not fit on the
// line.
func cutBytes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "")
}

// problem writes what went wrong, on one line or, in a verbose view, whole.
func (p *treePrinter) problem(n *node, below string) {
	kind, message := n.problem()
	lines := []string{clean(cutBytes(message, maxPreview))}
	if p.verbose {
		lines = cleanLines(message)
	}
	switch kind = clean(kind); {
	case kind == "" && message == "":
		return
	case kind != "" && lines[0] != "":
		lines[0] = kind + ": " + lines[0]
	case kind != "":
		lines[0] = kind
	}
	sgr := sgrRed
	if m := n.mark(); m == markDenied || m == markUnfinished {
		sgr = sgrYellow
	}
	for _, l := range lines {
		if !p.verbose {
			l = p.cut(l, p.width-width(below))
		}
		p.below(below, p.paint(sgr, l))
	}
}

// below writes a further line of a node, without white space at its end.
func (p *treePrinter) below(lead, text string) {
	if text == "" {
		lead = strings.TrimRight(lead, " ")
	}
	p.line(p.paint(sgrDim, lead) + text)
}

// details writes what only a verbose view has.
func (p *treePrinter) details(n *node, below string) {
	if n.event != nil && n.event.Name == otelmap.EventHook {
		a := attrs(n.event.Attributes)
		p.block(below, "matcher", a.str(otelmap.KeyHookMatcher))
		p.block(below, "command", a.str(otelmap.KeyHookCommand))
		p.block(below, "source", a.str(otelmap.KeyHookSource))
		p.block(below, "reason", a.str(otelmap.KeyHookReason))
		return
	}
	if n.event != nil {
		// A short text stands whole on the event's own line.
		if text := attrs(n.event.Attributes).str(otelmap.KeyText); len(text) > 40 || strings.Contains(text, "\n") {
			p.block(below, "text", text)
		}
		return
	}
	if n.span == nil {
		return
	}
	a := attrs(n.span.Attributes)
	p.block(below, "span", n.span.SpanContext.SpanID().String())
	if n.span.Parent.SpanID().IsValid() && (n.orphan || n.parent == nil) {
		p.block(below, "parent", n.span.Parent.SpanID().String())
	}
	for _, l := range n.span.Links {
		p.block(below, "link", l.SpanContext.TraceID().String()+" "+l.SpanContext.SpanID().String())
	}
	for _, f := range []struct {
		name string
		key  attribute.Key
	}{
		{"call", otelmap.KeyToolCallID},
		{"agent", otelmap.KeyAgentID},
		{"response", otelmap.KeyResponseID},
		{"request", otelmap.KeyRequestID},
		{"task", otelmap.KeyTask},
		{"input", otelmap.KeyToolArguments},
		{"result", otelmap.KeyToolResult},
		{"text", otelmap.KeyText},
		{"result", otelmap.KeyResult},
	} {
		if f.key == otelmap.KeyToolResult && a.str(f.key) == n.span.Status.Description {
			continue // stands above as what went wrong
		}
		p.block(below, f.name, a.str(f.key))
	}
}

// block writes a named text whole, its lines below one another.
func (p *treePrinter) block(below, name, text string) {
	if text == "" {
		return
	}
	label := padRight(name, 9)
	for _, l := range cleanLines(text) {
		p.below(below+label, l)
		label = strings.Repeat(" ", 9)
	}
}
