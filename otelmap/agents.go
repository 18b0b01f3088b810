package otelmap

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/hook"
)

// subagents adds the spans of the run's subagents, each below the tool call
// that started it, with its own tools below it.
func (m *mapping) subagents(lead []*call) {
	agents := append(m.run.sortedAgents(), m.unnamed...)
	if len(agents) == 0 {
		return
	}
	for _, a := range agents {
		m.agents[a.id], m.agentNames[a.id] = m.run.ID.spanID("agent", a.id), cmp.Or(a.kind, unnamedAgent)
	}
	// The lead's calls come first, then those of each agent.
	lists := []*agentCalls{{calls: lead}}
	places := map[string]int{"": 0}
	for i, a := range agents {
		lists = append(lists, &agentCalls{calls: m.plannedCalls(a.items, a.id)})
		places[a.id] = i + 1
	}
	started := starters{make(map[string]startedBy), make(map[string][]startedBy)}
	for i, list := range lists {
		for j, c := range list.calls {
			by := startedBy{c, i, j}
			started.calls[c.id()] = append(started.calls[c.id()], by)
			if _, known := started.agents[c.started()]; !known {
				started.agents[c.started()] = by
			}
		}
	}
	// A call that is known to have started an agent started no other.
	claimed := make(map[*call]bool)
	for _, a := range agents {
		if by := m.namedCall(a, started); by.call != nil {
			claimed[by.call] = true
		}
	}
	for i, a := range agents {
		// An agent that began later cannot be its parent; without this, two agents
		// could be each other's.
		by := m.namedCall(a, started)
		parent, c := m.root.SpanID(), by.call
		if c == nil || by.list > i {
			from := places[a.parent]
			if from > i {
				from = 0
			}
			if parent = m.root.SpanID(); from > 0 {
				parent = m.agents[agents[from-1].id]
			}
			if c = lists[from].during(a, claimed); c != nil {
				claimed[c] = true
			}
		}
		if c != nil {
			parent = c.span
		}
		m.agentSpan(a, parent, c)
	}
}

// findUnnamed finds the subagents of the run that no hook names.
func (m *mapping) findUnnamed() {
	if !m.opts.Agent.Unnamed {
		return
	}
	for _, t := range m.fromFiles.agents {
		if m.run.agents[t.ID] != nil {
			continue
		}
		at := func(kind hook.Kind, at time.Time, result string) *item {
			return m.cleaner().clean(hook.Event{Kind: kind, Time: at, StoredAt: at, Agent: t.ID, ParentAgent: hook.ParentUnknown, AgentType: t.Type, Result: result})
		}
		a := &agent{id: t.ID, parent: hook.ParentUnknown, kind: t.Type, items: []*item{at(hook.KindRunStart, t.Start, "")}}
		if !t.End.IsZero() {
			a.ended = at(hook.KindRunComplete, t.End, t.Result)
			a.items = append(a.items, a.ended)
		}
		m.unnamed = append(m.unnamed, a)
		m.agents[a.id] = m.run.ID.spanID("agent", a.id)
	}
}

// startedBy is a call that started an agent, and its place.
type startedBy struct {
	call       *call
	list, item int
}

// starters are the calls of all agents: by the agent that a call's end says it started, the
// first one, and by id.
type starters struct {
	agents map[string]startedBy
	calls  map[string][]startedBy
}

// namedCall returns the first call that started the agent according to the call's
// result or the host's files.
func (m *mapping) namedCall(a *agent, started starters) startedBy {
	by := started.agents[a.id]
	t := m.files.agents[a.id]
	if t == nil || t.CallID == "" || by.call != nil && by.call.id() == t.CallID {
		return by
	}
	other := started.with(t.CallID, a.items[0].at())
	if by.call == nil || other.call != nil && cmp.Or(cmp.Compare(other.list, by.list), cmp.Compare(other.item, by.item)) < 0 {
		return other
	}
	return by
}

// with returns the call with an id that started what began then: the newest one before, of
// the tools that start agents if there is one.
func (s *starters) with(id string, began instant) (found startedBy) {
	for _, by := range s.calls[id] {
		switch now, best := spawns(by.call), found.call != nil && spawns(found.call); {
		case found.call == nil:
		case by.call.start > began, best && !now:
			continue
		case now == best && found.call.start <= began && by.call.start < found.call.start:
			continue
		}
		found = by
	}
	return found
}

