package otelmap

import (
	"bytes"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/otlp"
)

// used gives the host's input tokens of each run: call n has 10 to the n.
func used(b *Builder, tr *hook.Transcript) []string {
	var out []string
	for _, r := range b.Runs(far) {
		out = append(out, value(spansOf(b, r, tr)[0], KeyHostInputTokens))
	}
	return out
}

func calls(secs ...float64) *hook.Transcript {
	tr := &hook.Transcript{}
	n := int64(1)
	for _, s := range secs {
		tr.Requests = append(tr.Requests, hook.Request{
			ID: "c", Start: ev(s, 0).Time, End: ev(s+0.1, 0).Time, Model: "m", Usage: &hook.Usage{Input: n},
		})
		n *= 10
	}
	return tr
}

func TestRequestBelongsToTheRunOfItsTime(t *testing.T) {
	const start, ask, done = hook.KindRunStart, hook.KindPrompt, hook.KindRunComplete
	tests := []struct {
		name   string
		carry  Carry
		events []hook.Event
		calls  []float64
		want   []string
	}{
		{
			"each to its own",
			Carry{},
			[]hook.Event{ev(0, start), ev(10, done), ev(20, ask), ev(30, done)},
			[]float64{1, 9, 21},
			[]string{"11", "100"},
		},
		{
			"one between two runs to the later",
			Carry{},
			[]hook.Event{ev(0, start), ev(10, done), ev(60, ask), ev(70, done)},
			[]float64{1, 12, 61},
			[]string{"1", "110"},
		},
		{
			"none of a session that went on before its first run here",
			Carry{},
			[]hook.Event{ev(1000, start), ev(1010, done)},
			[]float64{1, 500, 1001},
			[]string{"100"},
		},
		{
			"one after the last event of a run without an end",
			Carry{},
			[]hook.Event{ev(0, start), ev(1, ask), ev(100, start), ev(110, done)},
			[]float64{0.5, 40, 101},
			[]string{"11", "100"},
		},
		{"one after the last event of all", Carry{}, []hook.Event{ev(0, start), ev(1, ask)}, []float64{0.5, 40}, []string{"11"}},
		{
			"none of an unread run without an end",
			Carry{Runs: 1},
			[]hook.Event{ev(100, ask), ev(110, done)},
			[]float64{40, 101},
			[]string{"10"},
		},
		{
			"each to its own after the clock was set back",
			Carry{},
			[]hook.Event{ev(7200, start), ev(7210, done), ev(100, ask), ev(110, done)},
			[]float64{7201, 101},
			[]string{"1", "10"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := build(Options{}, tt.carry, logged(tt.events...))
			if diff := cmp.Diff(tt.want, used(b, calls(tt.calls...))); diff != "" {
				t.Errorf("tokens by run differ (-want +got):\n%s", diff)
			}
		})
	}
}

func TestResumeLongAfterAStartIsASeparateRun(t *testing.T) {
	b := build(Options{}, Carry{}, logged(ev(0, hook.KindRunStart), ev(600, hook.KindRunResume), ev(610, hook.KindRunComplete)))
	runs := b.Runs(far)
	if len(runs) != 2 || runs[0].Outcome != OutcomeAbandoned || runs[1].Outcome != OutcomeCompleted {
		t.Errorf("%d runs, want an abandoned and a completed one", len(runs))
	}
}

// after gives the carry behind runs that have been delivered.
func after(t *testing.T, events ...hook.Event) Carry {
	t.Helper()
	b := build(Options{}, Carry{}, logged(events...))
	b.Runs(far)
	_, c := b.Boundary(func(RunID) bool { return true }, int64(len(events)*100))
	return c
}

