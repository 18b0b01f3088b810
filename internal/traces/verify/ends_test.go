package verify

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hookspan/hookspan/internal/testkit/transcripttest"
)

// TestBothReadingsFindHowCallsEnded has the words by which Copilot and Codex say how a call ended,
// and outputs that look like them.
func TestBothReadingsFindHowCallsEnded(t *testing.T) {
	one := func(host, text, want string, files map[string]string) {
		t.Run(host+" "+text, func(t *testing.T) {
			bothReadings(t, files)
			home := t.TempDir()
			for path, text := range files {
				transcripttest.Write(t, home+"/"+path, text)
			}
			sums := new(Sums)
			sums.Add(read(t, home)[0].spans...)
			if got := sums.calls[0].status; got != want {
				t.Errorf("the trace says %s, want %s", got, want)
			}
		})
	}
	for text, want := range map[string]string{
		`"success":true,"result":{"content":"no\n<shellId: 0 completed with exit code 3>"}`:                                 failed,
		`"success":true,"result":{"content":"<exited with exit code 3>\n<shellId: 0 completed with exit code 0>"}`:          ok,
		`"success":true,"result":{"content":"no\n<command with id: 0 exited with exit code 3>"}`:                            failed,
		`"success":true,"result":{"content":"no\n<exited with exit code -1>"}`:                                              failed,
		`"success":true,"result":{"content":"ok\n<exited with exit code 0>","detailedContent":"<exited with exit code 3>"}`: ok,
		`"success":true,"result":{"content":"it exited with exit code 3>"}`:                                                 ok,
		`"success":true,"result":"text"`: ok,
		`"success":false,"error":{"code":"rejected","message":"The user rejected this tool call."}`: denied,
		`"success":false,"error":{"code":"denied","message":"no"}`:                                  denied,
		`"success":false,"error":{"code":"failure","message":"no"}`:                                 failed,

		`"result":{"content":"ok"}`: "",
	} {
		one("copilot", text, want, map[string]string{".copilot/session-state/c1/events.jsonl": copilotRows(
			`session.start","data":{"sessionId":"c1","context":{"cwd":"/w"}}`, `user.message","data":{"content":"go on","interactionId":"i"}`,
			`assistant.message","data":{"messageId":"m1","model":"m","content":"a","outputTokens":10,"toolRequests":[{"toolCallId":"call_000000001","name":"bash"}]}`,
			`tool.execution_start","data":{"toolCallId":"call_000000001","toolName":"bash"}`, `tool.execution_complete","data":{"toolCallId":"call_000000001",`+text+`}`,
			`assistant.message","data":{"messageId":"m2","model":"m","content":"b","outputTokens":10,"toolRequests":[]}`,
		)})
	}
	const id, day, left = "01a20017-0000-7000-8000-000000000000", "2026-11-10T10:00:00.000Z", "Wall time: 1\nProcess running with session ID 78\nOutput:\n"
	for text, want := range map[string]string{
		left + "Exit code: 1\n": ok, left + `{"exit_code": 1}`: ok,
		"Exit code: 0\nWall time: 1\nOutput:\nProcess exited with code 7\n": ok, "Wall time: 1\nOutput:\nProcess exited with code 7\n": ok,
		"Exit code: -1\nOutput:\n": failed, "Wall time: 1\nProcess exited with code 7\nOutput:\nExit code: 0\n": failed,
		`{"exit_code": 1}`: ok, `{"output":"a\nOutput:\n{\"exit_code\": 0}","metadata":{"exit_code":1,"duration_seconds":0.1}}`: failed,
		`{"output":"{\"exit_code\": 1}","metadata":{"exit_code":0,"duration_seconds":0.1}}`: ok, "hello\nExit code: 7\n": ok,
		"exec_command failed for `x`: CreateProcess { message: \"Rejected(\\\"no\\\")\" }": denied, "write_stdin failed: x": failed,
		"exec_command failed for `echo \"Rejected(\"`: CreateProcess { message: \"Codex(Sandbox(\" }": failed,
	} {
		rows := codexTurn("t1", 10, day)
		at := strings.Index(rows, fmt.Sprintf(`{"timestamp":%q,"type":"response_item"`, day))
		one("codex", text, want, map[string]string{
			".codex/sessions/2026/11/10/rollout-2026-11-10T10-00-00-" + id + ".jsonl": codexMeta(day, id, "") + rows[:at] + codexCommand(day, "call_00000000001", `exec_command","arguments":"{\"cmd\":\"make\"}"`, text) + rows[at:],
		})
	}
}
