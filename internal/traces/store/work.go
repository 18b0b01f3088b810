package store

import (
	"cmp"
	"context"
	"slices"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/otelmap"
)

// Work is what was done in a trace.
type Work struct {
	Summary Summary
	// Waits are the periods in which the agent waited for its user, until the task's end if
	// it still does.
	Waits []otelmap.Wait
	// Calls, Requests and Subagents are in the order of their start.
	Calls     []Call
	Requests  []Request
	Subagents []Subagent
}

// Call is a call of a tool. Its JSON is stable.
type Call struct {
	// Trace is 32 hex digits, Span 16.
	Trace     string `json:"traceId"`
	Span      string `json:"spanId"`
	Session   string `json:"session,omitempty"`
	Host      string `json:"host,omitempty"`
	Directory string `json:"workingDirectory,omitempty"`
	Tool      string `json:"tool"`
	// Command is what CommandOf returns, Server the MCP server, Subagent the kind of the
	// subagent that made the call, AgentSpan its span. DeniedBy is the user's hook that
	// denied it.
	Command   string        `json:"command,omitempty"`
	Server    string        `json:"mcpServer,omitempty"`
	Subagent  string        `json:"subagent,omitempty"`
	AgentSpan string        `json:"subagentSpanId,omitempty"`
	Status    otelmap.End   `json:"status"`
	Started   time.Time     `json:"started,omitzero"`
	Took      time.Duration `json:"tookNs"`
	// Asked is when the call began to wait for the user's approval, Waited how long it did.
	Asked  time.Time     `json:"askedAt,omitzero"`
	Waited time.Duration `json:"waitedNs,omitempty"`
	// CostUSD is the call's share of the request that asked for it, which its calls share
	// evenly, and what a subagent cost that it started. It is nil if unknown.
	CostUSD *float64 `json:"costUsd,omitempty"`
	// Arguments and Error are previews. ErrorType is one of otelmap's or the agent's.
	Arguments string `json:"arguments,omitempty"`
	ErrorType string `json:"errorType,omitempty"`
	Error     string `json:"error,omitempty"`
	DeniedBy  string `json:"deniedBy,omitempty"`
	// By is who denied the call, in words; the store leaves it to the view.
	By string `json:"by,omitempty"`

	id, parent string
}

// Request is a request to a model.
type Request struct {
	Span, Model         string
	Subagent, AgentSpan string
	Started             time.Time
	// Usage is nil if unknown.
	Usage *Usage
	// Calls counts the calls that it asked for.
	Calls int

	ids []string
}

// Subagent is the work of one subagent.
type Subagent struct {
	Span, Name string
	Started    time.Time
	Took       time.Duration
	// Usage is its own, without that of the subagents that it started.
	Usage                    *Usage
	Calls, Failures, Denials int

	parent string
}

// requestKeys are what a Request needs of spans, but for its calls.
var requestKeys = []string{
	otelmap.KeyOperation, otelmap.KeyRequestModel, otelmap.KeyInputTokens, otelmap.KeyOutputTokens, otelmap.KeyCacheReadTokens,
	otelmap.KeyCacheWriteTokens, otelmap.KeyCost,
}

// workKeys are what Work needs of spans.
var workKeys = []string{
	otelmap.KeyOperation, otelmap.KeyHost, otelmap.KeyToolName, otelmap.KeyToolCallID, otelmap.KeyToolArguments, otelmap.KeyMCPServer,
	otelmap.KeyErrorType, otelmap.KeyToolOutcome, otelmap.KeyOutcome, otelmap.KeyHookDeniedBy, otelmap.KeyHookDecision, otelmap.KeyHookCommand,
	otelmap.KeyHostDuration, otelmap.KeyFolder, otelmap.KeyWaited, otelmap.KeyExceptionMessage, otelmap.KeyAgentName, otelmap.KeyRequestModel, otelmap.KeyOutputMessages,
	otelmap.KeyInputTokens, otelmap.KeyOutputTokens, otelmap.KeyCacheReadTokens, otelmap.KeyCacheWriteTokens, otelmap.KeyCost,
	otelmap.KeyRunInputTokens, otelmap.KeyRunOutputTokens, otelmap.KeyRunCacheReadTokens, otelmap.KeyRunCacheWriteTokens,
}

