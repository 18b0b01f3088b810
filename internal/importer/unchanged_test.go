package importer

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/deliver"
	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/transcript"
	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/spool"
)

// claudeTurn is a turn of a Claude Code session as its file has it.
func claudeTurn(session string, n int) string {
	at := func(second int) string { return at(60*n + second).Format(time.RFC3339) }
	common := fmt.Sprintf(`"sessionId":%q,"cwd":"/home/dev/project","version":"2.1.329"`, session)
	return fmt.Sprintf(`{"type":"user","promptId":"turn-%d","uuid":"u%d","timestamp":%q,%s,"message":{"role":"user","content":"do %d"}}
{"type":"assistant","uuid":"a%d","timestamp":%q,%s,"message":{"id":"msg_%s_%d","role":"assistant","model":"claude-sonnet-4-5","stop_reason":"end_turn","content":[{"type":"text","text":"done"}],"usage":{"input_tokens":1,"output_tokens":2}}}
`, n, n, at(0), common, n, n, at(5), common, session, n)
}

// claudeHome is a home folder with Claude Code's files.
type claudeHome struct {
	*world
	files *transcript.Files
	// reads are the sessions that were read, sorted.
	mu    sync.Mutex
	reads []string
}

func newClaudeHome(t *testing.T) *claudeHome {
	h := &claudeHome{world: newWorld(t), files: &transcript.Files{Home: t.TempDir(), GOOS: "linux"}}
	h.now = at(1_000_000)
	return h
}

func (h *claudeHome) path(name string) string {
	return filepath.Join(h.files.Home, ".claude", "projects", "p", filepath.FromSlash(name))
}

// write appends to a file, whose time is then an hour ago.
func (h *claudeHome) write(name, text string) {
	h.Helper()
	path := h.path(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		h.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		h.Fatal(err)
	}
	if _, err := f.WriteString(text); err != nil {
		h.Fatal(err)
	}
	if err := f.Close(); err != nil {
		h.Fatal(err)
	}
	h.age(name, time.Hour)
}

// age sets how old a file is.
func (h *claudeHome) age(name string, old time.Duration) {
	h.Helper()
	when := h.now.Add(-old)
	if err := os.Chtimes(h.path(name), when, when); err != nil {
		h.Fatal(err)
	}
}

// run imports all sessions with an importer that is changed first.
func (h *claudeHome) run(change func(*Importer)) *Report {
	h.Helper()
	im := h.importer(HostClaude)
	if change != nil {
		change(im)
	}
	sessions, err := Sessions(h.Context(), h.files, im.Agent)
	if err != nil {
		h.Fatal(err)
	}
	h.reads = nil
	for i := range sessions {
		s := &sessions[i]
		read := s.Read
		s.Read = func(ctx context.Context) (*hook.Transcript, error) {
			h.mu.Lock()
			h.reads = slices.Sorted(slices.Values(append(h.reads, s.ID)))
			h.mu.Unlock()
			return read(ctx)
		}
	}
	return h.world.run(im, sessions...)
}

func TestUnchangedFilesAreNotReadAgain(t *testing.T) {
	const one, two = "session-1", "session-2"
	for _, c := range []struct {
		name string
		// between is what happens between two imports.
		between func(*claudeHome)
		change  func(*Importer)
		// reads are the sessions that the second import reads.
		reads string
		want  Report
	}{
		{name: "nothing", want: Report{Unchanged: 2, Skipped: Skipped{AlreadyThere: 3}}},
		{
			name:    "a turn more",
			between: func(h *claudeHome) { h.write(two+".jsonl", claudeTurn(two, 1)) },
			reads:   two, want: Report{Sessions: 1, Unchanged: 1, NewSessions: 1, Runs: 1, Skipped: Skipped{AlreadyThere: 3}},
		},
		{
			name:    "a row of a subagent",
			between: func(h *claudeHome) { h.write(two+"/subagents/agent-x.jsonl", "{}\n") },
			reads:   two, want: Report{Sessions: 1, Unchanged: 1, Skipped: Skipped{AlreadyThere: 3}},
		},
		{
			name:    "a new time",
			between: func(h *claudeHome) { h.age(one+".jsonl", time.Minute) },
			reads:   one, want: Report{Sessions: 1, Unchanged: 1, Skipped: Skipped{AlreadyThere: 3}},
		},
		{
			name:   "another version of hookspan",
			change: func(im *Importer) { im.Version = "2" },
			reads:  one + " " + two, want: Report{Sessions: 2, Skipped: Skipped{AlreadyThere: 3}},
		},
		{
			name:   "an import of what is new",
			change: func(im *Importer) { im.Since = at(60) },
			want:   Report{Unchanged: 2, Skipped: Skipped{AlreadyThere: 3}},
		},
		{
			name: "the end of the retention",
			between: func(h *claudeHome) {
				h.now = h.now.Add(time.Hour)
				h.prune(time.Minute)
			},
			reads: one + " " + two, want: Report{Sessions: 2, Skipped: Skipped{Removed: 3}},
		},
		{
			name:   "recording switched off",
			change: func(im *Importer) { im.Off = func(dir string) bool { return dir == "/home/dev/project" } },
			want:   Report{Skipped: Skipped{SwitchedOff: 2}},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newClaudeHome(t)
			h.write(one+".jsonl", claudeTurn(one, 0)+claudeTurn(one, 1))
			h.write(two+".jsonl", claudeTurn(two, 0))
			if rep := h.run(func(im *Importer) { im.DryRun = true }); rep.Sessions != 2 {
				t.Fatalf("dry run: %+v", rep)
			}
			if rep := h.run(nil); rep.Runs != 3 || len(h.reads) != 2 {
				t.Fatalf("first import read %v: %+v", h.reads, rep)
			}
			if c.between != nil {
				c.between(h)
			}
			rep := h.run(c.change)
			if got := strings.Join(h.reads, " "); got != c.reads {
				t.Errorf("read %q, want %q", got, c.reads)
			}
			got := Report{
				Sessions: rep.Sessions, Unchanged: rep.Unchanged, NewSessions: rep.NewSessions, Runs: rep.Runs, Skipped: rep.Skipped,
			}
			if d := cmp.Diff(c.want, got, cmpopts.IgnoreUnexported(Report{})); d != "" {
				t.Errorf("report (-want +got):\n%s", d)
			}
		})
	}
}

