package otelmap

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/otlp"
)

// TestUnnamedCalls maps a turn whose hooks name no calls: the lead agent and a subagent
// read the same file, one after the other.
func TestUnnamedCalls(t *testing.T) {
	start := time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC)
	at := func(s int) time.Time { return start.Add(time.Duration(s) * time.Second) }
	event := func(s int, kind hook.Kind, tool, input string) hook.Event {
		e := hook.Event{Host: "h", Session: "s", Kind: kind, Time: at(s), StoredAt: at(s), Offset: int64(s), Hash: uint64(s) + 1}
		if tool != "" {
			e.Tool = &hook.Tool{Name: tool, Input: input, Output: "text", Duration: hook.UnknownDuration}
		}
		return e
	}
	const file = `{"path":"a"}`
	events := []hook.Event{
		event(0, hook.KindPrompt, "", ""),
		event(1, hook.KindToolStart, "read", file), event(2, hook.KindToolEnd, "read", file),
		event(3, hook.KindToolStart, "spawn_agent", "{}"),
		event(4, hook.KindToolStart, "read", file), event(5, hook.KindToolEnd, "read", file),
		event(6, hook.KindToolEnd, "spawn_agent", "{}"),
		event(7, hook.KindRunComplete, "", ""),
	}
	files := &hook.Transcript{
		ToolResults: []hook.ToolResult{
			{ID: "c1", Name: "read", Input: file, Asked: at(1), At: at(2)},
			{ID: "c2", Name: "spawn_agent", Input: "{}", Asked: at(3), At: at(6)},
			{ID: "c3", Agent: "sub", Name: "read", Input: file, Asked: at(4), At: at(5)},
			{ID: "c4", Agent: "sub", Name: "no_such_tool", Input: "{}", Status: hook.ToolFailed, Text: "what?", Asked: at(5), At: at(5)},
		},
		Agents: []hook.Subagent{{ID: "sub", Type: "scout", CallID: "c2", Start: at(3).Add(time.Second / 2), End: at(6)}},
	}
	spans := func(tr *hook.Transcript) (out []string, ids map[string]bool) {
		b := NewBuilder("h", "s", Options{Agent: Traits{Turns: true, Unnamed: true}}, Carry{})
		for _, e := range events {
			b.Add(e)
		}
		runs := b.Runs(at(3600))
		if len(runs) != 1 {
			t.Fatalf("%d runs, want 1", len(runs))
		}
		names, ids := make(map[string]string), make(map[string]bool)
		all := b.Spans(runs[0], tr)
		for s := range otlp.Spans([]*tracepb.ResourceSpans{all}) {
			names[string(s.SpanId)] = s.Name
		}
		for s := range otlp.Spans([]*tracepb.ResourceSpans{all}) {
			id := otlp.Text(s.Attributes, KeyToolCallID)
			out = append(out, fmt.Sprintf("%s %s below %s", s.Name, id, names[string(s.ParentSpanId)]))
			ids[string(s.SpanId)] = true
		}
		return out, ids
	}
	got, named := spans(files)
	want := []string{
		"invoke_agent h  below ",
		"execute_tool read c1 below invoke_agent h",
		"execute_tool spawn_agent c2 below invoke_agent h",
		"invoke_agent scout  below execute_tool spawn_agent",
		"execute_tool read c3 below invoke_agent scout",
		"execute_tool no_such_tool c4 below invoke_agent scout",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("spans (-want +got):\n%s", diff)
	}
	// A subagent that the files do not list, as it began in another run, has no span.
	unlisted := *files
	unlisted.Agents = nil
	got, _ = spans(&unlisted)
	want = []string{
		"invoke_agent h  below ",
		"execute_tool read c1 below invoke_agent h",
		"execute_tool spawn_agent c2 below invoke_agent h",
		"execute_tool read c3 below invoke_agent h",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("spans where the subagent is not listed (-want +got):\n%s", diff)
	}
	// Without the files the same calls have the same ids, at one level.
	got, alone := spans(nil)
	if len(got) != 4 {
		t.Errorf("spans without files: %q", got)
	}
	for id := range alone {
		if !named[id] {
			t.Errorf("span %x has another id without files", id)
		}
	}
}

