package view

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"io"
	"strings"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/otelmap"
)

// Place is where a text was found.
type Place string

// The places, the best first.
const (
	PlaceFiles   Place = "files"
	PlaceSpool   Place = "spool"
	PlacePreview Place = "preview"
)

// CallText is what a tool call was given and what it returned. Empty members are not
// known.
type CallText struct {
	Arguments string `json:"arguments,omitempty"`
	Result    string `json:"result,omitempty"`
	// Error is the message of a call that failed, if it differs from the result.
	Error string `json:"error,omitempty"`
	Place Place  `json:"place"`
	// Source describes the place to people.
	Source string `json:"source"`
}

// of returns the text as that of a row: what a call returned that failed or was denied is
// its error.
func (t CallText) of(r *Row) CallText {
	if t.Error == "" && (r.Status == otelmap.EndFailed || r.Status == otelmap.EndDenied) {
		t.Result, t.Error = "", t.Result
	}
	return t
}

// SpanID returns the id of the row's span as 16 hexadecimal digits, "" for other rows.
func (r *Row) SpanID() string {
	return hex.EncodeToString([]byte(r.id))
}

// Texts returns the previews in the row's span.
func (r *Row) Texts() CallText {
	one := r.step()
	kind, message := r.Problem()
	t := CallText{
		Arguments: one.Arguments(), Place: PlacePreview,
		Result: one.Answer(),
	}
	if r.Kind == KindTool {
		t.Result = one.Returned()
	}
	if t.Error = cmp.Or(message, kind); t.Error == t.Result {
		t.Result = ""
	}
	return t
}

// Call writes one row of a trace with its texts. hooks are the rows of the hooks that
// ran for it.
func Call(w io.Writer, t *store.Trace, r *Row, hooks []Row, text CallText, o Options) error {
	p := newTreePrinter(w, t, o)
	p.bars = 0
	text = text.of(r)
	given := NewArguments(r.Label, text.Arguments)
	number := ""
	if r.Number > 0 {
		number = fmt.Sprintf("#%d", r.Number)
	}
	detail := ""
	if r.Kind == KindTool {
		detail = given.Line()
	} else if d := r.Details(); len(d) > 0 {
		detail = p.join(d...)
	}
	head := p.paint(sgrBold, p.cut(r.Label, p.Width-4))
	if number != "" {
		head += " " + p.paint(sgrDim, number)
	}
	if room := p.Width - termtext.Width(r.Label) - len(number) - 6; detail != "" && (room > 6 || p.whole) {
		head += "  " + p.cut(detail, room)
	}
	p.line(p.mark(r.Status) + " " + head)

	kind, _ := r.Problem()
	took := ""
	if !r.End.IsZero() {
		took = "took " + duration(r.Took())
	}
	facts := p.join(termtext.Line(kind), Offset(r.Start, p.start), took, "trace "+store.ShortID(t.TraceID), "span "+r.SpanID())
	for _, l := range append([]string{facts}, termtext.Lines(text.Source)...) {
		for _, part := range p.wrap(l, p.Width-2) {
			if part != "" {
				p.line("  " + p.paint(sgrDim, part))
			}
		}
	}
	for i := range hooks {
		h := &hooks[i]
		lead := "  " + p.mark(h.Status) + " "
		for _, part := range p.wrap(h.Label+"  "+p.join(h.Details()...), p.Width-4) {
			p.line(lead + part)
			lead = "    "
		}
	}
	p.arguments(given)
	p.text("result", "", text.Result)
	p.text("error", sgrRed, text.Error)
	return p.w.Flush()
}

// text writes a whole text below its name.
func (p *treePrinter) text(name, sgr, text string) {
	if text == "" {
		return
	}
	p.line("")
	p.line(p.paint(sgrDim, name))
	for _, l := range termtext.Lines(text) {
		for _, part := range p.wrap(l, p.Width-2) {
			p.below("  ", p.paint(sgr, part))
		}
	}
}

// arguments writes the arguments of a call: a change as a diff, the members of an
// object each by its name.
func (p *treePrinter) arguments(a *Arguments) {
	if edits := a.Edits(); len(edits) > 0 {
		p.changes(edits)
		return
	}
	if a.members == nil {
		p.text("arguments", "", a.Text)
		return
	}
	parts, name := a.Parts(), 0
	if len(parts) == 0 {
		return
	}
	for _, part := range parts {
		name = max(name, termtext.Width(part.Name))
	}
	p.line("")
	p.line(p.paint(sgrDim, "arguments"))
	name = min(name, 20)
	for _, part := range parts {
		lead := padRight(p.cut(part.Name, name), name)
		for l := range strings.SplitSeq(part.Text, "\n") {
			for _, text := range p.wrap(l, p.Width-name-4) {
				p.line(strings.TrimRight("  "+p.paint(sgrDim, lead)+"  "+text, " "))
				lead = strings.Repeat(" ", name)
			}
		}
	}
}

// changes writes whole edits.
func (p *treePrinter) changes(edits []Edit) {
	for _, e := range edits {
		p.line("")
		p.line(p.paint(sgrDim, "change ") + p.cut(termtext.Line(e.Path), p.Width-8))
		for _, l := range e.Lines {
			for i, part := range p.wrap(l, p.Width-2) {
				if i > 0 {
					part = p.cut(l[:1]+part, p.Width-2)
				}
				p.below("  ", p.paint(signColor(l), part))
			}
		}
	}
}

// signColor returns the colour of a line of a diff.
func signColor(l string) string {
	switch {
	case strings.HasPrefix(l, "+"):
		return sgrGreen
	case strings.HasPrefix(l, "-"):
		return sgrRed
	}
	return sgrDim
}

// HooksOf returns the rows of the hooks that ran for the row at i.
func HooksOf(rows []Row, i int) (out []Row) {
	for _, r := range rows[i+1:] {
		if r.Depth <= rows[i].Depth {
			break
		}
		if r.Depth == rows[i].Depth+1 && r.Event == otelmap.EventHook {
			out = append(out, r)
		}
	}
	return out
}

// Failed returns the places of the tool calls that failed, were denied or never ended, and of
// the requests that a task or a subagent ended with because they did.
func Failed(rows []Row) (out []int) {
	for i := range rows {
		if rows[i].Status.Bad() && (rows[i].Kind == KindTool || rows[i].Kind == KindChat && lastRequest(rows[i:])) {
			out = append(out, i)
		}
	}
	return out
}

// lastRequest reports that below what the first row, a request, is below, none is later.
func lastRequest(rows []Row) bool {
	i := 1
	for i < len(rows) && (rows[i].Depth > rows[0].Depth || rows[i].Depth == rows[0].Depth && rows[i].Kind != KindChat) {
		i++
	}
	return i == len(rows) || rows[i].Depth < rows[0].Depth
}

// Span returns the row's span, nil for other rows.
func (r *Row) Span() *tracepb.Span { return r.span }
