package importer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"pgregory.net/rapid"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/deliver"
	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/testkit/golden"
	"github.com/hookspan/hookspan/internal/traces/store"
)

// teller prints what imports say, and what their destinations get.
type teller struct {
	*world
	out strings.Builder
	// gets has the number of spans in each call of a destination. mu guards it: the store is
	// called from another goroutine.
	mu   sync.Mutex
	gets map[string][]int
	// answers, if not nil, is what a destination answers to its nth call, from 0.
	answers func(name string, n int) error
	// step is how much time passes with each session.
	step  time.Duration
	clock atomic.Int64
}

// toldDestination is a destination whose calls a teller counts.
type toldDestination struct {
	*teller
	name string
	to   deliver.Client
}

func (d toldDestination) UploadTraces(ctx context.Context, messages []*tracepb.ResourceSpans) error {
	d.mu.Lock()
	n := len(d.gets[d.name])
	d.gets[d.name] = append(d.gets[d.name], otlp.Count(messages))
	d.mu.Unlock()
	if d.answers != nil {
		if err := d.answers(d.name, n); err != nil {
			return err
		}
	}
	if d.to == nil {
		return nil
	}
	return d.to.UploadTraces(ctx, messages)
}

// tell imports sessions and prints the report, as text and as JSON, what Observe and
// Progress were called with, and how many spans each destination got at once.
func (w *teller) tell(what string, change func(*Importer), sessions ...Session) {
	w.Helper()
	w.gets = map[string][]int{"otlp": nil, storeName: nil}
	im := w.importer(HostClaude, deliver.Destination{Name: "otlp"})
	for i := range im.Deliverer.Destinations {
		d := &im.Deliverer.Destinations[i]
		d.Client = toldDestination{w, d.Name, d.Client}
	}
	begun := w.now
	im.Deliverer.Now = func() time.Time { return begun.Add(time.Duration(w.clock.Load())) }
	fmt.Fprintf(&w.out, "== %s\n", what)
	var seen []string
	im.Observe = func(session string, skipped Skipped, runs []*tracepb.ResourceSpans) {
		if len(runs) == 0 {
			return
		}
		line := fmt.Sprintf("%s: %d spans", session, otlp.Count(runs))
		if skipped != (Skipped{}) {
			line += " beside " + strings.Join(skipped.texts(), "; ")
		}
		seen = append(seen, line)
	}
	progress := 0
	im.Progress = func() { progress++; w.clock.Add(int64(w.step)) }
	if change != nil {
		change(im)
	}
	rep, err := im.Run(w.Context(), sessions)
	b, jsonErr := json.Marshal(rep)
	if jsonErr != nil {
		w.Fatal(jsonErr)
	}
	fmt.Fprintf(&w.out, "observed %s\n%s%s\n", times(seen), rep.Text(im.Retention), b)
	fmt.Fprintf(&w.out, "complete %t, waiting %t, progress %d, error %v; otlp got %s, the store %s\n", rep.Complete(), rep.Waiting(), progress, err, times(w.gets["otlp"]), times(w.gets[storeName]))
}

// times lists values, each with how often it comes in a row.
func times[T comparable](list []T) string {
	var out []string
	for i, n := 0, 0; i < len(list); i += n {
		n = 1
		for i+n < len(list) && list[i+n] == list[i] {
			n++
		}
		out = append(out, fmt.Sprintf("%d times %v", n, list[i]))
	}
	return "[" + strings.Join(out, ", ") + "]"
}

// TestReportOfImports imports sessions in every state and has destinations give every
// answer.
func TestReportOfImports(t *testing.T) {
	local := time.Local
	time.Local = time.UTC
	t.Cleanup(func() { time.Local = local })
	w := &teller{world: newWorld(t)}
	w.plainImports()
	w.failingImports()
	w.partialImports()
	w.laterImports()
	w.batchedImports()
	golden.Check(t, "imports.txt", w.out.String())
}

// fresh begins anew.
func (w *teller) fresh() {
	w.world, w.answers, w.step = newWorld(w.T), nil, 0
	w.clock.Store(0)
}

