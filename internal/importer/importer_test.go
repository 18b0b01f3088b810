package importer

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/deliver"
	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/testkit/agentstest"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/spool"
)

// remote is a destination that answers as it is told.
type remote struct {
	spans []*tracepb.Span
	err   error
	// before is called with each export.
	before func()
}

func (r *remote) UploadTraces(_ context.Context, messages []*tracepb.ResourceSpans) error {
	if r.before != nil {
		r.before()
	}
	if r.err != nil {
		return r.err
	}
	r.spans = slices.AppendSeq(r.spans, otlp.Spans(messages))
	return nil
}

// traces are the ids of the roots that were taken.
func (r *remote) traces() []string {
	var out []string
	for _, s := range r.spans {
		if otlp.ParentID(s) == "" {
			out = append(out, otlp.TraceID(s))
		}
	}
	return out
}

// world is a machine with a spool and a store.
type world struct {
	*testing.T
	store *store.Store
	spool *spool.Spool
	now   time.Time
}

func newWorld(t *testing.T) *world {
	t.Helper()
	dir := t.TempDir()
	st, err := store.Open(t.Context(), filepath.Join(dir, "traces.db"))
	if err != nil {
		t.Fatal(err)
	}
	sp, err := spool.Open(filepath.Join(dir, "spool"), spool.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(st.Close(), sp.Close()); err != nil {
			t.Error(err)
		}
	})
	w := &world{T: t, store: st, spool: sp, now: at(1_000_000)}
	st.Now = func() time.Time { return w.now }
	return w
}

// importer sends to the given destinations and the store.
func (w *world) importer(host string, remotes ...deliver.Destination) *Importer {
	owing := store.Owing{Store: w.store, Place: "here"}
	for _, d := range remotes {
		owing.Destinations = append(owing.Destinations, d.Name)
	}
	return &Importer{
		Agent: agent(host), Known: w.store,
		Deliverer: &deliver.Deliverer{
			Spool: w.spool, Now: func() time.Time { return w.now },
			Sources: map[string]deliver.Source{HostClaude: {Agent: agentstest.Mapping(HostClaude)}, HostCline: {Decode: func(r *spool.Record) ([]hook.Event, error) {
				return []hook.Event{{StoredAt: r.At, Time: at(60)}, {}}, nil
			}}},
			Destinations: append(slices.Clone(remotes), deliver.Destination{Name: "store", Client: owing, Local: true}),
		},
	}
}

func (w *world) run(im *Importer, sessions ...Session) *Report {
	w.Helper()
	rep, err := im.Run(w.Context(), sessions)
	if err != nil {
		w.Fatal(err)
	}
	return rep
}

// upload stores spans.
func (w *world) upload(messages ...*tracepb.ResourceSpans) error {
	return w.store.UploadTraces(w.Context(), messages)
}

// capture stores spans as the delivery of hook events would have.
func (w *world) capture(e ...hook.Event) {
	w.Helper()
	b := otelmap.NewBuilder(e[0].Host, e[0].Session, otelmap.Options{Agent: agentstest.Mapping(e[0].Host)}, otelmap.Carry{})
	for i := range e {
		b.Add(e[i])
	}
	for _, r := range b.Runs(w.now) {
		if err := w.upload(b.Spans(r, nil)); err != nil {
			w.Fatal(err)
		}
	}
}

// log stores an event of a session in the spool.
func (w *world) log(host, session string, when time.Time) {
	w.Helper()
	if err := w.spool.Append(&spool.Record{Host: host, Session: session, At: when, Event: "x", Payload: []byte("{}")}); err != nil {
		w.Fatal(err)
	}
}

// of is a session with the given transcript.
func of(id, dialect string, tr *hook.Transcript) Session {
	return Session{
		Session: session(id, dialect),
		Read:    func(context.Context) (*hook.Transcript, error) { return tr, nil },
	}
}

// turns is a Claude Code session with a turn each minute.
func turns(n int) *hook.Transcript {
	tr := &hook.Transcript{Cwd: "/home/dev/project"}
	for i := range n {
		id := string(rune('a' + i))
		tr.Prompts = append(tr.Prompts, hook.Prompt{At: at(60 * i), Text: "do " + id, Turn: id})
		tr.ToolResults = append(tr.ToolResults, hook.ToolResult{ID: "t" + id, Turn: id, Name: "Bash", Asked: at(60*i + 1), At: at(60*i + 2)})
		tr.Ends = append(tr.Ends, hook.TurnEnd{At: at(60*i + 3), Turn: id, Kind: hook.KindRunComplete})
	}
	return tr
}