// Some of what a subagent does comes under another session's name. The agent's files
// have it in the right one.
func TestUnnamedSubagentAloneMakesNoRun(t *testing.T) {
	at := time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC)
	for _, unnamed := range []bool{false, true} {
		b := NewBuilder("h", "s", Options{Agent: Traits{Turns: true, Unnamed: unnamed}}, Carry{})
		b.Add(hook.Event{
			Host: "h", Session: "s", Kind: hook.KindToolStart, Time: at, StoredAt: at, Agent: "sub", ParentAgent: hook.ParentUnknown,
			Tool: &hook.Tool{Name: "read", Duration: hook.UnknownDuration},
		})
		if runs := b.Runs(at); (len(runs) == 0) != unnamed {
			t.Errorf("unnamed %v: %d runs", unnamed, len(runs))
		}
	}
}

// TestUnnamedSubagentsOfCallsWithIDs maps turns whose hooks name calls and no subagents: the calls
// of a subagent are its own, once, and so is that which one in the background makes in the next turn.
// Its end looks like the lead agent's, which comes just after.
func TestUnnamedSubagentsOfCallsWithIDs(t *testing.T) {
	start := time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC)
	at := func(ms int) time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }
	b := NewBuilder("h", "s", Options{Agent: Traits{Turns: true, Unnamed: true}}, Carry{})
	add := func(ms int, kind hook.Kind, turn, id string) {
		e := hook.Event{Host: "h", Session: "s", Kind: kind, Name: kind.String(), Turn: turn, StoredAt: at(ms), Offset: int64(ms), Hash: 7}
		if id != "" {
			e.Tool, e.Hash = &hook.Tool{ID: id, Name: "read", Input: "{}", Duration: hook.UnknownDuration}, uint64(ms)
		}
		b.Add(e)
	}
	add(0, hook.KindPrompt, "0", "")
	add(1000, hook.KindToolStart, "", "c1")
	add(2000, hook.KindToolStart, "", "c2")
	add(3000, hook.KindToolEnd, "", "c2")
	add(4000, hook.KindToolEnd, "", "c1")
	add(5000, hook.KindRunComplete, "", "")
	add(6000, hook.KindPrompt, "1", "")
	add(7000, hook.KindToolStart, "", "c3")
	add(8000, hook.KindToolEnd, "", "c3")
	add(8900, hook.KindRunComplete, "", "") // the subagent's
	add(9000, hook.KindRunComplete, "", "")
	result := func(id, agent string, from, to int) hook.ToolResult {
		return hook.ToolResult{ID: id, Agent: agent, Turn: "0", Name: "read", Input: "{}", Asked: at(from), At: at(to)}
	}
	files := &hook.Transcript{
		ToolResults: []hook.ToolResult{result("c1", "", 1000, 4000), result("c2", "sub", 2000, 3000), result("c3", "sub", 7000, 8000)},
		Agents:      []hook.Subagent{{ID: "sub", Type: "scout", CallID: "c1", Turn: "0", Start: at(1500), End: at(8800)}},
	}
	var got []string
	for _, r := range b.Runs(at(3600_000)) {
		names := make(map[string]string)
		all := b.Spans(r, files)
		for s := range otlp.Spans([]*tracepb.ResourceSpans{all}) {
			names[string(s.SpanId)] = s.Name
		}
		for s := range otlp.Spans([]*tracepb.ResourceSpans{all}) {
			if id := otlp.Text(s.Attributes, KeyToolCallID); id != "" {
				got = append(got, fmt.Sprintf("%s below %s", id, names[string(s.ParentSpanId)]))
			} else if s.Name == "invoke_agent h" {
				got = append(got, fmt.Sprintf("run of %d ms", (s.EndTimeUnixNano-s.StartTimeUnixNano)/1e6))
			}
		}
	}
	want := []string{"run of 5000 ms", "c1 below invoke_agent h", "c2 below invoke_agent scout", "run of 3000 ms", "c3 below invoke_agent h"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("spans (-want +got):\n%s", diff)
	}
}