func TestLateEventOfADeliveredRunIsIgnored(t *testing.T) {
	carry := after(t, ev(0, hook.KindRunStart), ev(10, hook.KindRunComplete))
	late := tool(9, hook.KindToolEnd, "a", "")
	b := build(Options{}, carry, logged(late, prompt(20, "next"), ev(30, hook.KindRunComplete)))
	runs := b.Runs(far)
	if len(runs) != 1 || runs[0].Outcome != OutcomeCompleted {
		t.Fatalf("%d runs, want the next one alone", len(runs))
	}
	if n := len(spansOf(b, runs[0], nil)); n != 1 {
		t.Errorf("%d spans in the next run, want its root alone", n)
	}
	// After a step of the clock it is an event like any other.
	long := ev(0, hook.KindRunStart)
	carry.PrevEnd = long.Time.Add(24 * time.Hour)
	if runs := build(Options{}, carry, logged(late)).Runs(far); len(runs) != 1 {
		t.Errorf("%d runs after the clock was set back, want 1", len(runs))
	}
}

// TestResultBelongsToTheRunThatAsked has an agent that notes the result of a call when it
// has been interrupted, and goes on with another prompt.
func TestResultBelongsToTheRunThatAsked(t *testing.T) {
	first := []hook.Event{ev(0, hook.KindRunStart), tool(2, hook.KindToolStart, "Bash", "x"), ev(10, hook.KindRunCancel)}
	next := []hook.Event{prompt(20, "next"), tool(21, hook.KindToolStart, "Bash", "y"), tool(22, hook.KindToolEnd, "Bash", "y"), ev(30, hook.KindRunComplete)}
	tr := calls(0.5)
	tr.Requests[0].ToolCallIDs = []string{"x"}
	tr.ToolResults = []hook.ToolResult{{ID: "x", Name: "Bash", At: ev(10.3, 0).Time}}
	for name, b := range map[string]*Builder{
		"after its delivery": build(Options{}, after(t, first...), logged(next...)),
		"together":           build(Options{}, Carry{}, logged(slices.Concat(first, next)...)),
	} {
		runs := b.Runs(far)
		if n := len(spansOf(b, runs[len(runs)-1], tr)); n != 2 {
			t.Errorf("%s: %d spans in the next run, want its root and its own call", name, n)
		}
	}
}

// TestCallThatNoHookReportsMayBeItsRunsOnly has a host without turns whose hooks report
// no call of a tool that there is not.
func TestCallThatNoHookReportsMayBeItsRunsOnly(t *testing.T) {
	tr := calls(0.5)
	tr.Requests[0].ToolCallIDs = []string{"x"}
	tr.ToolResults = []hook.ToolResult{{ID: "x", Name: "no_such_tool", Status: hook.ToolFailed, At: ev(1, 0).Time}}
	b := build(Options{}, Carry{}, logged(ev(0, hook.KindRunStart), ev(10, hook.KindRunComplete)))
	spans := spansOf(b, b.Runs(far)[0], tr)
	if !slices.ContainsFunc(spans, func(s *tracepb.Span) bool { return value(s, KeyToolName) == "no_such_tool" }) {
		t.Errorf("%d spans without the call", len(spans))
	}
}

func TestLateHookDoesNotSetTheClockBack(t *testing.T) {
	events := []hook.Event{ev(0, hook.KindRunStart), ev(200, hook.KindRunStart), ev(10, hook.KindRunComplete), ev(210, hook.KindRunComplete)}
	events[2].StoredAt = events[1].StoredAt.Add(time.Second) // it was stored 190 s late
	var got []string
	for _, r := range build(Options{}, Carry{}, logged(events...)).Runs(far) {
		got = append(got, r.Outcome)
	}
	if diff := cmp.Diff([]string{OutcomeCompleted, OutcomeCompleted}, got); diff != "" {
		t.Errorf("outcomes differ (-want +got):\n%s", diff)
	}
}

