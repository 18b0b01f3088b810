package hook

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// Checkout is what was checked out where an agent worked, from a time on.
type Checkout struct {
	At         time.Time
	Agent      string `json:",omitempty"`
	Repository Repository
	// Unknown reports that it is not known which branch that was.
	Unknown bool `json:",omitempty"`
}

// Checkouts are what was checked out where the agents of a session worked, in the order of Sort.
type Checkouts []Checkout

func (c *Checkout) from() (agent string, at time.Time) { return c.Agent, c.At }

// Add notes what a row says. One that repeats the agent's last one says nothing.
func (c *Checkouts) Add(n Checkout) {
	for _, last := range slices.Backward(*c) {
		if last.Agent == n.Agent {
			last.At = n.At
			if last == n {
				return
			}
			break
		}
	}
	*c = append(*c, n)
}

// Sort brings the checkouts into the order that At needs.
func (c Checkouts) Sort() {
	slices.SortStableFunc(c, func(a, b Checkout) int { return cmp.Or(cmp.Compare(a.Agent, b.Agent), a.At.Compare(b.At)) })
}

// At returns what was checked out for an agent at a time. Before its first checkout it is that, and
// for a subagent without any the lead agent's. ok is false if nothing is known.
func (c Checkouts) At(agent string, at time.Time) (found Checkout, ok bool) {
	if f := lastAt(c, agent, at); f != nil {
		return *f, true
	}
	return Checkout{}, false
}

// switching are what commands that may check out another branch have.
var switching = []string{"git checkout", "git switch", "git branch -", "git rebase", "git symbolic-ref", "git bisect", "git worktree", "pr checkout", "mr checkout"}

// DoubtCheckouts adds that the branch is not known from each call on that may have checked out
// another one, up to the next checkout. It is for files that say what was checked out when a
// session began and nothing about what its calls did. It also sorts.
func (t *Transcript) DoubtCheckouts() {
	if len(t.Checkouts) == 0 {
		return
	}
	t.Checkouts.Sort()
	said := t.Checkouts[:len(t.Checkouts):len(t.Checkouts)]
	for _, r := range t.ToolResults {
		at := r.Asked
		if at.IsZero() {
			at = r.At
		}
		if c, ok := said.At("", at); ok && slices.ContainsFunc(switching, func(s string) bool { return strings.Contains(r.Input, s) }) {
			t.Checkouts = append(t.Checkouts, Checkout{At: at, Repository: Repository{Name: c.Repository.Name, URL: c.Repository.URL}, Unknown: true})
		}
	}
	t.Checkouts.Sort()
}
