package second

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"
)

// Of returns a session, which is new if the files have nothing of it.
func (out *Reading) Of(id string) *Session {
	if out.Sessions[id] == nil {
		out.Sessions[id] = newSession()
	}
	return out.Sessions[id]
}

func newSession() *Session {
	return &Session{Requests: make(map[string]*Request), Calls: make(map[string]*Call), prompts: make(map[string]bool)}
}

// Give gives the prompts of which is reports true, and the turns that they began, to another
// session.
func (s *Session) Give(to *Session, is func(Fact) bool) {
	s.Prompts = slices.DeleteFunc(s.Prompts, func(p Prompt) bool {
		if is(p.Fact) {
			to.addPrompt(to.rank[1], p)
		}
		return is(p.Fact)
	})
	s.Turns = slices.DeleteFunc(s.Turns, func(t *Turn) bool {
		if is(t.Fact) {
			to.Turns = append(to.Turns, t)
		}
		return is(t.Fact)
	})
}

// Without returns the session without that of which out reports true, by the ids of requests and
// calls.
func (s *Session) Without(out func(id string, f Fact) bool) *Session {
	part := *s
	part.Requests, part.Calls = maps.Clone(s.Requests), maps.Clone(s.Calls)
	maps.DeleteFunc(part.Requests, func(id string, q *Request) bool { return out(id, q.Fact) })
	maps.DeleteFunc(part.Calls, func(id string, q *Call) bool { return out(id, q.Fact) })
	part.Prompts = slices.DeleteFunc(slices.Clone(s.Prompts), func(p Prompt) bool { return out("", p.Fact) })
	part.Turns = slices.DeleteFunc(slices.Clone(s.Turns), func(t *Turn) bool { return out("", t.Fact) })
	return &part
}

// Dirs are the folders that the session and its subagents worked in, as far as rows name them.
func (s *Session) Dirs() []string {
	dirs := make(map[string]bool)
	s.Each(func(f *Fact) { dirs[f.Dir] = true })
	for _, q := range s.Calls {
		dirs[q.DoneIn] = true
	}
	for _, t := range s.Turns {
		dirs[t.LastIn] = true
	}
	delete(dirs, "")
	return slices.Collect(maps.Keys(dirs))
}

// Hide has these turns and the calls without the ends that are of folders which are off: whether
// such a turn has a run, and how it or such a call ended, is not known.
func (s *Session) Hide(turns []*Turn, off func(dir string) bool) {
	s.Turns = nil
	for _, t := range turns {
		if off(t.Dir) || off(t.LastIn) {
			hidden := *t
			hidden.key, hidden.Unclear = "", true
			t = &hidden
		}
		s.Turns = append(s.Turns, t)
	}
	for id, q := range s.Calls {
		if off(q.DoneIn) {
			hidden := *q
			hidden.Hidden = true
			s.Calls[id] = &hidden
		}
	}
}

// adopt gives the work of a thread that a subagent began to the session of that one, and that
// of a file which ends as a subagent does to the session that began before it.
func adopt(files []*file) {
	parents, began := make(map[string]string), make(map[string]time.Time)
	for _, r := range files {
		if s := r.sessions[r.session]; s != nil && (began[r.session].IsZero() || s.Began.Before(began[r.session])) {
			began[r.session] = s.Began
		}
		if r.sub && r.own != "" {
			parents[r.own] = r.session
		}
	}
	for _, r := range files {
		if s := r.sessions[r.session]; r.delegated && s.Began.After(began[r.session]) {
			s.Each(func(f *Fact) { f.Agent, f.sub = fileName(r.path), true })
		}
		id := r.session
		for range len(parents) {
			id = cmp.Or(parents[id], id)
		}
		if s := r.sessions[r.session]; r.sub && r.own != "" && s != nil && id != r.session {
			delete(r.sessions, r.session)
			r.sessions[id] = s
		}
	}
}

// alone makes the file of a thread whose parent's file is gone a session by itself.
func (r *file) alone(owned map[string]bool) {
	for id, s := range r.sessions {
		if !r.sub || r.own == "" || owned[id] {
			continue
		}
		s.Each(func(f *Fact) {
			if f.Agent == r.own {
				f.Agent, f.sub = "", false
			}
			f.Held = nil
		})
		delete(r.sessions, id)
		s.own, s.holders = true, nil
		r.sessions[r.own] = s
	}
}

// Each visits what the session has.
func (s *Session) Each(visit func(*Fact)) {
	for _, q := range s.Requests {
		visit(&q.Fact)
	}
	for _, q := range s.Calls {
		visit(&q.Fact)
	}
	for i := range s.Prompts {
		visit(&s.Prompts[i].Fact)
	}
	for _, t := range s.Turns {
		visit(&t.Fact)
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
			have.shared(c.Agent)
			have.copied = have.copied && c.copied
			have.Answered, have.Status = have.Answered || c.Answered, max(have.Status, c.Status)
			have.Name = cmp.Or(have.Name, c.Name)
			if have.File == "" {
				have.Fact = c.Fact
			}
			continue
		}
		old.Calls[id] = c
	}
	for _, p := range s.Prompts {
		old.addPrompt(s.rank[1], p)
	}
	old.Files, old.Turns = append(old.Files, s.Files...), append(old.Turns, s.Turns...)
	old.Unsummed = old.Unsummed || s.Unsummed
	old.own, old.copied, old.holders = old.own || s.own, old.copied || s.copied, append(old.holders, s.holders...)
	if old.Began.IsZero() || !s.Began.IsZero() && s.Began.Before(old.Began) {
		old.Began = s.Began
	}
	if s.Ended.After(old.Ended) {
		old.Ended = s.Ended
	}
}

