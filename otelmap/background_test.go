package otelmap

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/hook"
)

// TestAgentsInTheBackgroundEndWithoutReport has an agent whose SubagentStop never comes.
func TestAgentsInTheBackgroundEndWithoutReport(t *testing.T) {
	saying := func(e hook.Event, what hook.Background) hook.Event {
		e.Background = &what
		return e
	}
	listing := func(sec float64, turn string, ids ...string) hook.Event {
		return saying(turnStop(sec, turn), hook.Background{Listed: true, AtWork: ids})
	}
	works := func(sec float64, kind hook.Kind, id string) hook.Event {
		return asAgent(turnTool(sec, kind, "p1", "Bash", id), "x", "Explore")
	}
	begin := []hook.Event{
		turnPrompt(0, "p1"), turnTool(1, hook.KindToolStart, "p1", "Agent", "a"), asAgent(turnEv(1.1, hook.KindRunStart, "p1"), "x", "Explore"),
		backgrounded(turnTool(1.2, hook.KindToolEnd, "p1", "Agent", "a"), "x"), listing(3, "p1", "x"),
		works(4, hook.KindToolStart, "b"), works(5, hook.KindToolEnd, "b"),
	}
	end := func(id string, stopped bool) hook.Background {
		return hook.Background{Ended: []hook.AgentEnd{{ID: id, Stopped: stopped}}}
	}
	const ended, stopped = "completed: execute_tool Agent#a, invoke_agent Explore, execute_tool Bash#b",
		"completed: execute_tool Agent#a, invoke_agent Explore!RunAbandoned, execute_tool Bash#b"
	const atWork = "completed (open): execute_tool Agent#a, invoke_agent Explore!RunAbandoned, execute_tool Bash#b"
	next := turnPrompt(6, "p2")
	file := []hook.Subagent{{ID: "x", Type: "Explore", End: epoch.Add(5500 * time.Millisecond)}}
	for _, tt := range []struct {
		name   string
		events []hook.Event
		files  []hook.Subagent
		want   []string
	}{
		{"it is at work", []hook.Event{next, listing(7, "p2", "x")}, nil, []string{atWork, "completed: "}},
		{"the next list lacks it", []hook.Event{next, listing(7, "p2")}, nil, []string{stopped, "completed: "}},
		{"the list names an agent that is not known", []hook.Event{next, listing(7, "p2", "z")}, nil, []string{atWork, "completed: "}},
		{"its end is reported to the model", []hook.Event{saying(next, end("x", false)), turnStop(7, "p2")}, nil, []string{ended, "completed: "}},
		{"it is killed", []hook.Event{saying(next, end("x", true)), turnStop(7, "p2")}, nil, []string{stopped, "completed: "}},
		{"its file has ended", []hook.Event{next, listing(7, "p2", "x")}, file, []string{ended, "completed: "}},
		{"it works on after the end of its file", []hook.Event{next, works(9, hook.KindToolStart, "c"), works(10, hook.KindToolEnd, "c")}, file, []string{atWork + ", execute_tool Bash#c", "interrupted (open): "}},
		{"it ends under another id", []hook.Event{asAgent(turnEv(6, hook.KindRunComplete, "p1"), "y", "Explore")}, nil, []string{ended}},
		{"another agent ends", []hook.Event{asAgent(turnEv(6, hook.KindRunComplete, "p1"), "y", "Plan")}, nil, []string{
			"completed (open): execute_tool Agent#a, invoke_agent Explore!RunAbandoned, execute_tool Bash#b, invoke_agent Plan",
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := buildTurns(Carry{}, logged(append(begin[:len(begin):len(begin)], tt.events...)...))
			b.EndAgents(tt.files)
			if diff := cmp.Diff(tt.want, outline(b, b.Runs(epoch.Add(time.Minute)), nil)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestAListStopsAnAgentWhoseStartIsStoredLate has a list of no agent behind the beginning of one, which
// is stored only after it.
func TestAListStopsAnAgentWhoseStartIsStoredLate(t *testing.T) {
	at := func(sec, stored float64, e hook.Event) hook.Event {
		e.Time, e.StoredAt = ev(sec, 0).Time, ev(stored, 0).Time
		return e
	}
	list := at(3, 3, turnStop(3, "p1"))
	list.Background = &hook.Background{Listed: true}
	b := buildTurns(Carry{}, logged(at(0, 0, turnPrompt(0, "p1")), list, at(2, 4, asAgent(turnEv(2, hook.KindRunStart, "p1"), "x", "Explore"))))
	want := []string{"completed: invoke_agent Explore!RunAbandoned"}
	if diff := cmp.Diff(want, outline(b, b.Runs(epoch.Add(time.Minute)), nil)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestAgentWhoseStartIsStoredBehindAList has a slow hook of an agent's start. What the agent did is stored
// before the list, so that no step of the clock is why the start is older.
func TestAgentWhoseStartIsStoredBehindAList(t *testing.T) {
	list := turnStop(3, "p1")
	list.Background = &hook.Background{Listed: true}
	works := func(sec float64, kind hook.Kind) hook.Event {
		return asAgent(turnTool(sec, kind, "p1", "Bash", "b"), "x", "Explore")
	}
	b := buildTurns(Carry{}, logged(
		turnPrompt(0, "p1"), works(1.5, hook.KindToolStart), works(2, hook.KindToolEnd), list, asAgent(turnEv(1.1, hook.KindRunStart, "p1"), "x", "Explore"),
	))
	want := []string{"completed: invoke_agent Explore!RunAbandoned, execute_tool Bash#b"}
	if diff := cmp.Diff(want, outline(b, b.Runs(epoch.Add(time.Minute)), nil)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
