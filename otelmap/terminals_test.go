package otelmap

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/hook"
)

// TestTurnOfEachTerminalEndsByItsOwnStop has two programs work on one session at once. The
// second resumed it while the first had a turn open.
func TestTurnOfEachTerminalEndsByItsOwnStop(t *testing.T) {
	const pre, post, bye = hook.KindToolStart, hook.KindToolEnd, hook.KindSessionEnd
	begin := []hook.Event{
		session(0, "startup", "m"), turnPrompt(1, "p1"), turnTool(2, pre, "p1", "Bash", "a"), session(3, "resume", "m"), turnPrompt(4, "p2"),
	}
	request := func(id, turn string, from, to float64) hook.Request {
		return hook.Request{ID: id, Turn: turn, Model: id, Start: ev(from, 0).Time, End: ev(to, 0).Time}
	}
	tr := &hook.Transcript{Requests: []hook.Request{request("m1", "p1", 1.1, 1.9), request("m2", "p2", 4.1, 4.9), request("m3", "p1", 5.1, 5.9)}}
	for name, c := range map[string]struct {
		events []hook.Event
		want   []string
	}{
		"both stop": {
			[]hook.Event{turnTool(5, post, "p1", "Bash", "a"), turnStop(6, "p1"), turnStop(7, "p2")},
			[]string{"completed: chat m1, execute_tool Bash#a, chat m3", "completed: chat m2"},
		},
		"the first is still at work": {
			[]hook.Event{turnStop(7, "p2")},
			[]string{"interrupted (open): chat m1, execute_tool Bash#a!ToolCancelled, chat m3", "completed: chat m2"},
		},
		"the second program ends": {
			[]hook.Event{turnEv(5, bye, "p2"), turnTool(5.5, post, "p1", "Bash", "a"), turnStop(6, "p1")},
			[]string{"completed: chat m1, execute_tool Bash#a, chat m3", "interrupted: chat m2"},
		},
		"the first has another prompt when the second has ended": {
			[]hook.Event{turnEv(5, bye, "p2"), turnPrompt(6, "p3"), turnStop(7, "p3")},
			[]string{"interrupted: chat m1, execute_tool Bash#a!ToolCancelled, chat m3", "interrupted: chat m2", "completed: "},
		},
	} {
		t.Run(name, func(t *testing.T) {
			events := logged(append(begin[:len(begin):len(begin)], c.events...)...)
			b := buildTurns(Carry{}, events)
			if diff := cmp.Diff(c.want, outline(b, b.Runs(epoch.Add(20*time.Second)), tr)); diff != "" {
				t.Errorf("runs (-want +got):\n%s", diff)
			}
		})
	}
}

