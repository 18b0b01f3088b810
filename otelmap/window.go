package otelmap

import (
	"cmp"
	"slices"
	"time"

	"github.com/hookspan/hookspan/hook"
)

// promptLead is how far a prompt in the host's files may precede the event that
// opened its run: an agent may write the message before it calls the hook.
const promptLead = 5 * time.Second

// window returns the requests to the model that belong to the run. Those of a
// subagent belong to the agent's run whenever they were made; those of an agent
// that no hook reported are assigned by time.
func (m *mapping) window() []hook.LLMCall {
	elsewhere := make(map[string]bool)
	for _, id := range m.run.prev.Agents {
		elsewhere[id] = true
	}
	for _, r := range m.runs {
		for id := range r.agents {
			elsewhere[id] = r != m.run
		}
	}
	var out []hook.LLMCall
	for _, c := range m.tr.Calls {
		at := c.Start
		if c.Turn != "" && !c.End.IsZero() {
			at = c.End
		}
		if end, ok := m.broke(&c); ok {
			at, c.End = end, end
		}
		_, ours := m.run.agents[c.Agent]
		if ours && m.requestedBy(c.Agent, c.Start) || !ours && !elsewhere[c.Agent] && m.holds(c.Agent, c.Turn, at) {
			out = append(out, c)
		}
	}
	slices.SortStableFunc(out, func(x, y hook.LLMCall) int {
		return cmp.Or(x.Start.Compare(y.Start), cmp.Compare(x.ID, y.ID))
	})
	return out
}

// endLag is how long after a turn's end its files may say that a request failed: some
// agents report that the turn has failed before they note it on the request.
const endLag = 2 * time.Second

// broke reports whether a request of the lead agent was under way when its turn ended,
// and failed then. The turn's end is then that of the request, or of the part of the
// turn before this one.
func (m *mapping) broke(c *hook.LLMCall) (end time.Time, ok bool) {
	if c.Error == "" || c.Agent != "" || c.Turn == "" || c.Turn != m.run.turn {
		return time.Time{}, false
	}
	at := func(end time.Time) bool {
		return !c.Start.After(end) && c.End.After(end) && !c.End.After(end.Add(endLag))
	}
	switch r := m.run; {
	case r.terminal != nil && at(r.terminal.At()):
		return r.terminal.At(), true
	case m.laterPart && at(r.prev.PrevEnd):
		return r.prev.PrevEnd, true
	}
	return time.Time{}, false
}

// holds reports whether an entry of the transcript belongs to the run: by the
// turn if the host numbers turns, else by time. at is when the entry was
// complete. The time counts for a turn, too: a forked session begins with a copy
// of the other's entries, all under the turn of its own first prompt, and a turn
// may be split into several runs.
func (m *mapping) holds(agent, turn string, at time.Time) bool {
	r := m.run
	if turn == "" || r.turn == "" {
		return m.within(at)
	}
	// The files have milliseconds.
	since := r.from.At().Truncate(time.Millisecond)
	if m.laterPart && !r.prev.PrevEnd.IsZero() {
		// This part also has what came between the end of the part before and its
		// own first event.
		since = r.prev.PrevEnd.Truncate(time.Millisecond).Add(time.Millisecond)
	}
	switch {
	case turn != r.turn || at.Before(since):
		return false
	case r.agents[agent] != nil:
		return true // it may work on in the background
	case r.terminal != nil && agent == "":
		return !at.After(r.terminal.At())
	case r.next != nil && r.next.turn == r.turn:
		return at.Before(r.next.from.At().Truncate(time.Millisecond))
	}
	return true
}

// within reports whether an entry of the transcript made at that moment belongs
// to the run: it comes after the previous run's end and not after this one's.
// If the previous run has no end, or the clock was set back since, the run
// begins with its own first event. A run without an end continues until the next
// one begins. Entries before the session's first run do not count: the hooks may
// have been installed, or the log removed, in the middle.
func (m *mapping) within(at time.Time) bool {
	r := m.run
	if end := r.prev.PrevEnd; !end.IsZero() && !end.After(m.start) {
		if !at.After(end) {
			return false
		}
	} else if at.Before(m.since(r)) {
		return false
	}
	switch {
	case r.terminal != nil:
		return !at.After(r.terminal.At())
	case r.next != nil:
		return at.Before(m.since(r.next))
	}
	return true
}

// agentLag is how long after a subagent's end its files may say that its last request
// began: some agents write a request after they have called the hook.
const agentLag = 2 * time.Second

// requestedBy reports whether a subagent's request of that moment belongs to the run. If it
// is a little late, it belongs to the run whose subagent has just ended.
func (m *mapping) requestedBy(agent string, at time.Time) bool {
	a := m.run.agents[agent]
	if a.workedAt(at) {
		return true
	}
	if a.ended == nil || at.Before(a.ended.At()) || at.After(a.ended.At().Add(agentLag)) {
		return false
	}
	return !slices.ContainsFunc(m.runs, func(r *Run) bool {
		other := r.agents[agent]
		return r != m.run && other != nil && other.workedAt(at)
	})
}

// workedAt reports whether the agent was working at that moment.
func (a *agent) workedAt(at time.Time) bool {
	return !at.Before(a.items[0].At().Add(-promptLead)) && (a.ended == nil || !at.After(a.ended.At()))
}
