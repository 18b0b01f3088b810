package agentfiles

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hookspan/hookspan/internal/pattern"
)

func newSession() *Session {
	return &Session{Requests: make(map[string]*Request), Results: make(map[string]bool), prompts: make(map[string]bool), calls: make(map[string][]*Call)}
}

// Without returns the session without that of which out reports true.
func (s *Session) Without(out func(Fact) bool) *Session {
	part := *s
	part.Requests = maps.Clone(s.Requests)
	maps.DeleteFunc(part.Requests, func(_ string, q *Request) bool { return out(q.Fact) })
	part.Calls = slices.DeleteFunc(slices.Clone(s.Calls), func(q *Call) bool { return out(q.Fact) })
	part.Prompts = slices.DeleteFunc(slices.Clone(s.Prompts), func(p *Prompt) bool { return out(p.Fact) })
	part.Turns = slices.DeleteFunc(slices.Clone(s.Turns), func(t *Turn) bool { return out(t.Fact) })
	return &part
}

// Dirs are the folders that the session and its subagents worked in, as far as rows name them.
func (s *Session) Dirs() []string {
	dirs := make(map[string]bool)
	s.each(func(_ key, f *Fact) { dirs[f.Dir], dirs[f.EndDir] = true, true })
	delete(dirs, "")
	return slices.Collect(maps.Keys(dirs))
}

// Hide has these turns and the calls without the ends that are of folders which are off: whether
// such a turn has a run, and how it or such a call ended, is not known.
func (s *Session) Hide(turns []*Turn, off map[string]bool) {
	s.Turns = nil
	for _, t := range turns {
		turn := *t
		if off[t.Dir] || off[t.EndDir] {
			turn.key, turn.Answered, turn.Unclear = "", false, true
		}
		s.Turns = append(s.Turns, &turn)
	}
	for i, q := range s.Calls {
		call := *q
		call.Hidden = off[q.EndDir]
		s.Calls[i] = &call
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
		if r.sub && r.owner != "" {
			parents[r.owner] = r.session
		}
	}
	for _, r := range files {
		s, id := r.sessions[r.session], r.session
		if s == nil {
			continue
		}
		if r.delegated && s.Began.After(began[r.session]) {
			s.each(func(_ key, f *Fact) { f.Agent, f.sub = fileName(r.path), true })
		}
		for n := len(parents); n > 0 && parents[id] != ""; n-- {
			id = parents[id]
		}
		if r.sub && r.owner != "" && id != r.session {
			delete(r.sessions, r.session)
			r.sessions[id] = s
		}
	}
}

// gather gives the sessions what the files have of them. Rows of another session may be of the file's,
// too; those of a session without a file are, and so is a thread whose parent has none.
func (out *Reading) gather(files []*file) {
	owned := make(map[string]bool)
	for _, r := range files {
		for id := range r.sessions {
			owned[id] = owned[id] || r.owner == "" || r.owner == id
		}
	}
	for _, r := range files {
		for _, id := range slices.Sorted(maps.Keys(r.sessions)) {
			s := r.sessions[id]
			if owned[id] {
				out.merge(id, s)
			}
			if r.owner == "" || r.owner == id {
				continue
			}
			if !owned[id] {
				s.each(func(_ key, f *Fact) {
					if r.sub && f.Agent == r.owner {
						f.Agent, f.sub = "", false
					}
				})
				out.merge(r.owner, s)
			} else if !r.sub {
				if out.Sessions[r.owner] == nil {
					out.Sessions[r.owner] = newSession()
				}
				out.merge(r.owner, &Session{Requests: s.Requests, Calls: s.Calls, Prompts: s.Prompts, Turns: s.Turns, Files: s.Files, rank: s.rank, copied: s.copied})
			}
		}
	}
	for _, s := range out.Sessions {
		s.Calls = slices.DeleteFunc(s.Calls, func(c *Call) bool {
			s.Results[c.ID] = s.Results[c.ID] || c.File == ""
			return c.File == ""
		})
		if len(s.Turns) == 0 && len(s.Requests)+len(s.Calls) > 0 { // no prompt is left, nor how it ended
			s.Turns = append(s.Turns, s.promptless())
		}
	}
}

// key is what the copies of a request, a call, a prompt or a turn have in common, empty for none.
type key struct {
	of  byte
	nth int
	id  string
}

// each visits what the session has.
func (s *Session) each(visit func(key, *Fact)) {
	for _, q := range s.Requests {
		visit(key{'r', 0, q.ID}, &q.Fact)
	}
	for _, q := range s.Calls {
		visit(key{'c', q.nth, q.ID}, &q.Fact)
	}
	for _, p := range s.Prompts {
		visit(key{'p', 0, p.key}, &p.Fact)
	}
	for _, t := range s.Turns {
		visit(key{'t', 0, t.key}, &t.Fact)
	}
}

