package otelmap

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/hookspan/hookspan/hook"
)

// actor is an agent of a run: the lead, whose id is empty, or a subagent.
type actor struct {
	id, name string
	// place is that among the run's agents, span its span. An agent without a place is of
	// another run.
	place int32
	span  trace.SpanID
	items []*item
	// agent is a subagent as the hooks report it or, if it is unnamed, as the host's files
	// do.
	agent   *agent
	unnamed bool
	// ended is a subagent's end, nil if it is not known, and end when its span ends.
	ended *item
	end   time.Time
	// requests are those that it made, calls those among its events, made those that it
	// made: hooks may not say who did.
	requests    []*hook.Request
	calls, made []*call
	// first are the starts of its calls by id, never if an id was used again.
	first map[string]instant
	// begun are its calls in the order of their start, of which so many had begun when the
	// last agent did. waiting are those that had not ended then, in the order of calls: of the
	// tools that start agents, and of all others.
	begun   []*call
	next    int
	since   instant
	waiting [2][]*call
}

// unnamedAgent is the name of a subagent whose kind is not known.
const unnamedAgent = "subagent"

// actor returns the agent with an id.
func (j *joined) actor(id string) *actor {
	a := j.byID[id]
	if a == nil {
		a = &actor{id: id, name: unnamedAgent, first: make(map[string]instant)}
		j.byID[id] = a
	}
	return a
}

// add adds a call that the agent made.
func (a *actor) add(c *call) {
	a.made = append(a.made, c)
	id := c.id()
	if a.id == "" || id == "" {
		return
	}
	if _, again := a.first[id]; again {
		a.first[id] = never
		return
	}
	a.first[id] = c.start
}

// answers reports a request that may have an answer. Of some of the program's, such as one behind
// the agent's last, the files have the moment and the tokens alone.
func answers(c *hook.Request) bool {
	alone := c.Start.Equal(c.End) && c.Text == "" && c.FinishReason == "" && c.Error == "" && len(c.ToolCallIDs) == 0
	return c.Kind == hook.RequestSingle && !alone
}

// last returns the agent's last request.
func (a *actor) last() *hook.Request {
	for _, c := range slices.Backward(a.requests) {
		if answers(c) {
			return c
		}
	}
	return &hook.Request{}
}

// findAgents finds the run's agents, those that no hook names last.
func (j *joined) findAgents(t *results) {
	add := func(id string, span trace.SpanID, of *agent) *actor {
		a := j.actor(id)
		a.place, a.span, a.agent = int32(len(j.agents)), span, of //nolint:gosec // A run has fewer.
		if j.agents = append(j.agents, a); of != nil {
			a.name, a.items = cmp.Or(of.kind, unnamedAgent), of.items
		}
		return a
	}
	lead := add("", j.root.SpanID(), nil)
	lead.name, lead.items = j.host, j.run.items
	for _, a := range j.run.sortedAgents() {
		add(a.id, j.run.ID.spanID("agent", a.id), a)
	}
	if !j.opts.Agent.Unnamed {
		return
	}
	for _, f := range j.own.agents {
		if j.run.agents[f.ID] != nil {
			continue
		}
		at := func(kind hook.Kind, at time.Time, result string) *item {
			return t.clean(hook.Event{Kind: kind, Time: at, StoredAt: at, Agent: f.ID, ParentAgent: hook.ParentUnknown, AgentType: f.Type, Result: result})
		}
		a := &agent{id: f.ID, parent: hook.ParentUnknown, kind: f.Type, items: []*item{at(hook.KindRunStart, f.Start, "")}}
		if !f.End.IsZero() {
			a.ended = at(hook.KindRunComplete, f.End, f.Result)
			a.items = append(a.items, a.ended)
		}
		add(a.id, j.run.ID.spanID("agent", a.id), a).unnamed = true
	}
}

