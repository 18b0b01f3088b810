package view

import (
	"time"

	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/otelmap"
)

// skillsMean says what the sums by skill are.
const skillsMean = "COST is of the requests from a skill's load to the end of the task, each for the skill that was loaded last. " +
	"ADDED is by how much a load made the agent's next request larger, as a mean of those loads beside which there was no other call."

// addSkills sums up the requests by the skill that was active, and the calls that loaded skills.
func (s *Sums) addSkills(w *store.Work) {
	active := newActive(w)
	for r, u := range requests(w) {
		skill := ""
		if r != nil {
			skill = active.at(r.AgentSpan, r.Started)
		}
		g := s.once(skill, w)
		g.Usage = g.Usage.Add(u)
	}
	for i := range w.Calls {
		if skill := loads(&w.Calls[i]); skill != "" {
			Sum(&s.once(skill, w).Totals, &w.Calls[i])
		}
	}
	pairs(w, func(before, r *store.Request, between []*store.Call) {
		if len(between) != 1 {
			return
		}
		if skill := loads(between[0]); skill != "" && growth(before, r) > 0 {
			g := s.once(skill, w)
			g.added = append(g.added, growth(before, r))
		}
	})
}

// loads returns the skill that a call has loaded.
func loads(c *store.Call) string {
	if c.Status.Bad() {
		return ""
	}
	return otelmap.SkillOf(c.Tool, c.Arguments)
}

// active knows which skill is active for the agents of a task.
type active struct {
	loaded map[string][]*store.Call
	began  map[string]*store.Call // the calls that started the subagents
}

func newActive(w *store.Work) active {
	a := active{make(map[string][]*store.Call), make(map[string]*store.Call)}
	calls := make(map[string]*store.Call)
	for i := range w.Calls {
		c := &w.Calls[i]
		calls[c.Span] = c
		if loads(c) != "" {
			a.loaded[c.AgentSpan] = append(a.loaded[c.AgentSpan], c)
		}
	}
	for _, agent := range w.Subagents {
		a.began[agent.Span] = calls[agent.Call]
	}
	return a
}

// at returns the skill that an agent loaded last, else the one that was active when it was started.
func (a active) at(agent string, at time.Time) (skill string) {
	for _, c := range a.loaded[agent] {
		if !c.Started.Add(c.Took).After(at) {
			skill = loads(c)
		}
	}
	c := a.began[agent]
	if skill != "" || c == nil {
		return skill
	}
	if inner := loads(c); inner != "" { // which runs in a subagent
		return inner
	}
	return a.at(c.AgentSpan, c.Started)
}
