package otelmap

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/otlp"
)

// TestScripts maps scripts that only the files have, of one of which hooks report the calls.
// By import all calls are events, which gives the same spans.
func TestScripts(t *testing.T) {
	start := time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC)
	at := func(s int) time.Time { return start.Add(time.Duration(s) * time.Second) }
	results := []hook.ToolResult{
		{ID: "a", Turn: "t", Name: "exec", Input: "{}", Asked: at(1), At: at(5)},
		{ID: "exec-1", Turn: "t", Name: "Bash", Input: "{}", Status: hook.ToolFailed, Text: "no", Asked: at(2), At: at(3)},
		{ID: "exec-2", Turn: "t", Name: "Bash", Input: "{}", Asked: at(2), At: at(4)},
		{ID: "b", Turn: "t", Name: "exec", Input: "{}", Asked: at(6), At: at(7)},
		{ID: "c", Turn: "t", Name: "exec", Input: "{}", Status: hook.ToolFailed, Text: "threw", Asked: at(8), At: at(11)},
		{ID: "exec-3", Turn: "t", Name: "Bash", Input: "{}", Asked: at(9), At: at(10)},
		{ID: "exec-4", Turn: "t", Name: "Bash", Input: "{}", Asked: at(12), At: at(13)},
	}
	want := []string{
		"call a exec of invoke_agent h: invoke_workflow", "call exec-2 Bash of invoke_workflow exec: execute_tool", "call exec-1 Bash of invoke_workflow exec: execute_tool",
		"call b exec of invoke_agent h: execute_tool", "call c exec of invoke_agent h: execute_tool", "call exec-3 Bash of execute_tool exec: execute_tool",
		"call exec-4 Bash of invoke_agent h: execute_tool", "6 calls, 2 failed",
	}
	var ids []string
	for name, hooked := range map[string]func(id string) bool{
		"hooks": func(id string) bool { return len(id) > 1 }, "import": func(string) bool { return true },
	} {
		b := NewBuilder("h", "s", Options{Agent: Traits{Turns: true, Script: "exec", Nested: "exec-"}}, Carry{})
		offset := int64(0)
		event := func(kind hook.Kind, at time.Time, tool *hook.Tool) {
			offset++
			b.Add(hook.Event{Host: "h", Session: "s", Turn: "t", Kind: kind, StoredAt: at, Offset: offset, Hash: uint64(offset), Tool: tool}) //nolint:gosec // small
		}
		event(hook.KindPrompt, at(0), nil)
		for i := range results {
			if r := &results[i]; hooked(r.ID) {
				event(hook.KindToolStart, r.Asked, &hook.Tool{ID: r.ID, Name: r.Name, Input: r.Input, Duration: -1})
				event(hook.KindToolEnd, r.At, &hook.Tool{ID: r.ID, Name: r.Name, Input: r.Input, Duration: -1, Status: hook.ToolUnknown})
			}
		}
		if name == "hooks" { // one that was denied, of which the files have nothing
			event(hook.KindToolStart, at(9), &hook.Tool{ID: "exec-5", Name: "Bash", Input: "{}", Duration: -1})
		}
		event(hook.KindRunComplete, at(20), nil)
		spans := spansOf(b, b.Runs(at(3600))[0], &hook.Transcript{ToolResults: results})
		names := make(map[string]string)
		var got, made []string
		for _, s := range spans {
			names[string(s.SpanId)] = s.Name
			if otlp.Text(s.Attributes, KeyToolCallID) == "exec-5" {
				continue
			}
			made = append(made, otlp.SpanID(s))
		}
		for _, s := range spans {
			a := s.Attributes
			if otlp.Text(a, KeyToolCallID) == "exec-5" {
				if end := otlp.End(s); !end.Equal(at(11)) {
					t.Errorf("a call that was denied ends at %v, want the end of its script", end)
				}
				continue
			}
			if id := otlp.Text(a, KeyToolCallID); id != "" {
				got = append(got, fmt.Sprintf("call %s %s of %s: %s", id, otlp.Text(a, KeyToolName), names[string(s.ParentSpanId)], otlp.Text(a, KeyOperation)))
			}
		}
		calls, _ := otlp.Integer(spans[0].Attributes, KeyToolCalls)
		failed, _ := otlp.Integer(spans[0].Attributes, KeyToolFailures)
		got = append(got, fmt.Sprintf("%d calls, %d failed", calls, failed))
		if name == "hooks" {
			got[len(got)-1] = fmt.Sprintf("%d calls, %d failed", calls-1, failed-1)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if ids == nil {
			ids = made
		}
		if diff := cmp.Diff(ids, made); diff != "" {
			t.Errorf("ids by hooks and by import differ:\n%s", diff)
		}
	}
}

// TestCallsThatNameTheirCaller maps calls whose ids begin with that of the call that made them.
func TestCallsThatNameTheirCaller(t *testing.T) {
	start := time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC)
	b := NewBuilder("h", "s", Options{Agent: Traits{Turns: true, Within: "/"}}, Carry{})
	offset := int64(0)
	event := func(kind hook.Kind, tool *hook.Tool) {
		offset++
		at := start.Add(time.Duration(offset) * time.Second)
		b.Add(hook.Event{Host: "h", Session: "s", Turn: "t", Kind: kind, StoredAt: at, Offset: offset, Hash: uint64(offset), Tool: tool}) //nolint:gosec // small
	}
	call := func(kind hook.Kind, id string) { event(kind, &hook.Tool{ID: id, Name: "x", Input: "{}", Duration: -1}) }
	event(hook.KindPrompt, nil)
	for _, id := range []string{"a", "a/1", "a/1/1", "/2", "c/1"} {
		call(hook.KindToolStart, id)
	}
	for _, id := range []string{"a/1/1", "a/1", "a", "/2", "c/1"} {
		call(hook.KindToolEnd, id)
	}
	event(hook.KindRunComplete, nil)
	ids, parents := make(map[string]string), make(map[string]string)
	for _, s := range spansOf(b, b.Runs(start.Add(time.Hour))[0], &hook.Transcript{}) {
		if id := otlp.Text(s.Attributes, KeyToolCallID); id != "" {
			ids[string(s.SpanId)] = id
			parents[id] = string(s.ParentSpanId)
		}
	}
	for id, parent := range parents {
		parents[id] = ids[parent]
	}
	if diff := cmp.Diff(map[string]string{"a": "", "a/1": "a", "a/1/1": "a/1", "/2": "", "c/1": ""}, parents); diff != "" {
		t.Errorf("parents of calls (-want +got):\n%s", diff)
	}
}