// startAgents finds the call that started each subagent. Its span is below the call.
func (j *joined) startAgents(t *results) {
	lead, subagents := j.agents[0], j.agents[1:]
	if len(subagents) == 0 {
		return
	}
	started := starters{make(map[string]*call), make(map[string][]*call)}
	for _, a := range j.agents {
		for i, c := range a.calls {
			c.list, c.place = a.place, int32(i) //nolint:gosec // A run has fewer.
			started.calls[c.id()] = append(started.calls[c.id()], c)
			if started.agents[c.started()] == nil {
				started.agents[c.started()] = c
			}
		}
	}
	// A call that is known to have started an agent started no other.
	claimed := make(map[*call]bool)
	for _, a := range subagents {
		claimed[j.namedCall(a.agent, started)] = true
	}
	for _, a := range subagents {
		// An agent that began later cannot be its parent; without this, two agents
		// could be each other's.
		from, c := lead, j.namedCall(a.agent, started)
		if c == nil || c.list >= a.place {
			if p := j.byID[a.agent.parent]; p != nil && 0 < p.place && p.place < a.place {
				from = p
			}
			c = from.during(a.agent, claimed)
			claimed[c] = true
		}
		parent := from.span
		if c != nil {
			parent = c.span
		}
		j.planAgent(a, parent, c, t)
	}
}

// starters are the calls of all agents: by the agent that a call's end says it started, the
// first one, and by id.
type starters struct {
	agents map[string]*call
	calls  map[string][]*call
}

// namedCall returns the first call that started the agent according to the call's
// result or the host's files.
func (j *joined) namedCall(a *agent, started starters) *call {
	by := started.agents[a.id]
	t := j.files.agents[a.id]
	if t == nil || t.CallID == "" || by != nil && by.id() == t.CallID {
		return by
	}
	other := started.with(t.CallID, a.items[0].at())
	if by == nil || other != nil && cmp.Or(cmp.Compare(other.list, by.list), cmp.Compare(other.place, by.place)) < 0 {
		return other
	}
	return by
}

// with returns the call with an id that started what began then: the newest one before, of
// the tools that start agents if there is one.
func (s *starters) with(id string, began instant) (found *call) {
	for _, by := range s.calls[id] {
		switch now, best := spawns(by), found != nil && spawns(found); {
		case found == nil:
		case by.start > began, best && !now:
			continue
		case now == best && found.start <= began && by.start < found.start:
			continue
		}
		found = by
	}
	return found
}

// during returns the oldest call that was in progress when the agent began and started
// no other, or nil. Tools that start agents come first.
func (a *actor) during(began *agent, claimed map[*call]bool) *call {
	begin := began.items[0].at()
	if a.begun == nil || begin < a.since {
		a.begun, a.next, a.waiting = slices.Clone(a.calls), 0, [2][]*call{}
		slices.SortStableFunc(a.begun, func(x, y *call) int { return cmp.Compare(x.start, y.start) })
	}
	for a.since = begin; a.next < len(a.begun) && a.begun[a.next].start <= begin; a.next++ {
		c, kind := a.begun[a.next], 1
		if spawns(c) {
			kind = 0
		}
		at, _ := slices.BinarySearchFunc(a.waiting[kind], c, func(x, y *call) int { return cmp.Compare(x.place, y.place) })
		a.waiting[kind] = slices.Insert(a.waiting[kind], at, c)
	}
	for kind := range a.waiting {
		for w := &a.waiting[kind]; len(*w) > 0; *w = (*w)[1:] {
			c := (*w)[0]
			switch {
			case claimed[c] || c.end < begin:
			case kind == 1 && began.parent == hook.ParentUnknown:
				return nil
			default:
				return c
			}
		}
	}
	return nil
}

// spawns reports that a tool's name is one that starts agents.
func spawns(c *call) bool {
	n := strings.ToLower(c.tool().Name)
	return strings.Contains(n, "agent") || strings.Contains(n, "team") || n == "task"
}

// planAgent plans the span of a subagent. call is the one that started it, or nil.
func (j *joined) planAgent(a *actor, parent trace.SpanID, call *call, t *results) {
	of := a.agent
	start, end, ended := of.items[0].At(), of.items[len(of.items)-1].At(), of.ended
	if f := j.files.agents[a.id]; ended == nil && of.gone != never && !of.stopped && f != nil && of.endedAt(f) {
		ended = t.clean(of.ending(*f))
	}
	switch {
	case ended != nil:
		end = ended.At()
	case j.open && of.gone == never:
		end = j.end
	}
	for _, c := range a.requests {
		end = latest(end, c.End) // it was written late, or ended while the agent reported its end
	}
	// The files may have the end of a call a little later than its hook.
	if call != nil && a.unnamed {
		if d := end.Sub(call.end.Time()); d > 0 && d <= agentLag {
			end = call.end.Time()
		}
	}
	a.ended, a.end = ended, end
	j.plan(a.span, parent, start, end, a)
}