// tasks is a classic task of Cline with a run each minute.
func tasks(n int) *hook.Transcript {
	tr := turns(n)
	for i := range n {
		tr.Prompts[i].Turn, tr.ToolResults[i].Turn, tr.Ends[i].Turn = "", "", ""
	}
	return tr
}

// permanent is an answer that trying again does not change.
func permanent() error { return &deliver.Error{Err: errors.New("400 bad"), Permanent: true} }

func TestSecondImportSendsNothing(t *testing.T) {
	for _, c := range []struct {
		name, host, dialect string
		tr                  *hook.Transcript
	}{
		{"claude", HostClaude, DialectClaude, turns(3)},
		{"cline classic", HostCline, DialectClassic, tasks(3)},
		{"cline sdk", HostCline, DialectSDK, tasks(3)},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, r := newWorld(t), &remote{}
			im := w.importer(c.host, deliver.Destination{Name: "otlp", Client: r})
			first := w.run(im, of("s", c.dialect, c.tr))
			if first.Runs == 0 || len(r.traces()) != first.Runs || !first.Complete() {
				t.Fatalf("first import: %+v, otlp has %v", first, r.traces())
			}
			want := slices.Clone(r.spans)
			again := w.run(im, of("s", c.dialect, c.tr))
			if again.Runs != 0 || again.Skipped.AlreadyThere != first.Runs {
				t.Errorf("second import: %+v", again)
			}
			if len(r.spans) != len(want) {
				t.Errorf("the second import sent %d spans", len(r.spans)-len(want))
			}
		})
	}
}

// prune does what follows a delivery.
func (w *world) prune(retention time.Duration) int {
	w.Helper()
	n, err := w.store.Prune(w.Context(), w.now.Add(-retention))
	if err != nil {
		w.Fatal(err)
	}
	return n
}

func TestRetentionCountsFromTheImport(t *testing.T) {
	const retention = 30 * 24 * time.Hour
	for _, c := range []struct {
		name, host, dialect string
		tr                  *hook.Transcript
	}{
		{"claude", HostClaude, DialectClaude, turns(3)},
		{"cline classic", HostCline, DialectClassic, tasks(3)},
		{"cline sdk", HostCline, DialectSDK, tasks(3)},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, r := newWorld(t), &remote{}
			w.now = at(0).Add(10 * retention)
			im := w.importer(c.host, deliver.Destination{Name: "otlp", Client: r})
			im.Retention = retention
			first := w.run(im, of("s", c.dialect, c.tr))
			until := w.now.Add(retention)
			if first.Runs != 3 || !first.KeptUntil.Equal(until) {
				t.Fatalf("first import: %+v, want one kept until %v", first, until)
			}
			if n := w.prune(retention); n != 0 {
				t.Errorf("the delivery after the import removed %d traces", n)
			}
			w.now = until
			if n := w.prune(retention); n != 0 {
				t.Errorf("%d traces were removed while they were to be kept", n)
			}
			w.now = until.Add(1)
			if n := w.prune(retention); n != 3 {
				t.Errorf("%d traces were removed at the end of the retention, want 3", n)
			}
			sent := len(r.spans)
			again := w.run(im, of("s", c.dialect, c.tr))
			if again.Runs != 0 || again.Skipped.Removed != 3 || !again.KeptUntil.IsZero() || len(r.spans) != sent {
				t.Errorf("a later import: %+v, sent %d spans", again, len(r.spans)-sent)
			}
			im.Again = true
			if asked := w.run(im, of("s", c.dialect, c.tr)); asked.Runs != 3 || len(r.spans) != 2*sent {
				t.Errorf("asked for what was removed: %+v, sent %d spans", asked, len(r.spans)-sent)
			}
			// What is there is not sent again, however asked.
			if once := w.run(im, of("s", c.dialect, c.tr)); once.Skipped.AlreadyThere != 3 || once.Runs != 0 {
				t.Errorf("asked twice: %+v", once)
			}
		})
	}
}

