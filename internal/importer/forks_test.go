package importer

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/deliver"
	"github.com/hookspan/hookspan/internal/testkit/agentstest"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/internal/transcript/codex"
)

// asking is turns with a request in each, which has asked for the turn's call.
func asking(n int) *hook.Transcript {
	tr := turns(n)
	for i := range n {
		tr.Requests = append(tr.Requests, hook.Request{
			ID: fmt.Sprint("msg_", i), Turn: tr.Prompts[i].Turn, Start: at(60 * i), End: at(60*i + 1), Model: "m",
			Usage: &hook.Usage{Input: int64(10 + i), Output: 5}, ToolCallIDs: []string{tr.ToolResults[i].ID},
		})
	}
	return tr
}

// renamed is a copy of the rows of a session, with turns of its own.
func renamed(tr *hook.Transcript, prefix string) *hook.Transcript {
	for i := range tr.Prompts {
		turn := prefix + tr.Prompts[i].Turn
		tr.Prompts[i].Turn, tr.ToolResults[i].Turn, tr.Ends[i].Turn, tr.Requests[i].Turn = turn, turn, turn, turn
	}
	return tr
}

// TestForkWhoseOriginalIsGone imports a session, and then, without its files, one that has
// copies of its rows.
func TestForkWhoseOriginalIsGone(t *testing.T) {
	longer := func() *hook.Transcript { // the last turn goes on in the fork
		tr := renamed(asking(2), "f")
		tr.Requests = append(tr.Requests, hook.Request{ID: "msg_9", Turn: "fb", Start: at(90), End: at(91), Usage: &hook.Usage{Input: 7, Output: 1}, ToolCallIDs: []string{"t9"}})
		tr.ToolResults = append(tr.ToolResults, hook.ToolResult{ID: "t9", Turn: "fb", Name: "Bash", Asked: at(91), At: at(92)})
		tr.Ends[1].At = at(93)
		return tr
	}
	other := func(change func(*hook.Request)) *hook.Transcript {
		tr := renamed(asking(2), "f")
		for i := range tr.Requests {
			change(&tr.Requests[i])
		}
		return tr
	}
	for name, c := range map[string]struct {
		fork    *hook.Transcript
		removed bool
		again   bool
		runs    int
		spans   int
		want    Skipped
	}{
		"all of it":                    {fork: renamed(asking(2), "f"), want: Skipped{AlreadyThere: 2}},
		"and one turn more":            {fork: renamed(asking(3), "f"), runs: 1, spans: 3, want: Skipped{AlreadyThere: 2}},
		"removed from the store":       {fork: renamed(asking(3), "f"), removed: true, runs: 1, spans: 3, want: Skipped{Removed: 2}},
		"wanted again":                 {fork: renamed(asking(2), "f"), removed: true, again: true, runs: 2, spans: 6},
		"a turn that is there in part": {fork: longer(), runs: 1, spans: 3, want: Skipped{AlreadyThere: 1, Inherited: 1}},
		"a gateway's ids, other times": {fork: other(func(c *hook.Request) { c.Start, c.End = c.Start.Add(time.Millisecond), c.End.Add(time.Millisecond) }), runs: 2, spans: 6},
		"other tokens":                 {fork: other(func(c *hook.Request) { c.Usage.Output++ }), runs: 2, spans: 6},
		"no ids":                       {fork: other(func(c *hook.Request) { c.ID = "" }), runs: 2, spans: 6},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			if rep := w.run(w.importer(HostClaude), of("original", DialectClaude, asking(2))); rep.Runs != 2 {
				t.Fatalf("%d runs of the original, want 2", rep.Runs)
			}
			if c.removed {
				w.now = w.now.Add(time.Hour)
				w.prune(time.Minute)
			}
			im := w.importer(HostClaude)
			im.Again = c.again
			rep := w.run(im, of("fork", DialectClaude, c.fork))
			if rep.Runs != c.runs || rep.Spans != c.spans || rep.Skipped != c.want {
				t.Errorf("%d runs, %d spans, skipped %+v; want %d, %d and %+v", rep.Runs, rep.Spans, rep.Skipped, c.runs, c.spans, c.want)
			}
			if rep := w.run(w.importer(HostClaude), of("fork", DialectClaude, c.fork)); rep.Runs != 0 {
				t.Errorf("a second import stores %d runs", rep.Runs)
			}
		})
	}
}

// TestCodexForkWhoseOriginalIsGone has copies with the time of the fork and the turns of the
// original.
func TestCodexForkWhoseOriginalIsGone(t *testing.T) {
	for name, removed := range map[string]bool{"stored": false, "removed from the store": true} {
		t.Run(name, func(t *testing.T) {
			f := home(t, map[string]string{".codex": filepath.Join("testdata", "codex-fork")})
			w := newWorld(t)
			w.now = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
			f.Now = func() time.Time { return w.now }
			imported := func() *Report {
				found, err := Sessions(t.Context(), f, codex.Agent)
				if err != nil {
					t.Fatal(err)
				}
				im := w.importer(codex.Agent.Host)
				im.Agent, im.Deliverer.Sources = codex.Agent, map[string]deliver.Source{codex.Agent.Host: {Agent: agentstest.Mapping(codex.Agent.Host)}}
				return w.run(im, found...)
			}
			before := imported().Runs
			if removed {
				w.now = w.now.Add(time.Hour)
				w.prune(time.Minute)
			}
			if err := os.RemoveAll(filepath.Join(f.Home, ".codex", "sessions", "2026", "11", "10")); err != nil {
				t.Fatal(err)
			}
			w.now = w.now.Add(time.Hour)
			if rep := imported(); before != 2 || rep.Runs != 0 {
				t.Errorf("%d runs, and without the original's file %d more, skipped %+v; want 2 and none", before, rep.Runs, rep.Skipped)
			}
		})
	}
}