// TestUnsettledFilesAreReadAgain imports what the next import may find more in,
// although the files do not change.
func TestUnsettledFilesAreReadAgain(t *testing.T) {
	const id = "session-1"
	turn := claudeTurn(id, 0)
	prompt := turn[:strings.IndexByte(turn, '\n')+1]
	for _, c := range []struct {
		name, text string
		change     func(*claudeHome, *Importer)
	}{
		{"a turn without an end", claudeTurn(id, 0) + strings.ReplaceAll(prompt, "turn-0", "turn-1"), func(h *claudeHome, im *Importer) {
			im.Deliverer.Now = func() time.Time { return at(120) }
			h.age(id+".jsonl", 1_000_000*time.Second)
		}},
		{"a store that does not take a run", turn, func(_ *claudeHome, im *Importer) {
			im.Deliverer.Destinations[0].Client = &remote{err: permanent()}
		}},
		{"no store", turn, func(_ *claudeHome, im *Importer) {
			im.Deliverer.Destinations[0] = deliver.Destination{Name: "otlp", Client: &remote{}}
		}},
		{"a file written a moment ago", turn, func(h *claudeHome, _ *Importer) { h.age(id+".jsonl", time.Second) }},
		{"a log that is not delivered", turn, func(h *claudeHome, _ *Importer) { h.log(HostClaude, id, at(0)) }},
		{"an import of what is new", turn, func(_ *claudeHome, im *Importer) { im.Since = at(60) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newClaudeHome(t)
			h.write(id+".jsonl", c.text)
			for range 2 {
				h.run(func(im *Importer) { c.change(h, im) })
			}
			h.run(nil)
			if len(h.reads) != 1 {
				t.Errorf("read %v, want the session", h.reads)
			}
		})
	}
}

// TestSessionsAreReadAhead reads two sessions at once and imports them in their
// order.
func TestSessionsAreReadAhead(t *testing.T) {
	w, r := newWorld(t), &remote{}
	im := w.importer(HostClaude, deliver.Destination{Name: "otlp", Client: r})
	both := make(chan bool)
	meet := func(first bool) func(context.Context) (*hook.Transcript, error) {
		return func(ctx context.Context) (*hook.Transcript, error) {
			select { // each waits for the other
			case both <- true:
			case <-both:
			case <-ctx.Done():
			}
			tr := turns(1)
			if first {
				tr = turns(2)
			}
			return tr, nil
		}
	}
	a, b := of("a", DialectClaude, nil), of("b", DialectClaude, nil)
	a.Read, b.Read = meet(true), meet(false)
	w.run(im, a, b)
	want := newWorld(t)
	alone := &remote{}
	for _, s := range []Session{of("a", DialectClaude, turns(2)), of("b", DialectClaude, turns(1))} {
		want.run(want.importer(HostClaude, deliver.Destination{Name: "otlp", Client: alone}), s)
	}
	if d := cmp.Diff(alone.traces(), r.traces()); d != "" {
		t.Errorf("traces (-one by one +at once):\n%s", d)
	}
}

// TestRepeatedSessionIsJudgedByTheStore imports two sessions with one id, of two
// forms of an agent's files.
func TestRepeatedSessionIsJudgedByTheStore(t *testing.T) {
	w := newWorld(t)
	rep := w.run(w.importer(HostCline), of("s", DialectClassic, tasks(2)), of("s", DialectClassic, tasks(3)))
	if rep.Runs != 3 || rep.Skipped.AlreadyThere != 2 {
		t.Errorf("got %+v", rep)
	}
}

// refusing is a store that takes no request with a run of a session.
type refusing struct {
	*world
	session string
}

