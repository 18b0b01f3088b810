package verify

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hookspan/hookspan/internal/traces/store"
)

// differ adds a difference if two values are not equal.
func (tr *trace) differ(kind Kind, what, span, inTrace, inFiles string) {
	if inTrace != inFiles {
		tr.add(kind, what, span, inTrace, inFiles)
	}
}

func (tr *trace) add(kind Kind, what, span, inTrace, inFiles string) {
	tr.Differences = append(tr.Differences, Difference{Trace: tr.Trace, Span: span, Kind: kind, What: what, InTrace: inTrace, InFiles: inFiles})
}

// both reports whether two values are known.
func both(x, y string) bool { return x != "" && y != "" }

// unmatched adds the items that have no entry: one more of the same id is double.
func unmatched(items []*item, what func(*item) string, compared func(*item) bool) {
	known := make(map[string]bool)
	for _, it := range items {
		if it.match != nil && it.id != "" {
			known[it.id] = true
		}
	}
	for _, it := range items {
		switch {
		case it.match != nil:
		case it.id != "" && known[it.id]:
			it.trace.add(Double, what(it), it.span, "twice", "once")
		case compared(it):
			it.trace.add(Extra, what(it), it.span, "there", "")
		default:
			it.trace.NotCompared++
		}
	}
}

func callName(name, id string) string {
	if id == "" {
		return "call " + name
	}
	return "call " + name + " " + id
}

func (c *Comparison) compareCalls(entries []*entry) {
	what := func(it *item) string { return callName(it.name, it.id) }
	unmatched(c.calls, what, func(it *item) bool { return it.id != "" && !nestedUnrun(it) })
	for _, it := range c.calls {
		e := it.match
		if e == nil {
			continue
		}
		it.trace.Calls++
		if both(it.name, e.name) {
			it.trace.differ(Name, what(it), it.span, it.name, e.name)
		}
		if it.id != "" {
			it.trace.differ(Agent, what(it), it.span, agentName(it.agent), agentName(e.agent))
		}
		// The files of an agent that was stopped do not say that a call was cancelled.
		if both(it.status, e.status) && (e.status != unfinished || it.status != denied) {
			it.trace.differ(Status, what(it), it.span, it.status, e.status)
		}
	}
	for _, e := range entries {
		if e.taken == nil && e.owner != nil {
			e.owner.add(Missing, callName(e.name, e.id), "", "", "there")
		}
	}
}

// nestedUnrun reports a call of Codex's code mode that never ran, as one of the user's
// hooks denied it: only the hooks know it.
func nestedUnrun(it *item) bool {
	return strings.HasPrefix(it.id, "exec-") && (it.status == denied || it.status == unfinished)
}

func agentName(id string) string { return cmp.Or(id, "the lead agent") }

func requestName(id string, start time.Time) string {
	if id == "" {
		return "request at " + start.UTC().Format(time.RFC3339Nano)
	}
	return "request " + id
}

func (c *Comparison) compareRequests(entries []*entry) {
	what := func(it *item) string { return requestName(cmp.Or(it.id, it.ref), it.start) }
	unmatched(c.requests, what, func(*item) bool { return true })
	for _, it := range c.requests {
		e := it.match
		if e == nil {
			continue
		}
		it.trace.Requests++
		if both(it.model, e.model) {
			it.trace.differ(Model, what(it), it.span, it.model, e.model)
		}
		it.trace.differ(Agent, what(it), it.span, agentName(it.agent), agentName(e.agent))
		it.trace.differ(Status, what(it), it.span, it.status, e.status)
		it.trace.differUsage(what(it), it.span, it.usage, e.usage)
	}
	for _, e := range entries {
		if e.taken == nil && e.owner != nil {
			e.owner.add(Missing, requestName(cmp.Or(e.id, e.ref), e.start), "", "", "there")
		}
	}
}

// compareSums compares the sums of requests that the files no longer list.
func (c *Comparison) compareSums(entries []*entry) {
	what := func(name string) string { return "sum of requests (" + name + ")" }
	for _, it := range c.sums {
		if it.match == nil {
			it.trace.add(Extra, what(it.name), it.span, "there", "")
			continue
		}
		it.trace.differUsage(what(it.name), it.span, it.usage, it.match.usage)
	}
	for _, e := range entries {
		if e.taken == nil && e.owner != nil && e.usage != nil {
			e.owner.add(Missing, what(e.name), "", "", "there")
		}
	}
}