func TestAgentAskedAgainWorksForTheRunThatAsks(t *testing.T) {
	mate := func(from float64) []hook.Event {
		return []hook.Event{
			sub(ev(from, hook.KindRunStart), "mate", "lead"), sub(tool(from+1, hook.KindToolEnd, "x", ""), "mate", "lead"),
			sub(ev(from+2, hook.KindRunComplete), "mate", "lead"),
		}
	}
	events := slices.Concat(
		[]hook.Event{ev(0, hook.KindRunStart)}, mate(1), []hook.Event{ev(4, hook.KindRunComplete), prompt(10, "more")},
		mate(11), []hook.Event{ev(14, hook.KindRunComplete)})
	tr := &hook.Transcript{}
	for i, at := range []float64{1.5, 11.5} {
		tr.Requests = append(tr.Requests, hook.Request{
			ID: "c", Agent: "mate", Start: ev(at, 0).Time, End: ev(at+0.1, 0).Time, Usage: &hook.Usage{Input: []int64{1, 10}[i]},
		})
	}
	b := build(Options{}, Carry{}, logged(events...))
	if diff := cmp.Diff([]string{"1", "10"}, used(b, tr)); diff != "" {
		t.Errorf("tokens by run differ (-want +got):\n%s", diff)
	}
	for _, r := range b.Runs(far) {
		if n := len(spansOf(b, r, tr)); n != 4 {
			t.Errorf("%d spans in a run, want its root, the agent, a tool and a request", n)
		}
	}
}

func TestAgentOfADeliveredRunJoinsNoOther(t *testing.T) {
	carry := Carry{Runs: 1, Agents: []string{"ag"}}
	b := build(Options{}, carry, logged(prompt(10, "next"), sub(tool(11, hook.KindToolEnd, "x", ""), "ag", "lead"), ev(12, hook.KindRunComplete)))
	if n := len(spansOf(b, b.Runs(far)[0], nil)); n != 1 {
		t.Errorf("%d spans in the next run, want its root alone", n)
	}
}

// TestLastRequestOfASubagentIsLate has requests that the agent's file dates a few
// milliseconds after the hook at the subagent's end, in a run alone and in one of two
// with the same subagent.
func TestLastRequestOfASubagentIsLate(t *testing.T) {
	start, end := hook.KindRunStart, hook.KindRunComplete
	first := []hook.Event{
		turnPrompt(0, "p1"), asAgent(turnEv(1, start, "p1"), "x", "Explore"), asAgent(turnEv(2, end, "p1"), "x", "Explore"), turnStop(3, "p1"),
	}
	again := []hook.Event{
		turnPrompt(10, "p2"), asAgent(turnEv(11, start, "p2"), "x", "Explore"), asAgent(turnEv(12, end, "p2"), "x", "Explore"), turnStop(13, "p2"),
	}
	for name, c := range map[string]struct {
		events []hook.Event
		calls  []float64
		want   []string
	}{
		"late":                        {first, []float64{1.5, 2.004}, []string{"11"}},
		"much later":                  {first, []float64{1.5, 20}, []string{"1"}},
		"late, and the agent resumed": {slices.Concat(first, again), []float64{1.5, 2.004, 11.5, 12.004}, []string{"11", "1100"}},
	} {
		t.Run(name, func(t *testing.T) {
			tr := calls(c.calls...)
			for i := range tr.Requests {
				tr.Requests[i].Agent = "x"
				tr.Requests[i].ID += strconv.Itoa(i)
			}
			b := buildTurns(Carry{}, c.events)
			if diff := cmp.Diff(c.want, used(b, tr)); diff != "" {
				t.Errorf("tokens by run differ (-want +got):\n%s", diff)
			}
			for _, r := range b.Runs(far) {
				spans := spansOf(b, r, tr)
				for _, s := range spans {
					i := slices.IndexFunc(spans, func(p *tracepb.Span) bool { return bytes.Equal(p.GetSpanId(), s.GetParentSpanId()) })
					if i >= 0 && s.GetEndTimeUnixNano() > spans[i].GetEndTimeUnixNano() {
						t.Errorf("%s ends after %s", s.GetName(), spans[i].GetName())
					}
				}
			}
		})
	}
}