// TestUnnamedSubagentWithTheIDsOfOthers has ids that each agent counts for itself.
func TestUnnamedSubagentWithTheIDsOfOthers(t *testing.T) {
	start := time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC)
	at := func(ms int) time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }
	for name, input := range map[string]string{"another call": `{"a":1}`, "an equal call": "{}"} {
		for _, first := range []int{1000, 5100} { // of the lead agent's: before or within that of the subagent
			b := NewBuilder("h", "s", Options{Agent: Traits{Turns: true, Unnamed: true}}, Carry{})
			add := func(ms int, kind hook.Kind, turn, id, input string) {
				e := hook.Event{Host: "h", Session: "s", Kind: kind, Name: kind.String(), Turn: turn, StoredAt: at(ms), Offset: int64(ms), Hash: 7}
				if id != "" {
					e.Tool, e.Hash = &hook.Tool{ID: id, Name: "read", Input: input, Duration: hook.UnknownDuration}, uint64(ms)
				}
				b.Add(e)
			}
			events := map[int]func(ms int){
				0:           func(ms int) { add(ms, hook.KindPrompt, "0", "", "") },
				first:       func(ms int) { add(ms, hook.KindToolStart, "", "b:0", "{}") },
				first + 200: func(ms int) { add(ms, hook.KindToolEnd, "", "b:0", "{}") },
				2000:        func(ms int) { add(ms, hook.KindToolStart, "", "c:1", "{}") },
				5000:        func(ms int) { add(ms, hook.KindToolStart, "", "b:0", input) },
				6000:        func(ms int) { add(ms, hook.KindToolEnd, "", "b:0", input) },
				7000:        func(ms int) { add(ms, hook.KindToolEnd, "", "c:1", "{}") },
				8000:        func(ms int) { add(ms, hook.KindRunComplete, "", "", "") },
			}
			for _, ms := range slices.Sorted(maps.Keys(events)) {
				events[ms](ms)
			}
			result := func(id, agent, input string, from, to int) hook.ToolResult {
				return hook.ToolResult{ID: id, Agent: agent, Turn: "0", Name: "read", Input: input, Asked: at(from), At: at(to), Status: hook.ToolOK}
			}
			files := &hook.Transcript{
				ToolResults: []hook.ToolResult{
					result("b:0", "", "{}", first-1, first+199), result("c:1", "", "{}", 1999, 6999), result("b:0", "sub", input, 4999, 5999),
				},
				Agents: []hook.Subagent{{ID: "sub", Type: "scout", CallID: "c:1", Turn: "0", Start: at(2500), End: at(6900)}},
			}
			r := b.Runs(at(3600_000))[0]
			all := b.Spans(r, files)
			names, got := make(map[string]string), []string(nil)
			for s := range otlp.Spans([]*tracepb.ResourceSpans{all}) {
				names[string(s.SpanId)] = s.Name
			}
			for s := range otlp.Spans([]*tracepb.ResourceSpans{all}) {
				if id := otlp.Text(s.Attributes, KeyToolCallID); id != "" {
					got = append(got, fmt.Sprintf("%s below %s for %d", id, names[string(s.ParentSpanId)], (s.EndTimeUnixNano-s.StartTimeUnixNano)/1e6))
				}
			}
			slices.Sort(got)
			want := []string{"b:0 below invoke_agent h for 200", "b:0 below invoke_agent scout for 1000", "c:1 below invoke_agent h for 5000"}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s, at %d (-want +got):\n%s", name, first, diff)
			}
		}
	}
}

// TestAnswerBeforeTokensAlone has tokens of a request of the program's own behind the last answer,
// of which only the moment may be known.
func TestAnswerBeforeTokensAlone(t *testing.T) {
	b := NewBuilder("h", "s", Options{Agent: Traits{Turns: true, Unnamed: true}}, Carry{})
	b.Add(turnPrompt(0, ""))
	stop := turnStop(5, "")
	stop.Result, stop.Key = "", ""
	b.Add(stop)
	at := func(sec float64) time.Time { return ev(sec, 0).Time }
	files := &hook.Transcript{Requests: []hook.Request{
		{ID: "r0", Start: at(1), End: at(2), Text: "first", FinishReason: "max_tokens"},
		{ID: "r1", Start: at(2), End: at(2), Text: "done", FinishReason: "end_turn"},
		{ID: "r2", Start: at(3), End: at(3), Usage: &hook.Usage{Input: 1}},
	}}
	root := spansOf(b, b.Runs(at(9))[0], files)[0]
	if got := otlp.Text(root.Attributes, KeyOutputValue); got != "done" || !strings.Contains(otlp.Text(root.Attributes, KeyOutputMessages), `"stop"`) {
		t.Errorf("answer %q in %v", got, root.Attributes)
	}
}
