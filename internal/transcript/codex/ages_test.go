package codex

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func began(at, turn string) string {
	return at + `|event_msg|{"type":"task_started","turn_id":"` + turn + `"}`
}

func ended(at, turn, text string) string {
	return at + `|event_msg|{"type":"task_complete","turn_id":"` + turn + `","last_agent_message":"` + text + `"}`
}

func scripted(at, id, text string) string {
	return at + `|response_item|{"type":"custom_tool_call","name":"exec","input":"` + text + `","call_id":"` + id + `"}`
}

func returned(at, id, head, text string) string {
	return fmt.Sprintf(`%s|response_item|{"type":"custom_tool_call_output","call_id":%q,"output":[{"text":%q},{"text":%q}]}`, at, id, head+"\nWall time 0.1 seconds\nOutput:\n", text)
}

func recorded(at string, in, total int) string {
	return fmt.Sprintf(`%s|token_usage_record|{"response_id":"resp_%d","usage":{"input_tokens":%d}}`, at, total, in)
}

// TestAges has what versions before 0.160 wrote, and mixtures of versions.
func TestAges(t *testing.T) {
	for name, tt := range map[string]struct{ rows, want []string }{
		"scripts, and events of the calls that they make": {
			[]string{
				began("1", "t1"), typed("1", "go"), scripted("2", "a", "tools.exec_command()"), returned("3", "a", "Script completed", "x"), scripted("4", "b", "tools.apply_patch()"),
				`5|event_msg|{"type":"patch_apply_end","call_id":"exec-1","stdout":"Success","stderr":"","success":true,"changes":{"/w/b":{"type":"add","content":"x\n"}},"status":"completed"}`,
				`5|event_msg|{"type":"patch_apply_end","call_id":"exec-2","stdout":"","stderr":"no","success":false,"changes":{}}`,
				`5|event_msg|{"type":"web_search_end","call_id":"exec-3","query":"q","action":{"type":"search","query":"q"}}`,
				`5|event_msg|{"type":"web_search_end","call_id":"ws_1","query":"q","action":{"type":"search","query":"q"}}`,
				`5|event_msg|{"type":"mcp_tool_call_end","call_id":"exec-4","invocation":{"server":"db","tool":"query","arguments":{"a":1}},"duration":{"secs":0,"nanos":500000000},"result":{"Err":"gone"}}`,
				`5|event_msg|{"type":"mcp_tool_call_end","call_id":"exec-5","invocation":{"server":"db","tool":"query"},"result":{"Ok":{"content":[{"text":"one"}],"isError":false}}}`,
				`5|event_msg|{"type":"exec_command_end","call_id":"exec-6","command":["bash","-lc","make"],"exit_code":2,"aggregated_output":"no rule","duration":{"secs":1,"nanos":0}}`,
				returned("6", "b", "Script failed", "y"), counted("6", 10, 10),
			},
			[]string{
				"1 prompt go", `1 request 10 "" [a b]`, `1 call exec {"command":"tools.exec_command()"} 0 "Script completed\nWall time 0.1 seconds\nOutput:\nx"`,
				`1 call apply_patch {"command":"*** Begin Patch\n*** Add File: b\n+x\n*** End Patch\n"} 0 "Success"`, `1 call apply_patch {"command":"*** Begin Patch\n*** End Patch\n"} 1 "no"`,
				`1 call web_search {"query":"q","type":"search"} 0 ""`, `1 call mcp__db__query {"a":1} 1 "gone"`, `1 call mcp__db__query  0 "one"`, `1 call Bash {"command":"make"} 1 "no rule"`,
				`1 call exec {"command":"tools.apply_patch()"} 1 "Script failed\nWall time 0.1 seconds\nOutput:\ny"`,
			},
		},
		"a search for tools": {
			[]string{
				began("1", "t1"), typed("1", "go"), `2|response_item|{"type":"tool_search_call","call_id":"a","status":"completed","execution":"client","arguments":{"query":"q","limit":5}}`,
				`3|response_item|{"type":"tool_search_output","call_id":"a","status":"completed","tools":[{"name":"mcp__b"}]}`,
			},
			[]string{"1 prompt go", `1 call tool_search {"limit":5,"query":"q"} 0 "[{\"name\":\"mcp__b\"}]"`},
		},
		"commands that were left running": {
			[]string{
				began("1", "t1"), typed("1", "go"), called("2", "a", "exec_command", `{"cmd":"make"}`), output("3", "a", "Wall time: 1.0 seconds\nProcess running with session ID 7\nOutput:\nx"),
				called("3", "b", "exec_command", `{"cmd":"ls"}`), output("3", "b", "Process running with session ID 77\nOutput:\n"),
				called("4", "c", "write_stdin", `{"session_id":7}`), output("5", "c", "Process running with session ID 7\nOutput:\n"), called("6", "d", "write_stdin", `{"session_id":7}`),
				output("7", "d", "Process exited with code 1\nOutput:\nFAIL"), called("8", "e", "write_stdin", `{"session_id":77}`), output("9", "e", "Process exited with code 0\nOutput:\n"),
				scripted("10", "f", "x"), returned("11", "f", "Script running with cell ID 1", ""), called("12", "g", "wait", `{"cell_id":"1"}`), output("13", "g", "Script failed\nOutput:\nno"),
			},
			[]string{
				"1 prompt go", `1 call Bash {"command":"make"} 1 "x"`, `1 call Bash {"command":"ls"} 0 ""`, `1 call write_stdin {"session_id":7} 0 "Process running with session ID 7\nOutput:"`,
				`1 call write_stdin {"session_id":7} 0 "Process exited with code 1\nOutput:\nFAIL"`, `1 call write_stdin {"session_id":77} 0 "Process exited with code 0\nOutput:"`,
				`1 call exec {"command":"x"} 1 "Script running with cell ID 1\nWall time 0.1 seconds\nOutput:"`, `1 call wait {"cell_id":"1"} 0 "Script failed\nOutput:\nno"`,
			},
		},
		"a newer version began, an older continued, a newer again": {
			[]string{
				began("1", "t1"), typed("1", "one"), answer("2", "a"), recorded("2", 10, 10), counted("2", 10, 10), ended("2", "t1", "a"),
				began("3", "t2"), typed("3", "two"), answer("4", "b"), counted("4", 20, 30), ended("4", "t2", "b"),
				began("5", "t3"), typed("5", "three"), answer("6", "c"), recorded("6", 30, 60), counted("6", 30, 60), ended("6", "t3", "c"),
			},
			[]string{
				"1 prompt one", "2 prompt two", "3 prompt three", `1 request 10 "a" []`, `2 request 20 "b" []`, `3 request 30 "c" []`,
				`1 run_complete "a"`, `2 run_complete "b"`, `3 run_complete "c"`,
			},
		},
		"counts before their answers, and a compaction when the turn has ended": {
			[]string{
				typed("1", "one"), counted("2", 10, 10), called("2", "a", "shell", `{"command":["ls"]}`), output("2", "a", "x"), counted("3", 20, 30), answer("3", "a"),
				`9|turn_context|{"model":"m"}`, counted("9", 20, 30), counted("20", 90, 120), `20.1|compacted|{"message":"the sum"}`,
				typed("30", "two"), counted("31", 30, 150), called("31", "b", "shell", `{"command":["ls"]}`), output("31", "b", "x"), counted("32", 40, 190), answer("32", "b"),
			},
			[]string{
				"1 prompt one", "2 prompt two", `1 request 10 "" [a]`, `1 request 20 "a" []`, `0 request 90 "" []`, `2 request 30 "" [b]`, `2 request 40 "b" []`,
				`1 call Bash {"command":"ls"} 0 "x"`, `2 call Bash {"command":"ls"} 0 "x"`, `1 run_complete "a"`, `0 run_complete "the sum"`, `2 run_complete "b"`,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, told(readRows(t, append([]string{oldMeta}, tt.rows...)...))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestUnknownKindsAreNamed has kinds that no version wrote so far: those that may be work are
// named, and an unknown call is one.
func TestUnknownKindsAreNamed(t *testing.T) {
	tr := readRows(t, oldMeta, began("1", "t1"), typed("1", "go"),
		`2|response_item|{"type":"robot_call","call_id":"a","name":"robot","arguments":"{}"}`, `2|response_item|{"type":"robot_result","call_id":"a"}`,
		`3|event_msg|{"type":"robot_moved"}`, `3|event_msg|{"type":"robot_done","usage":{}}`, `4|event_msg|{"type":"robot_done","usage":{}}`, `5|robots|{"role":"x"}`,
		`6|event_msg|{"type":"item_completed","item":{"type":"Robot","call_id":"b"}}`, `6|event_msg|{"type":"item_completed","item":{"type":"Plan","call_id":"b"}}`)
	var got []string
	for _, u := range tr.Unread {
		got = append(got, u.Reason)
		if u.At.IsZero() || u.File == "" {
			t.Errorf("no place: %+v", u)
		}
	}
	want := []string{
		"2 of the unknown kind event_msg/robot_done", "1 of the unknown kind item_completed/Robot", "1 of the unknown kind response_item/robot_result", "1 of the unknown kind robots",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(tr.ToolResults) != 1 || tr.ToolResults[0].Name != "robot" {
		t.Errorf("calls %+v, want that of the robot", tr.ToolResults)
	}
}
