package deliver

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/checkout"
	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/spool"
)

// checkoutsFile has what was checked out where a session's agents worked, for all destinations:
// what is delivered again is then equal.
const checkoutsFile = "checkouts"

// maxNotes is of how many worktrees a session keeps a note.
const maxNotes = 8

// whereabouts is what the file holds.
type whereabouts struct {
	Version int `json:"v"`
	// Commits are those that calls made, by the hashes of the events of their ends.
	Commits map[uint64][]string `json:"commits,omitempty"`
	// Until is up to when the checkouts are known.
	Until     time.Time       `json:"until"`
	Checkouts hook.Checkouts  `json:"checkouts"`
	Notes     []checkout.Note `json:"notes"` // the newest last
}

// worked is what events say about where agents work, and about commands of git.
type worked struct {
	moves hook.Moves
	open  map[string]*hook.OpenCalls[hook.Move] // by agent
	calls []gitCall
}

// note takes over what an event says.
func (w *worked) note(e *hook.Event) {
	agent := ""
	if e.ParentAgent != "" {
		agent = e.Agent
	}
	w.moves.Add(agent, e.At(), e.Cwd)
	if e.Tool == nil {
		return
	}
	printed := checkout.Printed(cmp.Or(e.Tool.Output, e.Tool.Error))
	if len(printed) == 0 && !strings.Contains(e.Tool.Input, "git") {
		return
	}
	key := hook.CallKey{ID: e.Tool.ID, Name: e.Tool.Name, Input: uint64(crc32.ChecksumIEEE([]byte(e.Tool.Input)))}
	if w.open == nil {
		w.open = make(map[string]*hook.OpenCalls[hook.Move])
	}
	open := cmp.Or(w.open[agent], new(hook.OpenCalls[hook.Move]))
	w.open[agent] = open
	switch e.Kind {
	case hook.KindToolStart:
		open.Start(key, hook.Move{At: e.At(), Cwd: e.Cwd})
	case hook.KindToolEnd:
		begun, ok := open.End(key)
		if !ok {
			begun = hook.Move{At: e.At(), Cwd: e.Cwd}
		}
		if e.Tool.Status.Failed() && len(printed) == 0 {
			return
		}
		c := gitCall{call: checkout.Call{Begun: begun.At, Ended: e.At(), Printed: printed}, end: e.Hash, id: e.Tool.ID, ok: e.Tool.Status == hook.ToolOK}
		c.place(begun.Cwd, e.Tool.Input)
		if e.Tool.Status.Failed() { // after it made commits
			c.id = ""
		}
		w.calls = append(w.calls, c)
	}
}

// succeed takes the commands from the calls that neither their hooks nor the host's files say have
// succeeded. An id that comes again is of such a call if all with it are, and the files have as many.
func (w *worked) succeed(tr *hook.Transcript) {
	var ok map[string]bool
	for i := range w.calls {
		c := &w.calls[i]
		if ok == nil && !c.ok && tr != nil {
			ok = make(map[string]bool)
			left := make(map[string]int)
			for _, r := range tr.ToolResults {
				was, again := ok[r.ID]
				ok[r.ID] = r.Status == hook.ToolOK && (was || !again)
				left[r.ID]++
			}
			seen := make(map[[3]string]bool) // a copy of an event is of the same call
			for _, of := range w.calls {
				if k := [3]string{of.id, of.call.Command, strings.Join(of.dirs, "\x00")}; !seen[k] {
					seen[k] = true
					left[of.id]--
					ok[of.id] = ok[of.id] && left[of.id] >= 0
				}
			}
		}
		if !c.ok && (c.id == "" || !ok[c.id]) {
			c.call.Command = ""
		}
	}
}