// TestCodexReadsAgainWhatIsRelated imports a session and its fork, and one that has nothing to
// do with them, and imports again after a file was written.
func TestCodexReadsAgainWhatIsRelated(t *testing.T) {
	const day, id = "11/20/rollout-2026-11-20T10-00-00-", "01a20017-0000-7000-8000-00000000000"
	f := home(t, map[string]string{".codex": filepath.Join("testdata", "codex-fork")})
	path := func(name string) string {
		return filepath.Join(f.Home, ".codex", "sessions", "2026", filepath.FromSlash(name)+".jsonl")
	}
	row := func(payload string) string {
		return `{"timestamp":"2026-11-20T10:00:00Z","type":"session_meta","payload":` + payload + "}\n"
	}
	write := func(name, text string) {
		if err := errors.Join(os.MkdirAll(filepath.Dir(path(name)), 0o700), os.WriteFile(path(name), []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	write(day+id+"8", row(`{"id":"`+id+`8"}`))
	w := newWorld(t)
	w.now = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	f.Now = func() time.Time { return w.now }
	for _, c := range []struct {
		name            string
		change          func()
		read, unchanged int
	}{
		{"all is new", func() {}, 3, 0},
		{"nothing is new", func() {}, 0, 3},
		{"the original has another row", func() {
			const name = "11/10/rollout-2026-11-10T10-00-00-" + id + "0"
			text, err := os.ReadFile(path(name))
			if err != nil {
				t.Fatal(err)
			}
			write(name, string(text)+`{"timestamp":"2026-11-20T10:00:00Z","type":"world_state","payload":{}}`+"\n")
		}, 2, 1},
		{"a subagent of the fork begins", func() {
			write(day+id+"2", row(`{"id":"`+id+`2","source":{"subagent":{"thread_spawn":{"parent_thread_id":"`+id+`1"}}}}`))
		}, 2, 1},
		{"the original is gone", func() {
			if err := os.RemoveAll(filepath.Dir(path("11/10/x"))); err != nil {
				t.Fatal(err)
			}
		}, 1, 1},
	} {
		c.change()
		found, err := Sessions(t.Context(), f, codex.Agent)
		if err != nil {
			t.Fatal(err)
		}
		im := w.importer(codex.Agent.Host)
		im.Agent, im.Deliverer.Sources = codex.Agent, map[string]deliver.Source{codex.Agent.Host: {Agent: agentstest.Mapping(codex.Agent.Host)}}
		if rep := w.run(im, found...); rep.Sessions != c.read || rep.Unchanged != c.unchanged {
			t.Errorf("%s: %d sessions read, %d unchanged, want %d and %d", c.name, rep.Sessions, rep.Unchanged, c.read, c.unchanged)
		}
		w.now = w.now.Add(time.Hour)
	}
}

// TestSessionsOfOneTrace imports sessions that were started in one context, as steps of a
// build are, when they are stored and when they have been removed.
func TestSessionsOfOneTrace(t *testing.T) {
	const context = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	sessions := func() (list []Session) {
		for i, id := range []string{"one", "two", "three"} {
			tr := asking(2)
			for k := range tr.Requests {
				tr.Requests[k].ID += fmt.Sprint("/", i)
			}
			list = append(list, of(id, DialectClaude, tr))
		}
		return list
	}
	for name, c := range map[string]struct {
		removed bool
		want    Skipped
	}{"stored": {want: Skipped{AlreadyThere: 6}}, "removed": {removed: true, want: Skipped{Removed: 6}}} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			im := w.importer(HostClaude)
			im.Deliverer.Map.Traceparent = context
			if rep := w.run(im, sessions()...); rep.Runs != 6 {
				t.Fatalf("%d runs, want 6", rep.Runs)
			}
			for _, id := range []string{"one", "two", "three"} {
				roots, err := w.store.Conversations(t.Context(), id)
				if err != nil || len(roots) != 2 || roots[0].Session != id {
					t.Errorf("session %s has the roots %+v, %v; want 2", id, roots, err)
				}
			}
			if c.removed {
				w.now = w.now.Add(time.Hour)
				w.prune(time.Minute)
			}
			rep := w.run(w.importer(HostClaude), sessions()...)
			if rep.Runs != 0 || rep.Skipped != c.want {
				t.Errorf("%d runs, skipped %+v; want none and %+v", rep.Runs, rep.Skipped, c.want)
			}
		})
	}
}

var _ Known = (*store.Store)(nil)
