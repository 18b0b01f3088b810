package view

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/otelmap"
)

// Conversation writes the traces of a session in the order of time, each as a task:
// what was said and which tools ran. get returns a trace by its id.
func Conversation(w io.Writer, sums []store.Summary, total *store.Totals, get func(id string) (*store.Trace, error), o Options) error {
	sums = slices.Clone(sums)
	slices.SortStableFunc(sums, func(x, y store.Summary) int {
		return cmp.Or(x.Started.Compare(y.Started), cmp.Compare(x.TraceID, y.TraceID))
	})
	p := newTreePrinter(w, &store.Trace{}, o)
	p.sessionHeader(sums, total)
	for i := range sums {
		t, err := get(sums[i].TraceID)
		if err != nil {
			return err
		}
		p.turn(t, i+1)
		// A long session is shown while it is read.
		if err := p.w.Flush(); err != nil {
			return err
		}
	}
	return p.w.Flush()
}

// sessionHeader describes the session.
func (p *treePrinter) sessionHeader(sums []store.Summary, total *store.Totals) {
	if len(sums) == 0 {
		return
	}
	first := &sums[0]
	p.line(p.paint(sgrBold, p.cut("session "+termtext.Line(first.Session), p.Width)))
	var began string
	if !first.Started.IsZero() {
		began = first.Started.In(p.Location).Format(time.DateTime)
	}
	p.line(p.cut(p.join(termtext.Line(first.Host), termtext.Line(first.Directory), began), p.Width))
	facts := []string{termtext.Plural(total.Traces, "task"), duration(total.Took)}
	counts := Counts(&store.Summary{Usage: total.Usage, Tools: total.Calls, ToolFailures: total.Failures, ToolDenials: total.Denials})
	facts = append(facts, counts...)
	if len(total.Unpriced) > 0 {
		facts = append(facts, "no price for "+termtext.Line(strings.Join(total.Unpriced, ", ")))
	}
	for _, l := range p.wrap(p.join(facts...), p.Width) {
		p.line(p.paint(sgrDim, l))
	}
}

// turn writes one trace as a part of a conversation.
func (p *treePrinter) turn(t *store.Trace, n int) {
	p.line("")
	head := fmt.Sprintf("task %d", n)
	var cost string
	if t.Usage != nil && t.Usage.CostUSD != nil {
		cost = Dollars(*t.Usage.CostUSD)
	}
	facts := p.join(outcomeText(&t.Summary), duration(t.Duration()), cost, store.ShortID(t.TraceID))
	p.line(p.paint(sgrBold, head) + "  " + p.mark(otelmap.OutcomeEnd(t.Outcome)) + " " + p.paint(sgrDim, p.cut(facts, p.Width-len(head)-4)))
	p.start = t.Started

	var run *Row
	reported := "" // the newest problem of a request, which is often why the run failed
	for step := range StoryOf(t, Rows(t)).Steps(0) {
		r := step.Row
		if r == nil {
			p.said(speaker(&step), step.Text())
			continue
		}
		lead := strings.Repeat("  ", min(max(r.Depth-1, 0), 4))
		switch step.Who {
		case WhoUser:
			p.said(speaker(&step), step.Text())
		case WhoHook:
			if r.Status == otelmap.EndDenied || r.HookReason() != "" {
				p.plain(r, lead)
			}
		case WhoAgent:
			if text := step.Text(); text != "" {
				p.said(speaker(&step), text)
			}
			p.problem(r, "        ")
			_, reported = r.Problem()
		case WhoTool:
			p.plain(r, lead)
			p.problem(r, lead+"          ")
			p.edits(r, lead+"          ")
		case WhoSubagent:
			p.plain(r, lead)
		case WhoFailure:
			run = r
		}
	}
	if run != nil {
		if _, message := run.Problem(); message == "" || message != reported {
			p.problem(run, "        ")
		}
	}
}

// speaker is the word for who said a step.
func speaker(s *Step) string {
	switch {
	case s.Who == WhoUser:
		return "you"
	case s.Row != nil && s.Row.Depth > 1:
		return "  sub"
	}
	return "agent"
}

// plain writes a row of a conversation on one line: the symbol, what it did and how
// long it took.
func (p *treePrinter) plain(r *Row, lead string) {
	took := ""
	if !r.End.IsZero() {
		took = duration(r.Took())
	}
	text := r.Label
	if d := p.join(r.Details()...); d != "" {
		text += "  " + d
	}
	lead = "        " + lead
	room := p.Width - termtext.Width(lead) - 2 - durationWidth - 1
	text = p.cut(text, room)
	gap := strings.Repeat(" ", max(1, room+1-termtext.Width(text)))
	p.line(strings.TrimRight(lead+p.mark(r.Status)+" "+text+p.paint(sgrDim, gap+padLeft(took, durationWidth)), " "))
}
