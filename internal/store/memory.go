package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/otelmap"
)

// all reads every trace, the newest first.
func (s *Store) all(ctx context.Context) (out []*Trace, err error) {
	tx, err := s.db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	defer rollback(tx)
	sums, err := summaries(ctx, tx, `SELECT `+summaryColumns+` FROM traces ORDER BY started DESC, trace_id DESC`)
	if err != nil {
		return nil, err
	}
	for _, sum := range sums {
		spans, err := readSpans(ctx, tx, `s.trace = (SELECT id FROM traces WHERE trace_id = ?)
			ORDER BY s.started, s.ended DESC, s.span_id`, sum.TraceID)
		if err != nil {
			return nil, err
		}
		out = append(out, &Trace{Summary: sum, ResourceSpans: grouped(spans)})
	}
	return out, nil
}

// selected returns the traces that a filter selects, without its limit.
func (s *Store) selected(ctx context.Context, f Filter) (out []*Trace, err error) {
	var want []phrase
	if f.Text != "" {
		if want, err = phrases(f.Text); err != nil {
			return nil, err
		}
	}
	all, err := s.all(ctx)
	for _, t := range all {
		if f.selects(t, want) {
			out = append(out, t)
		}
	}
	return out, s.wrap("read traces", err)
}

func (f Filter) selects(t *Trace, want []phrase) bool {
	switch {
	case !strings.HasPrefix(t.Session, f.Session),
		!strings.HasPrefix(t.TraceID, strings.ToLower(f.Trace)),
		f.Host != "" && t.Host != f.Host,
		f.Outcome != "" && t.Outcome != f.Outcome,
		f.Directory != "" && !below(t.Directory, f.Directory),
		!f.Since.IsZero() && t.Started.Before(f.Since),
		!f.Until.IsZero() && !t.Started.Before(f.Until):
		return false
	}
	model, tool, text := f.Model == "" || sameModel(t.Model, f.Model), f.Tool == "", want == nil
	failed, denied := !f.Failed, !f.Denied
	for sp := range otlp.Spans(t.ResourceSpans) {
		a, status := sp.GetAttributes(), StatusOf(sp)
		switch RoleOf(a) {
		case RoleRoot:
			outcome := otlp.Text(a, otelmap.KeyOutcome)
			failed = failed || outcome == otelmap.OutcomeFailed || outcome == otelmap.OutcomeAbandoned
		case RoleTool:
			tool = tool || strings.EqualFold(otlp.Text(a, otelmap.KeyToolName), f.Tool)
			failed = failed || status == StatusFailed || status == StatusUnfinished
			denied = denied || status == StatusDenied
		case RoleChat:
			model = model || sameModel(otlp.Text(a, otelmap.KeyRequestModel), f.Model)
		}
		text = text || snippet(textsOf(sp), want) != ""
	}
	return model && tool && text && failed && denied
}

func first[T any](list []T, f Filter) []T {
	if n := f.limited(); n >= 0 && n < len(list) {
		return list[:n]
	}
	return list
}

// List returns the summaries of the selected traces, the newest first.
func (s *Store) List(ctx context.Context, f Filter) (out []Summary, err error) {
	traces, err := s.selected(ctx, f)
	for _, t := range first(traces, f) {
		out = append(out, t.Summary)
	}
	return out, err
}

// Each calls f with the selected traces, the newest first, until it returns an
// error.
func (s *Store) Each(ctx context.Context, f Filter, visit func(*Trace) error) error {
	traces, err := s.selected(ctx, f)
	for _, t := range first(traces, f) {
		if err == nil {
			err = visit(t)
		}
	}
	return err
}

// Totals returns the sums over the selected traces.
func (s *Store) Totals(ctx context.Context, f Filter) (sum Totals, err error) {
	traces, err := s.selected(ctx, f)
	unpriced := make(map[string]bool)
	for _, t := range traces {
		for _, g := range groupsOf(t, ByModel, time.UTC) {
			sum.add(g)
			for _, m := range g.Unpriced {
				unpriced[m] = true
			}
		}
	}
	sum.Unpriced = slices.Sorted(maps.Keys(unpriced))
	return sum, err
}

func (t *Totals) add(g part) {
	t.Traces += g.Traces
	t.Runs += g.Runs
	t.Calls += g.Calls
	t.Failures += g.Failures
	t.Denials += g.Denials
	t.Took += g.Took
	t.Usage = t.Usage.add(g.Usage)
}

// part is what a trace, a call or a hook run adds to a group.
type part struct {
	key string
	Totals
	// took are the durations for the percentiles.
	took []time.Duration
}

