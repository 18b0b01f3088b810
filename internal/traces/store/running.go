package store

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/otelmap/step"
)

// NewTrace returns a trace of spans that are not stored, such as those of a running
// task. They must have one trace id. It returns nil without spans.
func NewTrace(messages []*tracepb.ResourceSpans) *Trace {
	var all, roots []storedSpan
	var d digest
	for _, rs := range messages {
		for _, ss := range rs.GetScopeSpans() {
			origin := originOf(rs, ss)
			for _, sp := range ss.GetSpans() {
				d.add(sp)
				all = append(all, storedSpan{sp, origin})
				if step.Of(sp).Kind() == step.KindRun {
					roots = append(roots, all[len(all)-1])
				}
			}
		}
	}
	if len(all) == 0 {
		return nil
	}
	byStart := func(x, y storedSpan) int {
		return cmp.Or(cmp.Compare(x.GetStartTimeUnixNano(), y.GetStartTimeUnixNano()), bytes.Compare(x.GetSpanId(), y.GetSpanId()))
	}
	slices.SortFunc(roots, byStart)
	if roots == nil {
		roots = []storedSpan{slices.MinFunc(all, byStart)}
	}
	out := &Trace{Summary: summarize(&d, roots), ResourceSpans: messages}
	out.TraceID = TaskID(roots[0].Span)
	out.Started, out.Ended = fromColumn(d.started), fromColumn(d.ended)
	return out
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
	switch {
	case !strings.HasPrefix(t.Session, f.Session), f.Whole && t.Session != f.Session,
		!t.Is(f.Trace),
		f.Host != "" && t.Host != f.Host,
		f.Branch != "" && t.Branch != f.Branch, f.Among != "" && !strings.Contains(f.Among, t.TraceID),
		f.Outcome != "" && t.Outcome != f.Outcome,
		!f.In(t.Directory) && !slices.ContainsFunc(t.Folders, f.In),
		!f.Since.IsZero() && t.Started.Before(f.Since), !f.Ended.IsZero() && t.Ended.Before(f.Ended),
		!f.Until.IsZero() && !t.Started.Before(f.Until):
		return false, nil
	}
	var d digest
	text := want == nil
	for s := range otlp.Spans(t.ResourceSpans) {
		d.add(s)
		text = text || snippet(textsOf(s), want) != ""
	}
	return text && f.selects(&found{Summary: t.Summary, digest: &d}, make(map[string]bool)), nil
}
