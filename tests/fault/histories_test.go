package fault_test

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"pgregory.net/rapid"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/hook/claude"
	"github.com/hookspan/hookspan/hook/cline"
	"github.com/hookspan/hookspan/hook/gemini"
	"github.com/hookspan/hookspan/hook/qwen"
	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/otlp/otlpjson"
	"github.com/hookspan/hookspan/internal/testkit/agentstest"
	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/tests/internal/histories"
	"github.com/hookspan/hookspan/tests/internal/proof"
)

// historyRows draw whole sessions, payload by payload.
var historyRows = []proof.Row{
	history(histories.Classic, "Cline's editor extension"),
	history(histories.Next, "Cline's new core"),
	history(histories.SDK, "Cline's SDK"),
	history(histories.Claude, "Claude Code"),
	history(histories.Gemini, "the Gemini CLI"),
	history(histories.Qwen, "Qwen Code"),
}

func history(d histories.Dialect, name string) proof.Row {
	return proof.Row{
		Name:  "drawn sessions of " + name + ": late, doubled and lost hooks, a clock that is set",
		Rule:  "every span ends, no parent is missing, no id is there twice, no call has another's result; the same from any position and at any time",
		Short: 500, Long: 30000,
		Run: func(t *testing.T, r *proof.Result) { drawHistories(t, r, d) },
	}
}

func drawHistories(t *testing.T, r *proof.Result, d histories.Dialect) {
	for name, value := range map[string]string{"rapid.checks": strconv.Itoa(r.N), "rapid.nofailfile": "true"} {
		old := flag.Lookup(name).Value.String()
		if err := flag.Set(name, value); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = flag.Set(name, old) }()
	}
	defer func() {
		if t.Failed() {
			r.Break("a drawn session breaks the rule")
		}
	}()
	runs := 0
	rapid.Check(t, func(rt *rapid.T) {
		runs += checkHistory(rt, d, histories.Draw(rt, d))
		r.Trial(1)
	})
	r.Note("%d runs", runs)
}

// checkHistory maps the records and returns how many runs they gave.
func checkHistory(rt *rapid.T, d histories.Dialect, h *histories.History) int {
	records := h.Records
	var events []hook.Event
	var now time.Time
	for _, raw := range records {
		events = append(events, decodeHistory(rt, d, raw)...)
		if raw.StoredAt.After(now) {
			now = raw.StoredAt
		}
	}
	if len(events) == 0 {
		return 0
	}
	defer func() {
		if rt.Failed() {
			rt.Logf("%s", listed(events))
		}
	}()
	// Longer than any run may be silent, whatever the clock was set by.
	now = now.Add(24 * time.Hour)
	b := mapHistory(events, 0, otelmap.Carry{})
	runs := b.Runs(now)
	ids := make(map[string]bool)
	for _, run := range runs {
		if !run.Ended {
			rt.Errorf("run %s has not ended", run.ID)
		}
		if run.Repeated {
			continue
		}
		wholeRun(rt, spansOf(b.Spans(run, nil)), ids)
		if h.Files != nil {
			spans := spansOf(b.Spans(run, h.Files))
			wholeRun(rt, spans, make(map[string]bool))
			ownResults(rt, spans)
		}
	}
	want := toldRuns(b, runs)
	again := mapHistory(events, 0, otelmap.Carry{})
	if got := toldRuns(again, again.Runs(now)); !maps.Equal(got, want) {
		rt.Errorf("the same events give other spans: %v and %v", got, want)
	}
	if len(runs) > 0 && rapid.IntRange(0, 19).Draw(rt, "encoded") == 0 {
		sameBytes(rt, b, again, now)
	}
	readOn(rt, events, b, runs, now, int64(len(records))*histories.Step)
	return len(runs)
}

func decodeHistory(rt *rapid.T, d histories.Dialect, raw hook.Raw) []hook.Event {
	decode, other := map[histories.Dialect]func(hook.Raw) ([]hook.Event, error){
		histories.Claude: claude.Decode, histories.Gemini: gemini.Decode, histories.Qwen: qwen.Decode,
	}[d]
	if !other {
		decode = cline.Decode
	}
	events, err := decode(raw)
	if err != nil {
		rt.Fatalf("%s %s: %v", raw.Event, raw.Payload, err)
	}
	return slices.DeleteFunc(events, func(e hook.Event) bool { return e.Session == "" })
}

// listed describes the events, in the order of the log.
func listed(events []hook.Event) string {
	var b strings.Builder
	for _, e := range events {
		fmt.Fprintf(&b, "\n%5d %s stored %s, %s, turn %q, agent %q", e.Offset, e.At().Format("15:04:05.000"),
			e.StoredAt.Format("15:04:05.000"), e.Name, e.Turn, e.Agent)
		if e.Tool != nil {
			fmt.Fprintf(&b, ", %s %q %s", e.Tool.Name, e.Tool.ID, e.Tool.Input)
		}
	}
	return b.String()
}

