package agentfiles

import (
	"cmp"
	"slices"
	"strings"
)

// call adds a call of a tool, or returns the one that is known.
func (r *file) call(id, name string) *Call {
	c, made := r.of().newest(id, r.agent), r.asked(id, name)
	// One of the same id as a known one is another if that has ended, or is of another agent or turn.
	if c == nil || c.File != "" && (c.Answered || c.Agent != r.agent || c.At.Before(r.turn.At)) && !made.same(&c.Fact) {
		c = made
		r.made(c)
	}
	c.Name = cmp.Or(c.Name, name)
	return c
}

// asked is a call as a row has it.
func (r *file) asked(id, name string) *Call {
	c := &Call{Fact: r.fact(), Name: name}
	c.ID = id
	own := strings.TrimPrefix(id, name+"__") // the Gemini CLI puts the tool's name before the model's id
	c.short = len(own) <= shortID || numbered().MatchString(own)
	return c
}

// made adds a call that is none of those that are known.
func (r *file) made(c *Call) {
	r.works()
	r.of().addCall(c)
}

// newest is the last call with an id: of an agent, else of any. It is nil if there is none.
func (s *Session) newest(id, agent string) *Call {
	all := s.calls[id]
	for _, c := range slices.Backward(all) {
		if c.Agent == agent {
			return c
		}
	}
	if len(all) == 0 {
		return nil
	}
	return all[len(all)-1]
}

func (s *Session) addCall(c *Call) {
	c.nth = len(s.calls[c.ID])
	s.Calls, s.calls[c.ID] = append(s.Calls, c), append(s.calls[c.ID], c)
}

// result notes a result, of a call that the session's files have.
func (r *file) result(id string, status Status) {
	c := r.of().newest(id, r.agent)
	if c == nil {
		c = &Call{Fact: r.fact()}
		c.ID, c.File = id, "" // a result alone is no call
		r.of().addCall(c)
	}
	c.Answered, c.Done, c.EndDir, c.Status = true, r.at, r.dir(), max(c.Status, status)
	r.lasts()
}
