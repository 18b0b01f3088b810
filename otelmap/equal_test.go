package otelmap

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/hook"
)

// TestEqualCallsWithoutIDsArePairedByTheFiles has an agent whose hooks name no calls make
// several of one tool with one input, which its file tells apart.
func TestEqualCallsWithoutIDsArePairedByTheFiles(t *testing.T) {
	const ok, failed, denied = hook.ToolOK, hook.ToolFailed, hook.ToolDenied
	start := func(sec float64) hook.Event {
		e := turnTool(sec, hook.KindToolStart, "p1", "run", "")
		e.Key = ""
		return e
	}
	end := func(sec float64, s hook.ToolStatus) hook.Event {
		e := turnTool(sec, hook.KindToolEnd, "p1", "run", "")
		e.Key, e.Tool.Status, e.Tool.Output = "", s, ""
		return e
	}
	result := func(id string, sec float64, s hook.ToolStatus) hook.ToolResult {
		return hook.ToolResult{ID: id, Turn: "p1", Name: "run", Input: `{"path":""}`, At: ev(sec, 0).Time, Status: s}
	}
	for name, c := range map[string]struct {
		events  []hook.Event
		results []hook.ToolResult
		want    string
	}{
		"denied and tried again": {
			[]hook.Event{start(1), start(3), end(4, ok)},
			[]hook.ToolResult{result("a", 2, denied), result("b", 4, ok)},
			"completed: execute_tool run#a!ToolDenied, execute_tool run#b",
		},
		"denied twice": {
			[]hook.Event{start(1), start(3), start(5), end(6, failed)},
			[]hook.ToolResult{result("a", 2, denied), result("b", 4, denied), result("c", 6, failed)},
			"completed: execute_tool run#a!ToolDenied, execute_tool run#b!ToolDenied, execute_tool run#c!ToolFailure",
		},
		"one of two parallel calls fails first": {
			[]hook.Event{start(1), start(1.1), end(2, failed), end(3, ok)},
			[]hook.ToolResult{result("a", 3, ok), result("b", 2, failed)},
			"completed: execute_tool run#a, execute_tool run#b!ToolFailure",
		},
		"the results come together": {
			[]hook.Event{start(1), start(1.1), end(2, failed), end(3, ok)},
			[]hook.ToolResult{result("a", 3.1, ok), result("b", 3.1, failed)},
			"completed: execute_tool run#a, execute_tool run#b!ToolFailure",
		},
		"in order where nothing tells": {
			[]hook.Event{start(1), start(1.1), end(2, failed), end(3, ok)},
			nil,
			"completed: execute_tool run!ToolFailure, execute_tool run",
		},
	} {
		t.Run(name, func(t *testing.T) {
			agent := turnAgent
			agent.Unnamed = true
			events := append([]hook.Event{turnPrompt(0, "p1")}, c.events...)
			b := NewBuilder("gemini-cli", "s", Options{Agent: agent}, Carry{})
			for _, e := range logged(append(events, turnStop(9, "p1"))...) {
				b.Add(e)
			}
			tr := &hook.Transcript{ToolResults: c.results}
			if diff := cmp.Diff([]string{c.want}, outline(b, b.Runs(far), tr)); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
		})
	}
}