// mapHistory maps the events from an offset on.
func mapHistory(events []hook.Event, from int64, c otelmap.Carry) *otelmap.Builder {
	b := otelmap.NewBuilder(events[0].Host, events[0].Session, otelmap.Options{Agent: agentstest.Mapping(events[0].Host)}, c)
	for _, e := range events {
		if e.Offset >= from {
			b.Add(e)
		}
	}
	return b
}

// wholeRun holds the spans of a run to what any run promises. ids are those of
// the session so far.
func wholeRun(rt *rapid.T, spans []*tracepb.Span, ids map[string]bool) {
	parents := make(map[string]string)
	for _, s := range spans {
		id := spanID(s)
		if ids[id] {
			rt.Errorf("span %s of %q is there twice", id, s.Name)
		}
		ids[id] = true
		parents[otlp.SpanID(s)] = otlp.ParentID(s)
		if otlp.End(s).Before(otlp.Start(s)) || otlp.Start(s).IsZero() {
			rt.Errorf("%q runs from %s to %s", s.Name, otlp.Start(s), otlp.End(s))
		}
		if otlp.TraceID(s) != otlp.TraceID(spans[0]) {
			rt.Errorf("%q is of another trace", s.Name)
		}
	}
	root := otlp.SpanID(spans[0])
	for id := range parents {
		steps := 0
		for at := id; at != root; at = parents[at] {
			if _, known := parents[at]; !known || steps > len(spans) {
				rt.Fatalf("from span %s no parents lead to the root", id)
			}
			steps++
		}
	}
}

// ownResults looks for calls with the result of another.
func ownResults(rt *rapid.T, spans []*tracepb.Span) {
	for _, s := range spans {
		made := histories.Mark.FindString(otlp.Text(s.GetAttributes(), otelmap.KeyToolArguments))
		told := histories.Mark.FindString(otelmap.Returned(s))
		if made != "" && told != "" && made != told {
			rt.Errorf("%q of %s has the result of %s", s.Name, made, told)
		}
	}
}

// toldRuns are the runs, by id, with all that their spans say.
func toldRuns(b *otelmap.Builder, runs []*otelmap.Run) map[string]string {
	out := make(map[string]string)
	for _, run := range runs {
		if run.Repeated {
			continue
		}
		text := run.Outcome
		for _, s := range spansOf(b.Spans(run, nil)) {
			text += "\n" + spanID(s) + " " + told(s)
		}
		out[run.ID.String()] = text
	}
	return out
}

func sameBytes(rt *rapid.T, x, y *otelmap.Builder, now time.Time) {
	a, b := x.Runs(now)[0], y.Runs(now)[0]
	one, err := otlpjson.Encode([]*tracepb.ResourceSpans{x.Spans(a, nil)})
	if err != nil {
		rt.Fatal(err)
	}
	two, err := otlpjson.Encode([]*tracepb.ResourceSpans{y.Spans(b, nil)})
	if err != nil {
		rt.Fatal(err)
	}
	if !bytes.Equal(one, two) {
		rt.Errorf("run %s is encoded in two ways:\n%s\n%s", a.ID, one, two)
	}
}

// readOn answers for some of the runs, reads again from the boundary and wants
// all other runs under the same ids.
func readOn(rt *rapid.T, events []hook.Event, b *otelmap.Builder, runs []*otelmap.Run, now time.Time, size int64) {
	done := make(map[otelmap.RunID]bool)
	for _, run := range runs {
		done[run.ID] = rapid.Bool().Draw(rt, "done")
	}
	from, carry := b.Boundary(func(id otelmap.RunID) bool { return done[id] }, size)
	rest := mapHistory(events, from, carry)
	there := make(map[otelmap.RunID]string)
	for _, run := range rest.Runs(now) {
		if !run.Repeated {
			there[run.ID] = spanIDs(rest.Spans(run, nil))
		}
	}
	for _, run := range runs {
		got, ok := there[run.ID]
		delete(there, run.ID)
		switch {
		case run.Repeated:
		case !ok && !done[run.ID]:
			rt.Errorf("run %s was not answered for and is not read from %d on", run.ID, from)
		case ok && got != spanIDs(b.Spans(run, nil)):
			rt.Errorf("run %s has other spans from %d on:\n%s\n%s", run.ID, from, got, spanIDs(b.Spans(run, nil)))
		}
	}
	for id := range there {
		rt.Errorf("run %s is there only from %d on", id, from)
	}
}

func spanIDs(run *tracepb.ResourceSpans) string {
	var ids []string
	for _, s := range spansOf(run) {
		ids = append(ids, spanID(s)+" "+s.Name)
	}
	slices.Sort(ids)
	return fmt.Sprint(ids)
}