// TestAgentThatWasLostIsTheSameForEveryReading has a background agent whose program ended, or
// that was silent for longer than a run may be, work again. One destination got the first
// part before that, the other gets both at once.
func TestAgentThatWasLostIsTheSameForEveryReading(t *testing.T) {
	const pre, post, start, end = hook.KindToolStart, hook.KindToolEnd, hook.KindRunStart, hook.KindRunComplete
	x := func(e hook.Event) hook.Event { return asAgent(e, "x", "Explore") }
	first := []hook.Event{turnPrompt(0, "p1"), x(turnEv(1, start, "p1")), turnStop(2, "p1")}
	for name, c := range map[string]struct {
		before, after []hook.Event
		want          []string
	}{
		"sent on after the end of the session": {
			[]hook.Event{turnEv(3, hook.KindSessionEnd, "p1")},
			[]hook.Event{
				turnPrompt(10, "p2"), x(turnTool(11, pre, "p2", "Bash", "a")), x(turnTool(12, post, "p2", "Bash", "a")), x(turnEv(13, end, "p2")), turnStop(14, "p2"),
			},
			[]string{"completed: invoke_agent Explore!RunAbandoned", "completed: invoke_agent Explore, execute_tool Bash#a"},
		},
		"resumed for its own turn": {
			[]hook.Event{turnEv(3, hook.KindSessionEnd, "p1")},
			[]hook.Event{x(turnEv(10, start, "p1")), x(turnTool(11, pre, "p1", "Bash", "a")), x(turnTool(12, post, "p1", "Bash", "a")), x(turnEv(13, end, "p1"))},
			[]string{"completed: invoke_agent Explore!RunAbandoned", "completed: invoke_agent Explore, execute_tool Bash#a"},
		},
		"silent": {
			nil,
			[]hook.Event{x(turnTool(4000, pre, "p1", "Bash", "a")), x(turnTool(4001, post, "p1", "Bash", "a")), x(turnEv(4002, end, "p1"))},
			[]string{"completed: invoke_agent Explore!RunAbandoned", "completed: invoke_agent Explore, execute_tool Bash#a"},
		},
		"silent until its end": {
			nil,
			[]hook.Event{x(turnEv(4002, end, "p1"))},
			[]string{"completed: invoke_agent Explore!RunAbandoned", "completed: invoke_agent Explore"},
		},
		"silent until another's end": {
			nil,
			[]hook.Event{asAgent(turnEv(4002, end, "p1"), "y", "Explore")},
			[]string{"completed: invoke_agent Explore!RunAbandoned", "completed: invoke_agent Explore"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			before := append(first[:len(first):len(first)], c.before...)
			events := logged(append(before, c.after...)...)
			whole := buildTurns(Carry{}, events)
			want := all(whole, far)
			if diff := cmp.Diff(c.want, outline(whole, whole.Runs(far), nil)); diff != "" {
				t.Errorf("whole (-want +got):\n%s", diff)
			}
			b := buildTurns(Carry{}, events[:len(before)])
			got := all(b, events[len(before)].StoredAt.Add(-time.Second))
			off, carry := b.Boundary(func(RunID) bool { return true }, int64(len(before))*100)
			rest := buildTurns(carry, events[off/100:])
			if diff := cmp.Diff(want, append(got, all(rest, far)...)); diff != "" {
				t.Errorf("in two deliveries (-whole +got):\n%s", diff)
			}
		})
	}
}

// TestSilentRunWithoutATurnIsTheSameForEveryReading has an agent that does not name its turns work on
// after a silence that ended its run. One destination got the first part before that, the other gets
// both at once.
func TestSilentRunWithoutATurnIsTheSameForEveryReading(t *testing.T) {
	call := func(sec float64, kind hook.Kind, id string) hook.Event { return turnTool(sec, kind, "", "Bash", id) }
	end := func(sec float64) hook.Event { return again(turnStop(sec, "")) }
	first := []hook.Event{
		turnPrompt(0, ""), end(1),
		turnPrompt(2, ""), call(3, hook.KindToolStart, "a"), call(4, hook.KindToolEnd, "a"), call(5, hook.KindToolStart, "b"),
	}
	const silent = "interrupted: execute_tool Bash#a, execute_tool Bash#b!ToolCancelled"
	for name, c := range map[string]struct {
		after []hook.Event
		want  []string
	}{
		"an end":                 {[]hook.Event{end(4000)}, []string{"completed: "}},
		"a call":                 {[]hook.Event{call(4000, hook.KindToolStart, "c"), call(4001, hook.KindToolEnd, "c"), end(4002)}, []string{"completed: execute_tool Bash#c"}},
		"the end of a call":      {[]hook.Event{call(4000, hook.KindToolEnd, "b"), end(4001)}, []string{"completed: execute_tool Bash#b"}},
		"a failure of a request": {[]hook.Event{turnEv(4000, hook.KindRequestError, "")}, []string{"failed: "}},
		"a failure":              {[]hook.Event{turnEv(4000, hook.KindRunError, "")}, []string{"failed: "}},
		"the end of the session": {[]hook.Event{turnEv(4000, hook.KindSessionEnd, "")}, nil},
		"another silence":        {[]hook.Event{call(4000, hook.KindToolStart, "c"), call(8000, hook.KindToolStart, "d")}, []string{"interrupted: execute_tool Bash#c!ToolCancelled", "interrupted: execute_tool Bash#d!ToolCancelled"}},
	} {
		t.Run(name, func(t *testing.T) {
			events := logged(append(first[:len(first):len(first)], c.after...)...)
			whole := buildTurns(Carry{}, events)
			want := all(whole, far)
			if diff := cmp.Diff(append([]string{"completed: ", silent}, c.want...), outline(whole, whole.Runs(far), nil)); diff != "" {
				t.Errorf("whole (-want +got):\n%s", diff)
			}
			// With and without the run before.
			for _, done := range []int{1, 2} {
				b := buildTurns(Carry{}, events[:len(first)])
				runs := b.Runs(events[len(first)].StoredAt.Add(-time.Second))
				off, carry := b.Boundary(func(id RunID) bool { return id == runs[0].ID || id == runs[done-1].ID }, int64(len(first))*100)
				rest := buildTurns(carry, events[off/100:])
				if diff := cmp.Diff(want, append(mapped(b, runs[:done]), all(rest, far)...)); diff != "" {
					t.Errorf("with %d runs delivered before (-whole +got):\n%s", done, diff)
				}
			}
		})
	}
}