// agentCalls are the tool calls of an agent.
type agentCalls struct {
	calls []*call
	// begun are the places of the calls in the order of their start, of which so many
	// had begun when the last agent did. waiting are the places of those that had not
	// ended then, in order: of the tools that start agents, and of all others.
	begun   []int
	next    int
	since   instant
	waiting [2][]int
}

// during returns the oldest call that was in progress when the agent began and started
// no other, or nil. Tools that start agents come first.
func (l *agentCalls) during(a *agent, claimed map[*call]bool) *call {
	begin := a.items[0].at()
	if l.begun == nil || begin < l.since {
		l.begun, l.next, l.waiting = make([]int, len(l.calls)), 0, [2][]int{}
		for i := range l.begun {
			l.begun[i] = i
		}
		slices.SortStableFunc(l.begun, func(x, y int) int { return cmp.Compare(l.calls[x].start, l.calls[y].start) })
	}
	for l.since = begin; l.next < len(l.begun) && l.calls[l.begun[l.next]].start <= begin; l.next++ {
		i := l.begun[l.next]
		kind := 1
		if spawns(l.calls[i]) {
			kind = 0
		}
		at, _ := slices.BinarySearch(l.waiting[kind], i)
		l.waiting[kind] = slices.Insert(l.waiting[kind], at, i)
	}
	for kind := range l.waiting {
		for w := &l.waiting[kind]; len(*w) > 0; *w = (*w)[1:] {
			c := l.calls[(*w)[0]]
			switch {
			case claimed[c] || c.end < begin:
			case kind == 1 && a.parent == hook.ParentUnknown:
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

// agentSpan plans the span of an agent. call is the one that started it, or nil.
func (m *mapping) agentSpan(a *agent, parent trace.SpanID, call *call) {
	start, end := a.items[0].At(), a.items[len(a.items)-1].At()
	ended := a.ended
	if t := m.files.agents[a.id]; ended == nil && a.gone != never && !a.stopped && t != nil && a.endedAt(t) {
		ended = m.cleaner().ending(a, *t)
	}
	switch {
	case ended != nil:
		end = ended.At()
	case m.open && a.gone == never:
		end = m.end
	}
	for _, i := range m.agentCalls[a.id] {
		end = latest(end, m.calls[i].End) // it was written late, or ended while the agent reported its end
	}
	// The files may have the end of a call a little later than its hook.
	if call != nil && slices.Contains(m.unnamed, a) {
		if d := end.Sub(call.end.Time()); d > 0 && d <= agentLag {
			end = call.end.Time()
		}
	}
	m.plan(m.agents[a.id], parent, start, end, func() *tracepb.Span { return m.agentMessage(a, ended, end) })
}

// unnamedAgent is the name of a subagent whose kind is not known.
const unnamedAgent = "subagent"

// agentName returns the name of the agent with the id, "" for the lead.
func (m *mapping) agentName(id string) string {
	if id == "" {
		return m.host
	}
	return cmp.Or(m.agentNames[id], unnamedAgent)
}

func (m *mapping) agentMessage(a *agent, ended *item, end time.Time) *tracepb.Span {
	kind := m.agentName(a.id)
	at := texts(
		KeyOperation, OpInvokeAgent,
		KeyAgentName, kind,
		KeyAgent, a.id,
		KeyConversationID, m.session,
	)
	if t := m.files.agents[a.id]; t != nil {
		at.texts(KeyInputMessages, TextMessages(RoleUser, m.opts.text(t.Task, m.opts.MaxInput)))
	}
	if ended != nil {
		at.texts(KeyOutputMessages, AnswerMessages(ended.Result, m.finish(a.id)))
		at.facts(&m.opts, ended)
	}
	for _, i := range m.agentCalls[a.id] {
		if c := &m.calls[i]; c.Model != "" {
			at.texts(KeyProvider, m.standardProvider(c.Provider), KeyModel, c.Model)
			break
		}
	}
	m.usage(&at, a.id)
	s := newSpan(OpInvokeAgent, kind, at)
	switch {
	case ended == nil && m.open && a.gone == never:
	case ended == nil && a.stopped:
		fail(s, ErrorAbandoned, messageStopped, end)
	case ended == nil:
		fail(s, ErrorAbandoned, messageAgentOpen, end)
	case ended.Kind == hook.KindRunError, ended.Kind == hook.KindRequestError:
		fail(s, cmp.Or(class(ended.ErrorType), ErrorRun), ended.Message, end)
	}
	return s
}
