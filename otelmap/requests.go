package otelmap

import (
	"slices"
	"time"

	"github.com/hookspan/hookspan/hook"
)

// requests are those to the model that hooks report with the id of the response, which the
// host's files have, too.
type requests struct {
	// began are the starts by the ids of the requests.
	began map[string]time.Time
	// turns are the lead agent's by turn, agents those of subagents.
	turns, agents map[string][]*hook.Request
}

// add adds an event about a request.
func (q *requests) add(e *hook.Event) {
	if q.began == nil {
		q.began, q.turns, q.agents = make(map[string]time.Time), make(map[string][]*hook.Request), make(map[string][]*hook.Request)
	}
	c := *e.Request
	if c.ID == "" {
		if _, again := q.began[c.RequestID]; !again {
			q.began[c.RequestID] = e.At()
		}
		return
	}
	c.Turn, c.Agent, c.Start, c.End = e.Turn, e.Agent, e.At(), e.At()
	if began, known := q.began[c.RequestID]; known && began.Before(c.End) {
		c.Start = began
	}
	delete(q.began, c.RequestID)
	if c.Agent != "" {
		q.agents[c.Agent] = append(q.agents[c.Agent], &c)
		return
	}
	q.turns[c.Turn] = append(q.turns[c.Turn], &c)
}

// joinRequests gives the requests in the files the ids that hooks report of them, and adds
// those that the files do not have yet.
func (m *mapping) joinRequests() {
	if m.requests.turns == nil {
		return
	}
	known := make(map[callKey]int)
	for i := range m.calls {
		known[callKey{m.calls[i].Agent, m.calls[i].ID}] = i
	}
	join := func(c *hook.Request) {
		key := callKey{c.Agent, c.ID}
		if i, ok := known[key]; ok {
			if m.calls[i].RequestID == "" {
				m.calls[i].RequestID = c.RequestID
			}
			return
		}
		known[key] = len(m.calls)
		more := *c
		more.Provider = m.tr.Provider
		m.calls = append(m.calls, more)
	}
	if m.run.turn != "" {
		for _, c := range m.requests.turns[m.run.turn] {
			if !c.End.Before(m.start) && m.run.holds("", c.End) {
				join(c)
			}
		}
	}
	for id, a := range m.run.agents {
		from, to := a.within()
		for _, c := range m.requests.agents[id] {
			if at := instantOf(c.End); from <= at && at <= to {
				join(c)
			}
		}
	}
	slices.SortStableFunc(m.calls, func(x, y hook.Request) int { return x.Start.Compare(y.Start) })
}
