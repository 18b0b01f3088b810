package claude

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/internal/testkit/transcripttest"
	"github.com/hookspan/hookspan/internal/transcript"
)

// The clock is set back within a task: it stays one.
func TestAClockSetBack(t *testing.T) {
	row := func(kind, members string) string {
		return `{"type":"` + kind + `","timestamp":"%s","sessionId":"` + claudeSession + `",` + members + `}`
	}
	user := func(turn, content string) string {
		return row("user", turn+`"message":{"role":"user","content":`+content+`}`)
	}
	answer := func(id, content, stop string) string {
		return row("assistant", `"message":{"id":"`+id+`%n","model":"m","content":[`+content+`],"stop_reason":"`+stop+`","usage":{"input_tokens":1}}`)
	}
	call := func(id string) string { return `{"type":"tool_use","id":"` + id + `%n","name":"Bash","input":{}}` }
	for _, turn := range []string{`"promptId":"p%n",`, ""} { // older versions have none
		transcripttest.Jumps(t, Agent, Dialect, claudeSession, ".claude/projects/p/"+claudeSession+suffix, "", []string{
			user(turn, `"go %n"`), answer("a", call("t"), "tool_use"), user(turn, `[{"type":"tool_result","tool_use_id":"t%n","content":"ok"}]`),
			answer("b", call("u"), "tool_use"), user(turn, `[{"type":"tool_result","tool_use_id":"u%n","content":"ok"}]`),
			answer("c", `{"type":"text","text":"done"}`, "end_turn"), row("system", `"subtype":"stop_hook_summary"`),
		}, 1250)
	}
}

// A compaction writes the rows that it keeps once more, or only then: with their own times,
// before its own. What follows has its own times, too.
func TestRowsThatACompactionKeeps(t *testing.T) {
	f := newFinder(t)
	write(t, claudePath(f), strings.Join([]string{
		userRow("p1", 0, "go"), answerRow("m1", 1, "tool:t1", "tool_use"), resultRow("p1", 2, "t1", "ok", false),
		crow("system", 150, `"subtype":"compact_boundary"`), userRow("p1", 149, "This session is being continued", `"isCompactSummary":true`),
		answerRow("m2", 10, "tool:t2", "tool_use"), resultRow("p1", 12, "t2", "ok", false),
		answerRow("m3", 160, "tool:t3", "tool_use"), resultRow("p1", 162, "t3", "ok", false), answerRow("m4", 170, "done", "end_turn"),
	}, "\n")+"\n")
	tr := readClaude(t, f, transcript.Query{Session: claudeSession, Full: true})
	var asked []time.Time
	for _, r := range tr.ToolResults {
		asked = append(asked, r.Asked)
	}
	if diff := cmp.Diff([]time.Time{sec(1), sec(10), sec(160)}, asked); diff != "" {
		t.Errorf("calls began (-want +got):\n%s", diff)
	}
	for _, c := range tr.Requests {
		if c.Start.After(c.End) {
			t.Errorf("request %s began at %v, and ended at %v", c.ID, c.Start, c.End)
		}
	}
}