// EachWork calls visit with the work of the traces that the filter selects, the newest
// first and whatever its limit, those of running tasks before the others. The filter's
// Tool, Failed and Denied select traces; with a Text, only the calls that have it are there.
func (s *Store) EachWork(ctx context.Context, f Filter, running []*Trace, visit func(*Work) error) error {
	return s.eachWork(ctx, f, running, workKeys, `role > 0`, visit)
}

// EachRequest is EachWork with the requests of stored tasks alone, without their calls,
// which is quicker.
func (s *Store) EachRequest(ctx context.Context, f Filter, visit func(*Work) error) error {
	return s.eachWork(ctx, f, nil, requestKeys, `role = 3`, visit)
}

func (s *Store) eachWork(ctx context.Context, f Filter, running []*Trace, keys []string, roles string, visit func(*Work) error) error {
	err := s.read(ctx, f, func(q querier) error {
		tasks, err := f.notStored(ctx, q, running)
		if err != nil {
			return err
		}
		for _, t := range tasks {
			if err := visit(WorkOf(t)); err != nil {
				return err
			}
		}
		skim := otlp.NewSkimmer(keys)
		return f.inOrder(ctx, q, -1, func(t found) error {
			w := &workReader{Work: Work{Summary: t.Summary}}
			err := eachMessage(ctx, q, func(id int64, message []byte) error {
				sp, err := skim.Span(message)
				if err == nil {
					w.add(sp, f.Text == "" || slices.Contains(t.spans, id))
				}
				return err
			}, ofTrace+` AND `+roles, t.id)
			if err != nil {
				return err
			}
			return visit(w.done())
		})
	})
	return s.wrap("read calls", err)
}

// WorkOf returns the work of one trace.
func WorkOf(t *Trace) *Work {
	w := &workReader{Work: Work{Summary: t.Summary}}
	for sp := range otlp.Spans(t.ResourceSpans) {
		w.add(sp, true)
	}
	return w.done()
}

type workReader struct {
	Work
	parents map[string]string
	hidden  map[string]bool
}

// add adds a span, which it does not keep.
func (w *workReader) add(sp *tracepb.Span, shown bool) {
	a, id, parent := sp.GetAttributes(), otlp.SpanID(sp), otlp.ParentID(sp)
	if w.parents == nil {
		w.parents, w.hidden = make(map[string]string), make(map[string]bool)
	}
	w.parents[id] = parent
	start, took := otlp.Start(sp), max(0, otlp.End(sp).Sub(otlp.Start(sp)))
	if otlp.Start(sp).IsZero() || otlp.End(sp).IsZero() {
		took = 0
	}
	waits := otelmap.Waits(sp)
	for _, period := range waits {
		if period.To.IsZero() {
			period.To = w.Summary.Ended
		}
		w.Waits = append(w.Waits, period)
	}
	switch RoleOf(a) {
	case RoleTool:
		c := Call{
			Trace: w.Summary.TraceID, Span: id, Session: w.Summary.Session, Host: w.Summary.Host,
			Directory: cmp.Or(otelmap.Folder(otlp.Text(a, otelmap.KeyFolder)), w.Summary.Directory),
			Tool:      otlp.Text(a, otelmap.KeyToolName), Server: otlp.Text(a, otelmap.KeyMCPServer),
			Status: otelmap.EndOf(sp), Started: start, Took: took, ErrorType: otlp.Text(a, otelmap.KeyErrorType),
			Arguments: otlp.Text(a, otelmap.KeyToolArguments), DeniedBy: otlp.Text(a, otelmap.KeyHookDeniedBy),
			id: otlp.Text(a, otelmap.KeyToolCallID), parent: parent,
		}
		c.Command = CommandOf(c.Tool, c.Arguments)
		for _, period := range waits {
			if !period.To.IsZero() {
				c.Asked, c.Waited = period.From, c.Waited+period.To.Sub(period.From)
			}
		}
		c.Error = sp.GetStatus().GetMessage()
		for _, e := range sp.GetEvents() {
			switch e.GetName() {
			case otelmap.EventException:
				c.Error = cmp.Or(otlp.Text(e.GetAttributes(), otelmap.KeyExceptionMessage), c.Error)
			case otelmap.EventHook:
				if h := hookRunOf(e); h.Denied() && c.Status == otelmap.EndDenied {
					c.DeniedBy = cmp.Or(c.DeniedBy, h.Command)
				}
			}
		}
		w.hidden[id] = !shown
		w.Calls = append(w.Calls, c)
	case RoleChat:
		r := Request{Span: id, Model: otlp.Text(a, otelmap.KeyRequestModel), Started: start, Usage: UsageOf(a)}
		r.ids = otelmap.CallIDs(otlp.Text(a, otelmap.KeyOutputMessages))
		r.Calls = len(r.ids)
		w.Requests = append(w.Requests, r)
	case RoleAgent:
		w.Subagents = append(w.Subagents, Subagent{
			Span: id, Name: otlp.Text(a, otelmap.KeyAgentName), Started: start, Took: took, Usage: UsageOf(a), parent: parent,
		})
	}
}