// TestAgentWithoutATurnAfterASilenceIsTheSameForEveryReading has a subagent whose events name no turn work
// after a silence that ended its run, or begin then.
func TestAgentWithoutATurnAfterASilenceIsTheSameForEveryReading(t *testing.T) {
	const pre, post, start, end = hook.KindToolStart, hook.KindToolEnd, hook.KindRunStart, hook.KindRunComplete
	agent := func(id string, events ...hook.Event) []hook.Event {
		for i := range events {
			events[i] = asAgent(events[i], id, "Explore")
		}
		return events
	}
	for name, after := range map[string][]hook.Event{
		"a call":              agent("x", turnTool(4000, pre, "", "Bash", "a"), turnTool(4001, post, "", "Bash", "a"), turnEv(4002, end, "")),
		"the end of a call":   agent("x", turnTool(4000, post, "", "Bash", "o"), turnEv(4001, end, "")),
		"its start":           agent("x", turnEv(4000, start, ""), turnEv(4001, end, "")),
		"another's start":     agent("y", turnEv(4000, start, ""), turnEv(4001, end, "")),
		"a call of another's": agent("y", turnTool(4000, pre, "", "Bash", "a"), turnTool(4001, post, "", "Bash", "a")),
	} {
		for _, turn := range []string{"", "p1"} {
			t.Run(name+" "+turn, func(t *testing.T) {
				first := append([]hook.Event{turnPrompt(0, turn)}, agent("x", turnEv(1, start, ""), turnTool(2, pre, "", "Bash", "o"))...)
				events := logged(append(append(first, after...), again(turnStop(4003, turn)))...)
				for i := range events {
					events[i].Hash = uint64(i) + 1 //nolint:gosec // Small.
				}
				b := buildTurns(Carry{}, events[:len(first)])
				got := all(b, events[len(first)].StoredAt.Add(-time.Second))
				off, carry := b.Boundary(func(RunID) bool { return true }, int64(len(first))*100)
				got = append(got, all(buildTurns(carry, events[off/100:]), far)...)
				if diff := cmp.Diff(all(buildTurns(Carry{}, events), far), got); diff != "" {
					t.Errorf("in two deliveries (-whole +got):\n%s", diff)
				}
			})
		}
	}
}

// TestLaterPartOfATurnBeginsWhereItsFirstPartEnded has a turn work on after a silence, in
// which the turn of another terminal ended meanwhile: what the files hold from before the
// silence is the first part's, wherever reading begins.
func TestLaterPartOfATurnBeginsWhereItsFirstPartEnded(t *testing.T) {
	const pre, post = hook.KindToolStart, hook.KindToolEnd
	events := logged(
		session(0, "startup", "m"), turnPrompt(1, "p1"), session(2, "resume", "m"), turnPrompt(3, "p2"), turnStop(4, "p2"),
		turnTool(6, pre, "p1", "Bash", "a"), turnTool(7, post, "p1", "Bash", "a"),
		turnTool(4000, pre, "p1", "Bash", "b"), turnTool(4001, post, "p1", "Bash", "b"), turnStop(4002, "p1"))
	at := func(sec float64) time.Time { return ev(sec, 0).Time }
	tr := &hook.Transcript{
		Requests: []hook.Request{
			{ID: "m1", Turn: "p1", Model: "m1", Start: at(5), End: at(5.9)},
			{ID: "m2", Turn: "p1", Model: "m2", Start: at(3999), End: at(3999.9)},
		},
		ToolResults: []hook.ToolResult{{ID: "a", Turn: "p1", Name: "Bash", Asked: at(6), At: at(7)}},
	}
	want := []string{"interrupted: chat m1, execute_tool Bash#a", "completed: ", "completed: chat m2, execute_tool Bash#b"}
	whole := buildTurns(Carry{}, events)
	if diff := cmp.Diff(want, outline(whole, whole.Runs(far), tr)); diff != "" {
		t.Errorf("whole (-want +got):\n%s", diff)
	}
	b := buildTurns(Carry{}, events[:7])
	b.Runs(epoch.Add(3000 * time.Second))
	off, carry := b.Boundary(func(RunID) bool { return true }, 700)
	rest := buildTurns(carry, events[off/100:])
	if diff := cmp.Diff(want[2:], outline(rest, rest.Runs(far), tr)); diff != "" {
		t.Errorf("from the boundary (-want +got):\n%s", diff)
	}
}

