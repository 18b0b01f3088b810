package transcript

import (
	"fmt"
	"runtime"
	"testing"
	"time"
	"weak"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/hook"
)

// TestEventsOfCallsAreMadeOneByOne counts the calls' events that are in memory while they are read.
func TestEventsOfCallsAreMadeOneByOne(t *testing.T) {
	const calls = 200
	begin := time.Date(2026, 3, 4, 10, 0, 0, 0, time.UTC)
	tr := &hook.Transcript{Session: "s"}
	for i := range calls {
		at := begin.Add(time.Duration(i) * time.Minute)
		tr.ToolResults = append(tr.ToolResults, hook.ToolResult{ID: fmt.Sprint(i), Name: "Bash", Asked: at, At: at.Add(time.Second), Text: "ok"})
	}
	var made []weak.Pointer[hook.Tool]
	held := 0
	for e := range (Reader{AddEvents: func(b *EventBuilder, _ string) { b.AddTools(nil) }}).Events("", tr) {
		made = append(made, weak.Make(e.Tool))
		n, ends := len(made), len(made)%2 == 0
		if e.Tool.ID != fmt.Sprint((n-1)/2) || (e.Kind == hook.KindToolEnd) != ends || (e.Tool.Output == "ok") != ends {
			t.Fatalf("event %d is %v of call %s with %q", n, e.Kind, e.Tool.ID, e.Tool.Output)
		}
		if n < 2*calls {
			continue
		}
		runtime.GC()
		for _, tool := range made {
			if tool.Value() != nil {
				held++
			}
		}
	}
	if len(made) != 2*calls || held > 2 {
		t.Errorf("%d of %d events of calls are in memory, want at most 2 of %d", held, len(made), 2*calls)
	}
}

// TestCallsThatStartSubagents has a model that numbers its calls anew in each reply.
func TestCallsThatStartSubagents(t *testing.T) {
	t.Parallel()
	at := func(sec int) time.Time { return time.Unix(int64(1000+sec), 0).UTC() }
	call := func(name string, asked, ended int) hook.ToolResult {
		return hook.ToolResult{ID: "call_0", Name: name, Asked: at(asked), At: at(ended)}
	}
	agents := []hook.Subagent{
		{ID: "one", CallID: "call_0", Start: at(3), End: at(4)},
		{ID: "two", CallID: "call_0", Start: at(8), End: at(9)},
		{ID: "early", CallID: "call_1", Start: at(1)},
	}
	results := []hook.ToolResult{
		call("read", 0, 1), call("task one", 2, 5), call("task two", 7, 10), call("write", 11, 12),
		{ID: "call_1", Name: "task early", Asked: at(2), At: at(3)},
	}
	reader := Reader{AddEvents: func(b *EventBuilder, _ string) { b.AddTools(nil) }}
	got := make(map[string]string)
	for e := range reader.Events("", &hook.Transcript{ToolResults: results, Agents: agents}) {
		if e.Kind == hook.KindToolEnd {
			got[e.Tool.Name] = e.Tool.Agent
		}
	}
	want := map[string]string{"read": "", "task one": "one", "task two": "two", "write": "", "task early": "early"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the agents that calls started (-want +got):\n%s", diff)
	}
}