func (r refusing) UploadTraces(ctx context.Context, messages []*tracepb.ResourceSpans) error {
	for s := range otlp.Spans(messages) {
		if otlp.Text(s.GetAttributes(), otelmap.KeyConversationID) == r.session {
			return permanent()
		}
	}
	return r.store.UploadTraces(ctx, messages)
}

// TestRefusedRunOfABatchIsStoredAlone has the store refuse one run.
func TestRefusedRunOfABatchIsStoredAlone(t *testing.T) {
	w := newWorld(t)
	im := w.importer(HostClaude)
	im.Deliverer.Destinations[0].Client = refusing{w, "b"}
	rep := w.run(im, of("a", DialectClaude, turns(1)), of("b", DialectClaude, turns(1)), of("c", DialectClaude, turns(1)))
	if d := rep.Destinations[0]; d.Runs != 2 || d.Refused != 1 || len(d.Errors) != 1 {
		t.Errorf("got %+v", d)
	}
}

// refusingTurn is a store that refuses what holds one turn. most are the most runs that it
// was given at once.
type refusingTurn struct {
	*world
	turn string
	most int
}

func (r *refusingTurn) UploadTraces(ctx context.Context, messages []*tracepb.ResourceSpans) error {
	roots := 0
	for s := range otlp.Spans(messages) {
		if otlp.ParentID(s) == "" {
			roots++
		}
		if r.turn != "" && otlp.Text(s.GetAttributes(), otelmap.KeyPromptID) == r.turn {
			return permanent()
		}
	}
	r.most = max(r.most, roots)
	return r.store.UploadTraces(ctx, messages)
}

// TestLongSessionIsStoredInBatches has a session of so many turns that they are not all in
// memory at once. If one of them is refused, the session is read again.
func TestLongSessionIsStoredInBatches(t *testing.T) {
	const session, turns, spans = "session-1", 700, 2
	for _, refused := range []string{"", "turn-10", "turn-699"} {
		t.Run("refused: "+refused, func(t *testing.T) {
			h := newClaudeHome(t)
			var text strings.Builder
			for n := range turns {
				text.WriteString(claudeTurn(session, n))
			}
			h.write(session+".jsonl", text.String())
			st := &refusingTurn{world: h.world, turn: refused}
			there := turns
			if refused != "" {
				there--
			}
			rep := h.run(func(im *Importer) { im.Deliverer.Destinations[0].Client = st })
			if rep.Runs != turns || rep.Spans != turns*spans || rep.Destinations[0].Runs != there {
				t.Errorf("first import: %+v, %+v", rep, rep.Destinations[0])
			}
			if st.most > 2*batchSpans/spans {
				t.Errorf("%d runs were stored at once", st.most)
			}
			rep = h.run(nil)
			if read := len(h.reads) > 0; read != (refused != "") || rep.Runs != turns-there || rep.Skipped.AlreadyThere != there {
				t.Errorf("second import, read again: %t: %+v", read, rep)
			}
		})
	}
}

// TestSessionsKnownByAnotherNameAreReadEachTime: their runs may be in traces of a session
// whose files have not changed.
func TestSessionsKnownByAnotherNameAreReadEachTime(t *testing.T) {
	for prefix, unchanged := range map[string]int{"": 1, "conv_": 0} {
		w := newWorld(t)
		im := w.importer(HostCline)
		im.Agent.Parts = func(transcript.Session) ([]string, error) { return nil, nil }
		s := of("s", DialectSDK, tasks(1))
		s.Path, s.HookPrefix = filepath.Join(t.TempDir(), "s"), prefix
		if err := errors.Join(os.WriteFile(s.Path, nil, 0o600), os.Chtimes(s.Path, at(0), at(0))); err != nil {
			t.Fatal(err)
		}
		w.run(im, s)
		if rep := w.run(im, s); rep.Unchanged != unchanged || rep.Skipped.AlreadyThere != 1 {
			t.Errorf("prefix %q: %+v, want %d unchanged", prefix, rep, unchanged)
		}
	}
}

// TestSessionWhoseLogCannotBeReadIsNotImported: what the log has would be imported too.
func TestSessionWhoseLogCannotBeReadIsNotImported(t *testing.T) {
	w := newWorld(t)
	dir := t.TempDir()
	sp, err := spool.Open(dir, spool.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = sp.Close() }()
	w.spool = sp
	w.log(HostClaude, "s", at(0))
	logs, err := filepath.Glob(filepath.Join(dir, "*", "*", "events*"))
	if err != nil || len(logs) != 1 {
		t.Fatal(logs, err)
	}
	if err := errors.Join(os.Remove(logs[0]), os.Mkdir(logs[0], 0o700)); err != nil {
		t.Fatal(err)
	}
	rep := w.run(w.importer(HostClaude), of("s", DialectClaude, turns(1)), of("t", DialectClaude, turns(1)))
	if rep.Runs != 1 || len(rep.Unreadable) != 1 || rep.Unreadable[0].Session != "s" {
		t.Errorf("%d runs, not read: %+v", rep.Runs, rep.Unreadable)
	}
}
