package otelmap

import (
	"fmt"
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
