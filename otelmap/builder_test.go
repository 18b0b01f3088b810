package otelmap

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/internal/testkit/otlpstub"
)

var epoch = time.Date(2026, 4, 18, 10, 0, 0, 0, time.UTC)

// ev is an event of the lead agent sec seconds into the session.
func ev(sec float64, k hook.Kind) hook.Event {
	at := epoch.Add(time.Duration(math.Round(sec*1000)) * time.Millisecond)
	return hook.Event{
		Host: "cline", Dialect: "classic", Session: "s", Kind: k, Name: k.String(),
		Time: at, StoredAt: at.Add(5 * time.Millisecond), Hash: uint64(sec*1000) + 1,
	}
}

func tool(sec float64, k hook.Kind, name, id string) hook.Event {
	e := ev(sec, k)
	e.Tool = &hook.Tool{ID: id, Name: name, Input: `{"path":"` + name + `"}`, Duration: -1}
	return e
}

func sub(e hook.Event, agent, parent string) hook.Event {
	e.Agent, e.ParentAgent, e.AgentType = agent, parent, "subagent"
	e.Hash += 1 << 32
	return e
}

func prompt(sec float64, text string) hook.Event {
	e := ev(sec, hook.KindPrompt)
	e.Prompt = text
	return e
}

// logged gives events the offsets of a log that holds them in this order.
func logged(events ...hook.Event) []hook.Event {
	for i := range events {
		events[i].Offset = int64(i * 100)
	}
	return events
}

func build(o Options, c Carry, events []hook.Event) *Builder {
	b := NewBuilder("cline", "s", o, c)
	for _, e := range events {
		b.Add(e)
	}
	return b
}

// far is a moment at which every silent run has been idle for too long.
var far = epoch.Add(48 * time.Hour)

func TestRuns(t *testing.T) {
	const (
		start, resume, ask = hook.KindRunStart, hook.KindRunResume, hook.KindPrompt
		pre, post          = hook.KindToolStart, hook.KindToolEnd
		done, cancel, fail = hook.KindRunComplete, hook.KindRunCancel, hook.KindRunError
		bye, note          = hook.KindSessionEnd, hook.KindNotification
	)
	type want struct {
		outcome string
		spans   int
	}
	tests := []struct {
		name   string
		events []hook.Event
		want   []want
	}{
		{
			"a task that completes",
			[]hook.Event{ev(0, start), ev(1, ask), tool(2, post, "a", ""), ev(3, done)},
			[]want{{"completed", 2}},
		},
		{
			"a cancellation right after the completion does not overwrite it",
			[]hook.Event{ev(0, start), ev(3, done), ev(3.001, cancel)},
			[]want{{"completed", 1}},
		},
		{
			"a completion right after a cancellation replaces it",
			[]hook.Event{ev(0, start), ev(3, cancel), ev(3.011, done)},
			[]want{{"completed", 1}},
		},
		{
			"a completion that a busy machine delays replaces it, too",
			[]hook.Event{ev(0, start), ev(3, cancel), ev(4.3, done)},
			[]want{{"completed", 1}},
		},
		{
			"a completion long after a cancellation does not",
			[]hook.Event{ev(0, start), ev(3, cancel), ev(30, done)},
			[]want{{"cancelled", 1}},
		},
		{
			"two cancellations are one",
			[]hook.Event{ev(0, start), ev(3, cancel), ev(3.2, cancel)},
			[]want{{"cancelled", 1}},
		},
		{
			"a notification after the end does not reopen",
			[]hook.Event{ev(0, start), ev(3, done), ev(3.1, note), ev(9, note)},
			[]want{{"completed", 1}},
		},
		{
			"feedback after the end is a separate run",
			[]hook.Event{ev(0, start), ev(3, done), ev(4, ask), ev(5, done)},
			[]want{{"completed", 1}, {"completed", 1}},
		},
		{
			"a tool after the end opens a run",
			[]hook.Event{ev(0, start), ev(3, cancel), tool(4, post, "a", "")},
			[]want{{"cancelled", 1}, {"abandoned", 2}},
		},
		{
			"a run that another one interrupts is abandoned",
			[]hook.Event{ev(0, start), ev(1, ask), ev(2, start), ev(3, done)},
			[]want{{"abandoned", 1}, {"completed", 1}},
		},
		{
			"a resume beside a start opens one run",
			[]hook.Event{ev(0, start), ev(0.01, resume), ev(1, ask), ev(3, done)},
			[]want{{"completed", 1}},
		},
		{
			"the session's end interrupts",
			[]hook.Event{ev(0, start), tool(1, pre, "a", ""), ev(2, bye)},
			[]want{{"interrupted", 2}},
		},
		{"an error fails the run", []hook.Event{ev(0, start), ev(2, fail)}, []want{{"failed", 1}}},
		{
			"silence abandons, and what comes after it is a new run",
			[]hook.Event{ev(0, start), ev(1, ask), ev(3600, ask), ev(3601, done)},
			[]want{{"abandoned", 1}, {"completed", 1}},
		},
		{"only the end of a task was reported", []hook.Event{ev(0, done)}, []want{{"completed", 1}}},
		{"notifications alone are no run", []hook.Event{ev(0, note), ev(1, bye)}, nil},
		{
			"a clock that is set back does not turn the order round",
			[]hook.Event{ev(7200, start), tool(7201, pre, "a", ""), tool(10, post, "a", ""), ev(11, done), ev(12, ask), ev(13, done)},
			[]want{{"completed", 2}, {"completed", 1}},
		},
		{"events that no decoder knows make nothing", []hook.Event{ev(0, hook.KindUnknown)}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := build(Options{}, Carry{}, logged(tt.events...))
			var got []want
			for _, r := range b.Runs(far) {
				spans := spansOf(b, r, nil)
				wellFormed(t, spans)
				if !r.Ended {
					t.Errorf("run %s has not ended", r.ID)
				}
				got = append(got, want{r.Outcome, len(spans)})
			}
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(want{})); diff != "" {
				t.Errorf("runs differ (-want +got):\n%s", diff)
			}
		})
	}
}

