package transcript_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/transcript"
)

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
	reader := transcript.Reader{AddEvents: func(b *transcript.EventBuilder, _ string) { b.AddTools(nil) }}
	got := make(map[string]string)
	for _, e := range reader.Events("", &hook.Transcript{ToolResults: results, Agents: agents}) {
		if e.Kind == hook.KindToolEnd {
			got[e.Tool.Name] = e.Tool.Agent
		}
	}
	want := map[string]string{"read": "", "task one": "one", "task two": "two", "write": "", "task early": "early"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the agents that calls started (-want +got):\n%s", diff)
	}
}
