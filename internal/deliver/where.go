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

// maxCommand is the longest command that is searched for those of git, in bytes, and maxNotes of
// how many worktrees a session keeps a note.
const (
	maxCommand = 4 << 10
	maxNotes   = 8
)

// whereabouts is what the file holds.
type whereabouts struct {
	Version int `json:"v"`
	// Until is up to when the checkouts are known.
	Until     time.Time       `json:"until"`
	Checkouts hook.Checkouts  `json:"checkouts"`
	Notes     []checkout.Note `json:"notes"` // the newest last
}

// worked is what events say about where agents work, and about commands of git.
type worked struct {
	moves hook.Moves
	open  hook.OpenCalls[time.Time]
	calls []checkout.Call
}

// note takes over what an event says.
func (w *worked) note(e *hook.Event) {
	agent := ""
	if e.ParentAgent != "" {
		agent = e.Agent
	}
	w.moves.Add(agent, e.At(), e.Cwd)
	if e.Tool == nil || !strings.Contains(e.Tool.Input, "git") {
		return
	}
	key := hook.CallKey{ID: e.Tool.ID, Name: e.Tool.Name, Input: uint64(crc32.ChecksumIEEE([]byte(e.Tool.Input)))}
	switch e.Kind {
	case hook.KindToolStart:
		w.open.Start(key, e.At())
	case hook.KindToolEnd:
		if begun, ok := w.open.End(key); ok && !e.Tool.Status.Failed() {
			w.calls = append(w.calls, checkout.Call{Begun: begun, Ended: e.At(), Command: e.Tool.Input[:min(len(e.Tool.Input), maxCommand)]})
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

// locate finds out what was checked out during runs, unless that was noted when they were
// delivered before.
func (p *reading) locate(ctx context.Context, s *spool.Session, due []*otelmap.Run) {
	if p.Look == nil || len(p.worked.moves) == 0 {
		return
	}
	w, err := p.look(ctx, s, due)
	if err != nil {
		p.logf("session %q of %s: what was checked out is not noted: %v", p.session, p.host, err)
	}
	w.Checkouts.Sort()
	p.builder.In(w.Checkouts)
}

func (p *reading) look(ctx context.Context, s *spool.Session, due []*otelmap.Run) (whereabouts, error) {
	begin, end := due[0].Begun(), due[0].EndedAt
	for _, r := range due[1:] {
		if r.Begun().Before(begin) {
			begin = r.Begun()
		}
		if r.EndedAt.After(end) {
			end = r.EndedAt
		}
	}
	if w, err := readWhereabouts(s); err != nil || !end.After(w.Until) {
		return w, err
	}
	unlock, err := s.Lock(ctx, checkoutsFile)
	if err != nil {
		return whereabouts{}, err
	}
	defer func() { _ = unlock() }()
	w, err := readWhereabouts(s) // another process may have looked
	if err != nil || !end.After(w.Until) {
		return w, err
	}
	if begin.Before(w.Until) {
		begin = w.Until
	}
	w.add(p.Look, &p.worked, begin, end)
	b, err := json.Marshal(w)
	if err != nil {
		return w, fmt.Errorf("encode %s: %w", checkoutsFile, err)
	}
	return w, s.WriteFile(checkoutsFile+".json", b)
}

// add looks at the worktrees in which agents worked from one time to another.
func (w *whereabouts) add(look func(dir string) *checkout.Look, of *worked, begin, end time.Time) {
	looks := make(map[string]*checkout.Look)
	at := func(dir string) *checkout.Look {
		if looks[dir] == nil {
			looks[dir] = look(dir)
		}
		return looks[dir]
	}
	moves := slices.Clone(of.moves)
	slices.SortStableFunc(moves, hook.Move.Compare)
	lead := make(map[string]bool) // the worktrees of the lead agent
	for i := 0; i < len(moves); {
		first, l := i, at(moves[i].Cwd)
		for i++; i < len(moves) && moves[i].Agent == moves[first].Agent && at(moves[i].Cwd).Git == l.Git; i++ {
		}
		from, to, agent := begin, end, moves[first].Agent
		if first > 0 && moves[first-1].Agent == agent && moves[first].At.After(from) {
			from = moves[first].At
		}
		if i < len(moves) && moves[i].Agent == agent && moves[i].At.Before(to) {
			to = moves[i].At
		}
		if agent == "" {
			lead[l.Git] = true
		}
		if to.Before(from) || agent != "" && len(lead) == 1 && lead[l.Git] {
			continue
		}
		var note *checkout.Note
		if n := slices.IndexFunc(w.Notes, func(n checkout.Note) bool { return n.Git == l.Git }); n >= 0 {
			note = &w.Notes[n]
		}
		for _, c := range l.During(note, from, to, of.calls) {
			c.Agent = agent
			w.Checkouts.Add(c)
		}
	}
	for _, l := range looks {
		w.Notes = slices.DeleteFunc(w.Notes, func(n checkout.Note) bool { return n.Git == l.Git })
		if l.Git != "" {
			w.Notes = append(w.Notes, l.Note())
		}
	}
	w.Version, w.Until, w.Notes = 1, end, w.Notes[max(0, len(w.Notes)-maxNotes):]
}
