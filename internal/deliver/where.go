package deliver

import (
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
	open  hook.OpenCalls[hook.Move]
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
	printed := checkout.Printed(e.Tool.Output)
	if len(printed) == 0 && !strings.Contains(e.Tool.Input, "git") {
		return
	}
	key := hook.CallKey{ID: e.Tool.ID, Name: e.Tool.Name, Input: uint64(crc32.ChecksumIEEE([]byte(e.Tool.Input)))}
	switch e.Kind {
	case hook.KindToolStart:
		w.open.Start(key, hook.Move{At: e.At(), Cwd: e.Cwd})
	case hook.KindToolEnd:
		begun, ok := w.open.End(key)
		if !ok {
			begun = hook.Move{At: e.At(), Cwd: e.Cwd}
		}
		if e.Tool.Status == hook.ToolOK {
			c := gitCall{Call: checkout.Call{Begun: begun.At, Ended: e.At(), Printed: printed}, end: e.Hash}
			c.place(begun.Cwd, e.Tool.Input)
			w.calls = append(w.calls, c)
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
func (p *reading) locate(ctx context.Context, s *spool.Session, due []*otelmap.Run) {
	if p.Look == nil || len(p.worked.moves) == 0 {
		return
	}
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
	if w.Commits == nil {
		w.Commits = make(map[uint64][]string)
	}
	if !begun.After(w.Until) {
		begun = w.Until.Add(1)
	}
	looks := make(map[string]*checkout.Look)
	at := func(dir string) *checkout.Look {
		if looks[dir] == nil {
			looks[dir] = look(dir)
		}
		return looks[dir]
	}
	calls := make(map[string][]checkout.Call) // by worktree
	w.commits(of.calls, at, begun, calls)
	moves := slices.Clone(of.moves)
	slices.SortStableFunc(moves, hook.Move.Compare)
	lead := make(map[string]bool) // the worktrees of the lead agent
	agents := make(map[string]bool)
	for i := 0; i < len(moves); {
		first, l := i, at(moves[i].Cwd)
		for i++; i < len(moves) && moves[i].Agent == moves[first].Agent && at(moves[i].Cwd).Same(l); i++ {
		}
		from, to, agent := begun, now, moves[first].Agent
		if first > 0 && moves[first-1].Agent == agent && moves[first].At.After(from) {
			from = moves[first].At
		}
		if i < len(moves) && moves[i].Agent == agent && moves[i].At.Before(to) {
			to = moves[i].At
		}
		if agent == "" {
			lead[l.Git] = true
		}
		ofLead := agent != "" && len(lead) == 1 && lead[l.Git] && !slices.ContainsFunc(w.Checkouts, func(c hook.Checkout) bool { return c.Agent == agent })
		if to.Before(from) || ofLead {
			continue
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

// noted returns the note of a worktree, nil if there is none.
func (w *whereabouts) noted(l *checkout.Look) *checkout.Note {
	if n := slices.IndexFunc(w.Notes, func(n checkout.Note) bool { return n.Git == l.Git }); n >= 0 {
		return &w.Notes[n]
	}
	return nil
}

// bridge takes back that nothing is known of an agent since the last look if what was found then
// is found again.
func (w *whereabouts) bridge(agent string, found hook.Checkout) {
	ofAgent := func(list hook.Checkouts) int {
		for i, c := range slices.Backward(list) {
			if c.Agent == agent {
				return i
			}
		}
		return -1
	}
	doubt := ofAgent(w.Checkouts)
	if doubt < 0 || !w.Checkouts[doubt].Unknown || found.Unknown {
		return
	}
	if before := ofAgent(w.Checkouts[:doubt]); before >= 0 && w.Checkouts[before].Repository == found.Repository {
		w.Checkouts = slices.Delete(w.Checkouts, doubt, doubt+1)
	}
}

// commits notes those that calls made which ended after a time, and sorts the calls by the
// worktrees that they certainly worked in.
func (w *whereabouts) commits(all []gitCall, at func(dir string) *checkout.Look, begin time.Time, sorted map[string][]checkout.Call) {
	looks, ends := make(map[string]*checkout.Look), make(map[string][]uint64)
	calls := make(map[string][]checkout.Call)
	for _, c := range all {
		if c.Ended.Before(begin) {
			continue
		}
		seen := make(map[string]bool)
		for _, dir := range c.dirs {
			l := at(dir)
			if l.Git == "" || seen[l.Git] {
				continue
			}
			seen[l.Git], looks[l.Git] = true, l
			if c.Command != "" {
				sorted[l.Git] = append(sorted[l.Git], c.Call)
			}
			calls[l.Git], ends[l.Git] = append(calls[l.Git], c.Call), append(ends[l.Git], c.end)
		}
	}
	for git, l := range looks {
		for i, made := range l.Commits(w.noted(l), calls[git]) {
			for _, id := range made {
				w.Commits[ends[git][i]] = hook.Union(w.Commits[ends[git][i]], []string{id})
			}
		}
	}
}