// Group returns the sums over the selected traces by a key, sorted by it. Days,
// weeks and months are those of the location.
func (s *Store) Group(ctx context.Context, f Filter, by By, loc *time.Location) ([]Group, error) {
	if !slices.Contains(Keys, by) {
		return nil, fmt.Errorf("group by %q: want one of %s", by, names(Keys))
	}
	traces, err := s.selected(ctx, f)
	if err != nil {
		return nil, err
	}
	groups, took, unpriced := make(map[string]*Group), make(map[string][]time.Duration), make(map[string]map[string]bool)
	for _, t := range traces {
		for _, p := range groupsOf(t, by, loc) {
			g := groups[p.key]
			if g == nil {
				g = &Group{Key: p.key}
				groups[p.key], unpriced[p.key] = g, make(map[string]bool)
			}
			g.add(p)
			took[p.key] = append(took[p.key], p.took...)
			for _, m := range p.Unpriced {
				unpriced[p.key][m] = true
			}
		}
	}
	var out []Group
	for _, key := range slices.Sorted(maps.Keys(groups)) {
		g, d := groups[key], took[key]
		slices.Sort(d)
		g.P50, g.P95 = percentile(d, 50), percentile(d, 95)
		g.Unpriced = slices.Sorted(maps.Keys(unpriced[key]))
		out = append(out, *g)
	}
	return out, nil
}

// percentile returns the smallest of the sorted durations that p percent of them
// do not exceed.
func percentile(d []time.Duration, p int) time.Duration {
	if len(d) == 0 {
		return 0
	}
	return d[(len(d)*p+99)/100-1]
}

// groupsOf returns what a trace adds to the groups.
func groupsOf(t *Trace, by By, loc *time.Location) (out []part) {
	whole := part{took: []time.Duration{t.Duration()}, Totals: Totals{Traces: 1, Runs: t.Runs, Took: t.Duration(), Usage: t.Usage}}
	models := make(map[string]*part)
	model := func(name string) *part {
		if models[name] == nil {
			models[name] = &part{key: name}
		}
		return models[name]
	}
	var requests *Usage
	calls := make(map[string]*part)
	for sp := range otlp.Spans(t.ResourceSpans) {
		a, status := sp.GetAttributes(), StatusOf(sp)
		took := max(0, otlp.End(sp).Sub(otlp.Start(sp)))
		if otlp.Start(sp).IsZero() {
			took = 0
		}
		var one part
		switch RoleOf(a) {
		case RoleTool:
			one.key = otlp.Text(a, otelmap.KeyToolName)
			if by == ByCommand {
				one.key = CommandOf(one.key, otlp.Text(a, otelmap.KeyToolArguments))
			}
			one.Calls, one.Took, one.took = 1, took, []time.Duration{took}
			switch status {
			case StatusFailed, StatusUnfinished:
				one.Failures = 1
			case StatusDenied:
				one.Denials = 1
			}
			whole.Calls, whole.Failures, whole.Denials = whole.Calls+1, whole.Failures+one.Failures, whole.Denials+one.Denials
			if by == ByTool || by == ByCommand {
				addCall(calls, t, one)
			}
		case RoleChat:
			if u := UsageOf(a); u != nil {
				m := model(otlp.Text(a, otelmap.KeyRequestModel))
				m.Usage = m.Usage.add(u)
				requests = requests.add(u)
				if u.CostUSD == nil && u.Input+u.Output > 0 {
					m.Unpriced = []string{m.key}
				}
			}
		}
		if by == ByHook {
			for _, h := range hookRuns(t, sp) {
				one := part{key: h.Command, took: []time.Duration{h.Took}, Totals: Totals{Calls: 1, Took: h.Took}}
				if h.Failed() {
					one.Failures = 1
				}
				if h.Denied() {
					one.Denials = 1
				}
				addCall(calls, t, one)
			}
		}
	}
	if by == ByTool || by == ByCommand || by == ByHook {
		for _, p := range calls {
			out = append(out, *p)
		}
		return out
	}
	// What the roots report beyond the requests is the trace's model's.
	own := model(t.Model)
	if rest := t.Usage.without(requests); rest != nil {
		own.Usage = own.Usage.add(rest)
		if t.Usage.CostUSD == nil && rest.Input+rest.Output > 0 {
			own.Unpriced = []string{own.key}
		}
	}
	own.took, own.Traces, own.Runs, own.Took = whole.took, 1, whole.Runs, whole.Took
	own.Calls, own.Failures, own.Denials = whole.Calls, whole.Failures, whole.Denials
	for _, name := range slices.Sorted(maps.Keys(models)) {
		out = append(out, *models[name])
		whole.Unpriced = append(whole.Unpriced, models[name].Unpriced...)
	}
	if by == ByModel {
		return out
	}
	whole.key = keyOf(t, by, loc)
	return []part{whole}
}

func addCall(calls map[string]*part, t *Trace, one part) {
	p := calls[one.key]
	if p == nil {
		p = &part{key: one.key, Totals: Totals{Traces: 1, Runs: t.Runs}}
		calls[one.key] = p
	}
	p.add(one)
	p.took = append(p.took, one.took...)
}

