package translate

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/rawjson"
	"github.com/hookspan/hookspan/internal/userhooks/verdict"
)

// edits are members of Claude's inputs with their new values.
type edits map[string]any

// reversible are calls whose input a hook may change, one for each tool of the
// table at least, with the members that it may change.
var reversible = []struct {
	tool, in string
	edits    edits
}{
	{"read_file", `{"path":"a.go","start_line":"5","end_line":"9"}`, edits{"file_path": "/x y/b.go", "offset": 2, "limit": 40}},
	{"read_files", `{"files":[{"path":"a"},{"path":"~/b","start_line":2,"end_line":4},{"path":"c","start_line":null,"end_line":null}]}`, edits{"file_path": "/x/b"}},
	{"read_files", `{"files":["a","b"]}`, edits{"file_path": "/x/b", "limit": 7}},
	{"read_files", `["a",{"path":"b"}]`, edits{"file_path": "/x/b"}},
	{"read_files", `"a"`, edits{"file_path": "/x/b", "offset": 3}},
	{"read_files", `{"file_paths":["a","b"]}`, edits{"file_path": "/x/b"}},
	{"read_files", `{"paths":"a"}`, edits{"file_path": "/x/b"}},
	{"read_files", `{"filePath":"a","start_line":3}`, edits{"file_path": "/x/b", "offset": 4, "limit": 1}},
	{"read_files", `[{"path":"a"},{"start_line":3,"end_line":3}]`, edits{"file_path": "/x/b"}},
	{"write_to_file", `{"absolutePath":"/a","content":"x"}`, edits{"file_path": "/b", "content": "y\n<&>\u00e9\n"}},
	{"editor", `{"path":"a","new_text":"x"}`, edits{"file_path": "/b", "content": "y"}},
	{"editor", `{"path":"a","old_text":"o","new_text":"n","insert_line":null}`, edits{"file_path": "/b", "old_string": "p", "new_string": ""}},
	{"editor", `{"path":"a","new_text":"n","insert_line":3}`, edits{"file_path": "/b", "new_string": "m", "insert_line": 4}},
	{"editor", `{"path":"a","new_text":"n","start_line":3,"end_line":4,"replace_all":true}`, edits{"new_string": "m", "end_line": 5}},
	{"apply_patch", patchJSON(wholePatch), edits{"content": "three\n\n+four", "old_string": "z\n", "new_string": "*** Delete File: x\n@@"}},
	{"execute_command", `{"command":"x","timeout":"30"}`, edits{"command": "y && z", "timeout": 5000}},
	{"run_commands", `{"commands":["a && b","c"]}`, edits{"command": "d | e"}},
	{"run_commands", `{"commands":[{"command":"git","args":["commit","-m","it's; x"]},"c"]}`, edits{"command": "git status"}},
	{"run_commands", `{"commands":[["rm","-rf","a b"]]}`, edits{"command": "ls"}},
	{"run_commands", `{"commands":"x"}`, edits{"command": "ls"}},
	{"run_commands", `{"command":"x && y"}`, edits{"command": "ls"}},
	{"run_commands", `{"command":"x","args":["y z"]}`, edits{"command": "ls"}},
	{"run_commands", `{"cmd":"x"}`, edits{"command": "ls"}},
	{"run_commands", `["a","b"]`, edits{"command": "ls"}},
	{"run_commands", `"a"`, edits{"command": "ls"}},
	{"search_files", `{"path":".","regex":"a.*b","file_pattern":"*.go"}`, edits{"pattern": "c", "path": "/x", "glob": "*.ts"}},
	{"search_codebase", `{"queries":["a","[b]"]}`, edits{"pattern": "c"}},
	{"search_codebase", `"a"`, edits{"pattern": "c"}},
	{"list_files", `{"path":"src","recursive":"true"}`, edits{"path": "/x"}},
	{"list_code_definition_names", `{"path":"src"}`, nil},
	{"web_fetch", `{"url":"https://a","prompt":"p"}`, edits{"url": "https://b/?a&b", "prompt": "q"}},
	{"fetch_web_content", `{"requests":[{"url":"u1","prompt":"p1"},{"url":"u2","prompt":"p2"}]}`, edits{"url": "https://b", "prompt": "q"}},
	{"fetch_web_content", `{"url":"u","prompt":"p"}`, edits{"url": "https://b"}},
	{"web_search", `{"query":"q","allowed_domains":["a.b"],"blocked_domains":"[ \"c\" ]"}`, edits{"query": "r", "allowed_domains": []string{"d"}, "blocked_domains": []string{}}},
	{"use_mcp_tool", `{"server_name":"s","tool_name":"t","arguments":"{\"n\":1}"}`, edits{"n": 2, "m": map[string]any{"a": []int{1}}}},
	{"use_mcp_tool", `{"server_name":"s","tool_name":"t","arguments":{"n":1}}`, edits{"n": 2}},
	{"s__t", `{"n":12,"o":{"p":null}}`, edits{"n": "x", "q": []int{1}}},
	{"access_mcp_resource", `{"server_name":"s","uri":"u://x"}`, edits{"server": "r", "uri": "u://y"}},
	{"brand_new_tool", `{"x":{"a":[1]},"y":"z"}`, edits{"y": "w", "v": 1}},
	{"browser_action", `{"action":"launch","url":"http://x"}`, edits{"url": "http://y"}},
	{"ask_question", `{"question":"Q","options":["a","b"]}`, edits{"questions": []any{map[string]any{
		"question": "R", "header": "", "options": []any{map[string]any{"label": "c"}, map[string]any{"label": "d"}}, "multiSelect": false,
	}}}},
	{"plan_mode_respond", `{"response":"the plan","needs_more_exploration":"true"}`, edits{"plan": "another"}},
	{"new_task", `{"context":"c"}`, edits{"context": "d"}},
	{"spawn_agent", `{"systemPrompt":"sp","task":"x"}`, edits{"prompt": "y"}},
	{"use_skill", `{"skill_name":"pdf"}`, edits{"skill": "doc"}},
	{"skills", `{"skill":"pdf","args":null}`, edits{"skill": "doc", "args": "a b"}},
}

