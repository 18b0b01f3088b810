package verify

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/otelmap"
)

// Kind is in what a trace and the agent's files differ.
type Kind string

// The kinds.
const (
	// Missing is a call or a request that only the files have, Extra one that only the
	// trace has, and Double one that the trace has more often than the files.
	Missing Kind = "missing"
	Extra   Kind = "extra"
	Double  Kind = "double"

	Name       Kind = "name"
	Agent      Kind = "agent"
	Status     Kind = "status"
	Model      Kind = "model"
	Input      Kind = "input tokens"
	Output     Kind = "output tokens"
	CacheRead  Kind = "cache read tokens"
	CacheWrite Kind = "cache write tokens"
	Cost       Kind = "cost"
	Order      Kind = "order"
	Outcome    Kind = "outcome"
	// Total is a number of calls that does not fit.
	Total Kind = "total"
)

// Difference is a fact in which a trace and the agent's files differ.
type Difference struct {
	Trace string `json:"traceId,omitempty"`
	// Span is empty for what the trace lacks.
	Span string `json:"spanId,omitempty"`
	Kind Kind   `json:"kind"`
	// What is the call, the request or the total that differs.
	What string `json:"what"`
	// InTrace and InFiles are the values, empty where there is none.
	InTrace string `json:"inTrace,omitempty"`
	InFiles string `json:"inFiles,omitempty"`
	// File and IDs are where the files have it, in a difference of a second reading.
	File string   `json:"file,omitempty"`
	IDs  []string `json:"ids,omitempty"`
}

// Result is what the comparison of one trace found.
type Result struct {
	Trace string `json:"traceId"`
	// Calls and Requests were compared; NotCompared calls have no id and no
	// counterpart.
	Calls       int          `json:"calls"`
	Requests    int          `json:"requests"`
	NotCompared int          `json:"notCompared,omitempty"`
	Differences []Difference `json:"differences,omitempty"`
}

// Comparison gathers the traces of one session.
type Comparison struct {
	traces   []*trace
	calls    []*item
	requests []*item
	sums     []*item
}

// trace is what a stored trace says about itself.
type trace struct {
	Result
	turns      map[string]bool
	agents     map[string]bool
	start, end time.Time
	// lacksIDs reports a call without an id.
	lacksIDs bool
	// root has the totals of its runs.
	root struct {
		found, counted bool
		usage          *store.Usage
		calls          int64
		outcome        string
	}
}

// item is a tool call, a request or a sum of requests of a trace. id is the agent's;
// ref is another one.
type item struct {
	trace      *trace
	span       string
	id, ref    string
	name       string
	agent      string
	status     string
	model      string
	usage      *store.Usage
	start, end time.Time
	// match is the entry of the files, if there is one.
	match *entry
}

// entry is what the files say of an item.
type entry struct {
	id, ref, turn, name, agent, status, model string
	usage                                     *store.Usage
	start, end                                time.Time
	taken                                     *item
	owner                                     *trace
}

// The statuses. A status that is not known is empty and equal to every other.
const (
	ok         = "ok"
	failed     = "failed"
	denied     = "denied"
	unfinished = "unfinished"
)

// Add adds a trace of the session.
func (c *Comparison) Add(t *store.Trace) {
	tr := &trace{
		Result: Result{Trace: t.TraceID}, turns: make(map[string]bool), agents: make(map[string]bool), start: t.Started, end: t.Ended,
	}
	c.traces = append(c.traces, tr)
	byID := make(map[string]*tracepb.Span)
	for s := range otlp.Spans(t.ResourceSpans) {
		byID[string(s.GetSpanId())] = s
	}
	agentOf := func(s *tracepb.Span) string {
		for range 100 { // deep enough for any agent, and an end for a cycle
			if s = byID[string(s.GetParentSpanId())]; s == nil {
				break
			}
			if id := otlp.Text(s.GetAttributes(), otelmap.KeyAgent); id != "" {
				return id
			}
		}
		return ""
	}
	for s := range otlp.Spans(t.ResourceSpans) {
		a := s.GetAttributes()
		it := &item{
			trace: tr, span: otlp.SpanID(s), agent: agentOf(s), start: otlp.Start(s), end: otlp.End(s), usage: store.UsageOf(a),
		}
		switch roleOf(a) {
		case store.RoleRoot:
			tr.addRoot(s)
			for _, e := range s.GetEvents() {
				if e.GetName() == otelmap.EventUsage {
					at := otlp.Time(e.GetTimeUnixNano())
					c.sums = append(c.sums, &item{
						trace: tr, span: it.span, name: otlp.Text(e.GetAttributes(), otelmap.KeyUsageSource),
						usage: store.UsageOf(e.GetAttributes()), start: at, end: at,
					})
				}
			}
		case store.RoleAgent:
			tr.agents[otlp.Text(a, otelmap.KeyAgent)] = true
		case store.RoleTool:
			it.id, it.name, it.status = otlp.Text(a, otelmap.KeyToolCallID), otlp.Text(a, otelmap.KeyToolName), statusOf(s)
			tr.lacksIDs = tr.lacksIDs || it.id == ""
			c.calls = append(c.calls, it)
			if store.RoleOf(a) != store.RoleTool {
				tr.root.calls++
			}
		case store.RoleChat:
			it.id, it.ref = otlp.Text(a, otelmap.KeyResponseID), otlp.Text(a, otelmap.KeyRequestID)
			it.model, it.status = otlp.Text(a, otelmap.KeyRequestModel), statusOf(s)
			c.requests = append(c.requests, it)
		}
	}
}