// plainImports imports sessions to destinations that take everything.
func (w *teller) plainImports() {
	a, b := of("a", DialectClaude, turns(2)), of("b", DialectClaude, turns(1))
	w.tell("nothing", nil)
	w.tell("a dry run", func(im *Importer) { im.DryRun = true }, a, b)
	w.tell("two sessions", nil, a, b)
	w.tell("both again", nil, a, b)
	w.tell("one has a turn more", nil, a, of("b", DialectClaude, turns(2)))

	w.fresh()
	w.tell("kept for days", func(im *Importer) { im.Retention = 30 * 24 * time.Hour }, a)
	w.tell("kept, but nothing is new", func(im *Importer) { im.Retention = 30 * 24 * time.Hour }, a)
	w.tell("kept for hours", func(im *Importer) { im.Retention = 36 * time.Hour }, b)
	w.tell("kept elsewhere", func(im *Importer) {
		im.Retention = 36 * time.Hour
		im.Deliverer.Destinations = im.Deliverer.Destinations[:1]
	}, of("c", DialectClaude, turns(1)))
}

// failingImports has destinations and files that fail.
func (w *teller) failingImports() {
	a, b := of("a", DialectClaude, turns(2)), of("b", DialectClaude, turns(1))
	w.fresh()
	w.answers = func(name string, n int) error {
		if name == "otlp" && n == 1 {
			return errors.New("connection refused")
		}
		return nil
	}
	w.tell("a destination goes down", nil, a, b)
	w.answers = nil
	w.tell("it is up again", nil, a, b)

	w.fresh()
	w.answers = func(name string, n int) error {
		if name == storeName {
			return errors.New("disk is full")
		}
		return nil
	}
	w.tell("the store takes nothing", nil, a, b)

	w.fresh()
	w.answers = func(name string, n int) error {
		switch {
		case name == storeName:
			return nil
		case n == 1:
			return &deliver.Error{Err: errors.New("partial"), Rejected: 1}
		case n > 2:
			return &deliver.Error{Err: fmt.Errorf("400: reason %d", min(n, 15)), Permanent: true}
		}
		return nil
	}
	w.tell("a destination refuses spans and traces", nil, of("long", DialectClaude, turns(18)))
	w.answers = func(name string, n int) error {
		if name == storeName {
			return &deliver.Error{Err: errors.New("400"), Permanent: true}
		}
		return nil
	}
	w.tell("the store refuses each", nil, of("other", DialectClaude, turns(2)))

	w.fresh()
	broken, silent := of("broken", DialectClaude, nil), of("silent", DialectClaude, nil)
	broken.Read = func(context.Context) (*hook.Transcript, error) { return turns(1), errors.New("permission denied") }
	w.tell("sessions that cannot be read", nil, broken, silent, a, of("empty", DialectClaude, &hook.Transcript{}))
}

// partialImports leaves out what is too old, switched off or not at its end.
func (w *teller) partialImports() {
	w.fresh()
	late, older := of("late", DialectClaude, turns(4)), of("older", DialectClaude, turns(1))
	late.ModTime, older.ModTime = at(63), at(62)
	w.tell("since the end of the second turn", func(im *Importer) { im.Since = at(63) }, late, older)

	w.fresh()
	off := func(dir string) func(*Importer) {
		return func(im *Importer) { im.Off = func(d string) bool { return d == dir } }
	}
	listed, moved, nowhere := of("listed", DialectClaude, turns(1)), of("moved", DialectClaude, turns(1)), of("nowhere", DialectClaude, turns(1))
	listed.Cwd, moved.Cwd, nowhere.Cwd = "/off", "/on", "/off2"
	nowhere.Read = func(context.Context) (*hook.Transcript, error) { tr := turns(1); tr.Cwd = ""; return tr, nil }
	w.tell("the list says that it is off", off("/off"), listed, moved)
	w.tell("the files say so", off("/home/dev/project"), of("c", DialectClaude, turns(1)), moved)
	w.tell("no folder is off", off(""), nowhere)

	w.fresh()
	w.now = at(130)
	open, pending, copied := turns(3), turns(2), turns(1)
	open.Ends = open.Ends[:2]
	pending.Pending = true
	copied.Inherited, copied.Damaged = 2, 1
	w.tell("turns without an end", nil, of("open", DialectClaude, open), of("pending", DialectClaude, pending), of("copied", DialectClaude, copied))
	w.tell("all of a session is sent at once", func(im *Importer) {
		im.Deliverer.Destinations[0].Join = func(runs []*tracepb.ResourceSpans) *tracepb.ResourceSpans { return runs[0] }
		w.clock.Store(int64(24 * time.Hour))
	}, of("joined", DialectClaude, turns(3)))
	w.tell("a session that is not at its end is not", func(im *Importer) {
		im.Deliverer.Destinations[0].Join = func(runs []*tracepb.ResourceSpans) *tracepb.ResourceSpans { return runs[0] }
		w.clock.Store(0)
	}, of("unjoined", DialectClaude, turns(3)))
}