// wellFormed checks what must hold for every run.
func wellFormed(t testing.TB, spans []*tracepb.Span) {
	t.Helper()
	ids := map[string]bool{}
	starts := map[string]time.Time{}
	for _, s := range spans {
		if id := otlp.SpanID(s); ids[id] {
			t.Errorf("span id %s of %q is repeated", id, s.Name)
		} else {
			ids[id], starts[id] = true, otlp.Start(s)
		}
	}
	for i, s := range spans {
		if otlp.End(s).Before(otlp.Start(s)) || otlp.End(s).IsZero() {
			t.Errorf("%q runs from %s to %s", s.Name, otlp.Start(s), otlp.End(s))
		}
		if i > 0 && !ids[otlp.ParentID(s)] {
			t.Errorf("%q has no parent in its run", s.Name)
		}
		if otlp.Start(s).Before(starts[otlp.ParentID(s)]) {
			t.Errorf("%q begins at %s, before its parent", s.Name, otlp.Start(s))
		}
	}
}

// A call that takes longer than the idle timeout opens a run with its end.
func TestSpanBeginsAfterItsParentDespiteSilence(t *testing.T) {
	long := func(e hook.Event, d time.Duration) hook.Event { e.Tool.Duration = d; return e }
	for name, c := range map[string]struct {
		events []hook.Event
		began  float64
	}{
		"the lead's call": {
			[]hook.Event{
				ev(0, hook.KindRunStart), tool(1, hook.KindToolStart, "make", "c1"),
				long(tool(4001, hook.KindToolEnd, "make", "c1"), 4000*time.Second), ev(4002, hook.KindRunComplete),
			}, 1,
		},
		"a subagent's call": {
			[]hook.Event{
				ev(0, hook.KindRunStart), ev(1, hook.KindRunComplete), ev(4000, hook.KindRunStart),
				sub(long(tool(4001, hook.KindToolEnd, "make", "c1"), 3000*time.Second), "p", "lead"), ev(4002, hook.KindRunComplete),
			}, 1001,
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := build(Options{}, Carry{}, logged(c.events...))
			runs := b.Runs(far)
			if len(runs) != 2 {
				t.Fatalf("%d runs, want 2", len(runs))
			}
			spans := spansOf(b, runs[1], nil)
			wellFormed(t, spans)
			if want := ev(c.began, 0).Time; !otlp.Start(spans[0]).Equal(want) {
				t.Errorf("the run begins at %s, want %s", otlp.Start(spans[0]), want)
			}
		})
	}
}

