package claude

import (
	"testing"

	"github.com/hookspan/hookspan/internal/testkit/transcripttest"
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
