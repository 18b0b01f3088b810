package view

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"strings"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/rawjson"
	"github.com/hookspan/hookspan/internal/store"
	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/otelmap"
)

// CallText is what a tool call was given and what it returned. Empty members are not
// shown.
type CallText struct {
	Arguments, Result, Error string
	// Source is where the texts are from.
	Source string
}

// SpanID returns the id of the row's span as 16 hexadecimal digits, "" for other rows.
func (r *Row) SpanID() string {
	return hex.EncodeToString([]byte(r.id))
}

// Texts returns the previews in the row's span.
func (r *Row) Texts() CallText {
	a := r.span.GetAttributes()
	kind, message := r.Problem()
	t := CallText{
		Arguments: otlp.Text(a, otelmap.KeyToolArguments),
		Result:    cmp.Or(otlp.Text(a, otelmap.KeyText), otelmap.Answer(a)),
	}
	if r.Kind == KindTool {
		t.Result = otelmap.Returned(r.span)
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
	number := ""
	if r.Number > 0 {
		number = fmt.Sprintf("#%d", r.Number)
	}
	detail := ""
	if r.Kind == KindTool {
		detail = preview(text.Arguments)
	} else if d := r.Details(); len(d) > 0 {
		detail = p.join(d...)
	}
	if edits := Edits(r.Label, text.Arguments); len(edits) > 0 {
		detail = paths(edits)
	}
	head := p.paint(sgrBold, p.cut(r.Label, p.Width-4))
	if number != "" {
		head += " " + p.paint(sgrDim, number)
	}
	if room := p.Width - termtext.Width(r.Label) - len(number) - 6; detail != "" && room > 6 {
		head += "  " + p.cut(detail, room)
	}
	p.line(p.mark(r.Status) + " " + head)

	kind, _ := r.Problem()
	offset := ""
	if !r.Start.IsZero() && !p.start.IsZero() {
		offset = "+" + duration(r.Start.Sub(p.start))
	}
	took := ""
	if !r.End.IsZero() {
		took = "took " + duration(r.Took())
	}
	facts := p.join(termtext.Line(kind), offset, took, "trace "+termtext.Line(termtext.HeadBytes(t.TraceID, 8)), "span "+r.SpanID())
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
	p.arguments(r, text.Arguments)
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
func (p *treePrinter) arguments(r *Row, arguments string) {
	if arguments == "" {
		return
	}
	if edits := Edits(r.Label, arguments); len(edits) > 0 {
		for _, e := range edits {
			p.line("")
			p.line(p.paint(sgrDim, "change ") + p.cut(termtext.Line(e.Path), p.Width-8))
			for _, l := range e.Lines {
				for i, part := range p.wrap(l, p.Width-2) {
					if i > 0 {
						part = l[:1] + part
						part = p.cut(part, p.Width-2)
					}
					p.below("  ", p.paint(signColor(l), part))
				}
			}
		}
		return
	}
	var fields []Field
	name := 0
	whole := rawjson.Check([]byte(arguments)) == nil && rawjson.EachMember([]byte(arguments), func(key, value []byte) {
		f := Field{termtext.Line(string(key)), string(value)}
		if rawjson.IsString(value) {
			f.Text = rawjson.Unquote(value)
		}
		fields, name = append(fields, f), max(name, termtext.Width(f.Name))
	})
	if !whole {
		p.text("arguments", "", arguments)
		return
	}
	if len(fields) == 0 {
		return
	}
	p.line("")
	p.line(p.paint(sgrDim, "arguments"))
	name = min(name, 20)
	for _, f := range fields {
		lead := padRight(p.cut(f.Name, name), name)
		for _, l := range termtext.Lines(f.Text) {
			for _, part := range p.wrap(l, p.Width-name-4) {
				p.line(strings.TrimRight("  "+p.paint(sgrDim, lead)+"  "+part, " "))
				lead = strings.Repeat(" ", name)
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
		if r.Depth == rows[i].Depth+1 && r.event != nil && r.event.GetName() == otelmap.EventHook {
			out = append(out, r)
		}
	}
	return out
}

// Failed returns the places of the tool calls that failed, were denied or never ended.
func Failed(rows []Row) (out []int) {
	for i := range rows {
		bad := []Status{StatusFailed, StatusDenied, StatusUnfinished}
		if rows[i].Kind == KindTool && slices.Contains(bad, rows[i].Status) {
			out = append(out, i)
		}
	}
	return out
}

// Span returns the row's span, nil for other rows.
func (r *Row) Span() *tracepb.Span { return r.span }
