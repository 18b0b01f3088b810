package otelmap

import (
	"cmp"
	"hash/maphash"
	"slices"

	"github.com/hookspan/hookspan/hook"
)

// unclaimedResults are the results with a key in the host's files that no call has taken
// yet, in order.
func (m *mapping) unclaimedResults(k toolKey) []*hook.ToolResult {
	if m.unclaimed == nil {
		m.unclaimed, m.taken = make(map[toolKey][]*hook.ToolResult), make(map[*hook.ToolResult]bool)
		for _, r := range m.fromFiles.results {
			k := toolKey{name: r.Name, input: maphash.String(m.seed, r.Input)}
			m.unclaimed[k] = append(m.unclaimed[k], r)
		}
	}
	for len(m.unclaimed[k]) > 0 && m.taken[m.unclaimed[k][0]] {
		m.unclaimed[k] = m.unclaimed[k][1:]
	}
	return m.unclaimed[k]
}

// fits reports whether a result may be that of an event's call: a subagent that the hooks
// name makes its calls itself.
func (m *mapping) fits(r *hook.ToolResult, it *item) bool {
	marked := it.ParentAgent != "" || m.run.agents[r.Agent] != nil
	return !m.taken[r] && (!marked || r.Agent == it.Agent)
}

// unnamedResult returns the oldest result in the host's files that fits a call without
// an id and is no other call's. It may be that of a subagent which the hooks do not name.
func (m *mapping) unnamedResult(c *call) *hook.ToolResult {
	if c.tool().ID != "" {
		return nil
	}
	// If a hook has changed the input, the files have one or the other.
	for _, it := range []*item{c.post, c.pre} {
		if it == nil {
			continue
		}
		for _, r := range m.unclaimedResults(keyOf(it)) {
			if m.fits(r, it) {
				m.taken[r] = true
				return r
			}
		}
	}
	return nil
}

// manyOpen bounds the equal calls in progress among which an end's is looked for.
const manyOpen = 64

// pairEqual pairs the starts and ends of equal calls again, which no id distinguishes, if
// the host's files do: each start takes a result in order, and an end belongs to the call
// whose result has its outcome and is nearest to it. A call that was denied has no end.
func (m *mapping) pairEqual(calls []*call) []*call {
	groups := make(map[toolKey][]*call)
	var order []toolKey
	for _, c := range calls {
		if c.tool().ID == "" {
			k := keyOf(c.event())
			if groups[k] == nil {
				order = append(order, k)
			}
			groups[k] = append(groups[k], c)
		}
	}
	paired := make(map[*call]bool) // ends that had no start
	for _, k := range order {
		group := groups[k]
		if results := m.unclaimedResults(k); len(group) > 1 && len(results) > 0 {
			for _, c := range m.pairGroup(group, results) {
				paired[c] = true
			}
		}
	}
	return slices.DeleteFunc(calls, func(c *call) bool { return c.pre == nil && paired[c] })
}

// pairGroup pairs the starts and ends of calls with one key. It returns the ends without a
// start that have one now.
func (m *mapping) pairGroup(group []*call, results []*hook.ToolResult) (paired []*call) {
	type end struct {
		it   *item
		from *call
	}
	var ends []end
	for _, c := range group {
		if c.post != nil {
			ends = append(ends, end{c.post, c})
		}
		if c.pre == nil {
			continue
		}
		for len(results) > 0 && c.named == nil {
			r := results[0]
			results = results[1:]
			// A result from before the call is that of one that no hook reported.
			if m.fits(r, c.pre) && instantOf(r.At) >= c.pre.at()-instant(agentLag) {
				c.named, m.taken[r] = r, true
			}
		}
	}
	slices.SortStableFunc(ends, func(x, y end) int { return cmp.Compare(x.it.at(), y.it.at()) })
	started := slices.DeleteFunc(slices.Clone(group), func(c *call) bool { return c.pre == nil })
	for _, c := range started {
		c.post = nil
	}
	var open []*call
	for _, e := range ends {
		for len(started) > 0 && started[0].pre.at() <= e.it.at() {
			if r := started[0].named; r == nil || r.Status != hook.ToolDenied {
				open = append(open, started[0])
			}
			started = started[1:]
		}
		if len(open) == 0 {
			// The files contradict the hooks, which count.
			if e.from.pre != nil && e.from.post == nil {
				e.from.post = e.it
			}
			continue
		}
		best := 0
		for i := range open[:min(len(open), manyOpen)] {
			if open[i].distance(e.it) < open[best].distance(e.it) {
				best = i
			}
		}
		open[best].post = e.it
		open = slices.Delete(open, best, best+1)
		paired = append(paired, e.from)
	}
	return paired
}

// distance is how little an end fits a call by the call's result: the time between them,
// and more than any time if the outcomes differ or there is no result.
func (c *call) distance(end *item) instant {
	if c.named == nil {
		return always
	}
	apart := instantOf(c.named.At) - end.at()
	if apart < 0 {
		apart = -apart
	}
	if s := c.named.Status; s != hook.ToolUnknown && end.Tool.Status != hook.ToolUnknown && s.Failed() != end.Tool.Status.Failed() {
		apart += always / 4
	}
	return apart
}