// TestResultOfAnAgentIsInThePartThatItWorkedFor has a background agent work on after a
// silence for a turn whose lead stopped before the agent's first call ended.
func TestResultOfAnAgentIsInThePartThatItWorkedFor(t *testing.T) {
	const pre, post = hook.KindToolStart, hook.KindToolEnd
	x := func(e hook.Event) hook.Event { return asAgent(e, "x", "Explore") }
	events := logged(
		turnPrompt(0, "p1"), x(turnEv(1, hook.KindRunStart, "p1")), x(turnTool(2, pre, "p1", "Bash", "a")), turnStop(3, "p1"),
		x(turnTool(4, post, "p1", "Bash", "a")),
		x(turnTool(4000, pre, "p1", "Bash", "b")), x(turnTool(4001, post, "p1", "Bash", "b")), x(turnEv(4002, hook.KindRunComplete, "p1")))
	at := func(sec float64) time.Time { return ev(sec, 0).Time }
	tr := &hook.Transcript{ToolResults: []hook.ToolResult{{ID: "a", Agent: "x", Turn: "p1", Name: "Bash", Asked: at(2), At: at(4)}}}
	b := buildTurns(Carry{}, events[:5])
	b.Runs(epoch.Add(3000 * time.Second))
	off, carry := b.Boundary(func(RunID) bool { return true }, 500)
	rest := buildTurns(carry, events[off/100:])
	want := []string{"completed: invoke_agent Explore, execute_tool Bash#b"}
	if diff := cmp.Diff(want, outline(rest, rest.Runs(far), tr)); diff != "" {
		t.Errorf("from the boundary (-want +got):\n%s", diff)
	}
}

// TestCallUnderWayWhenItsTurnIsInterruptedStaysInIt has another agent of the turn work on, as
// a later part of it, before the call ends.
func TestCallUnderWayWhenItsTurnIsInterruptedStaysInIt(t *testing.T) {
	const pre, post, start = hook.KindToolStart, hook.KindToolEnd, hook.KindRunStart
	of := func(id string, e hook.Event) hook.Event { return asAgent(e, id, "Explore") }
	b := buildTurns(Carry{}, logged(
		turnPrompt(0, "p1"), of("x", turnEv(1, start, "p1")), of("y", turnEv(1.1, start, "p1")), of("x", turnTool(2, pre, "p1", "Bash", "a")),
		turnPrompt(3, "p2"), of("y", turnTool(4, pre, "p1", "Bash", "b")), of("x", turnTool(5, post, "p1", "Bash", "a")),
		of("y", turnTool(6, post, "p1", "Bash", "b")), turnStop(7, "p2")))
	want := []string{
		"interrupted: invoke_agent Explore!RunAbandoned, invoke_agent Explore!RunAbandoned, execute_tool Bash#a",
		"completed: ",
		"completed: execute_tool Bash#b, invoke_agent Explore!RunAbandoned",
	}
	if diff := cmp.Diff(want, outline(b, b.Runs(far), nil)); diff != "" {
		t.Errorf("runs (-want +got):\n%s", diff)
	}
}