func patchJSON(patch string) string {
	return `{"input":` + rawjson.Encode(patch) + `}`
}

// again is the call that an input makes of the same tool.
func again(t *testing.T, c *Call, input string) *Call {
	t.Helper()
	return call(t, pre(t, "sdk", c.Tool, input), here)
}

// canonical are the events' inputs in one spelling.
func canonical(c *Call) []string {
	var all []string
	for _, e := range c.Events {
		all = append(all, e.Tool+" "+rawjson.Canonical(e.Input))
	}
	return all
}

// An input that a hook gives back as it got it makes the same call, even where
// another operation was changed.
func TestUnchangedInputMakesSameCall(t *testing.T) {
	for _, tt := range reversible {
		t.Run(tt.tool+" "+tt.in, func(t *testing.T) {
			c := call(t, pre(t, "sdk", tt.tool, tt.in), here)
			values := make([]any, len(c.call.operations))
			for i, op := range c.call.operations {
				values[i] = op.value
				if op.back == nil {
					continue
				}
				own, _ := parsed(string(c.Events[i].Input)).(map[string]any)
				v, notes, err := op.back(op.input, own)
				if err != nil || len(notes) > 0 {
					t.Fatalf("operation %d: %v, notes %q", i, err, notes)
				}
				values[i] = v
			}
			diffLines(t, canonical(again(t, c, rawjson.Encode(c.call.build(values)))), canonical(c))
		})
	}
}

// A hook's change, and nothing else, reaches Cline.
func TestChangedInputReachesCline(t *testing.T) {
	for _, tt := range reversible {
		t.Run(tt.tool+" "+tt.in, func(t *testing.T) {
			c := call(t, pre(t, "sdk", tt.tool, tt.in), here)
			tried := map[string]bool{}
			defer func() {
				if len(tried) != len(tt.edits) {
					t.Errorf("tried %v alone", tried)
				}
			}()
			for i, ev := range c.Events {
				for member, value := range tt.edits {
					var in map[string]any
					if err := json.Unmarshal(ev.Input, &in); err != nil {
						t.Fatal(err)
					}
					if _, had := in[member]; !had && c.Events[0].Tool != toolRead && ev.Tool != toolSkill && !strings.HasPrefix(ev.Tool, "mcp__") && tools()[tt.tool].form.tool != "" {
						continue // a member of another operation
					}
					if c.call.operations[i].back == nil {
						continue // a file that is deleted or moved
					}
					tried[member], in[member] = true, value
					a := c.Answer(verdicts(i, in), Options{})
					if a.Reply.Cancel || a.Reply.OverrideInput == "" || len(a.Notes) > 0 {
						t.Fatalf("%s of %d: answer %+v", member, i, a)
					}
					if ev.Tool == toolAgent {
						in["description"] = in["prompt"]
					}
					want := canonical(c)
					want[i] = ev.Tool + " " + rawjson.Encode(in)
					if tt.tool == "apply_patch" {
						want = movedAlong(want, i, in)
					}
					if diff := cmp.Diff(want, canonical(again(t, c, a.Reply.OverrideInput))); diff != "" {
						t.Errorf("%s of %d (-want +got):\n%s", member, i, diff)
					}
				}
			}
		})
	}
}