// readWhereabouts reads the file. One that is damaged counts as missing.
func readWhereabouts(s *spool.Session) (w whereabouts, err error) {
	b, err := s.ReadFile(checkoutsFile + ".json")
	if err == nil && json.Unmarshal(b, &w) != nil {
		w = whereabouts{}
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return w, err
}

// locate finds out what was checked out up to the newest event, unless that was noted when it
// was delivered before.
func (p *reading) locate(ctx context.Context, s *spool.Session, due []*otelmap.Run, tr *hook.Transcript) {
	if p.Look == nil || len(p.worked.moves) == 0 {
		return
	}
	p.worked.succeed(tr)
	w, err := p.look(ctx, s, due)
	if err != nil {
		p.logf("session %q of %s: what was checked out is not noted: %v", p.session, p.host, err)
	}
	w.tell(p.builder)
}

// tell gives the builder what is known.
func (w *whereabouts) tell(b *otelmap.Builder) {
	w.Checkouts.Sort()
	b.In(w.Checkouts, w.Commits)
}

func (p *reading) look(ctx context.Context, s *spool.Session, due []*otelmap.Run) (whereabouts, error) {
	now, newest := p.at, p.last.At()
	if !p.more {
		now = p.Now()
	}
	for _, r := range due {
		if r.EndedAt.After(newest) {
			newest = r.EndedAt
		}
	}
	noted := func(w *whereabouts) bool { return !newest.After(w.Until) && !w.Until.After(p.Now().Add(clockStep)) }
	if w, err := readWhereabouts(s); err != nil || noted(&w) {
		return w, err
	}
	unlock, err := s.Lock(ctx, checkoutsFile)
	if err != nil {
		return whereabouts{}, err
	}
	defer func() { _ = unlock() }()
	w, err := readWhereabouts(s) // another process may have looked
	if err != nil || noted(&w) {
		return w, err
	}
	if w.Until.After(p.Now().Add(clockStep)) { // the clock was set back: its times mean nothing
		w = whereabouts{Commits: w.Commits, Checkouts: hook.Checkouts{{Unknown: true}}}
	}
	w.add(p.Look, &p.worked, p.begun, now)
	b, err := json.Marshal(w)
	if err != nil {
		return w, fmt.Errorf("encode %s: %w", checkoutsFile, err)
	}
	return w, s.WriteFile(checkoutsFile+".json", b)
}

// add looks at the worktrees in which agents have worked since a time. From now on nothing is
// known, until it is looked at again.
func (w *whereabouts) add(look func(dir string) *checkout.Look, of *worked, begun, now time.Time) {
	if !begun.After(w.Until) {
		begun = w.Until.Add(1)
	}
	looks := make(map[string]*checkout.Look)
	at := func(dir string) *checkout.Look {
		l := looks[dir]
		if l == nil {
			l = look(dir)
			for _, other := range looks {
				if l.Git != "" && l.Git == other.Git {
					l = other
				}
			}
			looks[dir] = l
		}
		return l
	}
	calls := w.commits(of.calls, at, begun)
	moves := slices.Clone(of.moves)
	slices.SortStableFunc(moves, hook.Move.Compare)
	lead, agents := make(map[string]bool), make(map[string]bool) // the lead agent's worktrees, and who was looked at
	for i := 0; i < len(moves); {
		first, l, agent := i, at(moves[i].Cwd), moves[i].Agent
		for i++; i < len(moves) && moves[i].Agent == agent && at(moves[i].Cwd) == l; i++ {
		}
		lead[l.Git] = lead[l.Git] || agent == ""
		from, to := period(moves, first, i, begun, now)
		if to.Before(from) || agent != "" && len(lead) == 1 && lead[l.Git] && w.last(agent) < 0 {
			continue // before that, or where the lead agent works
		}
		note := w.noted(l)
		found := l.During(note, from, to, calls[l.Git])
		if !agents[agent] && note != nil && note.Moved.Equal(l.Moved) {
			w.bridge(agent, found[0])
		}
		agents[agent] = true
		for _, c := range found {
			c.Agent = agent
			w.Checkouts.Add(c)
		}
	}
	for agent := range agents {
		w.Checkouts.Add(hook.Checkout{At: now.Add(1), Agent: agent, Unknown: true})
	}
	for _, l := range looks {
		w.Notes = slices.DeleteFunc(w.Notes, func(n checkout.Note) bool { return n.Git == l.Git })
		if l.Git != "" {
			w.Notes = append(w.Notes, l.Note())
		}
	}
	w.Version, w.Until, w.Notes = 1, now, w.Notes[max(0, len(w.Notes)-maxNotes):]
}

// period returns the part from one time to another in which an agent worked where the moves from
// first to next took it.
func period(moves hook.Moves, first, next int, from, to time.Time) (time.Time, time.Time) {
	if first > 0 && moves[first-1].Agent == moves[first].Agent && moves[first].At.After(from) {
		from = moves[first].At
	}
	if next < len(moves) && moves[next].Agent == moves[first].Agent && moves[next].At.Before(to) {
		to = moves[next].At
	}
	return from, to
}

// noted returns the note of a worktree, nil if there is none.
func (w *whereabouts) noted(l *checkout.Look) *checkout.Note {
	if n := slices.IndexFunc(w.Notes, func(n checkout.Note) bool { return n.Git == l.Git }); n >= 0 {
		return &w.Notes[n]
	}
	return nil
}

// last returns the place of an agent's last checkout, -1 if it has none.
func (w *whereabouts) last(agent string) int {
	for i, c := range slices.Backward(w.Checkouts) {
		if c.Agent == agent {
			return i
		}
	}
	return -1
}

// bridge takes back that nothing is known of an agent since the last look if what was found then
// is found again.
func (w *whereabouts) bridge(agent string, found hook.Checkout) {
	if i := w.last(agent); i >= 0 && w.Checkouts[i].Unknown && !found.Unknown {
		doubt := w.Checkouts[i]
		w.Checkouts = slices.Delete(w.Checkouts, i, i+1)
		if before := w.last(agent); before < 0 || w.Checkouts[before].Repository != found.Repository {
			w.Checkouts = append(w.Checkouts, doubt)
		}
	}
}

// commits notes those that calls made which ended after a time. It returns the calls by the
// worktrees that they certainly worked in.
func (w *whereabouts) commits(all []gitCall, at func(dir string) *checkout.Look, begun time.Time) map[string][]checkout.Call {
	if w.Commits == nil {
		w.Commits = make(map[uint64][]string)
	}
	looks, certain := make(map[*checkout.Look][]gitCall), make(map[string][]checkout.Call)
	for _, c := range all {
		if c.call.Ended.Before(begun) {
			continue
		}
		for _, dir := range c.dirs {
			l := at(dir)
			looks[l] = append(looks[l], c)
			if c.call.Command != "" {
				certain[l.Git] = append(certain[l.Git], c.call)
			}
		}
	}
	for l, of := range looks {
		calls := make([]checkout.Call, len(of))
		for i, c := range of {
			calls[i] = c.call
		}
		for i, made := range l.Commits(w.noted(l), calls) {
			if len(made) > 0 {
				w.Commits[of[i].end] = hook.Union(w.Commits[of[i].end], made)
			}
		}
	}
	return certain
}