// TestPromptInAnIdleTerminalInterruptsNoOther has a program that has no turn open get a
// prompt while another program on the session works.
func TestPromptInAnIdleTerminalInterruptsNoOther(t *testing.T) {
	const pre, start = hook.KindToolStart, hook.KindRunStart
	b := buildTurns(Carry{}, logged(
		session(0, "startup", "m"), session(1, "resume", "m"), turnPrompt(2, "p1"), turnTool(3, pre, "p1", "Agent", "a"),
		asAgent(turnEv(4, start, "p1"), "x", "Explore"), turnPrompt(5, "p2"), turnStop(6, "p2"), turnPrompt(7, "p3"), turnStop(8, "p3")))
	runs := b.Runs(epoch.Add(9 * time.Second))
	if runs[0].Ended || !runs[1].Ended || !runs[2].Ended {
		t.Errorf("%q, want the first open", outline(b, runs, nil))
	}
}

// TestTurnThatIsWokenHasAnotherEnd has an agent that wakes itself report a second end of its
// turn, long after the first and with the first one's key.
func TestTurnThatIsWokenHasAnotherEnd(t *testing.T) {
	woken := turnStop(60, "p1")
	woken.Result = "did more"
	b := buildTurns(Carry{}, logged(turnPrompt(0, "p1"), turnStop(1, "p1"), turnStop(1.5, "p1"), woken))
	runs := b.Runs(far)
	if len(runs) != 1 || rootAttr(b, runs[0], KeyOutputValue) != "did more" {
		t.Errorf("%d runs, the first has the result %q", len(runs), rootAttr(b, runs[0], KeyOutputValue))
	}
}

// TestEachOfTwoEqualQuestionsIsAboutACall has two equal calls that the user is asked about at
// once, each reported by two hook files.
func TestEachOfTwoEqualQuestionsIsAboutACall(t *testing.T) {
	ask := func(sec float64) hook.Event {
		e := turnTool(sec, hook.KindPermission, "p1", "Bash", "")
		e.Key, e.Tool.Input = "", `{"path":"a"}`
		return same(e)
	}
	start := func(sec float64, id, input string) hook.Event {
		e := turnTool(sec, hook.KindToolStart, "p1", "Bash", id)
		e.Tool.Input = `{"path":"` + input + `"}`
		return e
	}
	b := buildTurns(Carry{}, logged(turnPrompt(0, "p1"), start(1, "a", "a"), start(1.1, "b", "a"), start(1.2, "c", "c"),
		ask(1.3), ask(1.31), ask(1.4), ask(1.41), turnStop(3, "p1")))
	want := []string{"completed: execute_tool Bash#a!ToolDenied, execute_tool Bash#b!ToolDenied, execute_tool Bash#c!ToolUnfinished"}
	if diff := cmp.Diff(want, outline(b, b.Runs(far), nil)); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

// TestClockThatIsSetBackBetweenTurnsMixesNone sets it by less than a minute.
func TestClockThatIsSetBackBetweenTurnsMixesNone(t *testing.T) {
	const pre, post, end = hook.KindToolStart, hook.KindToolEnd, hook.KindSessionEnd
	x := func(e hook.Event) hook.Event { return asAgent(e, "x", "Explore") }
	stop := turnStop(90.1, "p1")
	stop.Background = &hook.Background{Listed: true} // none is at work
	b := buildTurns(Carry{}, logged(
		turnPrompt(0, "p1"), turnTool(1, pre, "p1", "Bash", "a"), turnTool(90, post, "p1", "Bash", "a"), stop, turnEv(91, end, "p1"),
		turnPrompt(32, "p2"), turnTool(32.5, pre, "p2", "Agent", "b"), x(turnEv(32.5, hook.KindRunStart, "p2")), x(turnTool(32.6, pre, "p2", "Bash", "c")),
		x(turnTool(121, pre, "p2", "Bash", "d")), x(turnTool(122, post, "p2", "Bash", "c")), x(turnTool(122, post, "p2", "Bash", "d")), x(turnEv(122, hook.KindRunComplete, "p2")), turnTool(122.1, post, "p2", "Agent", "b"), turnStop(123, "p2")))
	want := []string{"completed: execute_tool Bash#a", "completed: execute_tool Agent#b, invoke_agent Explore, execute_tool Bash#c, execute_tool Bash#d"}
	if diff := cmp.Diff(want, outline(b, b.Runs(far), nil)); diff != "" {
		t.Errorf("runs (-want +got):\n%s", diff)
	}
}
