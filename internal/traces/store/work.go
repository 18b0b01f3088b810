package store

import (
	"cmp"
	"context"
	"slices"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/otelmap/step"
)

// Work is what was done in a trace.
type Work struct {
	Summary Summary
	// Waits are the periods in which the agent waited for its user, until the task's end if
	// it still does.
	Waits []step.Wait
	// Rest is where the requests were made that have no span.
	Rest Checkout
	// Calls, Requests and Subagents are in the order of their start.
	Calls     []Call
	Requests  []Request
	Subagents []Subagent
	// Marks are the prompts, the compactions and the calls of hooks, in the order of time.
	Marks []Mark
	// Source is how the session began before the first run, if that says so.
	Source string
}

// Mark is an event of a run or a call: Name is one of otelmap's, Text the command of a hook or, for
// EachWhole alone, a prompt.
type Mark struct {
	Name, Text string
	At         time.Time
}

// Checkout is what was checked out: a repository by its address, else its name, and a branch. What
// is not known is empty.
type Checkout struct{ Repository, Branch string }

// Call is a call of a tool. Its JSON is stable.
type Call struct {
	// Trace is the task's id, as in Summary. Span is 16 hex digits.
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
	// Arguments and Error are previews. ErrorType is one of otelmap's or the agent's, Message
	// the part of the Error that says who denied the call, if it is only a part.
	Arguments string `json:"arguments,omitempty"`
	ErrorType string `json:"errorType,omitempty"`
	Error     string `json:"error,omitempty"`
	Message   string `json:"-"`
	DeniedBy  string `json:"deniedBy,omitempty"`
	// Result is a preview of what it returned, for EachWhole alone.
	Result string `json:"-"`
	// Request is the span of the request that asked for the call, "" if it is not known.
	Request string `json:"-"`
	// By is who denied the call, in words; the store leaves it to the view.
	By string `json:"by,omitempty"`

	id string
	at int // the place in the tree
}

// Own reports a call of hookspan's own MCP server, Counted how the call's end counts.
func (c *Call) Own() bool            { return step.Own(c.Server, c.Tool) }
func (c *Call) Counted() otelmap.End { return step.Counted(c.Server, c.Tool, c.Status) }

// Request is a request to a model.
type Request struct {
	Span, Model         string
	Subagent, AgentSpan string
	Checkout            Checkout
	Started             time.Time
	Took                time.Duration
	// Usage is nil if unknown. Hour reports that the request wrote to a cache that lasts an hour.
	Usage *Usage
	Hour  bool
	// Calls counts the calls that it asked for.
	Calls int

	ids     []string
	at      int // as a Call's
	unknown bool
}

// Subagent is the work of one subagent.
type Subagent struct {
	Span, Name string
	// Call is the span of the call that started it.
	Call    string
	Started time.Time
	Took    time.Duration
	// Usage is its own, without that of the subagents that it started.
	Usage                    *Usage
	Calls, Failures, Denials int

	at int // as a Call's
}

// workParts are what Work needs of spans, requestParts what a Request needs but for its calls, callParts
// what EachCall says of a call.
var (
	requestParts = []step.Part{step.PartKind, step.PartModel, step.PartUsage, step.PartBranch}
	callParts    = []step.Part{step.PartKind, step.PartEnd, step.PartTool, step.PartServer, step.PartArguments}
	workParts    = append([]step.Part{
		step.PartEnd, step.PartTool, step.PartCallID, step.PartServer, step.PartFolder, step.PartRan, step.PartDenier, step.PartArguments,
		step.PartFailure, step.PartAgent, step.PartAsked, step.PartHookEnds, step.PartHooks, step.PartWaits,
	}, requestParts...)
)

// EachWork calls visit with the work of the traces that the filter selects, the newest
// first and whatever its limit, those of running tasks before the others. The filter's
// Tool, Failed and Denied select traces; with a Text, only the calls that have it are there.
func (s *Store) EachWork(ctx context.Context, f Filter, running []*Trace, visit func(*Work) error) error {
	return s.eachWork(ctx, f, running, workParts, ``, nil, visit)
}

