package agentfiles

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
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
	return &Session{Requests: make(map[string]*Request), Results: make(map[string]bool), prompts: make(map[string]bool), calls: make(map[string][]*Call)}
}

// Give gives the prompts of which is reports true, and the turns that they began, to another
// session.
func (s *Session) Give(to *Session, is func(Fact) bool) {
	kept := s.Without(is)
	for _, p := range s.Prompts {
		if is(p.Fact) {
			to.addPrompt(to.rank[1], p)
		}
	}
	for _, t := range s.Turns {
		if is(t.Fact) {
			to.Turns = append(to.Turns, t)
		}
	}
	s.Prompts, s.Turns = kept.Prompts, kept.Turns
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
	s.Each(func(f *Fact) { dirs[f.Dir], dirs[f.EndDir] = true, true })
	delete(dirs, "")
	return slices.Collect(maps.Keys(dirs))
}

// Hide has these turns and the calls without the ends that are of folders which are off: whether
// such a turn has a run, and how it or such a call ended, is not known.
func (s *Session) Hide(turns []*Turn, off map[string]bool) {
	s.Turns = nil
	for _, t := range turns {
		if off[t.Dir] || off[t.EndDir] {
			hidden := *t
			hidden.key, hidden.Answered, hidden.Unclear = "", false, true
			t = &hidden
		}
		s.Turns = append(s.Turns, t)
	}
	for i, q := range s.Calls {
		if off[q.EndDir] {
			hidden := *q
			hidden.Hidden = true
			s.Calls[i] = &hidden
		}
	}
}

// adopt gives the work of a thread that a subagent began to the session of that one, and that
// of a file which ends as a subagent does to the session that began before it. The file of a thread
// whose parent's file is gone is a session by itself.
func adopt(files []*file) {
	parents, began, owned := make(map[string]string), make(map[string]time.Time), make(map[string]bool)
	for _, r := range files {
		if s := r.sessions[r.session]; s != nil && (began[r.session].IsZero() || s.Began.Before(began[r.session])) {
			began[r.session] = s.Began
		}
		if r.sub && r.owner != "" {
			parents[r.owner] = r.session
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
		if s := r.sessions[r.session]; r.sub && r.owner != "" && s != nil && id != r.session {
			delete(r.sessions, r.session)
			r.sessions[id] = s
		}
		for id, s := range r.sessions {
			owned[id] = owned[id] || s.owned
		}
	}
	for _, r := range files {
		for id, s := range r.sessions {
			if !r.sub || r.owner == "" || owned[id] {
				continue
			}
			s.Each(func(f *Fact) {
				if f.Agent == r.owner {
					f.Agent, f.sub = "", false
				}
				f.Held = nil
			})
			delete(r.sessions, id)
			s.owned, s.holders = true, nil
			r.sessions[r.owner] = s
		}
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
	for _, p := range s.Prompts {
		visit(&p.Fact)
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
	for _, q := range s.Requests {
		old.addRequest(s.rank[0], q)
	}
	for _, c := range s.Calls {
		same := func(one *Call) bool { return c.File == "" || one.File == "" || c.copies(&one.Fact) }
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
	old.Unsummed = old.Unsummed || s.Unsummed
	old.owned, old.copied, old.holders = old.owned || s.owned, old.copied || s.copied, append(old.holders, s.holders...)
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

var numbered = regexp.MustCompile(`:\d{1,5}$`)

// copies reports that two calls with one id are the same. The Gemini CLI puts the tool's name
// before the model's id.
func (c *Call) copies(other *Fact) bool {
	id := strings.TrimPrefix(c.ID, c.Name+"__")
	return len(id) > shortID && !numbered.MatchString(id) || c.At.Equal(other.At) || c.copied || other.copied
}

// orphans gives sessions whose own file is gone to the first one with a copy.
func (out *Reading) orphans(began func(x, y string) int) {
	for _, s := range out.Sessions {
		if s.owned { // what a subagent is asked is no prompt
			s.Prompts = slices.DeleteFunc(s.Prompts, func(p *Prompt) bool { return p.sub })
			s.Turns = slices.DeleteFunc(s.Turns, func(t *Turn) bool { return t.sub })
		}
	}
	for _, id := range slices.Sorted(maps.Keys(out.Sessions)) {
		if s := out.Sessions[id]; !s.owned && len(s.holders) > 0 {
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
	requests, calls, prompts, turns := make(map[string]*Fact), make(map[string]*Fact), make(map[string]*Fact), make(map[string]*Fact)
	// again reports that what has a key was seen before, in a session that is now said to hold it.
	again := func(seen map[string]*Fact, id, key string, f *Fact) bool {
		first := seen[key]
		if first == nil {
			seen[key] = f
			return false
		}
		first.Held = append(append(first.Held, id), f.Held...)
		return true
	}
	for _, copied := range []bool{false, true} {
		for _, id := range slices.SortedFunc(maps.Keys(out.Sessions), began) {
			s := out.Sessions[id]
			if copied && !s.copied {
				continue
			}
			keyed := func(seen map[string]*Fact, key string, f *Fact) bool {
				alone := strings.HasPrefix(key, ordinal) && !copied && seen[key] != nil
				return f.copied == copied && key != "" && !alone && again(seen, id, key, f)
			}
			maps.DeleteFunc(s.Requests, func(key string, q *Request) bool { return q.copied == copied && again(requests, id, key, &q.Fact) })
			s.Calls = slices.DeleteFunc(s.Calls, func(c *Call) bool {
				key := fmt.Sprint(c.ID, "\n", c.nth)
				switch first := calls[key]; {
				case c.copied != copied:
					return false
				case c.File == "":
					s.Results[c.ID] = true
					return true
				case first != nil && !c.copies(first):
					calls[key] = &c.Fact
					return false
				}
				return again(calls, id, key, &c.Fact)
			})
			s.Prompts = slices.DeleteFunc(s.Prompts, func(p *Prompt) bool { return keyed(prompts, p.key, &p.Fact) })
			s.Turns = slices.DeleteFunc(s.Turns, func(t *Turn) bool { return keyed(turns, t.key, &t.Fact) })
		}
	}
}