// movedAlong gives the path that a file moves to the text of its hunks.
func movedAlong(want []string, i int, in map[string]any) []string {
	if strings.Contains(want[i], `"/w/from.go"`) {
		want[i+1] = toolEdit + " " + rawjson.Encode(map[string]any{
			"file_path": "/w/sub/to.go", "old_string": "", "new_string": in["new_string"], "replace_all": false,
		})
	}
	return want
}

// verdicts change the input of one operation.
func verdicts(i int, in map[string]any) []verdict.Verdict {
	vs := make([]verdict.Verdict, i+1)
	vs[i].UpdatedInput = json.RawMessage(rawjson.Encode(in))
	return vs
}

// A change that Cline cannot make denies the call.
func TestImpossibleInputDeniesCall(t *testing.T) {
	tests := []struct{ name, tool, in, updated, why string }{
		{"no path", "read_files", `["a"]`, `{"offset":1}`, `"file_path" is missing`},
		{"empty path", "editor", `{"path":"a","new_text":"x"}`, `{"file_path":" ","content":"x"}`, `"file_path" is`},
		{"path that is a number", "editor", `{"path":"a","new_text":"x"}`, `{"file_path":1,"content":"x"}`, `"file_path" is 1, want a text`},
		{"no command", "run_commands", `["a"]`, `{}`, `"command" is missing`},
		{"in the background", "run_commands", `["a"]`, `{"command":"a","run_in_background":true}`, `"run_in_background"`},
		{"all occurrences", "editor", `{"path":"a","old_text":"o","new_text":"n"}`, `{"file_path":"/w/a","old_string":"o","new_string":"n","replace_all":true}`, `"replace_all"`},
		{"an old text for an insertion", "editor", `{"path":"a","new_text":"n","insert_line":1}`, `{"file_path":"/w/a","old_string":"o","new_string":"n","insert_line":1}`, `"old_string"`},
		{"time limit that is no number", "execute_command", `{"command":"a"}`, `{"command":"a","timeout":"soon"}`, "want milliseconds"},
		{"another folder to search", "search_codebase", `["a"]`, `{"pattern":"a","path":"/etc"}`, `"path"`},
		{"another pattern", "list_files", `{"path":"a"}`, `{"path":"/w/a","pattern":"*.go"}`, `"pattern"`},
		{"another kind of agent", "spawn_agent", `{"task":"a"}`, `{"prompt":"a","subagent_type":"x"}`, `"subagent_type"`},
		{"two questions", "ask_question", `{"question":"Q"}`, `{"questions":[{"question":"a"},{"question":"b"}]}`, "2 questions"},
		{"several choices", "ask_question", `{"question":"Q"}`, `{"questions":[{"question":"a","multiSelect":true}]}`, `"multiSelect"`},
		{"choice without a text", "ask_question", `{"question":"Q"}`, `{"questions":[{"question":"a","options":[{}]}]}`, `no "label"`},
		{"question without a text", "ask_question", `{"question":"Q"}`, `{"questions":[{}]}`, `"question" is missing`},
		{"another file of a patch", "apply_patch", patchJSON("*** Add File: a\n+x"), `{"file_path":"/etc/x","content":"x"}`, `"file_path"`},
		{"no content of a patch's file", "apply_patch", patchJSON("*** Add File: a\n+x"), `{"file_path":"/w/a"}`, `"content" is missing`},
		{"no new text of a hunk", "apply_patch", patchJSON("*** Update File: a\n-x"), `{"file_path":"/w/a","old_string":"y"}`, "is missing"},
		{"a file of a patch without a name", "apply_patch", patchJSON("*** Update File: a\n-x"), `{"old_string":"y","new_string":"z"}`, `"file_path" is missing`},
		{"a file to delete", "apply_patch", patchJSON("*** Delete File: a"), `{"file_path":"/b"}`, "no equivalent"},
		{"a patch that is none", "apply_patch", patchJSON("hello"), `{"new_string":"x"}`, "no equivalent"},
		{"a diff", "replace_in_file", `{"path":"a","diff":"x"}`, `{"file_path":"/w/a"}`, "no equivalent"},
		{"one of several agents", "use_subagents", `{"prompt_1":"a"}`, `{"prompt":"b"}`, "no equivalent"},
		{"a list of steps", "focus_chain", `{"task_progress":"- [ ] a"}`, `{"todos":[]}`, "no equivalent"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := call(t, pre(t, "sdk", tt.tool, tt.in), here)
			a := c.Answer([]verdict.Verdict{{UpdatedInput: json.RawMessage(tt.updated)}}, Options{})
			if !a.Reply.Cancel || a.Reply.OverrideInput != "" || !strings.Contains(a.Reply.ErrorMessage, tt.why) {
				t.Errorf("reply %+v, want a cancellation that says %q", a.Reply, tt.why)
			}
			if !strings.Contains(a.Reply.ErrorMessage, rawjson.Canonical([]byte(tt.updated))) {
				t.Errorf("the model is not told the input: %q", a.Reply.ErrorMessage)
			}
		})
	}
}