func TestRemovedCapturedRunIsNotImported(t *testing.T) {
	run := func(session string) []hook.Event {
		return []hook.Event{
			{Host: HostCline, Session: session, Kind: hook.KindRunStart, Name: "TaskStart", Time: at(0), Prompt: "do a", Cwd: "/home/dev/project"},
			{Host: HostCline, Session: session, Kind: hook.KindRunComplete, Name: "TaskComplete", Time: at(5)},
		}
	}
	for name, c := range map[string]struct{ session, dialect string }{
		"the same session":             {"s", DialectClassic},
		"a session under another name": {"conv_1", DialectSDK},
	} {
		t.Run(name, func(t *testing.T) {
			w, r := newWorld(t), &remote{}
			w.now = at(0)
			w.capture(run(c.session)...)
			w.now = at(1_000_000)
			if n := w.prune(time.Hour); n != 1 {
				t.Fatalf("%d traces were removed", n)
			}
			rep := w.run(w.importer(HostCline, deliver.Destination{Name: "otlp", Client: r}), of("s", c.dialect, tasks(1)))
			if rep.Runs != 0 || rep.Skipped.Removed != 1 || len(r.spans) != 0 {
				t.Errorf("got %+v, sent %d spans", rep, len(r.spans))
			}
		})
	}
}

// owed are how many traces each destination is owed.
func (w *world) owed() map[string]int {
	w.Helper()
	all, err := w.store.Owed(w.Context(), "")
	if err != nil {
		w.Fatal(err)
	}
	out := make(map[string]int)
	for _, o := range all {
		out[o.Destination]++
	}
	return out
}

func TestStoreIsFirst(t *testing.T) {
	w, r := newWorld(t), &remote{}
	r.before = func() {
		roots, err := w.store.Conversations(t.Context(), "s")
		if err != nil {
			t.Error(err)
		}
		if owed := w.owed()["otlp"]; len(roots) != 3 || owed != 3 {
			t.Errorf("the store has %d runs and the remote destination is owed %d", len(roots), owed)
		}
	}
	w.run(w.importer(HostClaude, deliver.Destination{Name: "otlp", Client: r}), of("s", DialectClaude, turns(3)))
	if n := len(r.traces()); n != 3 || len(w.owed()) > 0 {
		t.Errorf("%d traces, want 3; owed %v", n, w.owed())
	}
}

func TestDestinationIsDown(t *testing.T) {
	w := newWorld(t)
	down, up := &remote{err: errors.New("connection refused")}, &remote{}
	im := w.importer(HostClaude, deliver.Destination{Name: "otlp", Client: down}, deliver.Destination{Name: "infinium", Client: up})
	tries := 0
	down.before = func() { tries++ }
	rep := w.run(im, of("s", DialectClaude, turns(3)))
	want := []Delivered{
		{Destination: "otlp", Waiting: 3, Errors: []string{"connection refused"}},
		{Destination: "infinium", Runs: 3, Spans: 6},
		{Destination: "store", Runs: 3, Spans: 6},
	}
	if d := cmp.Diff(want, rep.Destinations, cmpopts.IgnoreUnexported(Delivered{})); d != "" {
		t.Errorf("destinations (-want +got):\n%s", d)
	}
	if tries != 1 {
		t.Errorf("a destination that is down was tried %d times", tries)
	}
	if rep.Complete() {
		t.Error("the import counts as complete")
	}
	if d := cmp.Diff(map[string]int{"otlp": 3}, w.owed()); d != "" {
		t.Errorf("owed (-want +got):\n%s", d)
	}
	// What comes again is not stored again, and is sent by what Owed is.
	im.Owed = func(context.Context) ([]deliver.Result, error) {
		return []deliver.Result{{Destination: "otlp", Runs: 2, Spans: 4, Waiting: 1, Errors: []string{"still down"}}}, nil
	}
	rep = w.run(im, of("s", DialectClaude, turns(4)))
	want = []Delivered{
		{Destination: "otlp", Runs: 2, Spans: 4, Waiting: 2, Errors: []string{"still down"}},
		{Destination: "infinium", Runs: 1, Spans: 2},
		{Destination: "store", Runs: 1, Spans: 2},
	}
	if d := cmp.Diff(want, rep.Destinations, cmpopts.IgnoreUnexported(Delivered{})); d != "" || rep.Skipped.AlreadyThere != 3 || tries != 1 {
		t.Errorf("after %d tries, %+v; destinations (-want +got):\n%s", tries, rep.Skipped, d)
	}
}