// EachOther is EachWork with stored tasks alone but for those that known reports, which are not read.
func (s *Store) EachOther(ctx context.Context, f Filter, known func(*Summary) bool, visit func(*Work) error) error {
	return s.eachWork(ctx, f, nil, workParts, ``, known, visit)
}

// EachRequest is EachWork with the requests of stored tasks alone, without their calls,
// which is quicker.
func (s *Store) EachRequest(ctx context.Context, f Filter, visit func(*Work) error) error {
	return s.eachWork(ctx, f, nil, requestParts, ` AND role IN (1, 3)`, nil, visit)
}

// EachCall is EachOther with the tools, arguments and ends of calls alone, which is quicker.
func (s *Store) EachCall(ctx context.Context, f Filter, known func(*Summary) bool, visit func(*Work) error) error {
	return s.eachWork(ctx, f, nil, callParts, ` AND role NOT IN (1, 3)`, known, visit)
}

// EachWhole is EachWork with stored tasks alone, with all of their calls and the results.
func (s *Store) EachWhole(ctx context.Context, f Filter, visit func(*Work) error) error {
	return s.eachWork(ctx, f, nil, append([]step.Part{step.PartResult, step.PartEvents}, workParts...), ``, nil, visit)
}

func (s *Store) eachWork(ctx context.Context, f Filter, running []*Trace, parts []step.Part, only string, known func(*Summary) bool, visit func(*Work) error) error {
	whole := slices.Contains(parts, step.PartResult) // not the calls alone that have the text
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
		skim := step.NewSkimmer(parts...)
		return f.inOrder(ctx, q, -1, func(t found) error {
			if known != nil && known(&t.Summary) {
				return nil
			}
			w := &workReader{Work: Work{Summary: t.Summary}}
			err := eachMessage(ctx, q, func(id int64, message []byte) error {
				sp, err := skim.Span(message)
				if err == nil {
					w.add(sp, f.Text == "" || whole || slices.Contains(t.spans, id))
				}
				return err
			}, ofTrace+map[bool]string{true: only}[t.Runs < 2], t.id) // of several parts all spans say whose a request is
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

// rootAt is what a root says about where its requests were made: at its end, and those without a
// span.
type rootAt struct{ end, rest Checkout }

type workReader struct {
	Work
	tree   step.Tree
	hidden map[string]bool
	roots  map[int]rootAt // by their places in the tree
}

// add adds a span, which it does not keep.
func (w *workReader) add(sp *tracepb.Span, shown bool) {
	if w.hidden == nil {
		w.hidden, w.roots = make(map[string]bool), make(map[int]rootAt)
	}
	one, id, at := step.Of(sp), otlp.SpanID(sp), w.tree.Add(step.Of(sp))
	waits := one.Waits()
	for _, period := range waits {
		if period.To.IsZero() {
			period.To = w.Summary.Ended
		}
		w.Waits = append(w.Waits, period)
	}
	for e := range one.Events() {
		if e.Name() == otelmap.EventPrompt || e.Name() == otelmap.EventCompaction || e.Name() == otelmap.EventHook {
			w.Marks = append(w.Marks, Mark{Name: e.Name(), Text: cmp.Or(e.HookCommand(), e.Text()), At: e.At()})
		}
	}
	switch one.Kind() {
	case step.KindRun:
		end := Checkout{one.Repository(), one.Branch()}
		root := rootAt{end, end}
		if one.BranchUnknown() {
			root.rest.Branch = ""
		}
		w.roots[at] = root
		w.Source = cmp.Or(w.Source, one.Source())
	case step.KindTool:
		f := one.Failure()
		c := Call{
			Trace: w.Summary.TraceID, Span: id, Session: w.Summary.Session, Host: w.Summary.Host,
			Directory: cmp.Or(one.Folder(), w.Summary.Directory), Tool: one.Tool(), Server: one.Server(), Status: one.End(),
			Started: one.Started(), Took: one.Took(), Arguments: one.Arguments(), ErrorType: f.Kind, Error: f.Whole, Message: f.Message, DeniedBy: one.DeniedBy(), Result: one.Result(),
			id: one.CallID(), at: at,
		}
		c.Command = CommandOf(c.Tool, c.Arguments)
		for _, period := range waits {
			if !period.To.IsZero() {
				c.Asked, c.Waited = period.From, c.Waited+period.To.Sub(period.From)
			}
		}
		w.hidden[id] = !shown
		w.Calls = append(w.Calls, c)
	case step.KindRequest:
		r := Request{Span: id, Model: one.Model(), Started: one.Started(), Took: one.Took(), Usage: one.Usage(), Hour: one.CacheHour(), ids: one.Asked(), at: at, unknown: one.BranchUnknown()}
		r.Checkout = Checkout{one.Repository(), one.Branch()}
		r.Calls = len(r.ids)
		w.Requests = append(w.Requests, r)
	case step.KindAgent:
		w.Subagents = append(w.Subagents, Subagent{Span: id, Name: one.Agent(), Started: one.Started(), Took: one.Took(), Usage: one.Usage(), at: at})
	}
}

// done connects what was added.
func (w *workReader) done() *Work {
	slices.SortStableFunc(w.Calls, func(x, y Call) int { return cmp.Or(x.Started.Compare(y.Started), cmp.Compare(x.Span, y.Span)) })
	slices.SortStableFunc(w.Requests, func(x, y Request) int { return cmp.Or(x.Started.Compare(y.Started), cmp.Compare(x.Span, y.Span)) })
	slices.SortStableFunc(w.Subagents, func(x, y Subagent) int {
		return cmp.Or(x.Started.Compare(y.Started), cmp.Compare(x.Span, y.Span))
	})
	slices.SortStableFunc(w.Marks, func(x, y Mark) int { return x.At.Compare(y.At) })
	agents, calls := make(map[int]*Subagent), make(map[int]*Call)
	for i := range w.Subagents {
		agents[w.Subagents[i].at] = &w.Subagents[i]
	}
	for i := range w.Calls {
		calls[w.Calls[i].at] = &w.Calls[i]
	}
	for i := range w.Requests {
		if a := agents[w.tree.Owner(w.Requests[i].at)]; a != nil {
			w.Requests[i].Subagent, w.Requests[i].AgentSpan = a.Name, a.Span
		}
	}
	w.locate()
	asked := make(map[string][]*Request)
	for i := range w.Requests {
		for _, id := range w.Requests[i].ids {
			asked[id] = append(asked[id], &w.Requests[i])
		}
	}
	for i := range w.Calls {
		c := &w.Calls[i]
		if a := agents[w.tree.Owner(c.at)]; a != nil {
			c.Subagent, c.AgentSpan = a.Name, a.Span
			a.Calls++
			switch ended := c.Counted(); {
			case ended.Failed():
				a.Failures++
			case ended == otelmap.EndDenied:
				a.Denials++
			}
		}
		var by *Request // some models number their calls anew in each reply
		for _, r := range asked[c.id] {
			if c.id != "" && (by == nil || !r.Started.After(c.Started)) {
				by = r
			}
		}
		if by != nil {
			c.Request = by.Span
		}
		if by != nil && by.Usage != nil && by.Usage.CostUSD != nil {
			c.CostUSD = new(*by.Usage.CostUSD / float64(by.Calls))
		}
	}
	for i := range w.Subagents {
		a := &w.Subagents[i]
		c := calls[w.tree.Parent(a.at)]
		if c == nil {
			continue
		}
		a.Call = c.Span
		if a.Usage != nil && a.Usage.CostUSD != nil {
			c.CostUSD = new(*a.Usage.CostUSD + *cmp.Or(c.CostUSD, new(float64)))
		}
	}
	w.Calls = slices.DeleteFunc(w.Calls, func(c Call) bool { return w.hidden[c.Span] })
	return &w.Work
}

// locate finds out where the requests were made: where they say, else where their root was at its end.
func (w *workReader) locate() {
	var alone *rootAt
	if len(w.roots) == 1 {
		for _, root := range w.roots {
			alone, w.Rest = &root, root.rest
		}
	}
	for i := range w.Requests {
		r := &w.Requests[i]
		root := w.roots[w.tree.Root(r.at)]
		if alone != nil {
			root = *alone // what is between them may not have been read
		}
		r.Checkout.Repository = cmp.Or(r.Checkout.Repository, root.end.Repository)
		if r.Checkout.Branch == "" && !r.unknown {
			r.Checkout.Branch = root.end.Branch
		}
	}
}
