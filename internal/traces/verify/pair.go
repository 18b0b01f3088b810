package verify

import (
	"cmp"
	"slices"
	"time"
)

const (
	// callSlack is how far the end of a call without an id may be from the result in the
	// files, which agents write with their next message.
	callSlack = 10 * time.Minute
	// requestSlack is how far a request without an id may be.
	requestSlack = time.Second
	// sumSlack is how far a sum may be: its event is not before the run.
	sumSlack = time.Hour
	// early is how much earlier than the hook that begins a run an agent may write an
	// entry of it.
	early = 10 * time.Second
)

// neighbours is how many entries before and behind an item are tried.
const neighbours = 8

// pair gives the items the nearest entries, the nearest pairs first. A slack of zero is
// none.
func pair(items []*item, entries []*entry, slack time.Duration) {
	type candidate struct {
		it   *item
		e    *entry
		away time.Duration
	}
	entries = slices.DeleteFunc(slices.Clone(entries), func(e *entry) bool { return e.taken != nil })
	slices.SortStableFunc(entries, func(x, y *entry) int { return x.end.Compare(y.end) })
	var all []candidate
	for _, it := range items {
		if it.match != nil {
			continue
		}
		at, _ := slices.BinarySearchFunc(entries, it.end, func(e *entry, t time.Time) int { return e.end.Compare(t) })
		for _, e := range entries[max(0, at-neighbours):min(len(entries), at+neighbours)] {
			if away := e.end.Sub(it.end).Abs(); slack == 0 || away <= slack {
				all = append(all, candidate{it, e, away})
			}
		}
	}
	slices.SortStableFunc(all, func(x, y candidate) int { return cmp.Compare(x.away, y.away) })
	for _, c := range all {
		if c.it.match == nil && c.e.taken == nil {
			c.it.match, c.e.taken = c.e, c.it
		}
	}
}

// groups pairs the items and the entries of each key; an empty key is left out.
func groups(items []*item, entries []*entry, ofItem func(*item) string, ofEntry func(*entry) string, slack time.Duration) {
	byKey := make(map[string][]*entry)
	for _, e := range entries {
		if k := ofEntry(e); k != "" && e.taken == nil {
			byKey[k] = append(byKey[k], e)
		}
	}
	mine := make(map[string][]*item)
	var order []string
	for _, it := range items {
		if k := ofItem(it); k != "" && it.match == nil {
			if mine[k] == nil {
				order = append(order, k)
			}
			mine[k] = append(mine[k], it)
		}
	}
	for _, k := range order {
		pair(mine[k], byKey[k], slack)
	}
}

// pairCalls pairs calls by their ids, those of one agent first, and calls without an
// id by their tool.
func pairCalls(calls []*item, entries []*entry) {
	groups(calls, entries, func(it *item) string { return join(it.id, it.agent) }, func(e *entry) string { return join(e.id, e.agent) }, 0)
	groups(calls, entries, func(it *item) string { return it.id }, func(e *entry) string { return e.id }, 0)
	nameless := func(it *item) string {
		if it.id != "" {
			return ""
		}
		return it.name
	}
	groups(calls, entries, nameless, func(e *entry) string { return e.name }, callSlack)
}

// join makes a key of an id and an agent, empty without an id.
func join(id, agent string) string {
	if id == "" {
		return ""
	}
	return id + "\x00" + agent
}

// pairRequests pairs requests by the ids of their answers or, without one, by those of
// the requests, else by their times.
func pairRequests(requests []*item, entries []*entry) {
	groups(requests, entries, func(it *item) string { return join(it.id, it.agent) }, func(e *entry) string { return join(e.id, e.agent) }, 0)
	groups(requests, entries, func(it *item) string { return it.id }, func(e *entry) string { return e.id }, 0)
	groups(requests, entries, func(it *item) string { return it.ref }, func(e *entry) string { return e.ref }, 0)
	for _, key := range []func(status string) string{
		func(status string) string { return status },
		func(string) string { return "any" },
	} {
		nameless := func(it *item) string {
			if it.id != "" {
				return ""
			}
			return key(it.status)
		}
		groups(requests, entries, nameless, func(e *entry) string { return key(e.status) }, requestSlack)
	}
}

// owner returns the trace that an entry of the files belongs to, nil for none of those
// that are stored.
func (c *Comparison) owner(e *entry) *trace {
	if e.taken != nil {
		return e.taken.trace
	}
	var found *trace
	for _, tr := range c.traces {
		inTime := !e.end.Before(tr.start.Add(-early)) && !e.end.After(tr.end)
		switch {
		case e.turn != "" && len(tr.turns) > 0:
			// A subagent may work on in the background.
			if !tr.turns[e.turn] || !inTime && (e.agent == "" || !tr.agents[e.agent]) {
				continue
			}
		case e.end.Before(tr.start) || !inTime:
			continue
		}
		// Of several, the later: what comes before a run is the end of the one before.
		if found == nil || tr.start.After(found.start) && !e.end.Before(tr.start) {
			found = tr
		}
	}
	return found
}
