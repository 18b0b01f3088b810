package otelmap

import (
	"cmp"
	"slices"
	"strings"

	"go.opentelemetry.io/otel/trace"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/hook"
)

// sortedAgents gives the run's subagents in the order in which they began.
func (r *Run) sortedAgents() []*agent {
	out := make([]*agent, 0, len(r.agents))
	for _, a := range r.agents {
		out = append(out, a)
	}
	slices.SortFunc(out, func(x, y *agent) int {
		if c := x.items[0].At().Compare(y.items[0].At()); c != 0 {
			return c
		}
		return cmp.Compare(x.id, y.id)
	})
	return out
}

// subagents adds the spans of the run's subagents, each below the tool call
// that started it, with its own tools below it.
func (m *mapping) subagents(lead []*call) {
	calls := map[string][]*call{"": lead}
	agents := m.run.sortedAgents()
	for _, a := range agents {
		m.agents[a.id] = m.run.ID.spanID("agent", a.id)
	}
	for _, a := range agents {
		calls[a.id] = m.pair(a.items, a.id)
	}
	begun := map[string]bool{}
	claimed := m.claims(agents, calls)
	for _, a := range agents {
		if c := m.named(a, begun, calls); c != nil {
			m.agentSpan(a, c.span)
			begun[a.id] = true
			continue
		}
		// An agent that begins before the one said to have started it cannot be
		// below it; without this, two agents could be each other's parents.
		from := a.parent
		if !begun[from] {
			from = ""
		}
		m.agentSpan(a, m.spawner(a, from, calls[from], claimed))
		begun[a.id] = true
	}
}

// claims are the calls that are said to have started an agent: no other can be
// theirs by time.
func (m *mapping) claims(agents []*agent, calls map[string][]*call) map[*call]bool {
	claimed := make(map[*call]bool)
	everyone := make(map[string]bool)
	for _, a := range agents {
		everyone[a.id] = true
	}
	for _, a := range agents {
		if c := m.named(a, everyone, calls); c != nil {
			claimed[c] = true
		}
	}
	return claimed
}

// spawner is the span of the tool call that started the agent: the oldest call
// of its parent that is under way when the agent begins and has not started
// another. Without one it is the parent agent's own span.
func (m *mapping) spawner(a *agent, from string, calls []*call, claimed map[*call]bool) trace.SpanID {
	begin := a.items[0].At()
	var best *call
	for _, c := range calls {
		if claimed[c] || c.start.After(begin) || c.end.Before(begin) {
			continue
		}
		if best == nil || spawns(c) && !spawns(best) {
			best = c
		}
	}
	if best == nil || a.parent == hook.ParentUnknown && !spawns(best) {
		return m.agents[from]
	}
	claimed[best] = true
	return best.span
}

// named finds the call that is said to have started the agent, by its own
// result or by the host's files, among the calls of agents that had begun by
// then.
func (m *mapping) named(a *agent, begun map[string]bool, calls map[string][]*call) *call {
	id := ""
	if t := m.transcriptAgent(a.id); t != nil {
		id = t.CallID
	}
	for owner, list := range calls {
		if owner != "" && !begun[owner] {
			continue
		}
		for _, c := range list {
			if c.post != nil && c.post.Tool.Agent == a.id || id != "" && c.tool().ID == id {
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

// transcriptAgent is what the host's files say of an agent.
func (m *mapping) transcriptAgent(id string) *hook.Agent {
	for i := range m.tr.Agents {
		if m.tr.Agents[i].ID == id {
			return &m.tr.Agents[i]
		}
	}
	return nil
}

func (m *mapping) agentSpan(a *agent, parent trace.SpanID) {
	kind := a.kind
	if kind == "" {
		kind = "subagent"
	}
	at := attrs{
		text(KeyOperation, OpInvokeAgent),
		text(KeyAgentName, kind),
		text(KeyAgentID, a.id),
		text(KeyConversationID, m.session),
	}
	start, end := a.items[0].At(), a.items[len(a.items)-1].At()
	if t := m.transcriptAgent(a.id); t != nil {
		at.str(KeyTask, m.opts.text(t.Task, m.opts.MaxInput))
	}
	if a.ended != nil {
		end = a.ended.At()
		at.str(KeyResult, a.ended.Result)
		at.facts(&m.opts, a.ended)
	}
	if i := slices.IndexFunc(m.calls, func(c hook.LLMCall) bool { return c.Agent == a.id && c.Model != "" }); i >= 0 {
		at.str(KeyProvider, m.standardProvider(m.calls[i].Provider))
		at.str(KeyRequestModel, m.calls[i].Model)
	}
	m.usage(&at, a.id)
	s := m.span(OpInvokeAgent+" "+kind, tracepb.Span_SPAN_KIND_INTERNAL, m.agents[a.id], parent, start, end, at)
	switch {
	case a.ended == nil:
		fail(s, ErrorAbandoned, "the subagent never reported an end", end)
	case a.ended.Kind == hook.KindRunError:
		fail(s, cmp.Or(class(a.ended.ErrorType), ErrorRun), a.ended.Message, end)
	}
	m.add(s)
}