// TestRefusedSenderIsOwed: a wrong key is not the traces' fault.
func TestRefusedSenderIsOwed(t *testing.T) {
	w, tries := newWorld(t), 0
	r := &remote{err: &deliver.Error{Err: errors.New("401"), Permanent: true, Denied: true}, before: func() { tries++ }}
	rep := w.run(w.importer(HostClaude, deliver.Destination{Name: "otlp", Client: r}), of("s", DialectClaude, turns(5)))
	if d := rep.Destinations; d[0].Waiting != 5 || d[0].Refused != 0 || d[1].Runs != 5 || tries != mostDenials || w.owed()["otlp"] != 5 {
		t.Errorf("after %d tries owed %v: %+v", tries, w.owed(), d)
	}
}

func TestRefusedRunDelaysNothing(t *testing.T) {
	w, r := newWorld(t), &remote{err: permanent()}
	im := w.importer(HostClaude, deliver.Destination{Name: "otlp", Client: r})
	rep := w.run(im, of("s", DialectClaude, turns(2)))
	if d := rep.Destinations; d[0].Refused != 2 || len(d[0].Errors) != 2 || d[1].Runs != 2 {
		t.Errorf("destinations %+v", d)
	}
	if rep := w.run(im, of("s", DialectClaude, turns(2))); rep.Skipped.AlreadyThere != 2 || len(w.owed()) > 0 {
		t.Errorf("the second import sends what was refused: %+v", rep)
	}
}

func TestCapturedRunsAreSkipped(t *testing.T) {
	cline := func(when int, kind hook.Kind) hook.Event {
		return hook.Event{Host: HostCline, Dialect: "classic", Session: "s", Kind: kind, Time: at(when), StoredAt: at(when), Cwd: "/home/dev/project"}
	}
	for _, c := range []struct {
		name    string
		host    string
		session Session
		captured,
		logged func(*world)
		want Skipped
		runs int
	}{
		{
			name: "a turn under the same id", host: HostClaude, session: of("s", DialectClaude, turns(3)),
			captured: func(w *world) {
				w.capture(
					hook.Event{Host: HostClaude, Session: "s", Turn: "b", Kind: hook.KindPrompt, Key: "UserPromptSubmit/b", StoredAt: at(61)},
					hook.Event{Host: HostClaude, Session: "s", Turn: "b", Kind: hook.KindRunComplete, StoredAt: at(64)},
				)
			},
			want: Skipped{AlreadyThere: 1}, runs: 2,
		},
		{
			name: "a turn under the same id in somebody's trace", host: HostClaude, session: of("s", DialectClaude, turns(3)),
			captured: func(w *world) {
				const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
				w.capture(
					hook.Event{Host: HostClaude, Session: "s", Turn: "b", Kind: hook.KindPrompt, TraceParent: parent, StoredAt: at(61)},
					hook.Event{Host: HostClaude, Session: "s", Turn: "b", Kind: hook.KindRunComplete, StoredAt: at(64)},
				)
			},
			want: Skipped{AlreadyThere: 1}, runs: 2,
		},
		{
			name: "a run of Cline's at the same time", host: HostCline, session: of("s", DialectClassic, tasks(3)),
			captured: func(w *world) { w.capture(cline(61, hook.KindRunStart), cline(63, hook.KindRunComplete)) },
			want:     Skipped{Captured: 1}, runs: 2,
		},
		{
			name: "a run of another session", host: HostCline, session: of("other", DialectClassic, tasks(3)),
			captured: func(w *world) { w.capture(cline(61, hook.KindRunStart), cline(63, hook.KindRunComplete)) },
			runs:     3,
		},
		{
			name: "a run that an editor's hooks know by another session", host: HostCline, session: of("1_s", DialectSDK, tasks(3)),
			captured: func(w *world) {
				for _, k := range []hook.Event{cline(61, hook.KindRunStart)} {
					k.Session, k.Dialect = "conv_1_x", "next"
					end := k
					end.Kind, end.Time, end.StoredAt = hook.KindRunComplete, at(63), at(63)
					w.capture(k, end)
				}
			},
			want: Skipped{Captured: 1}, runs: 2,
		},
		{
			name: "what happened since the log's first event", host: HostClaude, session: of("s", DialectClaude, turns(3)),
			logged: func(w *world) { w.log(HostClaude, "s", at(60)); w.log(HostClaude, "s", at(200)) },
			want:   Skipped{Captured: 2}, runs: 1,
		},
		{
			name: "a log whose first event came late", host: HostCline, session: of("s", DialectClassic, tasks(3)),
			logged: func(w *world) { w.log(HostCline, "s", at(600)) },
			want:   Skipped{Captured: 2}, runs: 1,
		},
		{
			name: "a log of another session", host: HostClaude, session: of("s", DialectClaude, turns(3)),
			logged: func(w *world) { w.log(HostClaude, "t", at(0)) },
			runs:   3,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			for _, f := range []func(*world){c.captured, c.logged} {
				if f != nil {
					f(w)
				}
			}
			rep := w.run(w.importer(c.host), c.session)
			if d := cmp.Diff(c.want, rep.Skipped); d != "" || rep.Runs != c.runs {
				t.Errorf("%d runs, want %d; skipped (-want +got):\n%s", rep.Runs, c.runs, d)
			}
			if rep := w.run(w.importer(c.host), c.session); rep.Runs != 0 {
				t.Errorf("the second import sends %d runs", rep.Runs)
			}
		})
	}
}