// merge takes in what a file, or a session without one, says of a session.
func (out *Reading) merge(id string, s *Session) {
	// What a subagent is asked is no prompt.
	s.Prompts = slices.DeleteFunc(s.Prompts, func(p *Prompt) bool { return p.sub })
	s.Turns = slices.DeleteFunc(s.Turns, func(t *Turn) bool { return t.sub })
	old := out.Sessions[id]
	if old == nil {
		out.Sessions[id] = s
		return
	}
	for _, q := range s.Requests {
		old.addRequest(s.rank[0], q)
	}
	for _, c := range s.Calls {
		same := func(one *Call) bool { return c.File == "" || one.File == "" || c.same(&one.Fact) }
		i := slices.IndexFunc(old.calls[c.ID], same)
		if i < 0 {
			old.addCall(c)
			continue
		}
		have := old.calls[c.ID][i]
		have.shared(c.Agent)
		have.copied = have.copied && c.copied
		have.Answered, have.Status = have.Answered || c.Answered, max(have.Status, c.Status)
		have.Name = cmp.Or(have.Name, c.Name)
		if have.File == "" {
			c.EndDir = have.EndDir
			have.Fact = c.Fact
		}
	}
	for _, p := range s.Prompts {
		old.addPrompt(s.rank[1], p)
	}
	old.Files, old.Turns = append(old.Files, s.Files...), append(old.Turns, s.Turns...)
	old.Unsummed, old.copied = old.Unsummed || s.Unsummed, old.copied || s.copied
	if old.Began.IsZero() || !s.Began.IsZero() && s.Began.Before(old.Began) {
		old.Began = s.Began
	}
	old.Ended = later(old.Ended, s.Ended)
}

// shared notes that another agent's file has it as well, so that it may be of either.
func (f *Fact) shared(agent string) {
	if f.Agent != agent && f.Agent != "" && agent != "" {
		f.Agent = "?"
	}
}

// shortID is the length up to which ids are taken to be those of one session or agent alone, as
// are those that end with a number of the session's calls: functions.bash:7.
const shortID = 12

var numbered = pattern.Of(`:\d{1,5}$`)

// same reports that two calls with one id are the same.
func (f *Fact) same(other *Fact) bool {
	return !f.short || f.At.Equal(other.At) || f.copied || other.copied
}

// promptless is the turn of a session of which only requests and calls are left.
func (s *Session) promptless() *Turn {
	t := &Turn{Fact: Fact{At: s.Began}, Unclear: true}
	s.each(func(_ key, f *Fact) {
		if t.At.IsZero() || f.At.Before(t.At) {
			t.Fact = Fact{At: f.At, File: f.File, Line: f.Line}
		}
		t.Last = later(t.Last, f.At)
	})
	return t
}

// later is the later one of two times.
func later(x, y time.Time) time.Time {
	if y.After(x) {
		return y
	}
	return x
}

// Settle leaves what several sessions have to one of them: to the first for which other reports
// that it has it and the one before has not, else to the one that began first. What is a copy by its
// row comes after what is none.
func (out *Reading) Settle(other func(first, second string, f *Fact) bool) {
	order := slices.SortedFunc(maps.Keys(out.Sessions), func(x, y string) int {
		a, b := out.Sessions[x].Began, out.Sessions[y].Began
		return cmp.Or(cmp.Compare(min(b.Unix(), 0), min(a.Unix(), 0)), a.Compare(b), cmp.Compare(x, y)) // one with nothing but others' rows is last
	})
	facts := 0
	for _, s := range out.Sessions {
		facts += len(s.Requests) + len(s.Calls) + len(s.Prompts) + len(s.Turns)
	}
	seen := make(map[key]*Fact, facts)
	for _, copied := range []bool{false, true} {
		for _, id := range order {
			s := out.Sessions[id]
			if copied && !s.copied {
				continue
			}
			s.each(func(k key, f *Fact) {
				first := seen[k]
				switch {
				case f.copied != copied:
				case k.id == "" && k.of != 'c' || first != nil && !copied && strings.HasPrefix(k.id, ordinal):
					f.of = cmp.Or(f.of, id)
				case first == nil || f.short && !f.same(first):
					seen[k], f.of = f, id
				case other(first.of, id, first):
					out.Sessions[first.of].Left = true
					first.of, f.of, seen[k] = "", id, f
				}
			})
		}
	}
	for id, s := range out.Sessions {
		shared := false
		s.each(func(_ key, f *Fact) { shared = shared || f.of != id })
		left := s
		if shared {
			left = s.Without(func(f Fact) bool { return f.of != id })
			out.Sessions[id] = left
		}
		if len(left.Requests)+len(left.Calls)+len(left.Prompts)+len(left.Turns) == 0 {
			delete(out.Sessions, id)
		}
	}
}
