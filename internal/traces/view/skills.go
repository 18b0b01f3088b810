package view

import (
	"slices"
	"time"

	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/otelmap"
)

// activeMeans says what the sums by what was active are.
var activeMeans = map[store.By]string{
	BySkill: "COST is of the requests from a skill's load to the end of the task, each for the skill that was loaded last. " +
		"ADDED is by how much a load made the agent's next request larger, as a mean of those loads beside which there was no other call.",
	BySubagent: "COST is of a subagent's requests, without those of a subagent that it started. " +
		"ADDED is by how much a start made the next request of the agent that started it larger, as a mean of those starts beside which there was no other call.",
	ByServer: "COST is of the requests that read the results of a server's calls, each for the server that was called last. " +
		"ADDED is by how much a recorded load of what the server offers made the agent's next request larger, as a mean of those loads beside which there was no other call.",
}

// addActive sums up the requests by the skill or server that was active, each once, and what it
// added to load a skill, a subagent's report or a server's tools.
func (s *Sums) addActive(w *store.Work) {
	a := s.newActive(w)
	since := make(map[string]time.Time) // a server is active for the first request after its call
	for r, u := range requests(w) {
		key := ""
		if r != nil {
			key = a.at(r.AgentSpan, since[r.AgentSpan], r.Started)
		}
		switch {
		case s.By == BySkill:
			g := s.once(key, w)
			g.Usage = g.Usage.Add(u)
		case s.By == ByServer && r != nil:
			since[r.AgentSpan] = r.Started
			if key != "" {
				g := s.groups[key]
				g.Usage = g.Usage.Add(u)
			}
		}
	}
	for i := range w.Calls {
		if skill := a.loads(&w.Calls[i]); s.By == BySkill && skill != "" {
			Sum(&s.once(skill, w).Totals, &w.Calls[i])
		}
	}
	pairs(w, func(before, r *store.Request, between []*store.Call) {
		if len(between) != 1 || growth(before, r) <= 0 {
			return
		}
		key := a.loads(between[0])
		if g := s.groups[key]; g != nil && key != "" {
			g.added = append(g.added, growth(before, r))
		}
	})
}

// active knows what is active for the agents of a task: skills, subagents or servers.
type active struct {
	sums  *Sums
	made  map[string][]made      // the calls that made something active, by who made them
	began map[string]*store.Call // the calls that started the subagents
	kinds map[string]string      // the subagents' kinds, by the calls that started them
}

// made is a skill or a server that a call made active.
type made struct {
	at, done time.Time
	key      string
}

func (s *Sums) newActive(w *store.Work) *active {
	a := &active{s, make(map[string][]made), make(map[string]*store.Call), make(map[string]string)}
	calls := make(map[string]*store.Call)
	for i := range w.Calls {
		c := &w.Calls[i]
		calls[c.Span] = c
		key := ""
		switch s.By {
		case BySkill:
			key = a.loads(c)
		case ByServer:
			key = s.key(c)
		}
		if key != "" {
			a.made[c.AgentSpan] = append(a.made[c.AgentSpan], made{c.Started, c.Started.Add(c.Took), key})
		}
	}
	for _, agent := range w.Subagents {
		a.began[agent.Span], a.kinds[agent.Call] = calls[agent.Call], agent.Name
	}
	return a
}

// loads returns what a call has loaded: a skill, a subagent by its kind, or a server's tools.
func (a *active) loads(c *store.Call) string {
	switch {
	case c.Status.Bad():
		return ""
	case a.sums.By == BySubagent:
		return a.kinds[c.Span]
	case a.sums.By == ByServer:
		return otelmap.ServerLoaded(c.Tool, c.Arguments)
	}
	return otelmap.SkillOf(c.Tool, c.Arguments)
}

// at returns what an agent's last call since a time made active, else the skill that was active
// when the agent was started.
func (a *active) at(agent string, since, at time.Time) (key string) {
	all := a.made[agent]
	from, _ := slices.BinarySearchFunc(all, since, func(m made, at time.Time) int { return m.at.Compare(at) })
	for _, m := range all[from:] {
		if m.at.After(at) {
			break
		}
		if !m.done.After(at) {
			key = m.key
		}
	}
	c := a.began[agent]
	if key != "" || c == nil || a.sums.By != BySkill {
		return key
	}
	if inner := a.loads(c); inner != "" { // which runs in a subagent
		return inner
	}
	return a.at(c.AgentSpan, since, c.Started)
}
