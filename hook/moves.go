package hook

import (
	"cmp"
	"slices"
	"sort"
	"time"
)

// Move is the working directory of the lead agent, or of a subagent, from a time on.
type Move struct {
	At    time.Time
	Cwd   string
	Agent string `json:",omitempty"`
}

// Moves are the working directories of a session, in the order of its files' rows.
type Moves []Move

// Add notes the directory of a row. One without a time or a directory says nothing.
func (m *Moves) Add(agent string, at time.Time, cwd string) {
	if at.IsZero() || cwd == "" {
		return
	}
	for i := len(*m) - 1; i >= 0; i-- {
		if last := &(*m)[i]; last.Agent == agent {
			if last.Cwd == cwd {
				return
			}
			break
		}
	}
	*m = append(*m, Move{at, cwd, agent})
}

// Sorted returns the moves in the order that [Transcript.CwdAt] needs, or nil if all are to
// one directory.
func (m Moves) Sorted(cwd string) Moves {
	if !slices.ContainsFunc(m, func(move Move) bool { return move.Cwd != cwd }) {
		return nil
	}
	slices.SortStableFunc(m, Move.Compare)
	return m
}

// Compare orders moves by agents and times.
func (m Move) Compare(other Move) int {
	return cmp.Or(cmp.Compare(m.Agent, other.Agent), m.At.Compare(other.At))
}

// CwdAt is the working directory of an agent at a time. Before its first row it is that of
// the row, and a subagent of which no row says it has the lead agent's.
func (t *Transcript) CwdAt(agent string, at time.Time) string {
	if m := lastAt(t.Moves, agent, at); m != nil {
		return m.Cwd
	}
	return t.Cwd
}

// from are the agent and the time from which something is so.
func (m *Move) from() (agent string, at time.Time) { return m.Agent, m.At }

// lastAt returns the newest element of a list, which is in the order of agents and times, that
// is of an agent and no later than a time, else the agent's first one. Without any it is that of
// the lead agent, and nil if that has none.
func lastAt[E any, P interface {
	*E
	from() (agent string, at time.Time)
}](list []E, agent string, at time.Time) P {
	after := sort.Search(len(list), func(i int) bool {
		of, from := P(&list[i]).from()
		return of > agent || of == agent && from.After(at)
	})
	for _, i := range [2]int{after - 1, after} {
		if i < 0 || i >= len(list) {
			continue
		}
		if of, _ := P(&list[i]).from(); of == agent {
			return &list[i]
		}
	}
	if agent == "" {
		return nil
	}
	return lastAt[E, P](list, "", at)
}

// Leave takes out what was done in some directories: requests, prompts, results and ends.
func (t *Transcript) Leave(off func(cwd string) bool) {
	asked := make(map[string]bool)
	at := func(agent string, when time.Time) bool {
		dir := t.CwdAt(agent, when)
		is, known := asked[dir]
		if !known {
			is = off(dir)
			asked[dir] = is
		}
		return is
	}
	t.Requests = slices.DeleteFunc(t.Requests, func(c Request) bool {
		if c.End.IsZero() {
			return at(c.Agent, c.Start)
		}
		return at(c.Agent, c.End)
	})
	t.Prompts = slices.DeleteFunc(t.Prompts, func(p Prompt) bool { return at("", p.At) })
	t.ToolResults = slices.DeleteFunc(t.ToolResults, func(r ToolResult) bool {
		return !r.Asked.IsZero() && at(r.Agent, r.Asked) || !r.At.IsZero() && at(r.Agent, r.At)
	})
	t.Agents = slices.DeleteFunc(t.Agents, func(a Subagent) bool { return at(a.ID, a.Start) })
	t.Ends = slices.DeleteFunc(t.Ends, func(e TurnEnd) bool { return at("", e.At) })
	t.Compactions = slices.DeleteFunc(t.Compactions, func(when time.Time) bool { return at("", when) })
	t.Checkouts = slices.DeleteFunc(t.Checkouts, func(c Checkout) bool { return at(c.Agent, c.At) })
}

// Union returns a list of folders with those added that it does not have.
func Union(list, folders []string) []string {
	for _, dir := range folders {
		if dir != "" && !slices.Contains(list, dir) {
			list = append(list, dir)
		}
	}
	return list
}
