package second

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// add takes in what a file says.
func (out *Reading) add(r *file) {
	if r == nil {
		return
	}
	out.Unread = append(out.Unread, r.unread...)
	for id, s := range r.sessions {
		out.merge(id, s)
	}
}

// merge takes in what a file, or a session without one, says of a session.
func (out *Reading) merge(id string, s *Session) {
	old := out.Sessions[id]
	if old == nil {
		out.Sessions[id] = s
		return
	}
	for id, q := range s.Requests {
		old.addRequest(s.rank[0], id, q)
	}
	for id, c := range s.Calls {
		if have := old.Calls[id]; have != nil {
			if c.File != "" && have.File != "" && !c.copies(id, have) {
				have.Times++
			}
			have.Answered, have.Failed, have.File = have.Answered || c.Answered, have.Failed || c.Failed, cmp.Or(have.File, c.File)
			continue
		}
		old.Calls[id] = c
	}
	for _, p := range s.Prompts {
		old.addPrompt(s.rank[1], p)
	}
	old.Files, old.Broken = append(old.Files, s.Files...), old.Broken+s.Broken
	old.own, old.copied = old.own || s.own, cmp.Or(old.copied, s.copied)
	if old.Began.IsZero() || !s.Began.IsZero() && s.Began.Before(old.Began) {
		old.Began = s.Began
	}
	if s.Ended.After(old.Ended) {
		old.Ended = s.Ended
	}
}

// shortID is the length up to which ids are taken to be those of one session or agent alone.
const shortID = 12

// copies reports that two calls with one id are the same.
func (c *Call) copies(id string, other *Call) bool { return len(id) > shortID || c.At.Equal(other.At) }

// once leaves what several sessions have to the one that began first. A session whose own
// file is gone is part of the one with a copy of it.
func (out *Reading) once() {
	for _, id := range slices.Sorted(maps.Keys(out.Sessions)) {
		if s := out.Sessions[id]; !s.own && s.copied != "" {
			delete(out.Sessions, id)
			out.merge(s.copied, s)
		}
	}
	order := slices.SortedFunc(maps.Keys(out.Sessions), func(x, y string) int {
		return cmp.Or(out.Sessions[x].Began.Compare(out.Sessions[y].Began), cmp.Compare(x, y))
	})
	requests, calls := make(map[string]*Request), make(map[string]*Call)
	prompts := make(map[string]bool)
	for _, id := range order {
		s := out.Sessions[id]
		maps.DeleteFunc(s.Requests, func(key string, q *Request) bool {
			first := requests[key]
			if first == nil {
				requests[key] = q
				return false
			}
			first.Held = append(append(first.Held, id), q.Held...)
			return true
		})
		maps.DeleteFunc(s.Calls, func(key string, c *Call) bool {
			if c.File == "" {
				if s.Results == nil {
					s.Results = make(map[string]bool)
				}
				s.Results[key] = true
				return true
			}
			first := calls[key]
			if first == nil || !c.copies(key, first) {
				calls[key] = c
				return false
			}
			first.Held = append(append(first.Held, id), c.Held...)
			return true
		})
		s.Prompts = slices.DeleteFunc(s.Prompts, func(p Prompt) bool {
			first := !prompts[p.key] || p.key == "" || strings.HasPrefix(p.key, ordinal)
			prompts[p.key] = true
			return !first
		})
	}
}