// done connects what was added.
func (w *workReader) done() *Work {
	slices.SortStableFunc(w.Calls, func(x, y Call) int { return cmp.Or(x.Started.Compare(y.Started), cmp.Compare(x.Span, y.Span)) })
	slices.SortStableFunc(w.Requests, func(x, y Request) int { return cmp.Or(x.Started.Compare(y.Started), cmp.Compare(x.Span, y.Span)) })
	slices.SortStableFunc(w.Subagents, func(x, y Subagent) int {
		return cmp.Or(x.Started.Compare(y.Started), cmp.Compare(x.Span, y.Span))
	})
	agents, calls := make(map[string]*Subagent), make(map[string]*Call)
	for i := range w.Subagents {
		agents[w.Subagents[i].Span] = &w.Subagents[i]
	}
	for i := range w.Calls {
		calls[w.Calls[i].Span] = &w.Calls[i]
	}
	for i := range w.Requests {
		if a := w.above(w.Requests[i].Span, agents); a != nil {
			w.Requests[i].Subagent, w.Requests[i].AgentSpan = a.Name, a.Span
		}
	}
	asked := make(map[string][]*Request)
	for i := range w.Requests {
		for _, id := range w.Requests[i].ids {
			asked[id] = append(asked[id], &w.Requests[i])
		}
	}
	for i := range w.Calls {
		c := &w.Calls[i]
		if a := w.above(c.Span, agents); a != nil {
			c.Subagent, c.AgentSpan = a.Name, a.Span
			a.Calls++
			switch {
			case c.Status.Failed():
				a.Failures++
			case c.Status == otelmap.EndDenied:
				a.Denials++
			}
		}
		var by *Request // some models number their calls anew in each reply
		for _, r := range asked[c.id] {
			if c.id != "" && (by == nil || !r.Started.After(c.Started)) {
				by = r
			}
		}
		if by != nil && by.Usage != nil && by.Usage.CostUSD != nil {
			c.CostUSD = new(*by.Usage.CostUSD / float64(by.Calls))
		}
	}
	for i := range w.Subagents {
		a := &w.Subagents[i]
		if u := a.Usage; u == nil || u.CostUSD == nil {
			continue
		}
		if c := calls[a.parent]; c != nil {
			c.CostUSD = new(*a.Usage.CostUSD + *cmp.Or(c.CostUSD, new(float64)))
		}
	}
	w.Calls = slices.DeleteFunc(w.Calls, func(c Call) bool { return w.hidden[c.Span] })
	return &w.Work
}

// above returns the innermost subagent above a span, nil if there is none.
func (w *workReader) above(id string, agents map[string]*Subagent) *Subagent {
	for range len(w.parents) { // whatever the parents are
		id = w.parents[id]
		if a := agents[id]; a != nil || id == "" {
			return a
		}
	}
	return nil
}