// TestRunsOfOneSessionMayOverlap imports what an import that was cut off left,
// where the agent of the first turn worked on during the second.
func TestRunsOfOneSessionMayOverlap(t *testing.T) {
	tr := turns(2)
	tr.Agents = []hook.Subagent{{ID: "bg", Turn: "a", Start: at(2), End: at(90)}}
	w := newWorld(t)
	whole := &remote{}
	im := w.importer(HostClaude)
	im.Deliverer.Destinations[0].Client = whole
	w.run(im, of("s", DialectClaude, tr))
	roots := whole.traces()
	if len(roots) != 2 {
		t.Fatalf("traces %v, want 2", roots)
	}
	for _, s := range whole.spans {
		if otlp.TraceID(s) == roots[0] {
			if err := w.upload(&tracepb.ResourceSpans{ScopeSpans: []*tracepb.ScopeSpans{{Spans: []*tracepb.Span{s}}}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	rep := w.run(w.importer(HostClaude), of("s", DialectClaude, tr))
	if rep.Runs != 1 || rep.Skipped.AlreadyThere != 1 {
		t.Errorf("the rest of an import: %+v", rep)
	}
}

func TestOpenRunsAreSkipped(t *testing.T) {
	open := turns(2)
	open.Ends = open.Ends[:1]
	pending := turns(2)
	pending.Pending = true
	for _, c := range []struct {
		name string
		tr   *hook.Transcript
		now  time.Time
		runs int
	}{
		{"a turn without an end, a minute ago", open, at(120), 1},
		{"a turn without an end, an hour ago", open, at(3700), 2},
		{"an end of which the files have not told all", pending, at(120), 1},
		{"an end of which the files will never tell all", pending, at(3700), 2},
		{"all told", turns(2), at(120), 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.now = c.now
			rep := w.run(w.importer(HostClaude), of("s", DialectClaude, c.tr))
			if rep.Runs != c.runs || rep.Skipped.Open != 2-c.runs {
				t.Errorf("%+v, want %d runs", rep, c.runs)
			}
		})
	}
}

// TestStoredRunsAreNotOpen imports turns that the files call open although they are stored,
// as hooks reported their ends.
func TestStoredRunsAreNotOpen(t *testing.T) {
	open := turns(2)
	open.Ends = open.Ends[:1]
	pending := turns(2)
	pending.Pending = true
	for name, tr := range map[string]*hook.Transcript{"no end": open, "pending": pending} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.now = at(120)
			w.capture(
				hook.Event{Host: HostClaude, Session: "s", Turn: "b", Kind: hook.KindPrompt, Key: "UserPromptSubmit/b", StoredAt: at(61)},
				hook.Event{Host: HostClaude, Session: "s", Turn: "b", Kind: hook.KindSessionEnd, StoredAt: at(64)},
			)
			w.log(HostClaude, "s", at(61))
			rep := w.run(w.importer(HostClaude), of("s", DialectClaude, tr))
			if want := (Skipped{AlreadyThere: 1}); rep.Skipped != want || rep.Runs != 1 {
				t.Errorf("%d runs, skipped %+v; want 1 and %+v", rep.Runs, rep.Skipped, want)
			}
		})
	}
}