// TestRequestFailsAsItsTurnEnds has requests that were under way at the end of their turn
// and that the host's files say failed a moment later.
func TestRequestFailsAsItsTurnEnds(t *testing.T) {
	failed := turnEv(3, hook.KindRunError, "p1")
	failed.ErrorType, failed.Key = "APIError", "end/p1"
	cancelled := failed
	cancelled.Kind = hook.KindRunCancel
	request := func(start, end float64, class string) *hook.Transcript {
		return &hook.Transcript{Requests: []hook.Request{
			{ID: "c", Turn: "p1", Start: ev(start, 0).Time, End: ev(end, 0).Time, Model: "m", Error: class},
		}}
	}
	// A subagent works after the delivery of its turn, which makes a later part of the turn.
	late := []hook.Event{asAgent(turnEv(20, hook.KindRunStart, "p1"), "x", "Explore"), asAgent(turnEv(21, hook.KindRunComplete, "p1"), "x", "Explore")}
	for name, c := range map[string]struct {
		end  hook.Event
		tr   *hook.Transcript
		want []string
	}{
		"failed":              {failed, request(1, 3.001, "APIError"), []string{"failed: chat m!APIError", "completed: invoke_agent Explore"}},
		"cancelled":           {cancelled, request(1, 3.001, "aborted"), []string{"interrupted: chat m!aborted", "completed: invoke_agent Explore"}},
		"before the end":      {failed, request(1, 2.9, "APIError"), []string{"failed: chat m!APIError", "completed: invoke_agent Explore"}},
		"answered":            {failed, request(1, 3.001, ""), []string{"failed: ", "completed: chat m, invoke_agent Explore"}},
		"begun after the end": {failed, request(3.001, 3.002, "APIError"), []string{"failed: ", "completed: chat m!APIError, invoke_agent Explore"}},
		"long after the end":  {failed, request(1, 10, "APIError"), []string{"failed: ", "completed: chat m!APIError, invoke_agent Explore"}},
		"completed":           {turnStop(3, "p1"), request(1, 3.001, "APIError"), []string{"completed: chat m!APIError", "completed: invoke_agent Explore"}},
	} {
		t.Run(name, func(t *testing.T) {
			begin := []hook.Event{turnPrompt(0, "p1"), c.end}
			b := buildTurns(Carry{}, begin)
			runs := b.Runs(far)
			got := outline(b, runs, c.tr)
			for _, s := range spansOf(b, runs[0], c.tr) {
				if end := spansOf(b, runs[0], c.tr)[0].GetEndTimeUnixNano(); s.GetEndTimeUnixNano() > end {
					t.Errorf("%s ends after its run", s.GetName())
				}
			}
			_, carry := b.Boundary(func(RunID) bool { return true }, 200)
			b = buildTurns(carry, late)
			got = append(got, outline(b, b.Runs(far), c.tr)...)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("runs (-want +got):\n%s", diff)
			}
		})
	}
}