func TestToolEndsMatchTheirStarts(t *testing.T) {
	const pre, post = hook.KindToolStart, hook.KindToolEnd
	timed := func(e hook.Event, d time.Duration) hook.Event { e.Tool.Duration = d; return e }
	exact := func(e hook.Event, from, to float64) hook.Event {
		e.Tool.Started, e.Tool.Ended = ev(from, pre).Time, ev(to, pre).Time
		return e
	}
	tests := []struct {
		name   string
		events []hook.Event
		want   []string
	}{
		{"the two ends of a call", []hook.Event{tool(1, pre, "a", ""), tool(3, post, "a", "")}, []string{"a 1..3"}},
		{
			"two equal calls in order",
			[]hook.Event{tool(1, pre, "a", ""), tool(2, pre, "a", ""), tool(3, post, "a", ""), tool(4, post, "a", "")},
			[]string{"a 1..3", "a 2..4"},
		},
		{
			"parallel calls by id",
			[]hook.Event{tool(1, pre, "a", "x"), tool(2, pre, "a", "y"), tool(3, post, "a", "y"), tool(4, post, "a", "x")},
			[]string{"a 1..4", "a 2..3"},
		},
		{
			"an id used again in a later reply",
			[]hook.Event{tool(1, pre, "a", "x"), tool(2, post, "a", "x"), tool(3, pre, "a", "x"), tool(4, post, "a", "x")},
			[]string{"a 1..2", "a 3..4"},
		},
		{"an end without a start, by the host's duration", []hook.Event{timed(tool(5, post, "a", ""), 2*time.Second)}, []string{"a 3..5"}},
		{"an end without a start or a duration", []hook.Event{tool(5, post, "a", "")}, []string{"a 5..5"}},
		{
			"a start without an end ends with the next event",
			[]hook.Event{tool(1, pre, "a", ""), tool(4, pre, "b", ""), tool(5, post, "b", "")},
			[]string{"a 1..4 ToolUnfinished", "b 4..5"},
		},
		{"exact times win over the events'", []hook.Event{tool(1, pre, "a", "x"), exact(tool(9, post, "a", "x"), 2, 3)}, []string{"a 2..3"}},
		{"a clock that ran backwards is clamped and marked", []hook.Event{tool(9, pre, "a", "x"), exact(tool(9.5, post, "a", "x"), 8, 7)}, []string{"a 8..8 clamped"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			events := append([]hook.Event{ev(0, hook.KindRunStart)}, tt.events...)
			b := build(Options{}, Carry{}, logged(append(events, ev(10, hook.KindRunComplete))...))
			spans := spansOf(b, b.Runs(far)[0], nil)
			wellFormed(t, spans)
			var got []string
			for _, s := range spans[1:] {
				line := fmt.Sprintf("%s %g..%g", strings.TrimPrefix(s.Name, "execute_tool "),
					otlp.Start(s).Sub(epoch).Seconds(), otlp.End(s).Sub(epoch).Seconds())
				if v := value(s, KeyErrorType); v != "" {
					line += " " + v
				}
				if value(s, KeyClamped) != "" {
					line += " clamped"
				}
				got = append(got, line)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("calls differ (-want +got):\n%s", diff)
			}
		})
	}
}

func value(s *tracepb.Span, key string) string {
	for _, kv := range s.Attributes {
		if kv.Key == key {
			return otlpstub.Value(kv.Value).String()
		}
	}
	return ""
}

// background is a run whose subagent continues while the next run is open.
func background() []hook.Event {
	return logged(
		ev(0, hook.KindRunStart), tool(1, hook.KindToolStart, "spawn_agent", "c1"),
		sub(ev(1.1, hook.KindRunStart), "ag", "lead"), tool(1.2, hook.KindToolEnd, "spawn_agent", "c1"),
		ev(2, hook.KindRunComplete),
		prompt(3, "next"), sub(tool(4, hook.KindToolStart, "x", "c2"), "ag", "lead"),
		ev(5, hook.KindRunComplete),
		sub(tool(6, hook.KindToolEnd, "x", "c2"), "ag", "lead"), sub(ev(7, hook.KindRunComplete), "ag", "lead"),
		prompt(8, "third"), ev(9, hook.KindRunComplete),
	)
}

