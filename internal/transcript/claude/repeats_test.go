package claude

import (
	"fmt"
	"testing"
)

// Results under one id are of several calls if a model numbers its calls anew in each reply,
// and of one call if the rows stand in the file again.
func TestResultsWithOneID(t *testing.T) {
	rows := []string{
		answerRow("m1", 1, "tool:call_0", "tool_use"), resultRow("p1", 2, "call_0", "Exit code 3", true),
		answerRow("m2", 5, "tool:call_0", "tool_use"), resultRow("p1", 6, "call_0", "fine", false),
	}
	for name, rows := range map[string][]string{"once": rows, "with rows that are repeated": append(rows, rows...)} {
		var got []string
		for _, r := range readLines(t, rows...).ToolResults {
			got = append(got, fmt.Sprint(r.ID, " ", r.Text, " ", r.Status))
		}
		if want := "[call_0 Exit code 3 1 call_0 fine 0]"; fmt.Sprint(got) != want {
			t.Errorf("%s: results %v, want %s", name, got, want)
		}
	}
}

// A replay gives the rows new ids; the texts and calls of the response are the same.
func TestReplayedRowsDoNotDoubleTheAnswer(t *testing.T) {
	rows := []string{
		crow("assistant", 1, `"uuid":"u1","requestId":"r"`, `"message":{"id":"m","model":"x","content":[{"type":"text","text":"six"}]}`),
		crow("assistant", 1, `"uuid":"u2","requestId":"r"`, `"message":{"id":"m","model":"x","content":[{"type":"tool_use","id":"t","name":"Bash"}]}`),
		crow("assistant", 1, `"uuid":"u3","requestId":"r"`, `"message":{"id":"m","model":"x","content":[{"type":"text","text":"six"}]}`),
		crow("assistant", 1, `"uuid":"u4","requestId":"r"`, `"message":{"id":"m","model":"x","content":[{"type":"tool_use","id":"t","name":"Bash"}]}`),
	}
	tr := readLines(t, rows...)
	if len(tr.Requests) != 1 || tr.Requests[0].Text != "six" || len(tr.Requests[0].ToolCallIDs) != 1 {
		t.Errorf("calls %+v, want one with the text and the call once", tr.Requests)
	}
}
