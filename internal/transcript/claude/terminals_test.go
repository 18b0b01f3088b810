package claude

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/hook"
)

// TestRowsOfTwoTerminalsHaveTheirTurns has two programs write one session's file in turn:
// each row belongs to the turn of the row that it follows.
func TestRowsOfTwoTerminalsHaveTheirTurns(t *testing.T) {
	ids := func(uuid, parent string) string { return `"uuid":"` + uuid + `","parentUuid":"` + parent + `"` }
	answer := func(at int, id, content, stop, row string) string {
		return crow("assistant", at, `"message":{"id":"`+id+`","model":"m","stop_reason":"`+stop+`","content":[`+content+`],"usage":{"input_tokens":1}}`, row)
	}
	tr := readLines(t,
		userRow("p1", 1, "first", `"uuid":"u1","parentUuid":null`),
		userRow("p2", 2, "second", `"uuid":"u2","parentUuid":null`),
		answer(3, "m1", `{"type":"tool_use","id":"c1","name":"Read","input":{}}`, "tool_use", ids("a1", "u1")),
		crow("attachment", 4, ids("x2", "u2")),
		resultRow("p1", 5, "c1", "text", false, ids("r1", "a1")),
		answer(6, "m2", `{"type":"text","text":"second done"}`, "end_turn", ids("a2", "x2")),
		answer(7, "m3", `{"type":"text","text":"first done"}`, "end_turn", ids("a3", "r1")),
		crow("system", 8, `"subtype":"stop_hook_summary"`, ids("s1", "a3")),
	)
	got := map[string]string{}
	for _, c := range tr.Requests {
		got[c.ID] = c.Turn
	}
	for _, r := range tr.ToolResults {
		got[r.ID] = r.Turn
	}
	for _, e := range tr.Ends {
		if e.Kind == hook.KindRunComplete {
			got["end of "+e.Turn] = e.Result
		}
	}
	want := map[string]string{"m1": "p1", "m2": "p2", "m3": "p1", "c1": "p1", "end of p1": "first done", "end of p2": "second done"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("turns (-want +got):\n%s", diff)
	}
}