// TestFirstOfTwoRunsWithOneIDCounts imports two prompts of one millisecond that have no turn: each
// makes a run, and the one would overwrite the other.
func TestFirstOfTwoRunsWithOneIDCounts(t *testing.T) {
	w, r := newWorld(t), &remote{}
	rep := w.run(w.importer(HostClaude, deliver.Destination{Name: "otlp", Client: r}), of("s", DialectClaude, &hook.Transcript{
		Prompts: []hook.Prompt{{At: at(0), Text: "go"}, {At: at(0), Text: "again"}},
	}))
	if len(r.traces()) != 1 || rep.Runs != 1 || rep.Skipped.AlreadyThere != 1 {
		t.Errorf("traces %v; %+v", r.traces(), rep)
	}
}

func TestUnreadableSessionHarmsNoOther(t *testing.T) {
	w := newWorld(t)
	broken := of("broken", DialectClaude, nil)
	broken.Read = func(context.Context) (*hook.Transcript, error) { return turns(1), os.ErrPermission }
	seen := 0
	im := w.importer(HostClaude)
	im.Progress = func() { seen++ }
	rep := w.run(im, broken, of("empty", DialectClaude, &hook.Transcript{}), of("s", DialectClaude, turns(2)))
	want := []Unreadable{{Session: "broken", Path: "/files/broken", Error: "permission denied"}}
	if d := cmp.Diff(want, rep.Unreadable); d != "" {
		t.Errorf("unreadable (-want +got):\n%s", d)
	}
	if rep.Runs != 2 || rep.Sessions != 2 || seen != 3 || rep.Complete() {
		t.Errorf("%+v, progress %d", rep, seen)
	}
}

func TestSinceDryRunAndOff(t *testing.T) {
	w, r := newWorld(t), &remote{}
	dst := deliver.Destination{Name: "otlp", Client: r}
	im := w.importer(HostClaude, dst)
	im.Since = at(60)
	late := of("s", DialectClaude, turns(3))
	late.ModTime = at(500)
	im.DryRun = true
	rep := w.run(im, late, of("old", DialectClaude, turns(3)))
	want := &Report{
		Host: HostClaude, DryRun: true, Sessions: 1, NewSessions: 1, Runs: 2, Spans: 4,
		First: at(60), Last: at(123), Skipped: Skipped{TooOld: 1},
	}
	if d := cmp.Diff(want, rep, cmpopts.IgnoreUnexported(Report{})); d != "" {
		t.Errorf("dry run (-want +got):\n%s", d)
	}
	if len(r.spans) != 0 {
		t.Errorf("a dry run sent %d spans", len(r.spans))
	}
	im.DryRun, im.Since = false, time.Time{}
	im.Off = func(dir string) bool { return dir == "/home/dev/project" }
	told := late
	told.Cwd = "/home/dev/project"
	told.Read = func(context.Context) (*hook.Transcript, error) {
		t.Error("the files of a project that does not want it were read")
		return nil, nil
	}
	rep = w.run(im, late, told)
	if rep.Runs != 0 || rep.Skipped.SwitchedOff != 2 {
		t.Errorf("projects that switched recording off: %+v", rep)
	}
	// A workspace of several folders, and a session whose folder is unknown.
	roots, nowhere := turns(3), turns(3)
	roots.Cwd, roots.Folders = "/on", []string{"/on", "/home/dev/project"}
	if rep = w.run(im, of("roots", DialectClaude, roots)); rep.Runs != 0 || rep.Skipped.SwitchedOff != 1 {
		t.Errorf("a workspace with a folder that is switched off: %+v", rep)
	}
	nowhere.Cwd = ""
	im = w.importer(HostClaude, dst)
	im.Off = func(string) bool { return true }
	if rep = w.run(im, of("nowhere", DialectClaude, nowhere)); rep.Runs != 0 || rep.Skipped.SwitchedOff != 1 {
		t.Errorf("no folder, and all are switched off: %+v", rep)
	}
}