func TestBackgroundAgentBelongsToItsFirstRun(t *testing.T) {
	events := background()
	soon := epoch.Add(5500 * time.Millisecond)

	b := build(Options{}, Carry{}, events[:8])
	runs := b.Runs(soon)
	if runs[0].Ended || !runs[1].Ended {
		t.Errorf("while the agent works: ended %v and %v, want false and true", runs[0].Ended, runs[1].Ended)
	}
	second := runs[1].ID
	off, carry := b.Boundary(func(id RunID) bool { return id == second }, 800)
	if off != 0 || carry.Runs != 0 {
		t.Errorf("reading may start at %d after %d runs, want 0 after 0: the first run is not done", off, carry.Runs)
	}

	b = build(Options{}, Carry{}, events)
	runs = b.Runs(epoch.Add(10 * time.Second))
	if len(runs) != 3 || !runs[0].Ended {
		t.Fatalf("%d runs, first ended %v: want 3 and true", len(runs), runs[0].Ended)
	}
	spans := spansOf(b, runs[0], nil)
	wellFormed(t, spans)
	var names []string
	for _, s := range spans {
		names = append(names, s.Name)
	}
	want := []string{"invoke_agent cline", "execute_tool spawn_agent", "invoke_agent subagent", "execute_tool x"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("spans of the first run differ (-want +got):\n%s", diff)
	}
	if otlp.ParentID(spans[2]) != otlp.SpanID(spans[1]) {
		t.Error("the subagent is not below the call that started it")
	}
	if otlp.ParentID(spans[3]) != otlp.SpanID(spans[2]) {
		t.Error("the subagent's tool is not below the subagent")
	}
	// With the third run not yet delivered, the first two are before it.
	third := runs[2].ID
	off, carry = b.Boundary(func(id RunID) bool { return id != third }, 1200)
	if off != 1000 || carry.Runs != 2 || !slices.Contains(carry.Agents, "ag") {
		t.Errorf("boundary %d, carry %+v: want 1000 behind two runs, remembering the agent", off, carry)
	}
}

func TestSubagentUsageCountsOnceInItsRun(t *testing.T) {
	cost := 0.5
	call := func(id, agent string, sec float64) hook.Request {
		return hook.Request{
			ID: id, Agent: agent, Start: ev(sec, 0).Time, End: ev(sec+0.1, 0).Time, Model: "m",
			Usage: &hook.Usage{Input: 10, Output: 1, CostUSD: &cost},
		}
	}
	tr := &hook.Transcript{Requests: []hook.Request{call("l1", "", 0.5), call("a1", "ag", 4), call("l2", "", 4.5), call("a2", "ag", 6.5), call("l3", "", 8.5)}}
	b := build(Options{}, Carry{}, background())
	runs := b.Runs(far)
	var got []string
	for _, r := range runs {
		got = append(got, value(spansOf(b, r, tr)[0], KeyHostInputTokens))
	}
	if diff := cmp.Diff([]string{"30", "10", "10"}, got); diff != "" {
		t.Errorf("input tokens by run differ (-want +got):\n%s", diff)
	}
	// The same when the first two runs have been delivered and are not read again.
	third := runs[2].ID
	off, carry := b.Boundary(func(id RunID) bool { return id != third }, 1200)
	b2 := build(Options{}, carry, background()[off/100:])
	r2 := b2.Runs(far)
	if len(r2) != 1 {
		t.Fatalf("%d runs behind the boundary, want 1", len(r2))
	}
	if diff := cmp.Diff(b.Spans(runs[2], tr), b2.Spans(r2[0], tr), protocmp.Transform()); diff != "" {
		t.Errorf("the third run read by itself differs (-whole +rest):\n%s", diff)
	}
}

// plain returns the resource and the spans of a run as texts that can be compared.
func plain(run *tracepb.ResourceSpans) []string {
	out := []string{prototext.Format(run.Resource)}
	for s := range otlp.Spans([]*tracepb.ResourceSpans{run}) {
		out = append(out, prototext.Format(s))
	}
	return out
}

func TestRootLinksToThePreviousRoot(t *testing.T) {
	b := build(Options{}, Carry{}, logged(ev(0, hook.KindRunStart), ev(1, hook.KindRunComplete), prompt(2, "x"), ev(3, hook.KindRunComplete)))
	runs := b.Runs(far)
	first, second := spansOf(b, runs[0], nil)[0], spansOf(b, runs[1], nil)[0]
	if len(first.Links) != 0 || len(second.Links) != 1 {
		t.Fatalf("links %d and %d, want 0 and 1", len(first.Links), len(second.Links))
	}
	if got := second.Links[0]; !bytes.Equal(got.TraceId, first.TraceId) || !bytes.Equal(got.SpanId, first.SpanId) {
		t.Error("the second root does not link to the first")
	}
	if otlp.TraceID(first) == otlp.TraceID(second) {
		t.Error("two runs share a trace")
	}
}