// keyOf returns the key of a whole trace.
func keyOf(t *Trace, by By, loc *time.Location) string {
	switch by {
	case ByProject:
		return t.Directory
	case ByAgent:
		return t.Host
	case BySession:
		return t.Session
	}
	if t.Started.IsZero() {
		return ""
	}
	start := t.Started.In(loc)
	switch by {
	case ByWeek:
		start = start.AddDate(0, 0, -int(start.Weekday()+6)%7)
	case ByMonth:
		return start.Format("2006-01")
	}
	return start.Format(time.DateOnly)
}

// without returns what u has beyond v, nil if that is nothing.
func (u *Usage) without(v *Usage) *Usage {
	if u == nil || v == nil {
		return u
	}
	rest := Usage{
		Input: u.Input - v.Input, Output: u.Output - v.Output,
		CacheRead: u.CacheRead - v.CacheRead, CacheWrite: u.CacheWrite - v.CacheWrite,
	}
	if u.CostUSD != nil {
		cost := *u.CostUSD
		if v.CostUSD != nil {
			cost -= *v.CostUSD
		}
		rest.CostUSD = &cost
	}
	return &rest
}

func hookRuns(t *Trace, sp *tracepb.Span) (out []HookRun) {
	for _, e := range sp.GetEvents() {
		if e.GetName() != otelmap.EventHook {
			continue
		}
		a := e.GetAttributes()
		out = append(out, HookRun{
			Trace: t.TraceID, Span: otlp.SpanID(sp), Session: t.Session, Host: t.Host, Directory: t.Directory,
			Event: otlp.Text(a, otelmap.KeyHookEvent), Tool: otlp.Text(a, otelmap.KeyHookTool),
			Command: otlp.Text(a, otelmap.KeyHookCommand), Source: otlp.Text(a, otelmap.KeyHookSource),
			Status: otlp.Text(a, otelmap.KeyHookStatus), Decision: otlp.Text(a, otelmap.KeyHookDecision),
			Reason: otlp.Text(a, otelmap.KeyHookReason), Started: otlp.Time(e.GetTimeUnixNano()),
			Took: time.Duration(otlp.Number(a, otelmap.KeyHookDuration)) * time.Millisecond,
		})
	}
	return out
}

// HookRuns returns the runs of the user's hooks in the selected traces, the newest
// first. The filter's Failed, Denied and Tool select among the hook runs.
func (s *Store) HookRuns(ctx context.Context, f Filter) (out []HookRun, err error) {
	g := f
	g.Failed, g.Denied, g.Tool = false, false, ""
	traces, err := s.selected(ctx, g)
	for _, t := range traces {
		for sp := range otlp.Spans(t.ResourceSpans) {
			for _, h := range hookRuns(t, sp) {
				if f.Failed && !h.Failed() || f.Denied && !h.Denied() || f.Tool != "" && !strings.EqualFold(h.Tool, f.Tool) {
					continue
				}
				out = append(out, h)
			}
		}
	}
	slices.SortStableFunc(out, func(x, y HookRun) int { return cmp.Or(y.Started.Compare(x.Started), cmp.Compare(y.Span, x.Span)) })
	return first(out, f), err
}

// Search returns the spans of the selected traces that have the filter's Text, the
// newest first.
func (s *Store) Search(ctx context.Context, f Filter) (out []Hit, err error) {
	want, err := phrases(f.Text)
	if err != nil {
		return nil, err
	}
	traces, err := s.selected(ctx, f)
	for _, t := range traces {
		for sp := range otlp.Spans(t.ResourceSpans) {
			if found := snippet(textsOf(sp), want); found != "" {
				a := sp.GetAttributes()
				out = append(out, Hit{
					Trace: t.TraceID, Span: otlp.SpanID(sp), Name: sp.GetName(), Tool: otlp.Text(a, otelmap.KeyToolName),
					Role: RoleOf(a), Status: StatusOf(sp), Started: otlp.Start(sp), Snippet: found,
				})
			}
		}
	}
	slices.SortStableFunc(out, func(x, y Hit) int { return cmp.Or(y.Started.Compare(x.Started), cmp.Compare(y.Span, x.Span)) })
	return first(out, f), err
}

// Delete removes all selected traces, whatever the limit, overwrites them within
// the file and returns how many they were. As after Prune, an import skips their
// runs for a year.
func (s *Store) Delete(ctx context.Context, f Filter) (n int, err error) {
	traces, err := s.selected(ctx, f)
	for _, t := range traces {
		if err == nil {
			if err = s.Remove(ctx, t.TraceID); err == nil {
				n++
			}
		}
	}
	if n > 0 && err == nil {
		err = s.wrap("shrink", s.shrink(ctx))
	}
	return n, err
}

// Size returns how many bytes the store has on the disk.
func (s *Store) Size(context.Context) (bytes int64, err error) {
	for _, suffix := range []string{"", "-wal", "-shm"} {
		info, err := os.Stat(s.path + suffix)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return 0, s.wrap("measure", err)
		default:
			bytes += info.Size()
		}
	}
	return bytes, nil
}