// differUsage compares tokens and cost.
func (tr *trace) differUsage(what, span string, inTrace, inFiles *store.Usage) {
	x, y := cmp.Or(inTrace, &store.Usage{}), cmp.Or(inFiles, &store.Usage{})
	count := func(kind Kind, x, y int64) {
		tr.differ(kind, what, span, strconv.FormatInt(x, 10), strconv.FormatInt(y, 10))
	}
	count(Input, x.Input, y.Input)
	count(Output, x.Output, y.Output)
	count(CacheRead, x.CacheRead, y.CacheRead)
	count(CacheWrite, x.CacheWrite, y.CacheWrite)
	if cost(x) != cost(y) && !near(x.CostUSD, y.CostUSD) {
		tr.add(Cost, what, span, cost(x), cost(y))
	}
}

func cost(u *store.Usage) string {
	if u.CostUSD == nil {
		return "no price"
	}
	return fmt.Sprintf("$%.9g", *u.CostUSD)
}

// near reports costs that differ by no more than the order in which they were summed.
func near(x, y *float64) bool {
	return x != nil && y != nil && math.Abs(*x-*y) <= 1e-9*max(math.Abs(*x), math.Abs(*y))
}

// compareOrder finds calls and requests that are the other way round: in the files one
// had ended before the other began, in the trace the other had.
func (c *Comparison) compareOrder() {
	byTrace := make(map[*trace][]*item)
	for _, group := range [][]*item{c.calls, c.requests} {
		for _, it := range group {
			if e := it.match; e != nil && !e.start.IsZero() && !e.end.IsZero() && e.status != unfinished {
				byTrace[it.trace] = append(byTrace[it.trace], it)
			}
		}
	}
	for _, tr := range c.traces {
		items := byTrace[tr]
		byEnd := slices.Clone(items)
		slices.SortStableFunc(byEnd, func(x, y *item) int { return x.match.end.Compare(y.match.end) })
		slices.SortStableFunc(items, func(x, y *item) int { return x.match.start.Compare(y.match.start) })
		var latest *item
		done := 0
		for _, it := range items {
			for ; done < len(byEnd) && byEnd[done].match.end.Before(it.match.start); done++ {
				if latest == nil || byEnd[done].start.After(latest.start) {
					latest = byEnd[done]
				}
			}
			if latest != nil && it.end.Before(latest.start) {
				tr.add(Order, itemName(it), it.span, "before "+itemName(latest), "after it")
			}
		}
	}
}

func itemName(it *item) string {
	if it.name != "" {
		return callName(it.name, it.id)
	}
	return requestName(cmp.Or(it.id, it.ref), it.start)
}

// compareTotals compares what the runs of a trace say in sum with the files.
func (c *Comparison) compareTotals(calls, requests, sums []*entry) {
	usage := make(map[*trace]*store.Usage)
	for _, group := range [][]*entry{requests, sums} {
		for _, e := range group {
			if e.owner != nil {
				usage[e.owner] = plus(usage[e.owner], e.usage)
			}
		}
	}
	count := make(map[*trace]int64)
	for _, e := range calls {
		if e.owner != nil {
			count[e.owner]++
		}
	}
	for _, tr := range c.traces {
		if !tr.root.found {
			continue
		}
		tr.differUsage("total", "", tr.root.usage, usage[tr])
		if n := count[tr] + int64(tr.NotCompared); tr.root.counted && tr.root.calls != n {
			tr.add(Total, "total of calls", "", strconv.FormatInt(tr.root.calls, 10), strconv.FormatInt(n, 10))
		}
	}
}

// String describes the difference to people.
func (d Difference) String() string {
	switch d.Kind {
	case Missing:
		return d.What + ": the trace lacks it" + d.place()
	case Extra:
		return d.What + ": the agent's files do not have it" + d.place()
	case Double:
		return d.What + ": more often in the trace than in the agent's files" + d.place()
	case Order:
		return d.What + ": in the trace " + d.InTrace + ", in the agent's files " + d.InFiles
	}
	return fmt.Sprintf("%s: %s: %s in the trace, %s in the agent's files%s", d.What, d.Kind, d.InTrace, d.InFiles, d.place())
}
