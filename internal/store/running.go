package store

import (
	"cmp"
	"slices"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/otlp"
)

// NewTrace returns a trace of spans that are not stored, such as those of a running
// task. They must have one trace id. It returns nil without spans.
func NewTrace(messages []*tracepb.ResourceSpans) *Trace {
	var all, roots []storedSpan
	var t totals
	for _, rs := range messages {
		for _, ss := range rs.GetScopeSpans() {
			for _, sp := range ss.GetSpans() {
				s := storedSpan{sp, originOf(rs, ss)}
				all = append(all, s)
				t.count(sp)
				if RoleOf(sp.GetAttributes()) == RoleRoot {
					roots = append(roots, s)
				}
			}
		}
	}
	if len(all) == 0 {
		return nil
	}
	byStart := func(x, y storedSpan) int {
		return cmp.Or(cmp.Compare(x.GetStartTimeUnixNano(), y.GetStartTimeUnixNano()),
			cmp.Compare(y.GetEndTimeUnixNano(), x.GetEndTimeUnixNano()), slices.Compare(x.GetSpanId(), y.GetSpanId()))
	}
	slices.SortStableFunc(all, byStart)
	slices.SortStableFunc(roots, byStart)
	if roots == nil {
		roots = all[:1]
	}
	out := &Trace{Summary: summarize(t, roots), ResourceSpans: messages}
	out.TraceID = otlp.TraceID(all[0].Span)
	out.Started, out.Ended = fromColumn(t.started), fromColumn(t.ended)
	return out
}

// count adds a span to the totals.
func (t *totals) count(s *tracepb.Span) {
	f := factsOf(s)
	start, end := column(s.GetStartTimeUnixNano()), column(s.GetEndTimeUnixNano())
	if t.spans++; t.started == 0 || start > 0 && start < t.started {
		t.started = start
	}
	t.ended = max(t.ended, start, end)
	switch f.role {
	case RoleTool:
		if t.tools++; f.failed {
			t.failures++
		}
	case RoleChat:
		t.model = cmp.Or(t.model, f.model)
		t.usage = t.usage.add(f.usage)
	}
}

// Selects reports whether the filter selects a trace, by everything but its limit.
func (f Filter) Selects(t *Trace) (bool, error) {
	var want []phrase
	if f.Text != "" {
		var err error
		if want, err = phrases(f.Text); err != nil {
			return false, err
		}
	}
	return f.selects(t, want), nil
}
