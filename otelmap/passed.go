package otelmap

import (
	"slices"

	"github.com/hookspan/hookspan/otelmap/spanid"
)

// Missed is an event of a run before the place where reading began.
type Missed struct {
	// Offset is the event's place in the log.
	Offset int64
	// Keys are by what its run is known, the first that is known first: its agent's key, the
	// id of its turn. Without any it belongs to the last run before that place.
	Keys []RunID
}

// AgentKey is by what the run of a subagent is known.
func AgentKey(host, session, agent string) RunID {
	return RunID(spanid.Digest("agent", host, session, agent))
}

// TurnKey is by what the runs of a turn are known: the id of its first part.
func TurnKey(host, session, turn string) RunID { return turnRunID(host, session, turn) }

// Passed is what must be known of a run to read it again without the log before it.
type Passed struct {
	// ID is the run's, Turn that of the first part of its turn.
	ID, Turn RunID
	// From and To bound the part of the log with the run and those that overlap with it.
	From, To int64
	// Before is the carry at From, without lists. Own are the run's own entries of the lists.
	Before, Own Carry
}

// Passed returns the runs that are before a boundary, by its offset and its carry.
func (b *Builder) Passed(end int64, c Carry) []Passed {
	n := min(c.Runs-b.carry.Runs, len(b.runs))
	if n <= 0 {
		return nil
	}
	place, last := b.numbered()
	from := make([]int64, len(b.runs)+1)
	// A place between two runs is one to read from if no run is on both sides of it.
	between := make([]bool, len(b.runs)+1)
	from[len(b.runs)], between[n] = end, true
	beside := len(b.runs)
	for i, r := range slices.Backward(b.runs) {
		from[i] = min(from[i+1], r.First)
		if at, ok := place[r.beside]; ok {
			beside = min(beside, at)
		}
		between[i] = between[i] || i == 0 || last[i] < from[i] && beside >= i
	}
	out := make([]Passed, n)
	begin := 0
	for i, r := range b.runs[:n] {
		if between[i] {
			begin = i
		}
		before := b.runs[begin].prev
		before.Processes, before.Model = b.runs[begin].processes, b.runs[begin].model
		out[i] = Passed{ID: r.ID, Turn: r.whole, From: from[begin], Before: before}
		out[i].Own.list(&Carry{}, b.runs[i:i+1])
	}
	to := end
	for i := n - 1; i >= 0; i-- {
		out[i].To = to
		if between[i] {
			to = from[i]
		}
	}
	return out
}

// Join adds the lists of a later run.
func (c *Carry) Join(later *Carry) {
	c.Agents = slices.DeleteFunc(slices.Clone(c.Agents), func(id string) bool { return slices.Contains(later.Agents, id) })
	c.Agents = newest(append(c.Agents, later.Agents...))
	c.Awake = slices.DeleteFunc(append(slices.Clone(c.Awake), later.Recent...), func(id string) bool {
		return !slices.Contains(c.Silent, id) || slices.Contains(later.Silent, id)
	})
	c.Recent, c.Silent = newest(append(slices.Clone(c.Recent), later.Recent...)), newest(append(slices.Clone(c.Silent), later.Silent...))
	c.Until, c.Ends = merged(c.Until, later.Until), merged(c.Ends, later.Ends)
}

// newest returns the end of a list.
func newest(list []string) []string { return list[max(0, len(list)-carried):] }

// Recall tells the builder how to find a turn of before the place where reading began that its
// carry no longer names: f returns the lists of the turn's runs, or nil. The ids that it gets
// are of turns.
func (b *Builder) Recall(f func(turn RunID) *Carry) { b.recall = f }

// before returns the lists of the carry that name a turn, or nil.
func (b *Builder) before(turn RunID) *Carry {
	if slices.Contains(b.carry.Recent, turn.String()) || b.recall == nil {
		return &b.carry
	}
	c, known := b.recalled[turn]
	if !known {
		if c = b.recall(turn); b.recalled == nil {
			b.recalled = make(map[RunID]*Carry)
		}
		b.recalled[turn] = c
	}
	if c == nil {
		return &b.carry
	}
	return c
}