// TestRequestBeginsBeforeTheCallsOfASubagent has requests that the agent's file dates a
// little after the calls that they asked for, which hooks reported.
func TestRequestBeginsBeforeTheCallsOfASubagent(t *testing.T) {
	start, end := hook.KindRunStart, hook.KindRunComplete
	call := func(sec float64, id string) []hook.Event {
		return []hook.Event{
			asAgent(turnTool(sec, hook.KindToolStart, "p1", "Read", id), "x", "Explore"),
			asAgent(turnTool(sec+0.5, hook.KindToolEnd, "p1", "Read", id), "x", "Explore"),
		}
	}
	second := call(6, "again")
	second[0].Key, second[1].Key = "second/start", "second/end"
	events := slices.Concat(
		[]hook.Event{turnPrompt(0, "p1"), asAgent(turnEv(1, start, "p1"), "x", "Explore")},
		call(2, "a"), call(2.001, "b"), call(4, "again"), second,
		[]hook.Event{asAgent(turnEv(7, end, "p1"), "x", "Explore"), turnStop(8, "p1")},
	)
	for name, c := range map[string]struct {
		start, end float64
		asks       []string
		want       [2]float64
	}{
		"before":                {1.5, 1.9, []string{"a", "b"}, [2]float64{1.5, 1.9}},
		"ends after":            {1.5, 2.001, []string{"a", "b"}, [2]float64{1.5, 2.001}},
		"begins with":           {2, 2.004, []string{"b", "a"}, [2]float64{1.996, 2}},
		"begins after":          {2.003, 2.007, []string{"a", "b"}, [2]float64{1.996, 2}},
		"was long":              {2.003, 4, []string{"a"}, [2]float64{1, 2}},
		"asks for nothing":      {2.003, 2.007, nil, [2]float64{2.003, 2.007}},
		"asks for another call": {2.003, 2.007, []string{"c"}, [2]float64{2.003, 2.007}},
		"much later":            {5, 5.1, []string{"a"}, [2]float64{5, 5.1}},
		"an id used again":      {5, 5.1, []string{"again"}, [2]float64{5, 5.1}},
	} {
		t.Run(name, func(t *testing.T) {
			tr := &hook.Transcript{Requests: []hook.Request{{
				ID: "r", Agent: "x", Model: "m", Start: ev(c.start, 0).Time, End: ev(c.end, 0).Time, ToolCallIDs: c.asks,
			}}}
			b := buildTurns(Carry{}, events)
			for _, s := range spansOf(b, b.Runs(far)[0], tr) {
				got := [2]float64{otlp.Start(s).Sub(epoch).Seconds(), otlp.End(s).Sub(epoch).Seconds()}
				if s.GetName() == "chat m" && got != c.want {
					t.Errorf("the request lasts from %v to %v, want %v to %v", got[0], got[1], c.want[0], c.want[1])
				}
				if s.GetName() == "invoke_agent Explore" && got[0] != 1 {
					t.Errorf("the subagent begins at %v, want 1", got[0])
				}
			}
		})
	}
}

// TestResultIsNotOfALaterCallWithItsID has a model that numbers its calls anew in each reply,
// and a session of which the run before has been delivered: what that run's requests asked for
// is not of the next one, which has a call with the id.
func TestResultIsNotOfALaterCallWithItsID(t *testing.T) {
	first := []hook.Event{ev(0, hook.KindRunStart), tool(2, hook.KindToolStart, "Bash", "call_0"), tool(3, hook.KindToolEnd, "Bash", "call_0"), ev(10, hook.KindRunComplete)}
	next := []hook.Event{prompt(20, "next"), tool(22, hook.KindToolStart, "Bash", "call_0"), tool(23, hook.KindToolEnd, "Bash", "call_0"), ev(30, hook.KindRunComplete)}
	tr := calls(1, 4, 21)
	for i, sec := range []float64{3, 6, 23} {
		tr.Requests[i].ToolCallIDs = []string{"call_0"}
		tr.ToolResults = append(tr.ToolResults, hook.ToolResult{ID: "call_0", Name: "Bash", Text: "said", At: ev(sec, 0).Time})
	}
	for name, b := range map[string]*Builder{
		"after its delivery": build(Options{}, after(t, first...), logged(next...)),
		"together":           build(Options{}, Carry{}, logged(slices.Concat(first, next)...)),
	} {
		runs := b.Runs(far)
		var got []string
		for _, s := range spansOf(b, runs[len(runs)-1], tr) {
			got = append(got, s.Name)
		}
		if want := []string{"invoke_agent cline", "chat m", "execute_tool Bash"}; !slices.Equal(got, want) {
			t.Errorf("%s: the next run has %q, want %q", name, got, want)
		}
	}
}