// roleOf is store.RoleOf with a script among the calls: files have it as one, and a run's
// totals have its calls in its place.
func roleOf(attrs []*commonpb.KeyValue) store.Role {
	if otlp.Text(attrs, otelmap.KeyOperation) == otelmap.OpInvokeWorkflow {
		return store.RoleTool
	}
	return store.RoleOf(attrs)
}

// addRoot adds a run of the trace.
func (tr *trace) addRoot(s *tracepb.Span) {
	a := s.GetAttributes()
	if turn := otlp.Text(a, otelmap.KeyPromptID); turn != "" {
		tr.turns[turn] = true
	}
	tr.root.found = true
	tr.root.outcome = otlp.Text(a, otelmap.KeyOutcome)
	tr.root.usage = plus(tr.root.usage, store.UsageOf(a))
	if n, ok := otlp.Integer(a, otelmap.KeyToolCalls); ok {
		tr.root.counted = true
		tr.root.calls += n
	}
}

func statusOf(s *tracepb.Span) string {
	switch otelmap.EndOf(s) {
	case otelmap.EndOK:
		return ok
	case otelmap.EndFailed:
		return failed
	case otelmap.EndDenied:
		return denied
	case otelmap.EndUnfinished:
		return unfinished
	}
	return ""
}

// callEntries returns the files' tool calls.
func callEntries(files *hook.Transcript) []*entry {
	out := make([]*entry, 0, len(files.ToolResults))
	for i := range files.ToolResults {
		r := &files.ToolResults[i]
		e := &entry{id: r.ID, turn: r.Turn, name: r.Name, agent: r.Agent, start: r.Asked, end: r.At}
		switch {
		case r.At.IsZero():
			e.status, e.end = unfinished, r.Asked
		case r.Status == hook.ToolOK:
			e.status = ok
		case r.Status == hook.ToolFailed:
			e.status = failed
		case r.Status == hook.ToolDenied, r.Status == hook.ToolCancelled:
			e.status = denied
		}
		out = append(out, e)
	}
	return out
}

// requestEntries returns the files' requests, and the sums of those that they no
// longer list.
func requestEntries(files *hook.Transcript) (requests, sums []*entry) {
	for i := range files.Calls {
		c := &files.Calls[i]
		e := &entry{
			id: c.ID, ref: c.RequestID, turn: c.Turn, agent: c.Agent, status: ok, model: c.Model, start: c.Start, end: c.End, usage: usageOf(c.Usage),
		}
		if c.Error != "" {
			e.status = failed
		}
		if e.end.IsZero() {
			e.end = e.start
		}
		switch c.Kind {
		case hook.CallRequest:
			requests = append(requests, e)
		case hook.CallDeleted:
			e.name, sums = "deleted", append(sums, e)
		case hook.CallSubagents:
			e.name, sums = "subagents", append(sums, e)
		case hook.CallUnlisted:
			e.name, sums = "session", append(sums, e)
		}
	}
	return requests, sums
}

// usageOf returns the counts as traces have them: the input with the cache.
func usageOf(u *hook.Usage) *store.Usage {
	if u == nil {
		return nil
	}
	out := &store.Usage{Input: u.Input, Output: u.Output, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite, CostUSD: u.CostUSD}
	if !u.InputIncludesCache {
		out.Input += u.CacheRead + u.CacheWrite
	}
	return out
}

func usageKey(u *store.Usage) string {
	if u == nil {
		return ""
	}
	return fmt.Sprint(" ", u.Input, u.Output, u.CacheRead, u.CacheWrite)
}

func plus(a, b *store.Usage) *store.Usage {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	sum := &store.Usage{
		Input: a.Input + b.Input, Output: a.Output + b.Output, CacheRead: a.CacheRead + b.CacheRead, CacheWrite: a.CacheWrite + b.CacheWrite,
		CostUSD: cmp.Or(a.CostUSD, b.CostUSD),
	}
	if a.CostUSD != nil && b.CostUSD != nil {
		sum.CostUSD = new(*a.CostUSD + *b.CostUSD)
	}
	return sum
}

// Results compares the traces with the files and returns a result for each, in the
// order in which they were added.
func (c *Comparison) Results(files *hook.Transcript) []Result {
	calls := callEntries(files)
	requests, sums := requestEntries(files)
	pairCalls(c.calls, calls)
	pairRequests(c.requests, requests)
	// There may be one for each model, which the traces do not name.
	groups(c.sums, sums, func(it *item) string { return it.name + usageKey(it.usage) }, func(e *entry) string { return e.name + usageKey(e.usage) }, sumSlack)
	groups(c.sums, sums, func(it *item) string { return it.name }, func(e *entry) string { return e.name }, sumSlack)
	for _, group := range [][]*entry{calls, requests, sums} {
		for _, e := range group {
			e.owner = c.owner(e)
		}
	}
	c.compareCalls(calls)
	c.compareRequests(requests)
	c.compareSums(sums)
	c.compareOrder()
	c.compareEnds(files)
	c.compareTotals(calls, requests, sums)
	out := make([]Result, len(c.traces))
	for i, tr := range c.traces {
		slices.SortStableFunc(tr.Differences, func(x, y Difference) int {
			return cmp.Or(cmp.Compare(x.What, y.What), cmp.Compare(x.Kind, y.Kind))
		})
		out[i] = tr.Result
	}
	return out
}
