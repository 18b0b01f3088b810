package store

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/otelmap/step"
)

// memory answers the questions from decoded traces, the newest first.
type memory []*Trace

func (m memory) selected(f Filter) (out memory) {
	want, _ := phrases(f.Text)
	for _, t := range m {
		if f.selectsTrace(t, want) {
			out = append(out, t)
		}
	}
	return out
}

func (f Filter) selectsTrace(t *Trace, want []phrase) bool {
	switch {
	case !strings.HasPrefix(t.Session, f.Session),
		!strings.HasPrefix(t.TraceID, strings.ToLower(f.Trace)),
		f.Host != "" && t.Host != f.Host,
		f.Outcome != "" && t.Outcome != f.Outcome,
		f.MinCost > 0 && (t.Usage == nil || t.Usage.CostUSD == nil || *t.Usage.CostUSD < f.MinCost),
		!slices.ContainsFunc(append(t.Folders[:len(t.Folders):len(t.Folders)], t.Directory), func(dir string) bool {
			return f.Directory == "" || otelmap.Below(dir, f.Directory) || f.Resolved != "" && otelmap.Below(dir, f.Resolved)
		}),
		!f.Since.IsZero() && t.Started.Before(f.Since), !f.Ended.IsZero() && t.Ended.Before(f.Ended),
		!f.Until.IsZero() && !t.Started.Before(f.Until):
		return false
	}
	model, tool, text := f.Model == "" || sameModel(t.Model, f.Model), f.Tool == "", want == nil
	failed, denied := !f.Failed, !f.Denied
	for sp := range otlp.Spans(t.ResourceSpans) {
		a, status := sp.GetAttributes(), step.Of(sp).End()
		switch step.Of(sp).Kind() {
		case step.KindRun:
			outcome := otlp.Text(a, otelmap.KeyOutcome)
			failed = failed || outcome == otelmap.OutcomeFailed || outcome == otelmap.OutcomeAbandoned
		case step.KindTool:
			tool = tool || SameTool(otlp.Text(a, otelmap.KeyToolName), f.Tool)
			failed = failed || status == otelmap.EndFailed || status == otelmap.EndUnfinished
			denied = denied || status == otelmap.EndDenied
		case step.KindRequest:
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

func (m memory) list(f Filter) (out []Summary) {
	all := m.selected(f)
	slices.SortStableFunc(all, func(x, y *Trace) int {
		cost := func(t *Trace) float64 {
			if t.Usage == nil || t.Usage.CostUSD == nil {
				return -1
			}
			return *t.Usage.CostUSD
		}
		switch f.Sort {
		case "cost":
			return cmp.Compare(cost(y), cost(x))
		case "time":
			return cmp.Compare(y.Duration(), x.Duration())
		case "failures":
			return cmp.Compare(y.ToolFailures, x.ToolFailures)
		}
		return 0
	})
	for _, t := range first(all, f) {
		out = append(out, t.Summary)
	}
	return out
}

func (m memory) totals(f Filter) (sum Totals) {
	unpriced := make(map[string]bool)
	for _, t := range m.selected(f) {
		for _, g := range groupsOf(t, f, ByModel, time.UTC) {
			sum.add(g)
			for _, m := range g.Unpriced {
				unpriced[m] = true
			}
		}
	}
	sum.Unpriced = slices.Sorted(maps.Keys(unpriced))
	return sum
}

func (t *Totals) add(g part) {
	t.Traces += g.Traces
	t.Runs += g.Runs
	t.Calls += g.Calls
	t.Failures += g.Failures
	t.Denials += g.Denials
	t.Took += g.Took
	t.Usage = t.Usage.Add(g.Usage)
	t.OfModel = t.OfModel.Add(g.OfModel)
}

// part is what a trace, a call or a hook run adds to a group.
type part struct {
	key string
	Totals
	// took are the durations for the percentiles.
	took []time.Duration
}

func (m memory) group(f Filter, by By, loc *time.Location) (out []Group) {
	costs := make(map[string][]float64)
	groups, took, unpriced := make(map[string]*Group), make(map[string][]time.Duration), make(map[string]map[string]bool)
	for _, t := range m.selected(f) {
		for _, p := range groupsOf(t, f, by, loc) {
			g := groups[p.key]
			if g == nil {
				g = &Group{Key: p.key}
				groups[p.key], unpriced[p.key] = g, make(map[string]bool)
			}
			g.add(p)
			took[p.key] = append(took[p.key], p.took...)
			if p.Usage != nil && p.Usage.CostUSD != nil {
				costs[p.key] = append(costs[p.key], *p.Usage.CostUSD)
			}
			for _, m := range p.Unpriced {
				unpriced[p.key][m] = true
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(groups)) {
		g, d := groups[key], took[key]
		slices.Sort(d)
		if n := len(d); n > 0 {
			g.P50, g.P95 = d[(n+1)/2-1], d[(n*95+99)/100-1]
		}
		if c := slices.Sorted(slices.Values(costs[key])); len(c) > 0 {
			median := (c[(len(c)-1)/2] + c[len(c)/2]) / 2
			g.MedianUSD, g.DearestUSD = &median, &c[len(c)-1]
		}
		g.Unpriced = slices.Sorted(maps.Keys(unpriced[key]))
		if by == BySession {
			g.Title = m.title(f, key)
		}
		out = append(out, *g)
	}
	return out
}

// title is that of the first trace of a session that has one.
func (m memory) title(f Filter, session string) (title string) {
	f.Model, f.Tool, f.Text, f.Failed, f.Denied, f.MinCost = "", "", "", false, false, 0
	for _, t := range m.selected(f) { // the newest first
		if t.Session == session && t.Title != "" {
			title = t.Title
		}
	}
	return title
}

// groupsOf returns what a trace adds to the groups.
func groupsOf(t *Trace, f Filter, by By, loc *time.Location) (out []part) {
	want, _ := phrases(f.Text)
	ends := func(one part) bool {
		return !f.Failed && !f.Denied || f.Failed && one.Failures > 0 || f.Denied && one.Denials > 0
	}
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
		a, status := sp.GetAttributes(), step.Of(sp).End()
		selected := want == nil || snippet(textsOf(sp), want) != ""
		took := max(0, otlp.End(sp).Sub(otlp.Start(sp)))
		if otlp.Start(sp).IsZero() {
			took = 0
		}
		var one part
		switch step.Of(sp).Kind() {
		case step.KindTool:
			one.key = otlp.Text(a, otelmap.KeyToolName)
			if by == ByCommand {
				one.key = CommandOf(one.key, otlp.Text(a, otelmap.KeyToolArguments))
			}
			one.Calls, one.Took, one.took = 1, took, []time.Duration{took}
			switch status {
			case otelmap.EndFailed, otelmap.EndUnfinished:
				one.Failures = 1
			case otelmap.EndDenied:
				one.Denials = 1
			}
			whole.Calls, whole.Failures, whole.Denials = whole.Calls+1, whole.Failures+one.Failures, whole.Denials+one.Denials
			isTool := f.Tool == "" || SameTool(otlp.Text(a, otelmap.KeyToolName), f.Tool)
			if (by == ByTool || by == ByCommand) && selected && isTool && ends(one) {
				tallyCall(calls, t, one)
			}
		case step.KindRequest:
			if u := step.Of(sp).Usage(); u != nil {
				m := model(otlp.Text(a, otelmap.KeyRequestModel))
				m.Usage = m.Usage.Add(u)
				requests = requests.Add(u)
				if u.CostUSD == nil && u.Input+u.Output > 0 {
					m.Unpriced = []string{m.key}
				}
			}
		}
		if by == ByHook && selected {
			for _, h := range hookRuns(t, sp) {
				one := part{key: h.Command, took: []time.Duration{h.Took}, Totals: Totals{Calls: 1, Took: h.Took}}
				switch h.End() {
				case otelmap.EndFailed:
					one.Failures = 1
				case otelmap.EndDenied:
					one.Denials = 1
				}
				if ends(one) {
					tallyCall(calls, t, one)
				}
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
	if rest := without(t.Usage, requests); rest != nil {
		own.Usage = own.Usage.Add(rest)
		if t.Usage.CostUSD == nil && rest.Input+rest.Output > 0 {
			own.Unpriced = []string{own.key}
		}
	}
	own.took, own.Traces, own.Runs, own.Took = whole.took, 1, whole.Runs, whole.Took
	own.Calls, own.Failures, own.Denials = whole.Calls, whole.Failures, whole.Denials
	for _, name := range slices.Sorted(maps.Keys(models)) {
		if f.Model != "" && sameModel(name, f.Model) {
			models[name].OfModel = models[name].Usage
			whole.OfModel = whole.OfModel.Add(models[name].Usage)
		}
		out = append(out, *models[name])
		whole.Unpriced = append(whole.Unpriced, models[name].Unpriced...)
	}
	if by == ByModel {
		return out
	}
	whole.key = keyOf(t, by, loc)
	return []part{whole}
}

func tallyCall(calls map[string]*part, t *Trace, one part) {
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
func without(u, v *Usage) *Usage {
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
		h := hookRunOf(step.EventOf(e))
		h.Trace, h.Span, h.Session, h.Host, h.Directory = t.TraceID, otlp.SpanID(sp), t.Session, t.Host, t.Directory
		out = append(out, h)
	}
	return out
}

func (m memory) hookRuns(f Filter) (out []HookRun) {
	g := f
	g.Failed, g.Denied, g.Tool = false, false, ""
	for _, t := range m.selected(g) {
		for sp := range otlp.Spans(t.ResourceSpans) {
			for _, h := range hookRuns(t, sp) {
				if f.Failed && !h.Failed() || f.Denied && !h.Denied() || f.Tool != "" && !SameTool(h.Tool, f.Tool) {
					continue
				}
				out = append(out, h)
			}
		}
	}
	return out
}

func (m memory) search(f Filter) (out []Hit) {
	want, _ := phrases(f.Text)
	for _, t := range m.selected(f) {
		var hits []Hit
		for sp := range otlp.Spans(t.ResourceSpans) {
			if found := snippet(textsOf(sp), want); found != "" {
				a := sp.GetAttributes()
				hits = append(hits, Hit{
					Trace: t.TraceID, Span: otlp.SpanID(sp), Name: sp.GetName(), Tool: otlp.Text(a, otelmap.KeyToolName),
					Kind: step.Of(sp).Kind(), Status: step.Of(sp).End(), Started: otlp.Start(sp), Snippet: found,
				})
			}
		}
		slices.SortStableFunc(hits, newestHit)
		out = append(out, hits...)
	}
	return first(out, f)
}