// shared notes that another agent's file has it as well, so that it may be of either.
func (f *Fact) shared(agent string) {
	if f.Agent != agent && f.Agent != "" && agent != "" {
		f.Agent = "?"
	}
}

// shortID is the length up to which ids are taken to be those of one session or agent alone.
const shortID = 12

// copies reports that two calls with one id are the same.
func (c *Call) copies(id string, other *Call) bool {
	return len(id) > shortID || c.At.Equal(other.At) || c.copied || other.copied
}

// orphans gives sessions whose own file is gone to the first one with a copy.
func (out *Reading) orphans(began func(x, y string) int) {
	for _, s := range out.Sessions {
		if s.own { // what a subagent is asked is no prompt
			s.Prompts = slices.DeleteFunc(s.Prompts, func(p Prompt) bool { return p.sub })
			s.Turns = slices.DeleteFunc(s.Turns, func(t *Turn) bool { return t.sub })
		}
	}
	for _, id := range slices.Sorted(maps.Keys(out.Sessions)) {
		if s := out.Sessions[id]; !s.own && len(s.holders) > 0 {
			delete(out.Sessions, id)
			out.merge(slices.MinFunc(s.holders, began), s)
		}
	}
}

// promptless is the turn of a session of which only requests and calls are left.
func (s *Session) promptless() *Turn {
	t := &Turn{Fact: Fact{At: s.Began}, Unclear: true}
	s.Each(func(f *Fact) {
		if t.At.IsZero() || f.At.Before(t.At) {
			t.Fact = Fact{At: f.At, File: f.File, Line: f.Line}
		}
		if f.At.After(t.Last) {
			t.Last = f.At
		}
	})
	return t
}

// once leaves what several sessions have to the one that began first, where a row that does
// not say that it is a copy comes before one that does. A session whose own file is gone is
// part of the first one with a copy of it.
func (out *Reading) once() {
	began := func(x, y string) int {
		a, b := out.Sessions[x], out.Sessions[y]
		if a == nil || b == nil {
			return cmp.Compare(x, y)
		}
		return cmp.Or(a.Began.Compare(b.Began), cmp.Compare(x, y))
	}
	out.orphans(began)
	for _, s := range out.Sessions {
		if len(s.Turns) == 0 && len(s.Requests)+len(s.Calls) > 0 { // no prompt is left, nor how it ended
			s.Turns = append(s.Turns, s.promptless())
		}
	}
	order := slices.SortedFunc(maps.Keys(out.Sessions), began)
	requests, calls := make(map[string]*Request), make(map[string]*Call)
	prompts, turns := make(map[string]bool), make(map[string]bool)
	held := make(map[string][]string) // the sessions with copies of prompts
	again := func(seen map[string]bool, key string, copied bool) bool {
		known := seen[key] && key != "" && (copied || !strings.HasPrefix(key, ordinal))
		seen[key] = true
		return known
	}
	for _, copied := range []bool{false, true} {
		for _, id := range order {
			s := out.Sessions[id]
			if copied && !s.copied {
				continue
			}
			maps.DeleteFunc(s.Requests, func(key string, q *Request) bool {
				first := requests[key]
				if q.copied != copied {
					return false
				}
				if first == nil {
					requests[key] = q
					return false
				}
				first.Held = append(append(first.Held, id), q.Held...)
				return true
			})
			maps.DeleteFunc(s.Calls, func(key string, c *Call) bool {
				first := calls[key]
				switch {
				case c.copied != copied:
					return false
				case c.File == "":
					if s.Results == nil {
						s.Results = make(map[string]bool)
					}
					s.Results[key] = true
					return true
				case first == nil || !c.copies(key, first):
					calls[key] = c
					return false
				}
				first.Held = append(append(first.Held, id), c.Held...)
				return true
			})
			s.Prompts = slices.DeleteFunc(s.Prompts, func(p Prompt) bool {
				if p.copied != copied || !again(prompts, p.key, copied) {
					return false
				}
				held[p.key] = append(held[p.key], id)
				return true
			})
			s.Turns = slices.DeleteFunc(s.Turns, func(t *Turn) bool {
				return t.copied == copied && again(turns, t.key, copied)
			})
		}
	}
	for _, s := range out.Sessions {
		for i := range s.Prompts {
			s.Prompts[i].Held = append(s.Prompts[i].Held, held[s.Prompts[i].key]...)
		}
	}
}
