package view

import (
	"cmp"
	"slices"
	"strings"
	"time"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/store"
	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/otelmap"
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

// Status is how a span ended.
type Status string

// The statuses. An event has StatusNone, unless a hook denied something.
const (
	StatusNone       Status = ""
	StatusOK         Status = "ok"
	StatusFailed     Status = "failed"
	StatusDenied     Status = "denied"
	StatusUnfinished Status = "unfinished"
	// StatusUnknown is a tool call that ended with an unknown outcome.
	StatusUnknown Status = "unknown"
	// StatusRunning is a run, or a call, that has not ended.
	StatusRunning Status = "running"
)

// Row is a span or a span event at its place in the trace.
type Row struct {
	// Depth is the number of rows above it, up to the run.
	Depth  int
	Kind   Kind
	Status Status
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
	// call ran, negative if it does not. told reports a span with a prompt or an answer.
	usage *store.Usage
	ran   time.Duration
	told  bool

	id    string // the span's, as bytes
	span  *tracepb.Span
	event *tracepb.Span_Event
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

// Told reports whether the span has a prompt or an answer, as Prompt and Answer find
// them.
func (r *Row) Told() bool { return r.told }

// Place returns where the row's span, or that of its event, is among those that
// were added to the outline.
func (r *Row) Place() int { return int(r.place) }

// With returns the row of an outline with its span, or with the event in it, so that
// its texts can be read. s may be nil.
func (r *Row) With(s *tracepb.Span) *Row {
	out := *r
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
	a := e.GetAttributes()
	r.Start = otlp.Time(e.GetTimeUnixNano())
	r.Kind, r.Label = KindEvent, termtext.Line(strings.TrimPrefix(e.GetName(), "hookspan."))
	if e.GetName() == otelmap.EventHook && slices.Contains([]string{"deny", "block"}, otlp.Text(a, otelmap.KeyHookDecision)) {
		r.Status = StatusDenied
	}
	if e.GetName() == otelmap.EventUsage {
		r.usage = reportedUsage(a)
	}
	if ms, ok := otlp.Integer(a, otelmap.KeyHookDuration); ok {
		r.End = r.Start.Add(time.Duration(ms) * time.Millisecond)
	}
}

// describeSpan describes a span. model is the trace's, which requests to it need not
// repeat.
func (r *Row) describeSpan(s *tracepb.Span, model string) {
	a := s.GetAttributes()
	r.Status, r.Start, r.End = spanStatus(s), otlp.Start(s), otlp.End(s)
	r.Label = cmp.Or(termtext.Line(s.GetName()), "unnamed")
	r.told = otlp.Find(a, otelmap.KeyInputMessages) != nil || otlp.Find(a, otelmap.KeyOutcome) != nil
	switch store.RoleOf(a) {
	case store.RoleRoot:
		r.Kind, r.usage = KindRun, reportedUsage(a)
	case store.RoleAgent:
		r.Kind, r.usage = KindAgent, reportedUsage(a)
	case store.RoleTool:
		r.Kind, r.Label = KindTool, cmp.Or(termtext.Line(otlp.Text(a, otelmap.KeyToolName)), r.Label)
		if ms, ok := otlp.Integer(a, otelmap.KeyHostDuration); ok {
			r.ran = time.Duration(max(0, ms)) * time.Millisecond
		}
	case store.RoleChat:
		if r.Kind = KindChat; model != "" && otlp.Text(a, otelmap.KeyRequestModel) == model {
			r.Label = otelmap.OpChat
		}
		r.usage = reportedUsage(a)
	default:
		r.Kind = KindSpan
	}
}

// reportedUsage is store.UsageOf without the attribute's memory, which the next span may get.
func reportedUsage(a []*commonpb.KeyValue) *store.Usage {
	u := store.UsageOf(a)
	if u != nil && u.CostUSD != nil {
		u.CostUSD = new(*u.CostUSD)
	}
	return u
}

func spanStatus(s *tracepb.Span) Status {
	a := s.GetAttributes()
	if outcome := otlp.Text(a, otelmap.KeyOutcome); outcome != "" {
		return outcomeStatus(outcome)
	}
	switch otlp.Text(a, otelmap.KeyErrorType) {
	case otelmap.ErrorToolDenied, otelmap.ErrorToolCancelled:
		return StatusDenied
	case otelmap.ErrorToolUnfinished, otelmap.ErrorAbandoned:
		return StatusUnfinished
	}
	switch {
	case s.GetStatus().GetCode() == tracepb.Status_STATUS_CODE_ERROR:
		return StatusFailed
	case s.GetEndTimeUnixNano() == 0:
		return StatusUnfinished
	case otlp.Text(a, otelmap.KeyToolOutcome) == otelmap.ToolOutcomeUnknown:
		return StatusUnknown
	case otlp.Text(a, otelmap.KeyToolOutcome) == otelmap.ToolOutcomeRunning:
		return StatusRunning
	}
	return StatusOK
}

func outcomeStatus(outcome string) Status {
	switch outcome {
	case otelmap.OutcomeCompleted:
		return StatusOK
	case otelmap.OutcomeFailed:
		return StatusFailed
	case otelmap.OutcomeCancelled, otelmap.OutcomeInterrupted:
		return StatusDenied
	case otelmap.OutcomeRunning:
		return StatusRunning
	}
	return StatusUnfinished
}
