package view

import (
	"cmp"
	"strings"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/otelmap/step"
)

// Kind is what a row shows.
type Kind string

// The kinds.
const (
	KindRun   Kind = "run"
	KindAgent Kind = "agent"
	KindTool  Kind = "tool"
	KindChat  Kind = "chat"
	// KindSpan is a span of another program.
	KindSpan  Kind = "span"
	KindEvent Kind = "event"
	// KindNoRoot takes the place of the root span of a trace without one.
	KindNoRoot Kind = "no root"
)

// Row is a span or a span event at its place in the trace.
type Row struct {
	// Depth is the number of rows above it, up to the run.
	Depth int
	Kind  Kind
	// Status of an event is EndNone, unless a hook denied something.
	Status otelmap.End
	// Event is otelmap's name of an event that readers tell apart, "" for others.
	Event string
	// Label names the span or event, on one line that is safe for a terminal.
	Label string
	// Start and End are zero if unknown. Most events have no End.
	Start, End time.Time
	// Number counts the tool calls of the trace from 1; 0 for other rows.
	Number int
	// Detached reports a span whose parent is not stored or is its own
	// descendant. It is below the first run.
	Detached bool

	// usage is that of a request to the model, of an event that reports requests without
	// spans, and of a run or subagent with all below. ran is the time that the agent says a
	// call ran, negative if it does not.
	usage *store.Usage
	ran   time.Duration

	id    string // the span's, as bytes
	span  *tracepb.Span
	event *tracepb.Span_Event
	// arguments are those of a call, once they were read.
	arguments *Arguments
	// place is where the span is among those of the trace, as they were added; number
	// is the event's in it.
	place, number int32
}

// Took returns the time from Start to End, 0 if there is no End. It is never
// negative.
func (r *Row) Took() time.Duration {
	if r.End.IsZero() {
		return 0
	}
	return max(0, r.End.Sub(r.Start))
}

// Usage returns the tokens and the cost of a request to the model, of a usage event, and
// of a run or subagent with all that is below it. It is nil if unknown and for other
// rows.
func (r *Row) Usage() *store.Usage { return r.usage }

// Ran returns the time that the agent says a call ran, and whether it does.
func (r *Row) Ran() (time.Duration, bool) { return max(0, r.ran), r.ran >= 0 }

// Arguments returns what a call was given.
func (r *Row) Arguments() *Arguments {
	if r.arguments == nil {
		r.arguments = NewArguments(r.Label, r.step().Arguments())
	}
	return r.arguments
}

// Place returns where the row's span, or that of its event, is among those that
// were added to the outline.
func (r *Row) Place() int { return int(r.place) }

// With returns the row of an outline with its span, or with the event in it, so that
// its texts can be read. s may be nil.
func (r *Row) With(s *tracepb.Span) *Row {
	out := *r
	out.arguments = nil
	switch {
	case r.Kind != KindEvent:
		out.span = s
	case int(r.number) < len(s.GetEvents()):
		out.event = s.GetEvents()[r.number]
	}
	return &out
}

// Rows returns the spans and events of a trace as a tree in depth-first order,
// siblings in the order of time. At the top are the runs, whatever parent they
// name, and spans without a parent. Every span is in one row.
func Rows(t *store.Trace) []Row {
	o := NewOutline(&t.Summary)
	var spans []*tracepb.Span
	for s := range otlp.Spans(t.ResourceSpans) {
		o.Add(s)
		spans = append(spans, s)
	}
	o.Arrange()
	rows := make([]Row, o.Len())
	for i := range rows {
		if rows[i] = o.Row(i); rows[i].place >= 0 {
			rows[i] = *rows[i].With(spans[rows[i].place])
		}
	}
	return rows
}

func (r *Row) describeEvent(e *tracepb.Span_Event) {
	one := step.EventOf(e)
	r.Kind, r.Event, r.Label, r.Start = KindEvent, one.Name(), termtext.Line(strings.TrimPrefix(one.Name(), "hookspan.")), one.At()
	switch r.Event {
	case otelmap.EventHook:
		if one.HookEnd() == otelmap.EndDenied {
			r.Status = otelmap.EndDenied
		}
		if took, ok := one.HookTook(); ok {
			r.End = r.Start.Add(took)
		}
	case otelmap.EventPermission:
		if waited, ok := one.Waited(); ok {
			r.End = r.Start.Add(waited)
		}
	case otelmap.EventUsage:
		r.usage = one.Usage()
	}
}

// describeSpan describes a span. model is the trace's, which requests to it need not
// repeat.
func (r *Row) describeSpan(s *tracepb.Span, model string) {
	one := step.Of(s)
	r.Status, r.Start, r.End = one.End(), one.Started(), one.Ended()
	r.Label = cmp.Or(termtext.Line(s.GetName()), "unnamed")
	switch one.Kind() {
	case step.KindRun:
		r.Kind, r.usage = KindRun, one.Usage()
	case step.KindAgent:
		r.Kind, r.usage = KindAgent, one.Usage()
	case step.KindTool:
		r.Kind, r.Label = KindTool, cmp.Or(termtext.Line(one.Tool()), r.Label)
		if ran, ok := one.Ran(); ok {
			r.ran = ran
		}
	case step.KindRequest:
		r.Kind, r.usage = KindChat, one.Usage()
		if model != "" && one.Model() == model {
			r.Label = otelmap.OpChat
		}
	default:
		r.Kind = KindSpan
	}
}
