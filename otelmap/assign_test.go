package otelmap

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/otlp"
)

// TestSubagentsHangBelowTheirOwnCall has two subagents that calls with one id started.
func TestSubagentsHangBelowTheirOwnCall(t *testing.T) {
	call := func(sec float64, k hook.Kind, agent string) hook.Event {
		e := turnTool(sec, k, "p1", "Task", "call_0")
		e.Tool.Input, e.Key = `{"prompt":"`+agent+`"}`, ""
		return e
	}
	ends := func(sec float64, agent string, named bool) hook.Event {
		e := call(sec, hook.KindToolEnd, agent)
		if named {
			e.Tool.Agent = agent
		}
		return e
	}
	agent := func(sec float64, k hook.Kind, id string) hook.Event {
		e := sub(ev(sec, k), id, hook.ParentUnknown)
		e.Host, e.Turn = "claude-code", "p1"
		return e
	}
	for _, named := range []bool{true, false} {
		events := []hook.Event{
			turnPrompt(0, "p1"),
			call(1, hook.KindToolStart, "one"), agent(1.2, hook.KindRunStart, "one"), agent(1.8, hook.KindRunComplete, "one"), ends(2, "one", named),
			call(3, hook.KindToolStart, "two"), agent(3.2, hook.KindRunStart, "two"), agent(3.8, hook.KindRunComplete, "two"), ends(4, "two", named),
			turnStop(9, "p1"),
		}
		tr := &hook.Transcript{Agents: []hook.Subagent{
			{ID: "one", CallID: "call_0", Turn: "p1", Start: ev(1.2, 0).Time, End: ev(1.8, 0).Time},
			{ID: "two", CallID: "call_0", Turn: "p1", Start: ev(3.2, 0).Time, End: ev(3.8, 0).Time},
		}}
		b := buildTurns(Carry{}, logged(events...))
		calls := make(map[string]string) // arguments by span
		got := make(map[string]string)
		for _, s := range spansOf(b, b.Runs(far)[0], tr) {
			if args := value(s, KeyToolArguments); args != "" {
				calls[otlp.SpanID(s)] = args
			}
			if id := value(s, KeyAgent); id != "" {
				got[id] = calls[otlp.ParentID(s)]
			}
		}
		want := map[string]string{"one": `{"prompt":"one"}`, "two": `{"prompt":"two"}`}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("the hooks name the agent: %v: callers (-want +got):\n%s", named, diff)
		}
	}
}