func TestTraceparentBecomesParent(t *testing.T) {
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	withParent := ev(0, hook.KindRunStart)
	withParent.TraceParent = parent
	tests := []struct {
		name  string
		opts  Options
		first hook.Event
		want  string
	}{
		{"from the hook's environment", Options{}, withParent, "0af7651916cd43dd8448eb211c80319c"},
		{"from the configuration", Options{Traceparent: parent}, ev(0, hook.KindRunStart), "0af7651916cd43dd8448eb211c80319c"},
		{"an invalid one is not taken", Options{Traceparent: "00-0-0-01"}, ev(0, hook.KindRunStart), ""},
		{"nor one of zeros", Options{Traceparent: "00-00000000000000000000000000000000-b7ad6b7169203331-01"}, ev(0, hook.KindRunStart), ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := build(tt.opts, Carry{}, logged(tt.first, tool(1, hook.KindToolEnd, "a", ""), ev(2, hook.KindRunComplete)))
			spans := spansOf(b, b.Runs(far)[0], nil)
			root := spans[0]
			inherited := len(root.ParentSpanId) > 0
			if inherited != (tt.want != "") {
				t.Fatalf("the root has a parent: %v", inherited)
			}
			if inherited && (otlp.TraceID(root) != tt.want || root.Flags != 0x301 || otlp.ParentID(root) != "b7ad6b7169203331") {
				t.Errorf("root %s below %s", otlp.TraceID(root), otlp.ParentID(root))
			}
			if otlp.TraceID(spans[1]) != otlp.TraceID(root) {
				t.Error("the tool is of another trace than its root")
			}
		})
	}
}

func TestCaptureLevelsLimitTexts(t *testing.T) {
	long := strings.Repeat("wörd ", 4000)
	first := ev(0, hook.KindRunStart)
	first.Prompt = long
	call := tool(1, hook.KindToolEnd, "a", "")
	call.Tool.Input, call.Tool.Output = `{"x":"`+long+`"}`, long
	call.Tool.Status, call.Tool.Error = hook.ToolFailed, long
	end := ev(2, hook.KindRunComplete)
	end.Result = long
	for _, tt := range []struct {
		capture                    Capture
		task, input, output, error int
	}{
		{CapturePreview, MaxTaskRunes, 200, 0, 300},
		{CaptureNone, 0, 0, 0, 0},
		{CaptureFull, 20000, 20008, 0, 20000},
	} {
		t.Run(string(tt.capture), func(t *testing.T) {
			b := build(Options{Capture: tt.capture}, Carry{}, logged(first, call, end))
			spans := spansOf(b, b.Runs(far)[0], nil)
			runes := func(s string) int { return len([]rune(s)) }
			got := []int{
				runes(value(spans[0], KeyInputValue)), runes(value(spans[1], KeyToolArguments)),
				runes(value(spans[1], KeyToolResult)), runes(spans[1].Status.Message),
			}
			if diff := cmp.Diff([]int{tt.task, tt.input, tt.output, tt.error}, got); diff != "" {
				t.Errorf("lengths of task, input, output, error differ (-want +got):\n%s", diff)
			}
			if spans[1].Status.Code != tracepb.Status_STATUS_CODE_ERROR {
				t.Error("the failed tool is not an error")
			}
			if tt.capture == CaptureNone && strings.Contains(fmt.Sprint(spans), "wörd") {
				t.Error("a text got onto a span although none is captured")
			}
		})
	}
}

func TestCleanSeesWholeTexts(t *testing.T) {
	secret := "key-" + strings.Repeat("s", 40)
	call := tool(1, hook.KindToolEnd, "a", "")
	call.Tool.Output = strings.Repeat("x", 290) + secret // the preview's limit falls into it
	clean := func(s string, limit int) string {
		return termtext.Cut(strings.ReplaceAll(s, secret, "[gone]"), limit)
	}
	b := build(Options{Clean: clean}, Carry{}, logged(ev(0, hook.KindRunStart), call, ev(2, hook.KindRunComplete)))
	if got := value(spansOf(b, b.Runs(far)[0], nil)[1], KeyToolResult); strings.Contains(got, "key-") {
		t.Errorf("the head of a secret is left: %q", got)
	}
}

