package otelmap

import (
	"encoding/hex"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/otlp"
)

// turnEv is an event of Claude Code: the host gives no time, but the turn.
func turnEv(sec float64, k hook.Kind, turn string) hook.Event {
	e := ev(sec, k)
	e.Host, e.Dialect, e.Turn = "claude-code", "claude", turn
	e.Time, e.StoredAt = time.Time{}, e.Time
	return e
}

func turnTool(sec float64, k hook.Kind, turn, name, id string) hook.Event {
	e := turnEv(sec, k, turn)
	e.Tool = &hook.Tool{ID: id, Name: name, Input: `{"path":"` + id + `"}`, Duration: -1}
	if k == hook.KindToolEnd {
		e.Tool.Output = "done " + id
	}
	e.Key = k.String() + "/" + id
	return e
}

func turnPrompt(sec float64, turn string) hook.Event {
	e := turnEv(sec, hook.KindPrompt, turn)
	e.Prompt = "do " + turn
	if turn != "" {
		e.Key = "prompt/" + turn
	}
	return e
}

func turnStop(sec float64, turn string) hook.Event {
	e := turnEv(sec, hook.KindRunComplete, turn)
	e.Result, e.Key = "did "+turn, "stop/"+turn
	return e
}

// again is a Stop that follows one which one of the user's hooks refused.
func again(e hook.Event) hook.Event {
	e.Key = ""
	return e
}

func asAgent(e hook.Event, id, kind string) hook.Event {
	e.Agent, e.ParentAgent, e.AgentType = id, hook.ParentUnknown, kind
	return e
}

// backgrounded is the end of a call that left an agent working.
func backgrounded(e hook.Event, agent string) hook.Event {
	e.Tool.Agent = agent
	return e
}

func session(sec float64, source, model string) hook.Event {
	e := turnEv(sec, hook.KindSessionStart, "")
	e.Model = model
	e.Attrs = []hook.Attr{{Key: KeySessionSource, Value: source}}
	return e
}

func buildTurns(c Carry, events []hook.Event) *Builder {
	b := NewBuilder("claude-code", "s", Options{Agent: turnAgent}, c)
	for _, e := range events {
		b.Add(e)
	}
	return b
}

// outline gives each run as "outcome: span, span(error), ...".
func outline(b *Builder, runs []*Run, tr *hook.Transcript) []string {
	var out []string
	for _, r := range runs {
		var spans []string
		for _, s := range spansOf(b, r, tr)[1:] {
			name := s.Name
			for _, a := range s.Attributes {
				if a.Key == KeyToolCallID {
					name += "#" + a.Value.GetStringValue()
				}
				if a.Key == KeyErrorType {
					name += "!" + a.Value.GetStringValue()
				}
			}
			spans = append(spans, name)
		}
		outcome := r.Outcome
		for _, a := range spansOf(b, r, tr)[0].Attributes {
			if a.Key == KeyOutcome {
				outcome = a.Value.GetStringValue()
			}
		}
		if !r.Ended {
			outcome += " (open)"
		}
		out = append(out, outcome+": "+strings.Join(spans, ", "))
	}
	return out
}