// A hook that only changes a description leaves the call unchanged. To write the
// input again could turn a shell line into the name of a program.
func TestDescriptionDoesNotChangeCall(t *testing.T) {
	for _, in := range []string{
		`{"command":"a && b"}`, `{"cmd":"a && b"}`, `"a && b"`, `["a && b"]`, `{"commands":"a && b"}`,
		`{"commands":[{"command":"a b"}]}`, `{"commands":[{"command":"a","args":["b c"]}]}`, `{"command":"a","args":["b c"]}`,
	} {
		c := call(t, pre(t, "sdk", "run_commands", in), here)
		var input map[string]any
		if err := json.Unmarshal(c.Events[0].Input, &input); err != nil {
			t.Fatal(err)
		}
		input["description"] = "says what it does"
		want := Answer{Notes: []string{`a hook changed "description" of Bash, for which Cline has no parameter`}}
		if diff := cmp.Diff(want, c.Answer(verdicts(0, input), Options{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", in, diff)
		}
	}
}

// A command next to a changed one stays unchanged.
func TestShellCommandStaysText(t *testing.T) {
	c := call(t, pre(t, "sdk", "run_commands", `{"commands":["a",{"command":"b c"},"d && e"]}`), here)
	got := c.Answer(verdicts(0, map[string]any{"command": "f"}), Options{}).Reply.OverrideInput
	if want := `{"commands":["f",{"command":"b c"},"d && e"]}`; got != want {
		t.Errorf("input %s, want %s", got, want)
	}
}

// An optional member that a hook removes is removed from Cline's input.
func TestRemovedMembersAreRemoved(t *testing.T) {
	tests := []struct{ tool, in, updated, want string }{
		{"fetch_web_content", `{"requests":[{"url":"u","prompt":"p"}]}`, `{"url":"u"}`, `{"requests":[{"url":"u"}]}`},
		{"web_search", `{"query":"q","allowed_domains":["a"]}`, `{"query":"q"}`, `{"query":"q"}`},
		{"read_files", `{"files":[{"path":"a","start_line":2,"end_line":4}]}`, `{"file_path":"/w/a","offset":2}`, `{"files":[{"path":"a","start_line":2}]}`},
		{"read_files", `{"files":[{"path":"a","start_line":2,"end_line":4}]}`, `{"file_path":"/w/a"}`, `{"files":[{"path":"a"}]}`},
		{"skills", `{"skill":"pdf","args":"a"}`, `{"skill":"pdf"}`, `{"skill":"pdf"}`},
		{"s__t", `{"a":1,"b":2}`, `{"b":2}`, `{"b":2}`},
		// Claude's Edit has no line to insert at, so it stays if left out.
		{"editor", `{"path":"a","new_text":"n","insert_line":3}`, `{"file_path":"/w/a","old_string":"","new_string":"m"}`, `{"insert_line":3,"new_text":"m","path":"a"}`},
	}
	for _, tt := range tests {
		c := call(t, pre(t, "sdk", tt.tool, tt.in), here)
		a := c.Answer([]verdict.Verdict{{UpdatedInput: json.RawMessage(tt.updated)}}, Options{})
		if diff := cmp.Diff(hook.Reply{OverrideInput: tt.want}, a.Reply); diff != "" {
			t.Errorf("%s %s (-want +got):\n%s", tt.tool, tt.updated, diff)
		}
	}
}
