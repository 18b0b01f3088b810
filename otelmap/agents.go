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
	for _, a := range agents {
		m.agents[a.id] = m.run.ID.spanID("agent", a.id)
	}
	// calls has the lead's calls first, then those of each agent.
	calls := []agentCalls{{"", lead}}
	for _, a := range agents {
		calls = append(calls, agentCalls{a.id, m.pair(a.items, a.id)})
	}
	// A call that is known to have started an agent started no other.
	claimed := make(map[*call]bool)
	for _, a := range agents {
		if c := m.namedCall(a, calls); c != nil {
			claimed[c] = true
		}
	}
	for i, a := range agents {
		// The agents that began before this one. One that began later cannot be
		// its parent; without this, two agents could be each other's.
		earlier := calls[:i+1]
		parent, c := m.root.SpanID(), m.namedCall(a, earlier)
		if c == nil {
			from := earlier[max(0, slices.IndexFunc(earlier, func(e agentCalls) bool { return e.agent == a.parent }))]
			parent = m.agents[from.agent]
			if c = callDuring(a, from.calls, claimed); c != nil {
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
	b := NewBuilder(m.host, m.session, m.opts, Carry{})
	for i := range m.tr.Agents {
		t := &m.tr.Agents[i]
		if m.run.agents[t.ID] != nil || !m.holds("", t.Turn, t.Start) {
			continue
		}
		at := func(kind hook.Kind, at time.Time, result string) *item {
			return b.clean(hook.Event{Kind: kind, Time: at, StoredAt: at, Agent: t.ID, ParentAgent: hook.ParentUnknown, AgentType: t.Type, Result: result})
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

// agentCalls are the tool calls of an agent.
type agentCalls struct {
	agent string
	calls []*call
}

// namedCall returns the call that started the agent according to the call's
// result or the host's files, or nil.
func (m *mapping) namedCall(a *agent, among []agentCalls) *call {
	id := ""
	if t := m.transcriptAgent(a.id); t != nil {
		id = t.CallID
	}
	for _, list := range among {
		for _, c := range list.calls {
			if c.post != nil && c.post.Tool.Agent == a.id || id != "" && c.id() == id {
				return c
			}
		}
	}
	return nil
}

// callDuring returns the oldest call that was in progress when the agent began
// and started no other, or nil. Tools that start agents come first.
func callDuring(a *agent, calls []*call, claimed map[*call]bool) *call {
	begin := a.items[0].at()
	var best *call
	for _, c := range calls {
		if claimed[c] || c.start > begin || c.end < begin {
			continue
		}
		if best == nil || spawns(c) && !spawns(best) {
			best = c
		}
	}
	if best != nil && a.parent == hook.ParentUnknown && !spawns(best) {
		return nil
	}
	return best
}

// spawns reports that a tool's name is one that starts agents.
func spawns(c *call) bool {
	n := strings.ToLower(c.tool().Name)
	return strings.Contains(n, "agent") || strings.Contains(n, "team") || n == "task"
}

// transcriptAgent returns the agent's entry in the host's files, or nil.
func (m *mapping) transcriptAgent(id string) *hook.Agent {
	for i := range m.tr.Agents {
		if m.tr.Agents[i].ID == id {
			return &m.tr.Agents[i]
		}
	}
	return nil
}

// agentSpan plans the span of an agent. call is the one that started it, or nil.
func (m *mapping) agentSpan(a *agent, parent trace.SpanID, call *call) {
	start, end := a.items[0].At(), a.items[len(a.items)-1].At()
	switch {
	case a.ended != nil:
		end = a.ended.At()
		for i := range m.calls {
			if c := &m.calls[i]; c.Agent == a.id && c.Start.After(end) {
				end = latest(end, c.End) // it was written late
			}
		}
	case m.open && !a.gone:
		end = m.end
	}
	// The files may have the end of a call a little later than its hook.
	if call != nil && slices.Contains(m.unnamed, a) {
		if d := end.Sub(call.end.Time()); d > 0 && d <= agentLag {
			end = call.end.Time()
		}
	}
	m.plan(m.agents[a.id], parent, start, end, func() *tracepb.Span { return m.agentMessage(a, end) })
}

func (m *mapping) agentMessage(a *agent, end time.Time) *tracepb.Span {
	kind := cmp.Or(a.kind, "subagent")
	at := texts(
		KeyOperation, OpInvokeAgent,
		KeyAgentName, kind,
		KeyAgentID, a.id,
		KeyConversationID, m.session,
	)
	if t := m.transcriptAgent(a.id); t != nil {
		at.texts(KeyTask, m.opts.text(t.Task, m.opts.MaxInput))
	}
	if a.ended != nil {
		at.texts(KeyResult, a.ended.Result)
		at.facts(&m.opts, a.ended)
	}
	if i := slices.IndexFunc(m.calls, func(c hook.LLMCall) bool { return c.Agent == a.id && c.Model != "" }); i >= 0 {
		at.texts(KeyProvider, m.standardProvider(m.calls[i].Provider), KeyRequestModel, m.calls[i].Model)
	}
	m.usage(&at, a.id)
	s := newSpan(OpInvokeAgent, kind, at)
	switch {
	case a.ended == nil && m.open && !a.gone:
	case a.ended == nil:
		fail(s, ErrorAbandoned, "the subagent never reported an end", end)
	case a.ended.Kind == hook.KindRunError, a.ended.Kind == hook.KindRequestError:
		fail(s, cmp.Or(class(a.ended.ErrorType), ErrorRun), a.ended.Message, end)
	}
	return s
}