func TestSpansAreRedacted(t *testing.T) {
	w, r := newWorld(t), &remote{}
	im := w.importer(HostClaude, deliver.Destination{Name: "otlp", Client: r})
	im.Deliverer.Redact = func(run *tracepb.ResourceSpans) *tracepb.ResourceSpans {
		run = proto.CloneOf(run)
		for s := range otlp.Spans([]*tracepb.ResourceSpans{run}) {
			s.Name = "redacted"
		}
		return run
	}
	w.run(im, of("s", DialectClaude, turns(1)))
	for _, s := range r.spans {
		if s.Name != "redacted" {
			t.Errorf("span %q was sent as it is", s.Name)
		}
	}
	if len(r.spans) == 0 {
		t.Error("nothing was sent")
	}
}

func TestJoinedSessionIsSentAtItsEnd(t *testing.T) {
	w, r := newWorld(t), &remote{}
	joined := 0
	im := w.importer(HostClaude, deliver.Destination{
		Name: "infinium", Client: r,
		Join: func(runs []*tracepb.ResourceSpans) *tracepb.ResourceSpans { joined = len(runs); return runs[0] },
	})
	w.now = at(200)
	if rep := w.run(im, of("s", DialectClaude, turns(3))); rep.Runs != 0 || rep.Skipped.Open != 3 {
		t.Errorf("a session that may go on: %+v", rep)
	}
	w.now = at(10_000)
	rep := w.run(im, of("s", DialectClaude, turns(3)))
	if joined != 3 || rep.Destinations[0].Runs != 1 || rep.Destinations[1].Runs != 3 {
		t.Errorf("%d joined; %+v", joined, rep.Destinations)
	}
}

func TestImportEndsWithContext(t *testing.T) {
	w := newWorld(t)
	ctx, cancel := context.WithCancel(t.Context())
	r := &remote{before: cancel}
	im := w.importer(HostClaude, deliver.Destination{Name: "otlp", Client: r})
	rep, err := im.Run(ctx, []Session{of("s", DialectClaude, turns(3)), of("t", DialectClaude, turns(3))})
	if !errors.Is(err, context.Canceled) || len(r.traces()) > 1 || rep == nil {
		t.Errorf("error %v after %d traces", err, len(r.traces()))
	}
	// What was gathered is stored, and owed.
	if sent, owed, has := len(r.traces()), w.owed()["otlp"], rep.Destinations[1].Runs; sent+owed < has || has < 3 {
		t.Errorf("%d sent, %d owed, %d stored", sent, owed, has)
	}
}

// TestManyRunsAreReleasedAsTheyAreSent counts the results of a session's transcript that are in memory
// when one of its runs is sent.
func TestManyRunsAreReleasedAsTheyAreSent(t *testing.T) {
	w, tr := newWorld(t), &hook.Transcript{}
	const n = mappedOnce + 1
	for i := range n {
		turn, begin := fmt.Sprint("t", i), 100*i
		tr.Prompts = append(tr.Prompts, hook.Prompt{At: at(begin), Text: "go", Turn: turn})
		tr.ToolResults = append(tr.ToolResults, hook.ToolResult{ID: fmt.Sprint("c", i), Turn: turn, Name: "Bash", Input: "{}", Asked: at(begin + 1), At: at(begin + 2)})
		tr.Ends = append(tr.Ends, hook.TurnEnd{At: at(begin + 3), Turn: turn, Kind: hook.KindRunComplete})
	}
	im, sent := w.importer(HostClaude), 0
	im.Observe = func(_ string, _ Skipped, runs []*tracepb.ResourceSpans) {
		sent += len(runs)
		held := slices.DeleteFunc(slices.Clone(tr.ToolResults), func(r hook.ToolResult) bool { return r.ID == "" })
		if len(held) != n-sent {
			t.Errorf("%d results in memory after %d runs of %d", len(held), sent, n)
		}
	}
	if rep := w.run(im, of("s", "claude", tr)); rep.Runs != n || sent != n {
		t.Errorf("%d runs, %d of them sent, want %d", rep.Runs, sent, n)
	}
}
