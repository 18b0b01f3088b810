package hook

import (
	"cmp"
	"slices"
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
	slices.SortStableFunc(m, func(a, b Move) int { return cmp.Or(cmp.Compare(a.Agent, b.Agent), a.At.Compare(b.At)) })
	return m
}

// CwdAt is the working directory of an agent at a time. Before its first row it is that of
// the row, and a subagent of which no row says it has the lead agent's.
func (t *Transcript) CwdAt(agent string, at time.Time) string {
	i, found := slices.BinarySearchFunc(t.Moves, agent, func(m Move, agent string) int { return cmp.Compare(m.Agent, agent) })
	if !found {
		if agent == "" {
			return t.Cwd
		}
		return t.CwdAt("", at)
	}
	after, _ := slices.BinarySearchFunc(t.Moves, at, func(m Move, at time.Time) int {
		if m.Agent > agent || m.Agent == agent && m.At.After(at) {
			return 1
		}
		return -1
	})
	return t.Moves[max(i, after-1)].Cwd
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
	if off(t.Cwd) {
		t.Repository = Repository{}
	}
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