func TestTurns(t *testing.T) {
	const (
		pre, post  = hook.KindToolStart, hook.KindToolEnd
		bye, note  = hook.KindSessionEnd, hook.KindNotification
		start, end = hook.KindRunStart, hook.KindRunComplete
	)
	failure := turnEv(3, hook.KindRunError, "p1")
	failure.ErrorType, failure.Message = "rate_limit", "too many"
	permission := turnTool(1.5, hook.KindPermission, "p1", "Write", "")
	permission.Tool.Input, permission.Key = `{"path":"/abs"}`, ""
	denied := turnTool(2, post, "p1", "Bash", "a")
	denied.Tool.Status, denied.Tool.Error = hook.ToolDenied, "blocked by a rule"

	tests := []struct {
		name   string
		events []hook.Event
		want   []string
	}{
		{
			"a prompt opens a turn and Stop ends it",
			[]hook.Event{turnPrompt(0, "p1"), turnTool(1, pre, "p1", "Bash", "a"), turnTool(2, post, "p1", "Bash", "a"), turnStop(3, "p1")},
			[]string{"completed: execute_tool Bash#a"},
		},
		{
			"every prompt has a separate run",
			[]hook.Event{turnPrompt(0, "p1"), turnStop(3, "p1"), turnPrompt(4, "p2"), turnStop(5, "p2")},
			[]string{"completed: ", "completed: "},
		},
		{
			"the next prompt closes an interrupted turn, whose running tool was cancelled",
			[]hook.Event{turnPrompt(0, "p1"), turnTool(1, pre, "p1", "Bash", "a"), turnPrompt(4, "p2"), turnStop(5, "p2")},
			[]string{"interrupted: execute_tool Bash#a!ToolCancelled", "completed: "},
		},
		{
			"the session's end closes an interrupted turn",
			[]hook.Event{turnPrompt(0, "p1"), turnTool(1, pre, "p1", "Bash", "a"), turnEv(4, bye, "p1")},
			[]string{"interrupted: execute_tool Bash#a!ToolCancelled"},
		},
		{
			"a program that starts again closes the turn of one that died",
			[]hook.Event{turnPrompt(0, "p1"), session(9, "resume", ""), turnPrompt(10, "p2"), turnStop(11, "p2")},
			[]string{"interrupted: ", "completed: "},
		},
		{
			"idling closes a turn as interrupted",
			[]hook.Event{turnPrompt(0, "p1")},
			[]string{"interrupted: "},
		},
		{
			"an error of the model's service fails the turn",
			[]hook.Event{turnPrompt(0, "p1"), failure, turnEv(4, bye, "p1")},
			[]string{"failed: "},
		},
		{
			"a tool that the user was asked about and that never ran was denied, though the question spells its input otherwise",
			[]hook.Event{
				turnPrompt(0, "p1"), turnTool(1, pre, "p1", "Bash", "b"), turnTool(1.2, pre, "p1", "Write", "a"), permission,
				turnTool(2, post, "p1", "Bash", "b"), turnStop(3, "p1"),
			},
			[]string{"completed: execute_tool Bash#b, execute_tool Write#a!ToolDenied"},
		},
		{
			"a rule's refusal ends the call",
			[]hook.Event{turnPrompt(0, "p1"), turnTool(1, pre, "p1", "Bash", "a"), denied, turnStop(3, "p1")},
			[]string{"completed: execute_tool Bash#a!ToolDenied"},
		},
		{
			"events that come twice count once",
			[]hook.Event{
				turnPrompt(0, "p1"), turnPrompt(0.01, "p1"), turnTool(1, pre, "p1", "Bash", "a"), turnTool(1.01, pre, "p1", "Bash", "a"),
				turnTool(2, post, "p1", "Bash", "a"), turnTool(2.01, post, "p1", "Bash", "a"), turnStop(3, "p1"), turnStop(3.01, "p1"),
			},
			[]string{"completed: execute_tool Bash#a"},
		},
		{
			"what has no key counts once if it comes twice at once",
			[]hook.Event{turnPrompt(0, "p1"), same(turnEv(1, note, "p1")), same(turnEv(1.5, note, "p1")), same(turnEv(9, note, "p1")), turnStop(10, "p1")},
			[]string{"completed: "},
		},
		{
			"parallel tools are paired by their ids",
			[]hook.Event{
				turnPrompt(0, "p1"), turnTool(1, pre, "p1", "Bash", "a"), turnTool(1.1, pre, "p1", "Bash", "b"),
				turnTool(2, post, "p1", "Bash", "b"), turnTool(2.1, post, "p1", "Bash", "a"), turnStop(3, "p1"),
			},
			[]string{"completed: execute_tool Bash#a, execute_tool Bash#b"},
		},
		{
			"work after a Stop that was not let pass belongs to the turn",
			[]hook.Event{
				turnPrompt(0, "p1"), turnStop(1, "p1"), turnTool(2, pre, "p1", "Bash", "a"), turnTool(3, post, "p1", "Bash", "a"),
				again(turnStop(4, "p1")),
			},
			[]string{"completed: execute_tool Bash#a"},
		},
		{
			"a turn that continues after its Stop and falls silent ended with it",
			[]hook.Event{
				turnPrompt(0, "p1"), turnStop(1, "p1"), turnTool(2, pre, "p1", "Bash", "a"), turnTool(3, post, "p1", "Bash", "a"),
				turnPrompt(5, "p2"), turnStop(6, "p2"),
			},
			[]string{"completed: execute_tool Bash#a", "completed: "},
		},
		{
			"a tool's end that is stored after the Stop does not open the turn again",
			[]hook.Event{
				turnPrompt(0, "p1"), turnTool(1, pre, "p1", "Bash", "a"), turnStop(2, "p1"), turnTool(2.01, post, "p1", "Bash", "a"),
				turnPrompt(5, "p2"), turnStop(6, "p2"),
			},
			[]string{"completed: execute_tool Bash#a", "completed: "},
		},
		{
			"a waiting notification after the end changes nothing",
			[]hook.Event{turnPrompt(0, "p1"), turnStop(1, "p1"), turnEv(61, note, "p1"), turnEv(62, bye, "p1")},
			[]string{"completed: "},
		},
		{
			"a command of the host's own opens no turn",
			[]hook.Event{turnEv(0, hook.KindCompact, "q"), turnEv(1, bye, "q")},
			nil,
		},
		{
			"a turn without its beginning has the reported events",
			[]hook.Event{turnTool(1, pre, "p1", "Bash", "a"), turnTool(2, post, "p1", "Bash", "a"), turnStop(3, "p1")},
			[]string{"completed: execute_tool Bash#a"},
		},
		{
			"a turn that continues after the idle timeout is a separate run",
			[]hook.Event{turnPrompt(0, "p1"), turnTool(1, pre, "p1", "Bash", "a"), turnTool(4000, post, "p1", "Bash", "a"), turnStop(4001, "p1")},
			[]string{"interrupted: execute_tool Bash#a!ToolCancelled", "completed: execute_tool Bash#a"},
		},
		{
			"payloads of old versions have no ids and are paired by what they say",
			[]hook.Event{
				turnPrompt(0, ""), turnTool(1, pre, "", "Bash", ""), turnTool(2, post, "", "Bash", ""), again(turnStop(3, "")),
				turnPrompt(4, ""), again(turnStop(5, "")),
			},
			[]string{"completed: execute_tool Bash", "completed: "},
		},
		{
			"a foreground subagent is below the call that started it",
			[]hook.Event{
				turnPrompt(0, "p1"), turnTool(1, pre, "p1", "Agent", "a"), asAgent(turnEv(1.1, start, "p1"), "x", "Explore"),
				asAgent(turnTool(1.2, pre, "p1", "Bash", "b"), "x", "Explore"), asAgent(turnTool(1.3, post, "p1", "Bash", "b"), "x", "Explore"),
				asAgent(turnEv(1.4, end, "p1"), "x", "Explore"), turnTool(2, post, "p1", "Agent", "a"), turnStop(3, "p1"),
			},
			[]string{"completed: execute_tool Agent#a, invoke_agent Explore, execute_tool Bash#b"},
		},
		{
			"a side question of the host's is no subagent",
			[]hook.Event{turnPrompt(0, "p1"), turnStop(1, "p1"), asAgent(turnEv(1.4, end, "p1"), "btw", "")},
			[]string{"completed: "},
		},
		{
			"a subagent's end without its beginning is one",
			[]hook.Event{turnPrompt(0, "p1"), asAgent(turnEv(0.5, end, "p1"), "x", "Explore"), turnStop(1, "p1")},
			[]string{"completed: invoke_agent Explore"},
		},
		{
			"a background agent belongs to the turn that started it while the next one runs",
			[]hook.Event{
				turnPrompt(0, "p1"), turnTool(1, pre, "p1", "Agent", "a"), asAgent(turnEv(1.1, start, "p1"), "x", "Explore"),
				turnTool(1.2, post, "p1", "Agent", "a"), turnStop(2, "p1"), turnPrompt(3, "p2"),
				asAgent(turnTool(3.1, pre, "p2", "Bash", "b"), "x", "Explore"), turnTool(3.2, pre, "p2", "Read", "c"),
				asAgent(turnTool(3.3, post, "p2", "Bash", "b"), "x", "Explore"), turnTool(3.4, post, "p2", "Read", "c"),
				asAgent(turnEv(3.5, end, "p2"), "x", "Explore"), turnStop(4, "p2"),
			},
			[]string{"completed: execute_tool Agent#a, invoke_agent Explore, execute_tool Bash#b", "completed: execute_tool Read#c"},
		},
		{
			"an agent that is asked again works for the turn that asks",
			[]hook.Event{
				turnPrompt(0, "p1"), asAgent(turnEv(1.1, start, "p1"), "x", "Explore"), asAgent(turnEv(1.4, end, "p1"), "x", "Explore"),
				turnStop(2, "p1"), turnPrompt(3, "p2"), asAgent(turnTool(3.1, pre, "p2", "Bash", "b"), "x", "Explore"),
				asAgent(turnTool(3.2, post, "p2", "Bash", "b"), "x", "Explore"), asAgent(turnEv(3.4, end, "p2"), "x", "Explore"), turnStop(4, "p2"),
			},
			[]string{"completed: invoke_agent Explore", "completed: invoke_agent Explore, execute_tool Bash#b"},
		},
		{
			"a background agent ends with the program it runs in",
			[]hook.Event{
				turnPrompt(0, "p1"), turnTool(1, pre, "p1", "Agent", "a"), asAgent(turnEv(1.1, start, "p1"), "x", "Explore"),
				turnTool(1.2, post, "p1", "Agent", "a"), turnStop(2, "p1"), turnEv(3, bye, "p1"),
			},
			[]string{"completed: execute_tool Agent#a, invoke_agent Explore!RunAbandoned"},
		},
		{
			"a command that is given again under the first one's turn has a separate run",
			[]hook.Event{
				turnPrompt(0, "p1"), turnTool(1, pre, "p1", "Bash", "a"), turnTool(2, post, "p1", "Bash", "a"), turnStop(3, "p1"),
				turnPrompt(6, "p1"), turnTool(7, pre, "p1", "Bash", "b"), turnTool(8, post, "p1", "Bash", "b"), turnStop(9, "p1"),
			},
			[]string{"completed: execute_tool Bash#a", "completed: execute_tool Bash#b"},
		},
		{
			"a call of the first one that ends in the second one is the first one's",
			[]hook.Event{
				turnPrompt(0, "p1"), turnTool(1, pre, "p1", "Bash", "a"), turnStop(3, "p1"), turnPrompt(6, "p1"), turnTool(8, post, "p1", "Bash", "a"), turnStop(9, "p1"),
			},
			[]string{"completed: execute_tool Bash#a", "completed: "},
		},
		{
			"as is a call without a start",
			[]hook.Event{turnPrompt(0, "p1"), turnStop(3, "p1"), turnPrompt(6, "p1"), turnTool(8, post, "p1", "Bash", "a"), turnStop(9, "p1")},
			[]string{"completed: execute_tool Bash#a", "completed: "},
		},
		{
			"unless it is of a subagent that began in the second one",
			[]hook.Event{
				turnPrompt(0, "p1"), turnStop(3, "p1"), turnPrompt(6, "p1"), asAgent(turnEv(7, start, "p1"), "x", "Explore"),
				asAgent(turnTool(8, post, "p1", "Bash", "a"), "x", "Explore"), asAgent(turnEv(8.5, end, "p1"), "x", "Explore"), turnStop(9, "p1"),
			},
			[]string{"completed: ", "completed: invoke_agent Explore, execute_tool Bash#a"},
		},
		{
			"or it has no id either",
			[]hook.Event{turnPrompt(0, "p1"), turnStop(3, "p1"), turnPrompt(6, "p1"), unkeyed(turnTool(8, post, "p1", "Bash", "")), turnStop(9, "p1")},
			[]string{"completed: ", "completed: execute_tool Bash"},
		},
		{
			"or the first one was closed for its silence",
			[]hook.Event{turnPrompt(0, "p1"), turnTool(7200, post, "p1", "Bash", "a"), turnTool(7201, post, "p1", "Bash", "b")},
			[]string{"interrupted: ", "interrupted: execute_tool Bash#a, execute_tool Bash#b"},
		},
		{
			"a call without a turn that is under way when the next prompt comes ends in its run",
			[]hook.Event{
				turnPrompt(0, ""), turnTool(1, pre, "", "Bash", "a"), turnPrompt(2, ""), turnTool(3, post, "", "Bash", "a"),
				turnTool(4, pre, "", "Bash", "b"), turnTool(5, post, "", "Bash", "b"), turnStop(6, ""),
			},
			[]string{"interrupted: execute_tool Bash#a", "completed: execute_tool Bash#b"},
		},
		{
			"and when a call with its id has begun",
			[]hook.Event{
				turnPrompt(0, ""), turnTool(1, pre, "", "Bash", "a"), turnPrompt(2, ""), unkeyed(turnTool(2.5, pre, "", "Read", "a")),
				turnTool(3, post, "", "Bash", "a"), unkeyed(turnTool(4, post, "", "Read", "a")), turnStop(6, ""),
			},
			[]string{"interrupted: execute_tool Bash#a", "completed: execute_tool Read#a"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := buildTurns(Carry{}, logged(tt.events...))
			runs := b.Runs(far)
			if diff := cmp.Diff(tt.want, outline(b, runs, nil)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func unkeyed(e hook.Event) hook.Event {
	e.Key = ""
	return e
}

// TestSilenceEndsNoRunOfTheFiles has a call that waits two hours for a permission.
func TestSilenceEndsNoRunOfTheFiles(t *testing.T) {
	for fromFiles, want := range map[bool][]string{
		true:  {"completed: execute_tool Bash#a"},
		false: {"interrupted: execute_tool Bash#a!ToolCancelled", "completed: execute_tool Bash#a"},
	} {
		b := NewBuilder("claude-code", "s", Options{Agent: turnAgent, FromFiles: fromFiles}, Carry{})
		for _, e := range logged(
			turnPrompt(0, "p1"), turnTool(1, hook.KindToolStart, "p1", "Bash", "a"),
			turnTool(7200, hook.KindToolEnd, "p1", "Bash", "a"), turnStop(7201, "p1"),
		) {
			b.Add(e)
		}
		if diff := cmp.Diff(want, outline(b, b.Runs(far), nil)); diff != "" {
			t.Errorf("from files %v (-want +got):\n%s", fromFiles, diff)
		}
	}
}

// same gives events one payload.
func same(e hook.Event) hook.Event {
	e.Hash = 7
	return e
}

func TestCopiesWithoutKeyCountOnce(t *testing.T) {
	b := buildTurns(Carry{}, logged(turnPrompt(0, "p1"), same(turnEv(1, hook.KindNotification, "p1")),
		same(turnEv(1.5, hook.KindNotification, "p1")), same(turnEv(9, hook.KindNotification, "p1")), turnStop(10, "p1")))
	n := 0
	for _, e := range spansOf(b, b.Runs(far)[0], nil)[0].Events {
		if e.Name == EventNotification {
			n++
		}
	}
	if n != 2 {
		t.Errorf("%d notifications, want the one that came twice at once, and the later one", n)
	}
}

// TestPromptTypedDuringATurnJoinsIt comes under the id of the turn that is open.
func TestPromptTypedDuringATurnJoinsIt(t *testing.T) {
	second := turnPrompt(2, "p1")
	second.Prompt, second.Key = "and this", "prompt/p1/2"
	b := buildTurns(Carry{}, logged(turnPrompt(0, "p1"), turnTool(1, hook.KindToolStart, "p1", "Bash", "a"), second,
		turnTool(3, hook.KindToolEnd, "p1", "Bash", "a"), turnStop(4, "p1")))
	runs := b.Runs(far)
	if diff := cmp.Diff([]string{"completed: execute_tool Bash#a"}, outline(b, runs, nil)); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
	var prompts []string
	for _, e := range spansOf(b, runs[0], nil)[0].Events {
		if e.Name == EventPrompt {
			prompts = append(prompts, e.Attributes[0].Value.GetStringValue())
		}
	}
	if diff := cmp.Diff([]string{"do p1", "and this"}, prompts); diff != "" {
		t.Errorf("prompts (-want +got):\n%s", diff)
	}
}

// TestLaterPartOfATurnHasItsFirstRequest: the request is in the host's files
// before the first event that the hooks tell of the part.
func TestLaterPartOfATurnHasItsFirstRequest(t *testing.T) {
	at := func(sec float64) time.Time { return turnEv(sec, hook.KindNote, "").StoredAt }
	tr := &hook.Transcript{Requests: []hook.Request{
		{ID: "m1", Turn: "p1", Model: "first", Start: at(0.5), End: at(0.9)},
		{ID: "m2", Turn: "p1", Model: "second", Start: at(70), End: at(71)},
	}}
	events := logged(turnPrompt(0, "p1"), turnStop(1, "p1"), turnTool(72, hook.KindToolStart, "p1", "Bash", "a"),
		turnTool(73, hook.KindToolEnd, "p1", "Bash", "a"), again(turnStop(74, "p1")))
	b := buildTurns(Carry{}, events[:2])
	runs := b.Runs(epoch.Add(65 * time.Second))
	if got := outline(b, runs, tr)[0]; got != "completed: chat first" {
		t.Errorf("first part: %s", got)
	}
	offset, carry := b.Boundary(func(RunID) bool { return true }, 200)
	b = buildTurns(carry, events[offset/100:])
	if got := outline(b, b.Runs(far), tr)[0]; got != "completed: chat second, execute_tool Bash#a" {
		t.Errorf("later part: %s", got)
	}
}

func TestCompactedSessionContinuesItsTurn(t *testing.T) {
	b := buildTurns(Carry{}, logged(session(0, "startup", "m"), turnPrompt(1, "p1"), session(2, "compact", "m2"),
		turnTool(3, hook.KindToolStart, "p1", "Bash", "a"), turnTool(4, hook.KindToolEnd, "p1", "Bash", "a"), turnStop(5, "p1"),
		turnPrompt(6, "p2"), turnStop(7, "p2")))
	runs := b.Runs(far)
	if diff := cmp.Diff([]string{"completed: execute_tool Bash#a", "completed: "}, outline(b, runs, nil)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := rootAttr(b, runs[0], KeySessionSource); got != "startup" {
		t.Errorf("the first run's source is %q", got)
	}
	if got := rootAttr(b, runs[1], KeySessionSource); got != "" {
		t.Errorf("the second run's source is %q, although nothing began before it", got)
	}
	if got := rootAttr(b, runs[1], KeyModel); got != "m2" {
		t.Errorf("the second run's model is %q", got)
	}
	notes := 0
	for _, e := range spansOf(b, runs[0], nil)[0].Events {
		if e.Name == EventNote {
			notes++
		}
	}
	if notes != 1 {
		t.Errorf("the compaction is %d times among the root's events", notes)
	}
}

// TestOpenTurns looks at sessions a few seconds after their last event.
func TestOpenTurns(t *testing.T) {
	const pre, post = hook.KindToolStart, hook.KindToolEnd
	started := asAgent(turnEv(1.1, hook.KindRunStart, "p1"), "x", "Explore")
	for name, tt := range map[string]struct {
		events []hook.Event
		want   []string
	}{
		"a turn that continues after its Stop": {
			[]hook.Event{turnPrompt(0, "p1"), turnStop(1, "p1"), turnTool(2, pre, "p1", "Bash", "a"), turnTool(3, post, "p1", "Bash", "a")},
			[]string{"interrupted (open): execute_tool Bash#a"},
		},
		"a tool's end after the Stop": {
			[]hook.Event{turnPrompt(0, "p1"), turnTool(1, pre, "p1", "Bash", "a"), turnStop(2, "p1"), turnTool(3, post, "p1", "Bash", "a")},
			[]string{"completed: execute_tool Bash#a"},
		},
		"a background agent": {
			[]hook.Event{turnPrompt(0, "p1"), started, turnStop(2, "p1")},
			[]string{"completed (open): invoke_agent Explore!RunAbandoned"},
		},
		"an agent that reports its end after the program's": {
			[]hook.Event{
				turnPrompt(0, "p1"), started, turnStop(2, "p1"), turnEv(3, hook.KindSessionEnd, "p1"),
				asAgent(turnEv(3.1, hook.KindRunComplete, "p1"), "x", "Explore"),
			},
			[]string{"completed: invoke_agent Explore"},
		},
		"an agent that the broken off turn was waiting for": {
			[]hook.Event{turnPrompt(0, "p1"), turnTool(1, pre, "p1", "Agent", "a"), started, turnPrompt(3, "p2")},
			[]string{"interrupted: execute_tool Agent#a!ToolCancelled, invoke_agent Explore!RunAbandoned", "interrupted (open): "},
		},
		"an agent in the background of a turn that was broken off": {
			[]hook.Event{turnPrompt(0, "p1"), turnTool(1, pre, "p1", "Agent", "a"), started, backgrounded(turnTool(1.2, post, "p1", "Agent", "a"), "x"), turnPrompt(3, "p2")},
			[]string{"interrupted (open): execute_tool Agent#a, invoke_agent Explore!RunAbandoned", "interrupted (open): "},
		},
		"an agent that begins again in its turn": {
			[]hook.Event{
				turnPrompt(0, "p1"), started, asAgent(turnEv(1.3, hook.KindRunComplete, "p1"), "x", "Explore"), turnStop(2, "p1"),
				asAgent(turnEv(4, hook.KindRunStart, "p1"), "x", "Explore"),
			},
			[]string{"completed (open): invoke_agent Explore!RunAbandoned"},
		},
		"a background agent after the program has gone": {
			[]hook.Event{turnPrompt(0, "p1"), started, turnStop(2, "p1"), turnEv(3, hook.KindSessionEnd, "p1")},
			[]string{"completed: invoke_agent Explore!RunAbandoned"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := buildTurns(Carry{}, logged(tt.events...))
			if diff := cmp.Diff(tt.want, outline(b, b.Runs(epoch.Add(8*time.Second)), nil)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestBoundaryIsAtTheFirstStartWithoutRun(t *testing.T) {
	b := buildTurns(Carry{}, logged(turnPrompt(0, "p1"), turnStop(1, "p1"), session(2, "resume", "m1"), session(3, "resume", ""), turnPrompt(4, "p2")))
	runs := b.Runs(epoch.Add(5 * time.Second))
	if offset, _ := b.Boundary(func(id RunID) bool { return id == runs[0].ID }, 500); offset != 200 {
		t.Errorf("reading continues at %d, the session's start is at 200", offset)
	}
}

func TestSplitTurnDividesItsRequests(t *testing.T) {
	at := func(sec float64) time.Time { return turnEv(sec, hook.KindNote, "").StoredAt }
	tr := &hook.Transcript{Requests: []hook.Request{
		{ID: "m1", Turn: "p1", Model: "first", Start: at(0.5), End: at(1)},
		{ID: "m2", Turn: "p1", Model: "second", Start: at(4000.5), End: at(4000.8)},
	}}
	b := buildTurns(Carry{}, logged(turnPrompt(0, "p1"), turnTool(1, hook.KindToolStart, "p1", "Bash", "a"),
		turnTool(4000, hook.KindToolEnd, "p1", "Bash", "a"), turnStop(4001, "p1")))
	want := []string{"interrupted: chat first, execute_tool Bash#a!ToolCancelled", "completed: execute_tool Bash#a, chat second"}
	if diff := cmp.Diff(want, outline(b, b.Runs(far), tr)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestAgentContinuesAfterItsTurnWasDelivered makes a later part of that
// turn, whatever other turn is open.
func TestAgentContinuesAfterItsTurnWasDelivered(t *testing.T) {
	events := logged(turnPrompt(0, "p1"), turnTool(1, hook.KindToolStart, "p1", "Agent", "a"),
		asAgent(turnEv(1.1, hook.KindRunStart, "p1"), "x", "Explore"),
		backgrounded(turnTool(1.2, hook.KindToolEnd, "p1", "Agent", "a"), "x"), turnStop(2, "p1"),
		turnPrompt(4000, "p2"),
		asAgent(turnTool(4002, hook.KindToolStart, "p1", "Bash", "b"), "x", "Explore"),
		asAgent(turnTool(4003, hook.KindToolEnd, "p1", "Bash", "b"), "x", "Explore"),
		turnStop(4004, "p2"),
		asAgent(turnEv(4010, hook.KindRunComplete, "p1"), "x", "Explore"))
	b := buildTurns(Carry{}, events[:5])
	b.Runs(epoch.Add(3900 * time.Second))
	offset, carry := b.Boundary(func(RunID) bool { return true }, 500)
	b = buildTurns(carry, events[offset/100:])
	at := epoch.Add(4001 * time.Second)
	tr := &hook.Transcript{Requests: []hook.Request{{ID: "m1", Agent: "x", Turn: "p1", Model: "m", Start: at, End: at.Add(time.Second)}}}
	want := []string{"completed: ", "completed: invoke_agent Explore, execute_tool Bash#b, chat m"}
	if diff := cmp.Diff(want, outline(b, b.Runs(far), tr)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestUnreportedAgentsRequestCountsOnce(t *testing.T) {
	b := buildTurns(Carry{}, logged(turnPrompt(0, "p1"), turnTool(1, hook.KindToolStart, "p1", "Bash", "a"),
		turnTool(4000, hook.KindToolStart, "p1", "Bash", "b"), turnTool(4001, hook.KindToolEnd, "p1", "Bash", "b"), turnStop(4002, "p1")))
	at := epoch.Add(4000 * time.Second).Add(100 * time.Millisecond)
	tr := &hook.Transcript{Requests: []hook.Request{{ID: "m1", Agent: "quiet", Turn: "p1", Model: "m", Start: at, End: at.Add(time.Second)}}}
	want := []string{"interrupted: execute_tool Bash#a!ToolCancelled", "completed: execute_tool Bash#b, chat m"}
	if diff := cmp.Diff(want, outline(b, b.Runs(far), tr)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestCallWithoutEndLastsUntilTheTurnEnds(t *testing.T) {
	b := buildTurns(Carry{}, logged(turnPrompt(0, "p1"), turnTool(1, hook.KindToolStart, "p1", "Bash", "a"),
		turnTool(2, hook.KindToolStart, "p1", "Bash", "b"), turnTool(3, hook.KindToolEnd, "p1", "Bash", "b"), turnEv(9, hook.KindSessionEnd, "p1")))
	s := spansOf(b, b.Runs(far)[0], nil)[1]
	if want := turnEv(9, hook.KindNote, "").StoredAt; !otlp.End(s).Equal(want) {
		t.Errorf("%s ends at %v, want %v: other calls ran beside it", s.Name, otlp.End(s), want)
	}
}

func TestCallThatTheUserRefusedIsDenied(t *testing.T) {
	asked := turnTool(1.5, hook.KindPermission, "p1", "Bash", "")
	asked.Key = ""
	tr := &hook.Transcript{ToolResults: []hook.ToolResult{{
		ID: "a", Turn: "p1", Name: "Bash", Status: hook.ToolCancelled, Text: "rejected",
		Asked: turnEv(1, hook.KindNote, "").StoredAt, At: turnEv(2, hook.KindNote, "").StoredAt,
	}}}
	b := buildTurns(Carry{}, logged(turnPrompt(0, "p1"), turnTool(1, hook.KindToolStart, "p1", "Bash", "a"), asked, turnPrompt(4, "p2")))
	if got, want := outline(b, b.Runs(far), tr)[0], "interrupted: execute_tool Bash#a!ToolDenied"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestAgentIsBelowTheCallThatStartedIt has two agents that begin at once and one that another
// agent started: their calls' results name them, or the host's files do.
func TestAgentIsBelowTheCallThatStartedIt(t *testing.T) {
	const pre, post, start, end = hook.KindToolStart, hook.KindToolEnd, hook.KindRunStart, hook.KindRunComplete
	call := func(e hook.Event, agent string) hook.Event {
		e.Tool.Agent = agent
		return e
	}
	events := func(named bool) []hook.Event {
		name := func(id string) string {
			if named {
				return id
			}
			return ""
		}
		return logged(
			turnPrompt(0, "p1"), turnTool(1, pre, "p1", "Agent", "a0"), turnTool(1.1, pre, "p1", "Agent", "a1"),
			asAgent(turnEv(1.2, start, "p1"), "second", "Explore"), asAgent(turnEv(1.3, start, "p1"), "first", "Plan"),
			asAgent(turnTool(1.4, pre, "p1", "Agent", "a2"), "first", "Plan"), asAgent(turnEv(1.5, start, "p1"), "nested", "Nest"),
			asAgent(turnEv(1.6, end, "p1"), "nested", "Nest"), asAgent(call(turnTool(1.7, post, "p1", "Agent", "a2"), name("nested")), "first", "Plan"),
			asAgent(turnEv(2, end, "p1"), "first", "Plan"), asAgent(turnEv(2.1, end, "p1"), "second", "Explore"),
			call(turnTool(3, post, "p1", "Agent", "a0"), name("first")), call(turnTool(3.1, post, "p1", "Agent", "a1"), name("second")),
			turnStop(4, "p1"))
	}
	files := &hook.Transcript{Agents: []hook.Subagent{{ID: "first", CallID: "a0"}, {ID: "second", CallID: "a1"}, {ID: "nested", CallID: "a2"}}}
	for name, tt := range map[string]struct {
		events []hook.Event
		tr     *hook.Transcript
	}{
		"the results name them":      {events(true), nil},
		"the host's files name them": {events(false), files},
	} {
		t.Run(name, func(t *testing.T) {
			b := buildTurns(Carry{}, tt.events)
			spans := spansOf(b, b.Runs(far)[0], tt.tr)
			byID := map[string]string{}
			for _, s := range spans {
				for _, a := range s.Attributes {
					if a.Key == KeyToolCallID {
						byID[otlp.SpanID(s)] = a.Value.GetStringValue()
					}
				}
			}
			got := map[string]string{}
			for _, s := range spans[1:] {
				if strings.HasPrefix(s.Name, OpInvokeAgent) {
					got[s.Name] = byID[otlp.ParentID(s)]
				}
			}
			want := map[string]string{"invoke_agent Explore": "a1", "invoke_agent Plan": "a0", "invoke_agent Nest": "a2"}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("agents below calls (-want +got):\n%s", diff)
			}
		})
	}
}

// TestAgentWithoutCallIsBelowTheRoot: one tool after another is under way when it
// begins, and none of them starts agents.
func TestAgentWithoutCallIsBelowTheRoot(t *testing.T) {
	b := buildTurns(Carry{}, logged(turnPrompt(0, "p1"), turnTool(1, hook.KindToolStart, "p1", "Bash", "a"),
		asAgent(turnEv(1.2, hook.KindRunStart, "p1"), "x", "Explore"), asAgent(turnEv(1.3, hook.KindRunComplete, "p1"), "x", "Explore"),
		turnTool(2, hook.KindToolEnd, "p1", "Bash", "a"), turnStop(4, "p1")))
	spans := spansOf(b, b.Runs(far)[0], nil)
	for _, s := range spans[1:] {
		if s.Name == "invoke_agent Explore" && otlp.ParentID(s) != otlp.SpanID(spans[0]) {
			t.Error("the agent is below a Bash call")
		}
	}
}

func TestAgentNamedByTwoCallsIsAlwaysBelowTheLeads(t *testing.T) {
	const pre, post = hook.KindToolStart, hook.KindToolEnd
	byAgent := func(e hook.Event) hook.Event { return asAgent(e, "y", "Explore") }
	events := logged(
		turnPrompt(0, "p1"), turnTool(1, pre, "p1", "Agent", "a"), byAgent(turnEv(1.1, hook.KindRunStart, "p1")),
		byAgent(turnTool(1.2, pre, "p1", "Agent", "b")), asAgent(turnEv(1.3, hook.KindRunStart, "p1"), "x", "Plan"),
		backgrounded(byAgent(turnTool(1.4, post, "p1", "Agent", "b")), "x"),
		backgrounded(turnTool(1.5, post, "p1", "Agent", "a"), "x"), turnStop(3, "p1"),
	)
	for range 20 {
		b := buildTurns(Carry{}, events)
		calls, parent := map[string]string{}, ""
		for _, s := range spansOf(b, b.Runs(far)[0], nil) {
			calls[otlp.SpanID(s)] = value(s, KeyToolCallID)
			if s.Name == "invoke_agent Plan" {
				parent = otlp.ParentID(s)
			}
		}
		if calls[parent] != "a" {
			t.Fatalf("the agent is below call %q, want a", calls[parent])
		}
	}
}

func TestTurnIsOpenUntilItsAgentsStop(t *testing.T) {
	events := logged(
		turnPrompt(0, "p1"), turnTool(1, hook.KindToolStart, "p1", "Agent", "a"),
		asAgent(turnEv(1.1, hook.KindRunStart, "p1"), "x", "Explore"),
		turnTool(1.2, hook.KindToolEnd, "p1", "Agent", "a"), turnStop(2, "p1"),
		turnPrompt(3, "p2"), turnStop(4, "p2"),
		asAgent(turnEv(5, hook.KindRunComplete, "p1"), "x", "Explore"),
	)
	soon := epoch.Add(10 * time.Second)
	b := buildTurns(Carry{}, events[:7])
	want := []string{
		"completed (open): execute_tool Agent#a, invoke_agent Explore!RunAbandoned", "completed: ",
	}
	if diff := cmp.Diff(want, outline(b, b.Runs(soon), nil)); diff != "" {
		t.Errorf("while the agent works (-want +got):\n%s", diff)
	}
	first := b.Runs(soon)[1]
	offset, _ := b.Boundary(func(id RunID) bool { return id == first.ID }, 700)
	if offset != 0 {
		t.Errorf("reading may go on at %d although the first turn is open", offset)
	}
	b = buildTurns(Carry{}, events)
	want[0] = "completed: execute_tool Agent#a, invoke_agent Explore"
	if diff := cmp.Diff(want, outline(b, b.Runs(soon), nil)); diff != "" {
		t.Errorf("after it has stopped (-want +got):\n%s", diff)
	}
}

// TestTurnsContinueFromABoundary: what was delivered is not read again, and what
// comes of it later makes no run.
func TestTurnsContinueFromABoundary(t *testing.T) {
	first := logged(session(0, "startup", "m1"), turnPrompt(1, "p1"), turnStop(2, "p1"), turnEv(3, hook.KindSessionEnd, "p1"),
		session(4, "resume", "m2"))
	b := buildTurns(Carry{}, first)
	runs := b.Runs(epoch.Add(10 * time.Second))
	if got := rootAttr(b, runs[0], KeySessionSource); got != "startup" {
		t.Errorf("first run's session source is %q", got)
	}
	offset, carry := b.Boundary(func(RunID) bool { return true }, 500)
	if offset != 500 || carry.Source != "resume" || carry.Model != "m2" {
		t.Fatalf("boundary %d, carry %+v", offset, carry)
	}
	late := []hook.Event{turnEv(5, hook.KindNotification, "p1"), turnStop(5.1, "p1"), turnTool(5.2, hook.KindToolEnd, "p1", "Bash", "a")}
	b = buildTurns(carry, append(late, turnPrompt(6, "p2"), turnStop(7, "p2")))
	runs = b.Runs(epoch.Add(20 * time.Second))
	if diff := cmp.Diff([]string{"completed: "}, outline(b, runs, nil)); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
	if got := rootAttr(b, runs[0], KeySessionSource); got != "resume" {
		t.Errorf("second run's session source is %q", got)
	}
	if got := rootAttr(b, runs[0], KeyModel); got != "m2" {
		t.Errorf("second run's model is %q", got)
	}
	if links := spansOf(b, runs[0], nil)[0].Links; len(links) != 1 || hex.EncodeToString(links[0].TraceId) != carry.PrevTrace {
		t.Errorf("links: %+v", links)
	}
	// The same command is given again under the turn that was delivered.
	b = buildTurns(carry, []hook.Event{turnPrompt(8, "p1"), turnStop(12, "p1")})
	if runs = b.Runs(epoch.Add(20 * time.Second)); len(runs) != 1 || runs[0].Repeated {
		t.Error("the command that was given again is not a separate run")
	}
	// The turn continues after its end was delivered, as when one of the user's hooks
	// took minutes to refuse the end.
	b = buildTurns(carry, []hook.Event{
		turnTool(8, hook.KindToolStart, "p1", "Bash", "b"), turnTool(9, hook.KindToolEnd, "p1", "Bash", "b"),
		again(turnStop(10, "p1")),
	})
	runs = b.Runs(epoch.Add(20 * time.Second))
	if diff := cmp.Diff([]string{"completed: execute_tool Bash#b"}, outline(b, runs, nil)); diff != "" {
		t.Fatalf("a turn that continues (-want +got):\n%s", diff)
	}
	if runs[0].Repeated || runs[0].ID.String() == carry.Recent[0] {
		t.Error("the turn's second run has the first one's id")
	}
}

func rootAttr(b *Builder, r *Run, key string) string {
	for _, a := range spansOf(b, r, nil)[0].Attributes {
		if a.Key == key {
			return a.Value.GetStringValue()
		}
	}
	return ""
}

func TestHostFilesAddWhatHooksOmit(t *testing.T) {
	at := func(sec float64) time.Time { return turnEv(sec, hook.KindNote, "").StoredAt }
	usage := &hook.Usage{Input: 5, Output: 7}
	tr := &hook.Transcript{
		Ends: []hook.TurnEnd{{Turn: "p1", At: at(9), Kind: hook.KindSessionEnd}},
		ToolResults: []hook.ToolResult{
			{ID: "run", Turn: "p1", Name: "Bash", Status: hook.ToolCancelled, Text: "the user does not want this", Asked: at(1), At: at(8)},
			{ID: "rule", Turn: "p1", Name: "Bash", Status: hook.ToolDenied, Text: "not allowed", Asked: at(2), At: at(3)},
			{ID: "nope", Turn: "p1", Name: "Nope", Status: hook.ToolFailed, Text: "no such tool", Asked: at(3), At: at(4)},
			{ID: "old", Turn: "p1", Name: "Old", Asked: at(-50), At: at(-40)},
		},
		Requests: []hook.Request{
			{ID: "copied", Turn: "p1", Start: at(-30), End: at(-20), Model: "m", Usage: usage},
			{ID: "m1", RequestID: "req_1", Turn: "p1", Start: at(0.9), End: at(1), Model: "m", Usage: usage, FinishReason: "tool_use"},
			{ID: "other", Turn: "p0", Start: at(1), End: at(2), Model: "m", Usage: usage},
		},
	}
	b := buildTurns(Carry{}, logged(turnPrompt(0, "p1"), turnTool(1, hook.KindToolStart, "p1", "Bash", "run"),
		turnTool(2, hook.KindToolStart, "p1", "Bash", "rule"), turnPrompt(20, "p2"), turnStop(21, "p2")))
	got := outline(b, b.Runs(far), tr)
	want := "interrupted: chat m, execute_tool Bash#run!ToolCancelled, execute_tool Bash#rule!ToolDenied, execute_tool Nope#nope!ToolFailure"
	if got[0] != want {
		t.Errorf("got  %s\nwant %s", got[0], want)
	}
	root := spansOf(b, b.Runs(far)[0], tr)[0]
	if !otlp.End(root).Equal(at(9)) {
		t.Errorf("the turn ends at %v, the host's files say %v", otlp.End(root), at(9))
	}

	// Only the session's end was reported of a failure.
	tr.Ends = []hook.TurnEnd{{Turn: "p1", At: at(2), Kind: hook.KindRunError, ErrorType: "rate_limit", Message: "too many"}}
	b = buildTurns(Carry{}, logged(turnPrompt(0, "p1"), turnEv(3, hook.KindSessionEnd, "p1")))
	failed := spansOf(b, b.Runs(far)[0], tr)[0]
	if value(failed, KeyErrorType) != "rate_limit" || failed.Status.Message != "too many" {
		t.Errorf("a failure whose hook was not waited for: %v %v", failed.Status, failed.Attributes)
	}

	// The hook of the end was lost; the host's files know it.
	tr.Ends = []hook.TurnEnd{{Turn: "p1", At: at(9), Kind: hook.KindRunComplete, Result: "all done"}}
	for _, next := range [][]hook.Event{{turnPrompt(20, "p2"), turnStop(21, "p2")}, {turnEv(10, hook.KindSessionEnd, "")}} {
		b = buildTurns(Carry{}, logged(append([]hook.Event{turnPrompt(0, "p1")}, next...)...))
		root = spansOf(b, b.Runs(far)[0], tr)[0]
		if value(root, KeyOutcome) != OutcomeCompleted || value(root, KeyOutputValue) != "all done" {
			t.Errorf("root before %v: %v", next[0].Kind, root.Attributes)
		}
	}
}

func TestRefusedEndContinuesTheTurn(t *testing.T) {
	events := logged(turnPrompt(0, "p1"), turnStop(1, "p1"))
	b := buildTurns(Carry{}, events)
	now := epoch.Add(5 * time.Second)
	if !b.Runs(now)[0].Ended {
		t.Fatal("the turn has not ended before the host's files are read")
	}
	refused := []hook.TurnEnd{{Turn: "p1", Kind: hook.KindRunResume, At: epoch.Add(2 * time.Second)}}
	if !b.applyRefusals(refused) || b.Runs(now)[0].Ended {
		t.Error("the turn has ended although its end was refused")
	}
	if b.applyRefusals(refused) {
		t.Error("the same refusal counts again")
	}
	later := buildTurns(Carry{}, logged(turnTool(8, hook.KindToolStart, "p1", "Bash", "a"), again(turnStop(10, "p1"))))
	if later.applyRefusals(refused) {
		t.Error("a refusal from before the place where reading began refuses a later end")
	}
	b.Add(again(turnStop(4, "p1")))
	runs := b.Runs(now)
	if len(runs) != 1 || !runs[0].Ended || runs[0].Outcome != OutcomeCompleted {
		t.Errorf("after the second end: %v", outline(b, runs, nil))
	}
	blocked := 0
	for _, e := range spansOf(b, runs[0], nil)[0].Events {
		if e.Name == EventNote && otlp.Text(e.Attributes, KeyEventName) == "run_complete" {
			blocked++
		}
	}
	if blocked != 1 {
		t.Errorf("the refused end is %d times among the root's events", blocked)
	}
}

// An agent may name the turn where it begins alone.
func TestRefusedEndWithoutATurn(t *testing.T) {
	b := buildTurns(Carry{}, logged(turnPrompt(0, "p1"), turnStop(1, ""), turnPrompt(10, "p2"), turnStop(11, "")))
	now := epoch.Add(15 * time.Second)
	if !b.applyRefusals([]hook.TurnEnd{{Turn: "p2", Kind: hook.KindRunResume, At: epoch.Add(12 * time.Second)}}) {
		t.Error("no end was refused")
	}
	if runs := b.Runs(now); len(runs) != 2 || !runs[0].Ended || runs[1].Ended {
		t.Errorf("%v", outline(b, runs, nil))
	}
}

// Where turns have no number, a refusal is that of the end at its time, and the prompt
// after it is the answer of the hook.
func TestRefusedEndOfATurnWithoutANumber(t *testing.T) {
	prompt := func(s float64) hook.Event { return turnPrompt(s, "") }
	stop := func(s float64) hook.Event { e := turnStop(s, ""); e.Key = ""; return e }
	refusal := func(s int) []hook.TurnEnd {
		return []hook.TurnEnd{{Kind: hook.KindRunResume, At: epoch.Add(time.Duration(s) * time.Second)}}
	}
	events := logged(
		prompt(0), stop(1), turnEv(2, hook.KindNotification, ""), prompt(3), turnTool(4, hook.KindToolStart, "", "Bash", "a"), stop(5),
		prompt(6), stop(7),
	)
	for name, tt := range map[string]struct {
		ends []hook.TurnEnd
		runs int
	}{
		"no refusal":           {nil, 3},
		"of the first":         {refusal(1), 2},
		"of the first two":     {append(refusal(1), refusal(5)...), 1},
		"of the last":          {refusal(7), 3},
		"of none at this time": {refusal(2), 3},
	} {
		b := buildTurns(Carry{}, events)
		changed := b.applyRefusals(tt.ends)
		if runs := b.Runs(epoch.Add(8 * time.Second)); len(runs) != tt.runs || runs[len(runs)-1].Ended == (name == "of the last") {
			t.Errorf("%s: %v", name, outline(b, runs, nil))
		}
		if changed != (tt.runs != 3 || name == "of the last") || changed && b.applyRefusals(tt.ends) {
			t.Errorf("%s: refusals change the runs: %v, or do so again", name, changed)
		}
	}
}

func TestFinished(t *testing.T) {
	soon := epoch.Add(10 * time.Second)
	for name, tt := range map[string]struct {
		events []hook.Event
		now    time.Time
		want   bool
	}{
		"a session that continues":      {[]hook.Event{turnPrompt(0, "p1"), turnStop(1, "p1")}, soon, false},
		"after its end":                 {[]hook.Event{turnPrompt(0, "p1"), turnStop(1, "p1"), turnEv(2, hook.KindSessionEnd, "p1")}, soon, true},
		"resumed after its end":         {[]hook.Event{turnEv(2, hook.KindSessionEnd, ""), session(3, "resume", "")}, soon, false},
		"silent for a long time":        {[]hook.Event{turnPrompt(0, "p1"), turnStop(1, "p1")}, far, true},
		"another prompt after its end":  {[]hook.Event{turnEv(2, hook.KindSessionEnd, ""), turnPrompt(3, "p1")}, soon, false},
		"a notification after its end ": {[]hook.Event{turnEv(2, hook.KindSessionEnd, ""), turnEv(3, hook.KindNotification, "")}, soon, true},
	} {
		t.Run(name, func(t *testing.T) {
			b := buildTurns(Carry{}, logged(tt.events...))
			b.Runs(tt.now)
			if got := b.Finished(tt.now); got != tt.want {
				t.Errorf("over: %v, want %v", got, tt.want)
			}
		})
	}
}

// turnHistory draws a session of Claude Code: prompts with ids of their own, or
// none at all in old versions; between them any event of the turn, with or
// without its counterpart; now and then one of the turn before, or one that
// comes twice; agents that outlive the turn that started them.
func turnHistory(t *rapid.T) []hook.Event {
	var out []hook.Event
	old := rapid.IntRange(0, 4).Draw(t, "version") == 0
	turns, now := 0, 0.0
	name := func(n int) string {
		if old || n == 0 {
			return ""
		}
		return "p" + strconv.Itoa(n)
	}
	agentTurn := map[string]string{}
	for i := range rapid.IntRange(1, 40).Draw(t, "events") {
		now += rapid.SampledFrom([]float64{0.001, 0.2, 1, 30, 4000}).Draw(t, "pause")
		k := rapid.SampledFrom([]hook.Kind{
			hook.KindPrompt, hook.KindPrompt, hook.KindToolStart, hook.KindToolStart, hook.KindToolEnd, hook.KindToolEnd,
			hook.KindRunComplete, hook.KindRunComplete, hook.KindRunError, hook.KindSessionEnd, hook.KindSessionStart,
			hook.KindNotification, hook.KindNote, hook.KindCompact, hook.KindPermission,
		}).Draw(t, "kind")
		if k == hook.KindPrompt {
			turns++
		}
		turn := name(turns)
		e := turnEv(now, k, turn)
		switch k {
		case hook.KindPrompt:
			e = turnPrompt(now, turn)
		case hook.KindToolStart, hook.KindToolEnd, hook.KindPermission:
			id := rapid.SampledFrom([]string{"x", "y", "z"}).Draw(t, "id") + turn
			if old {
				id = ""
			}
			e = turnTool(now, k, turn, rapid.SampledFrom([]string{"Bash", "Agent"}).Draw(t, "tool"), id)
			if id == "" || k == hook.KindPermission {
				e.Key = ""
			}
			if k == hook.KindToolEnd && turns > 1 && rapid.IntRange(0, 9).Draw(t, "late") == 0 {
				e.Turn = name(turns - 1)
			}
		case hook.KindRunComplete:
			e = turnStop(now, turn)
			if turn == "" || rapid.IntRange(0, 5).Draw(t, "again") == 0 {
				e = again(e)
			}
			if rapid.IntRange(0, 3).Draw(t, "lists") == 0 {
				e.Background = &hook.Background{Listed: true}
				for _, id := range slices.Sorted(maps.Keys(agentTurn)) {
					if rapid.Bool().Draw(t, "at work") {
						e.Background.AtWork = append(e.Background.AtWork, id)
					}
				}
			}
		case hook.KindSessionStart:
			e = session(now, rapid.SampledFrom([]string{"startup", "resume", "compact"}).Draw(t, "source"), "m")
		}
		working := k == hook.KindToolStart || k == hook.KindToolEnd || k == hook.KindRunComplete || k == hook.KindNote
		if working && !old && turns > 0 && rapid.IntRange(0, 2).Draw(t, "who") == 0 {
			id := rapid.SampledFrom([]string{"q", "r"}).Draw(t, "agent")
			if _, begun := agentTurn[id]; !begun {
				agentTurn[id] = turn
				e = turnEv(now, hook.KindRunStart, turn)
				e.Key = "start/" + id
			}
			e.Turn = agentTurn[id]
			e = asAgent(e, id, "Explore")
			if e.Key != "" {
				e.Key += "/" + id
			}
		}
		e.Hash = uint64(i) + 1 //nolint:gosec // Small.
		out = append(out, e)
	}
	return logged(out...)
}

func TestEveryHistoryOfTurnsGivesWholeTraces(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		events := turnHistory(rt)
		last := events[len(events)-1].StoredAt
		b := buildTurns(Carry{}, events)
		checkWhole(rt, b, last.Add(time.Hour))

		// The same events in another order of the log give the same spans.
		perm := rapid.Permutation(events).Draw(rt, "order")
		if clockWasSetBack(perm) {
			return
		}
		other := buildTurns(Carry{}, logged(perm...))
		if diff := diffButIDs(b, other, far); diff != "" {
			rt.Errorf("another order of the log gives other spans:\n%s", diff)
		}
	})
}

func TestReadingTurnsFromABoundaryGivesTheSameRuns(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		// A repeat is known by its key as long as the first is read, too.
		seen := map[string]bool{}
		events := logged(slices.DeleteFunc(turnHistory(rt), func(e hook.Event) bool {
			again := e.Key != "" && seen[e.Key]
			seen[e.Key] = true
			return again
		})...)
		readOn(rt, events, events[len(events)-1].StoredAt.Add(time.Hour), buildTurns)
	})
}

// clockWasSetBack reports that the order means a step of the clock.
func clockWasSetBack(events []hook.Event) bool {
	var newest time.Time
	return slices.ContainsFunc(events, func(e hook.Event) bool {
		back := newest.Sub(e.StoredAt) > storedStep
		newest = latest(newest, e.StoredAt)
		return back
	})
}

// spanIDs are the ids of the spans of each run.
func spanIDs(b *Builder, runs []*Run) map[RunID][]string {
	out := make(map[RunID][]string)
	for _, r := range runs {
		for _, s := range spansOf(b, r, nil) {
			out[r.ID] = append(out[r.ID], otlp.SpanID(s))
		}
	}
	return out
}

// TestBoundaryIsWhereRunsCannotDiffer has what decides over a later run stand
// in an earlier one, which was answered for: that one is read again.
func TestBoundaryIsWhereRunsCannotDiffer(t *testing.T) {
	start := session(0, "startup", "")
	copied := start
	copied.StoredAt = start.StoredAt.Add(time.Second)
	list := turnStop(7201, "t1")
	list.Background = &hook.Background{Listed: true, AtWork: []string{"x"}}
	before := turnStop(30, "t1")
	before.Background = list.Background
	for name, events := range map[string][]hook.Event{
		"a run that began while another was open": {
			turnPrompt(0, "t1"), turnTool(1, hook.KindToolStart, "t1", "Read", "a"),
			asAgent(turnEv(2, hook.KindRunStart, "t2"), "ag", "Explore"), asAgent(turnEv(3, hook.KindRunComplete, "t2"), "ag", "Explore"),
			turnTool(7200, hook.KindToolEnd, "t2", "Read", "b"),
		},
		"a copy of the session's start behind the next prompt": {
			start, turnPrompt(0.1, "t1"), turnPrompt(0.5, "t2"), copied,
			turnTool(2, hook.KindToolEnd, "t2", "Read", "a"), turnStop(7200, "t2"),
		},
		"a list of the agents at work that names one of an earlier run": {
			asAgent(turnEv(0, hook.KindRunStart, "t1"), "x", "Explore"), asAgent(turnEv(7200, hook.KindRunStart, "t1"), "y", "Explore"), list,
			asAgent(turnTool(7202, hook.KindToolStart, "t1", "Read", "a"), "y", "Explore"),
		},
		"the end of a call without a start in a later part of its turn": {
			turnPrompt(0, "t1"), turnStop(1, "t1"), turnPrompt(7200, "t1"), turnTool(7201, hook.KindToolEnd, "t1", "Read", "a"),
			turnStop(7202, "t1"),
		},
		"the same of an agent that began in the later part": {
			turnPrompt(0, "t1"), turnStop(1, "t1"), turnPrompt(7200, "t1"), asAgent(turnEv(7200.5, hook.KindRunStart, "t1"), "x", "Explore"),
			asAgent(turnTool(7201, hook.KindToolEnd, "t1", "Read", "a"), "x", "Explore"), turnStop(7202, "t1"),
		},
		"a list of the agents at work from before the clock was set back": {
			turnPrompt(0, "t1"), asAgent(turnEv(1, hook.KindRunStart, "t1"), "x", "Explore"), before,
			asAgent(turnEv(31, hook.KindRunComplete, "t1"), "x", "Explore"), turnPrompt(25, "t2"),
			asAgent(turnEv(26, hook.KindRunStart, "t2"), "y", "Explore"), asAgent(turnTool(40, hook.KindToolStart, "t2", "Read", "a"), "y", "Explore"),
		},
	} {
		t.Run(name, func(t *testing.T) {
			events = logged(events...)
			whole := buildTurns(Carry{}, events)
			want := whole.Runs(far)
			off, carry := whole.Boundary(func(id RunID) bool { return id == want[0].ID }, int64(len(events))*100)
			b := buildTurns(carry, events[off/100:])
			all, got := spanIDs(whole, want), spanIDs(b, b.Runs(far))
			for _, r := range want[1:] {
				if !slices.Equal(got[r.ID], all[r.ID]) {
					t.Errorf("run %s has from %d on spans %v, want %v", r.ID, off, got[r.ID], all[r.ID])
				}
			}
			for id := range got {
				if all[id] == nil {
					t.Errorf("run %s is there only from %d on", id, off)
				}
			}
		})
	}
}

// TestATurnThatIsResumedAfterItsStop has an agent report that a hook refused the end,
// before it works on.
func TestATurnThatIsResumedAfterItsStop(t *testing.T) {
	events := []hook.Event{turnPrompt(0, "p1"), turnStop(1, "p1"), turnEv(2, hook.KindRunResume, "p1")}
	b := buildTurns(Carry{}, events)
	if runs := b.Runs(epoch.Add(3 * time.Second)); len(runs) != 1 || runs[0].Ended {
		t.Fatalf("runs %+v, want one that goes on", runs)
	}
	stop := again(turnStop(4, "p1"))
	stop.Result = "did more"
	b.Add(stop)
	runs := b.Runs(epoch.Add(5 * time.Second))
	if len(runs) != 1 || !runs[0].Ended || rootAttr(b, runs[0], KeyOutputValue) != "did more" || rootAttr(b, runs[0], KeyInputValue) != "do p1" {
		t.Errorf("runs %+v", runs)
	}
}

// TestATurnThatReportsItsInterruption has an agent report that the user interrupted a
// turn: it has ended at once, with the subagent that it was waiting for.
func TestATurnThatReportsItsInterruption(t *testing.T) {
	b := buildTurns(Carry{}, []hook.Event{
		turnPrompt(0, "p1"),
		turnTool(1, hook.KindToolStart, "p1", "agent", "c1"),
		asAgent(turnEv(2, hook.KindRunStart, "p1"), "a1", "looker"),
		turnEv(3, hook.KindRunCancel, "p1"),
		turnPrompt(4, "p2"),
		turnStop(5, "p2"),
	})
	runs := b.Runs(epoch.Add(6 * time.Second))
	if len(runs) != 2 || !runs[0].Ended || runs[0].Outcome != OutcomeInterrupted || runs[1].Outcome != OutcomeCompleted {
		t.Fatalf("runs %+v", runs)
	}
	for _, s := range spansOf(b, runs[0], nil) {
		if strings.HasPrefix(s.Name, "execute_tool") && value(s, KeyErrorType) != ErrorToolCancelled {
			t.Errorf("the call that was running: %v", s)
		}
	}
}

// TestReasonOfARefusedEndIsNoPromptOfTheUsers has an agent without ids of turns, which
// submits as a prompt what a hook said that refused the end.
func TestReasonOfARefusedEndIsNoPromptOfTheUsers(t *testing.T) {
	stop := ev(1, hook.KindNote)
	stop.Attrs = []hook.Attr{{Key: KeyStopBlocked, Value: true}}
	for _, reason := range []string{"keep going", ""} {
		b := buildTurns(Carry{}, logged(prompt(0, "go"), stop, prompt(2, reason), ev(3, hook.KindRunComplete), prompt(4, "and now"), prompt(5, ""), ev(6, hook.KindRunComplete)))
		var got []bool
		for _, again := range []int{1, 2} {
			got = nil
			for _, run := range b.Runs(far) {
				for _, e := range spansOf(b, run, nil)[0].Events {
					if e.Name == EventPrompt {
						got = append(got, otlp.Find(e.Attributes, KeyPromptInjected).GetBoolValue())
					}
				}
			}
			if len(got) < 3 || got[0] || !got[1] || slices.Contains(got[2:], true) {
				t.Errorf("reason %q, read %d times: prompts of the host %v, want the second alone", reason, again, got)
			}
		}
	}
	if len(noRemarks.Attrs) > 0 {
		t.Errorf("every event has the attributes %v", noRemarks.Attrs)
	}
}