func TestRepeatedEventsChangeNothing(t *testing.T) {
	events := logged(ev(0, hook.KindRunStart), tool(1, hook.KindToolEnd, "a", ""), ev(2, hook.KindRunComplete))
	b := build(Options{}, Carry{}, events)
	b.Runs(far)
	all := func(RunID) bool { return true }
	_, carry := b.Boundary(all, 300)

	again := build(Options{}, carry, append(slices.Clone(events), prompt(5, "new"), ev(6, hook.KindRunComplete)))
	runs := again.Runs(far)
	if len(runs) != 2 || !runs[0].Repeated || runs[1].Repeated {
		t.Fatalf("%d runs, repeated %v and %v: want the first alone to be a repetition", len(runs), runs[0].Repeated, runs[len(runs)-1].Repeated)
	}
	off, _ := again.Boundary(all, 500)
	if off != 500 {
		t.Errorf("a repetition holds the position at %d", off)
	}
}

// TestRunsThatBeginAtOnceHaveDifferentIDs has a run of which only the end was reported, in the
// millisecond in which the next one begins.
func TestRunsThatBeginAtOnceHaveDifferentIDs(t *testing.T) {
	b := build(Options{}, Carry{}, logged(ev(1, hook.KindRunComplete), ev(1, hook.KindRunStart), ev(2, hook.KindRunComplete)))
	runs := b.Runs(far)
	if len(runs) != 2 || runs[0].ID == runs[1].ID {
		t.Errorf("%d runs, want two with ids of their own", len(runs))
	}
}

// TestBoundaryIsBeforeTheLastCopy has an event of the first run come again
// when the second has begun.
func TestBoundaryIsBeforeTheLastCopy(t *testing.T) {
	start := ev(0, hook.KindRunStart)
	events := logged(start, ev(1, hook.KindRunCancel), ev(2, hook.KindRunResume), start, ev(3, hook.KindRunComplete))
	b := build(Options{}, Carry{}, events)
	runs := b.Runs(far)
	off, carry := b.Boundary(func(id RunID) bool { return id == runs[0].ID }, 500)
	again := build(Options{}, carry, events[off/100:]).Runs(far)
	if len(runs) != 2 || len(again) == 0 || again[len(again)-1].ID != runs[1].ID || again[len(again)-1].Repeated {
		t.Errorf("%d runs, from %d on %d, want the second among them", len(runs), off, len(again))
	}
}

// TestEventsAfterTheClockWasSetBackMakeRuns has the clock set back by half a minute from
// the end of a run that was delivered, after something late of it.
func TestEventsAfterTheClockWasSetBackMakeRuns(t *testing.T) {
	events := logged(ev(0, hook.KindRunStart), ev(100, hook.KindRunComplete), ev(190, hook.KindNotification),
		tool(70, hook.KindToolStart, "read_file", "a"), ev(71, hook.KindRunComplete))
	whole := build(Options{}, Carry{}, events)
	runs := whole.Runs(far)
	if len(runs) != 2 {
		t.Fatalf("%d runs, want two", len(runs))
	}
	off, carry := whole.Boundary(func(id RunID) bool { return id == runs[0].ID }, 500)
	again := build(Options{}, carry, events[off/100:]).Runs(far)
	if len(again) != 1 || again[0].ID != runs[1].ID {
		t.Errorf("from %d on there are %d runs, want the second alone", off, len(again))
	}
}

// TestStartAfterItsFirstToolJoinsTheRun has the first tool of a run bear the millisecond of
// the run's start, before which it is then put.
func TestStartAfterItsFirstToolJoinsTheRun(t *testing.T) {
	for _, start := range []hook.Kind{hook.KindRunStart, hook.KindRunResume} {
		b := build(Options{}, Carry{}, logged(ev(1, start), tool(1, hook.KindToolStart, "read_file", "a"), ev(2, hook.KindRunComplete)))
		if runs := b.Runs(far); len(runs) != 1 || len(spansOf(b, runs[0], nil)) != 2 {
			t.Errorf("%v: %d runs, want one of two spans", start, len(runs))
		}
	}
}