// laterImports imports a session that hooks report, and what the store has removed.
func (w *teller) laterImports() {
	w.fresh()
	w.log(HostClaude, "logged", at(61))
	w.tell("a log has what began later", nil, of("logged", DialectClaude, turns(3)))
	w.tell("again", nil, of("logged", DialectClaude, turns(3)))
	w.now = w.now.Add(48 * time.Hour)
	w.prune(time.Hour)
	w.tell("the store has removed the first", nil, of("logged", DialectClaude, turns(3)))
	w.tell("it is asked for", func(im *Importer) { im.Again = true }, of("logged", DialectClaude, turns(3)))
}

// batchedImports stores several tasks at once.
func (w *teller) batchedImports() {
	w.fresh()
	w.step = 60 * time.Millisecond
	var many []Session
	for _, id := range strings.Fields("c d e f g") {
		many = append(many, of(id, DialectClaude, turns(1)))
	}
	w.tell("batches by time", nil, many...)
	w.fresh()
	w.tell("a batch by size", nil, of("c", DialectClaude, turns(512)), of("d", DialectClaude, turns(1)))
}

// TestReportText has every count as one and as two.
func TestReportText(t *testing.T) {
	var out strings.Builder
	for n := range 3 {
		full := &Report{
			Sessions: n, Unchanged: n, NewSessions: n, Runs: n, Spans: n,
			Skipped: Skipped{AlreadyThere: n, Captured: n, Removed: n, Open: n, TooOld: n, SwitchedOff: n, Inherited: n, Damaged: n},
			Destinations: []Delivered{
				{Destination: "otlp", Runs: n, Spans: n},
				{Destination: "file", Waiting: n},
				{Destination: "infinium", Refused: n, Errors: []string{"infinium: 401\x1b[2J"}},
				{Destination: "store", Runs: n, Waiting: n, Refused: n},
			},
		}
		fmt.Fprintf(&out, "%s  waiting %t, complete %t\n", full.Text(0), full.Waiting(), full.Complete())
	}
	golden.Check(t, "text.txt", out.String())
}

// TestOneThingLeftIsNotComplete: what is not new waits for nothing.
func TestOneThingLeftIsNotComplete(t *testing.T) {
	for name, c := range map[string]struct {
		report            Report
		waiting, complete bool
	}{
		"nothing left":            {Report{Runs: 1, Destinations: []Delivered{{Runs: 1}}}, false, true},
		"one waits":               {Report{Runs: 1, Destinations: []Delivered{{Runs: 1}, {Waiting: 1}}}, true, false},
		"one waits, none is new":  {Report{Destinations: []Delivered{{Waiting: 1}}}, true, false},
		"one is refused":          {Report{Runs: 1, Destinations: []Delivered{{Refused: 1}}}, false, false},
		"some spans are refused":  {Report{Runs: 1, Destinations: []Delivered{{Runs: 1, Errors: []string{"x"}}}}, false, false},
		"one session is not read": {Report{Unreadable: []Unreadable{{}}}, false, false},
	} {
		if w, ok := c.report.Waiting(), c.report.Complete(); w != c.waiting || ok != c.complete {
			t.Errorf("%s: waiting %t, complete %t", name, w, ok)
		}
	}
}

// TestPeriodsFindWhatOverlaps compares the search with the definition.
func TestPeriodsFindWhatOverlaps(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var all periods
		start := 0
		for range rapid.IntRange(0, 8).Draw(rt, "roots") {
			start += rapid.IntRange(0, 3).Draw(rt, "later")
			all.add(store.Root{Start: at(start), End: at(start + rapid.IntRange(0, 9).Draw(rt, "long"))})
		}
		from := rapid.IntRange(0, 20).Draw(rt, "from")
		to := from + rapid.IntRange(0, 9).Draw(rt, "of")
		root := &tracepb.Span{StartTimeUnixNano: otlp.UnixNano(at(from)), EndTimeUnixNano: otlp.UnixNano(at(to))}
		var want []store.Root
		for _, r := range all.roots {
			s, e := r.Start.Sub(t0), r.End.Sub(t0)
			x, y := time.Duration(from)*time.Second, time.Duration(to)*time.Second
			if s == x || s < y && x < e {
				want = append(want, r)
			}
		}
		got := all.beside(root)
		if got == nil != (len(want) == 0) || got != nil && !got.Start.Equal(want[len(want)-1].Start) {
			rt.Fatalf("beside %d to %d of %v: got %v, want the last of %v", from, to, all.roots, got, want)
		}
	})
}