// TestResultsBelongToTheirCalls has results in the agent's files of calls with one id, or with
// none, of which some have no end or no result.
func TestResultsBelongToTheirCalls(t *testing.T) {
	const id, ok, failed, cancelled = "call_0", hook.ToolOK, hook.ToolFailed, hook.ToolCancelled
	start := func(sec float64, id string) hook.Event {
		e := turnTool(sec, hook.KindToolStart, "p1", "run", id)
		e.Key = ""
		return e
	}
	end := func(sec float64, id string, s hook.ToolStatus) hook.Event {
		e := turnTool(sec, hook.KindToolEnd, "p1", "run", id)
		e.Key, e.Tool.Status, e.Tool.Output = "", s, ""
		if s.Failed() {
			e.Tool.Error, e.Tool.Output = "no", "no"
		}
		return e
	}
	result := func(sec float64, id string, s hook.ToolStatus) hook.ToolResult {
		return hook.ToolResult{ID: id, Turn: "p1", Name: "run", Input: `{"path":""}`, At: ev(sec, 0).Time, Status: s, Text: fmt.Sprint("at ", sec)}
	}
	// other has another input than the calls.
	other := func(asked, at float64) hook.ToolResult {
		r := result(at, id, ok)
		r.Input = `{"path":"other"}`
		if asked > 0 {
			r.Asked = ev(asked, 0).Time
		}
		return r
	}
	reading := func(sec float64, k hook.Kind) hook.Event {
		e := turnTool(sec, k, "p1", "read", id)
		e.Key, e.Tool.Output = "", "read"
		return e
	}
	asked := func(sec float64) hook.Event {
		e := start(sec, "")
		e.Kind = hook.KindPermission
		return e
	}
	allowed := func(sec float64) hook.Event {
		e := start(sec, id)
		e.Kind = hook.KindNote
		return e
	}
	of := func(id string, e hook.Event) hook.Event {
		e.Tool.ID = id
		return e
	}
	ran := func(r hook.ToolResult) hook.ToolResult {
		r.Ran = true
		return r
	}
	turns, tasks := turnAgent, Traits{}
	unnamed := turnAgent
	unnamed.Unnamed = true
	for name, c := range map[string]struct {
		agent   Traits
		events  []hook.Event
		results []hook.ToolResult
		want    []string
	}{
		"the same call again, cut off, without a result": {
			turns,
			[]hook.Event{start(1, id), end(2, id, failed), start(3, id)},
			[]hook.ToolResult{result(2, id, failed)},
			[]string{"ToolFailure no", "ToolUnfinished " + messageUnfinished},
		},
		"the same call again, cut off": {
			turns,
			[]hook.Event{start(1, id), end(2, id, ok), start(3, id)},
			[]hook.ToolResult{result(2, id, ok), result(4, id, cancelled)},
			[]string{"at 2", "ToolCancelled " + messageCancelled + "\nat 4"},
		},
		"the first of two equal calls has no result": {
			turns,
			[]hook.Event{start(1, id), start(3, id), end(4, id, ok)},
			[]hook.ToolResult{result(4, id, ok)},
			[]string{"ToolUnfinished " + messageUnfinished, "at 4"},
		},
		"the result of a later call with its id and tool, that no hook reports": {
			turns,
			[]hook.Event{start(1, id)},
			[]hook.ToolResult{other(3, 4)},
			[]string{"ToolUnfinished " + messageUnfinished, "at 4"},
		},
		"and a call with its id and another tool is between them": {
			turns,
			[]hook.Event{start(1, id), reading(2, hook.KindToolStart), reading(3, hook.KindToolEnd)},
			[]hook.ToolResult{other(0, 4)},
			[]string{"ToolUnfinished " + messageUnfinished, "read"},
		},
		"equal calls without ids, the second has no result": {
			unnamed,
			[]hook.Event{start(1, ""), end(2, "", ok), start(3, "")},
			[]hook.ToolResult{result(2, "a", ok)},
			[]string{"at 2", "ToolUnfinished " + messageUnfinished},
		},
		"equal calls without ids, the first never ended": { // only the files tell
			tasks,
			[]hook.Event{start(1, ""), start(3, ""), end(4, "", hook.ToolUnknown)},
			[]hook.ToolResult{result(2, "", hook.ToolDenied), result(4, "", ok)},
			[]string{"ToolDenied at 2", "at 4"},
		},
		"and the files name them": {
			unnamed,
			[]hook.Event{start(1, ""), start(3, ""), end(4, "", ok)},
			[]hook.ToolResult{result(2, "a", hook.ToolDenied), result(4, "b", ok)},
			[]string{"ToolDenied at 2", "at 4"},
		},
		"a call that was asked about, then interrupted": {
			turns,
			[]hook.Event{start(1, id), asked(2)},
			[]hook.ToolResult{result(4, id, cancelled)},
			[]string{"ToolDenied " + messageDenied + "\nat 4"},
		},
		"and the agent had reported the approval": {
			turns,
			[]hook.Event{start(1, id), of(id, asked(2)), allowed(3)},
			nil,
			[]string{"ToolUnfinished " + messageUnfinished},
		},
		"and the files have the same words for both": {
			turns,
			[]hook.Event{start(1, id), of(id, asked(2)), allowed(3)},
			[]hook.ToolResult{result(4, id, cancelled)},
			[]string{"ToolCancelled " + messageCancelled + "\nat 4"},
		},
		"and it was another call that had been approved": {
			turns,
			[]hook.Event{start(1, "b"), start(1, id), of("b", asked(2)), of(id, asked(2)), allowed(3)},
			nil,
			[]string{"ToolDenied " + messageDenied, "ToolUnfinished " + messageUnfinished},
		},
		"and a later call with its id had been approved": {
			turns,
			[]hook.Event{start(1, id), of(id, asked(2)), start(3, id), of(id, asked(4)), allowed(5)},
			nil,
			[]string{"ToolDenied " + messageDenied, "ToolUnfinished " + messageUnfinished},
		},
		"and it was asked about again, as for a folder and then for a file": {
			turns,
			[]hook.Event{start(1, id), of(id, asked(2)), allowed(3), of(id, asked(4))},
			nil,
			[]string{"ToolDenied " + messageDenied},
		},
		"and both questions had been answered": {
			turns,
			[]hook.Event{start(1, id), of(id, asked(2)), allowed(3), of(id, asked(4)), allowed(5)},
			nil,
			[]string{"ToolUnfinished " + messageUnfinished},
		},
		"and it had been approved, as the files show": {
			turns,
			[]hook.Event{start(1, id), asked(2)},
			[]hook.ToolResult{ran(result(4, id, cancelled))},
			[]string{"ToolCancelled " + messageCancelled + "\nat 4"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			events := append([]hook.Event{turnPrompt(0, "p1")}, c.events...)
			b := NewBuilder("claude-code", "s", Options{Agent: c.agent}, Carry{})
			for _, e := range logged(append(events, turnStop(9, "p1"))...) {
				b.Add(e)
			}
			var got []string
			for _, s := range spansOf(b, b.Runs(far)[0], &hook.Transcript{ToolResults: c.results})[1:] {
				text := value(s, KeyToolResult)
				if kind := value(s, KeyErrorType); kind != "" {
					text = kind + " " + Returned(s)
				}
				got = append(got, text)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
		})
	}
}

// TestAnsweredQuestionSaysHowLongTheUserTook has a call that is asked about, allowed, and asked about
// again, as for its folder and then for its file.
func TestAnsweredQuestionSaysHowLongTheUserTook(t *testing.T) {
	of := func(sec float64, kind hook.Kind) hook.Event {
		e := turnTool(sec, kind, "p1", "run", "c1")
		e.Key = ""
		return e
	}
	asked, allowed := of(3, hook.KindPermission), of(5, hook.KindNote)
	for name, c := range map[string]struct {
		events []hook.Event
		want   int64
	}{
		"not yet":   {nil, 0},
		"allowed":   {[]hook.Event{allowed}, 2000},
		"asked for": {[]hook.Event{allowed, of(6, hook.KindPermission)}, 0},
		"twice":     {[]hook.Event{allowed, of(6, hook.KindPermission), of(7, hook.KindNote)}, 4000},
	} {
		t.Run(name, func(t *testing.T) {
			events := append([]hook.Event{turnPrompt(1, "p1"), of(2, hook.KindToolStart), asked}, c.events...)
			for i := range events {
				events[i].Hash = uint64(i) + 1 //nolint:gosec // Small.
			}
			b := buildTurns(Carry{}, logged(events...))
			call := spansOf(b, b.Runs(far)[0], nil)[1]
			if len(call.Events) == 0 || call.Events[0].Name != EventPermission {
				t.Fatalf("the call has the events %v, want %s first", call.Events, EventPermission)
			}
			if got := otlp.Find(call.Events[0].Attributes, KeyWaited).GetIntValue(); got != c.want {
				t.Errorf("the user took %d ms, want %d", got, c.want)
			}
		})
	}
}
