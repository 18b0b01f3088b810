package otelmap

import (
	"cmp"
	"slices"

	"github.com/hookspan/hookspan/hook"
)

// The end of an agent in the background may not be reported by itself. What is known
// instead counts in this order: a report of its end or of its being stopped, the agent's
// file, the newest list of those at work. Later events of the agent open its turn again.

// endAgents ends the agents that an event says to work no more.
func (s *segmenter) endAgents(it *item) {
	news := s.b.background[it]
	if news == nil {
		return
	}
	for _, end := range news.Ended {
		r := s.agentRuns[end.ID]
		if r == nil || r.agents[end.ID].end() != never {
			continue
		}
		a := r.agents[end.ID]
		if end.Stopped {
			a.stop(it.at())
			a.stopped = true
			continue
		}
		a.ended = s.b.clean(a.ending(hook.Subagent{Result: end.Result, End: it.At()}))
	}
	// What another process has at work is not in the list, nor is it known whose an agent
	// is that no hook has reported.
	unknown := slices.ContainsFunc(news.AtWork, func(id string) bool { return !s.reported(id) })
	if !news.Listed || unknown || s.several() {
		return
	}
	for _, a := range s.working {
		// The clock may have been set back between the list and the agent's beginning. Its start
		// alone may be behind the list for a slow hook.
		begun := slices.ContainsFunc(a.items, func(own *item) bool { return own.Offset < it.Offset || own.stored >= it.stored })
		if begun && !slices.Contains(news.AtWork, a.id) {
			a.stop(it.at())
		}
	}
}

// reported reports that a hook has reported an agent, be it before the place where reading began.
func (s *segmenter) reported(agent string) bool {
	return s.agentRuns[agent] != nil || slices.Contains(s.b.carry.Agents, agent)
}

// rename gives the end of an agent that nothing is known of to the agent of its turn and
// type that is at work, if there is one: it was reported under another id. After a long
// silence none is.
func (s *segmenter) rename(it *item) {
	asking := s.turnRuns[it.Turn]
	if it.Kind != hook.KindRunComplete || asking == nil || it.AgentType == "" || s.reported(it.Agent) || s.silent(asking, it) {
		return
	}
	found := ""
	for id, a := range asking.agents {
		if a.kind == it.AgentType && a.end() == never {
			if found != "" {
				return
			}
			found = id
		}
	}
	if found != "" {
		renamed := *it.facts
		renamed.Agent = found
		it.facts = &renamed
	}
}

// ending is the end of an agent that no hook has reported.
func (a *agent) ending(end hook.Subagent) hook.Event {
	return hook.Event{
		Kind: hook.KindRunComplete, StoredAt: end.End, Agent: a.id, ParentAgent: cmp.Or(a.parent, hook.ParentUnknown), AgentType: a.kind, Result: end.Result,
	}
}

// EndAgents has the agents whose ends the agent's files know count as ended, unless they
// did something since.
func (b *Builder) EndAgents(agents []hook.Subagent) {
	b.agentEnds, b.runs = make(map[string]hook.Subagent), nil
	for _, a := range agents {
		if !a.End.IsZero() {
			b.agentEnds[a.ID] = a
		}
	}
}

func (s *segmenter) endByFiles() {
	if len(s.b.agentEnds) == 0 {
		return
	}
	for _, r := range s.runs {
		for id, a := range r.agents {
			if end, known := s.b.agentEnds[id]; known && a.end() == never && a.endedAt(&end) {
				a.ended = s.b.clean(a.ending(end))
			}
		}
	}
}

// endedAt reports that an agent did nothing after its end in the files.
func (a *agent) endedAt(end *hook.Subagent) bool {
	return !end.End.IsZero() && !a.items[len(a.items)-1].At().After(end.End.Add(agentLag))
}
