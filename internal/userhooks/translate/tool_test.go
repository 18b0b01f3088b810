package translate

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Every tool of the table, as hooks see it.
func TestToolsOfClassic(t *testing.T) {
	tests := []struct {
		tool, in string
		want     []string
	}{
		{"read_file", `{"path":"a.go"}`, []string{`Read,read_file,read_files {"file_path":"/w/a.go"}`}},
		{"read_file", `{"path":"~/a","start_line":"5","end_line":"9"}`, []string{`Read,read_file,read_files {"file_path":"/w/~/a","offset":5,"limit":5}`}},
		{"read_file", `{"path":"/x/../a","end_line":"3","task_progress":"- [x] a"}`, []string{`Read,read_file,read_files {"file_path":"/a","limit":3}`}},
		{"write_to_file", `{"path":"a<b","content":"x && y\n"}`, []string{`Write,write_to_file,editor {"file_path":"/w/a<b","content":"x && y\n"}`}},
		{"write_to_file", `{"absolutePath":"/etc/x","content":""}`, []string{`Write,write_to_file,editor {"file_path":"/etc/x","content":""}`}},
		{"write_to_file", `{"path":"a.json","content":"{\"a\":1}"}`, []string{`Write,write_to_file,editor {"file_path":"/w/a.json","content":"{\"a\":1}"}`}},
		{"execute_command", `{"command":"npm test","requires_approval":"false"}`, []string{`Bash,execute_command,run_commands {"command":"npm test","run_in_background":false}`}},
		{"execute_command", `{"command":"x","timeout":"30"}`, []string{`Bash,execute_command,run_commands {"command":"x","timeout":30000,"run_in_background":false}`}},
		{"search_files", `{"path":".","regex":"a.*b","file_pattern":"*.go"}`, []string{`Grep,search_files,search_codebase {"pattern":"a.*b","path":"/w","glob":"*.go","output_mode":"content"}`}},
		{"list_files", `{"path":"src"}`, []string{`Glob,LS,list_files {"pattern":"*","path":"/w/src"}`}},
		{"list_files", `{"path":"src","recursive":"true"}`, []string{`Glob,LS,list_files {"pattern":"**/*","path":"/w/src"}`}},
		{"list_code_definition_names", `{"path":"src"}`, []string{`ListCodeDefinitionNames,list_code_definition_names {"path":"/w/src","file_path":"/w/src"}`}},
		{"web_fetch", `{"url":"https://x/?a&b","prompt":"p"}`, []string{`WebFetch,web_fetch,fetch_web_content {"url":"https://x/?a&b","prompt":"p"}`}},
		{"web_search", `{"query":"q","allowed_domains":["a.b"],"blocked_domains":"[ \"c\" ]"}`, []string{`WebSearch,web_search {"query":"q","allowed_domains":["a.b"],"blocked_domains":["c"]}`}},
		{"use_mcp_tool", `{"server_name":"my-hub","tool_name":"get_issue","arguments":"{\"number\": 12}"}`, []string{`mcp__my-hub__get_issue,use_mcp_tool,my-hub__get_issue {"number":12}`}},
		{"use_mcp_tool", `{"server_name":"s","tool_name":"t","arguments":"{broken"}`, []string{`mcp__s__t,use_mcp_tool,s__t {"arguments":"{broken"}`}},
		{"use_mcp_tool", `{"server_name":"s","tool_name":"t"}`, []string{`mcp__s__t,use_mcp_tool,s__t {}`}},
		{"access_mcp_resource", `{"server_name":"s","uri":"u://x"}`, []string{`ReadMcpResourceTool,access_mcp_resource {"server":"s","uri":"u://x"}`}},
		{"browser_action", `{"action":"launch","url":"http://x"}`, []string{`BrowserAction,browser_action {"action":"launch","url":"http://x"}`}},
		{"ask_followup_question", `{"question":"Which?","options":["a","b"]}`, []string{`AskUserQuestion,ask_followup_question,ask_question {"questions":[{"question":"Which?","header":"","options":[{"label":"a"},{"label":"b"}],"multiSelect":false}]}`}},
		{"ask_followup_question", `{"question":"Why?"}`, []string{`AskUserQuestion,ask_followup_question,ask_question {"questions":[{"question":"Why?","header":"","options":[],"multiSelect":false}]}`}},
		{"attempt_completion", `{"result":"done"}`, nil},
		{"plan_mode_respond", `{"response":"the plan","needs_more_exploration":"true"}`, []string{`ExitPlanMode,plan_mode_respond {"plan":"the plan"}`}},
		{"act_mode_respond", `{"response":"r"}`, []string{`act_mode_respond {"response":"r"}`}},
		{"new_task", `{"context":"c"}`, []string{`NewTask,new_task {"context":"c"}`}},
		{"use_subagents", `{"prompt_1":"one","prompt_3":"three"}`, []string{
			`Agent,Task,use_subagents,spawn_agent {"prompt":"one","description":"one","subagent_type":"general-purpose"}`,
			`Agent,Task,use_subagents,spawn_agent {"prompt":"three","description":"three","subagent_type":"general-purpose"}`,
		}},
		{"use_skill", `{"skill_name":"pdf"}`, []string{`Skill,use_skill,skills {"skill":"pdf"}`}},
		{"focus_chain", `{"task_progress":"- [x] one\n- [ ] two\n* [-] three\nnot a step"}`, []string{`TodoWrite,focus_chain {"todos":[{"content":"one","status":"completed","activeForm":"one"},{"content":"two","status":"pending","activeForm":"two"},{"content":"three","status":"in_progress","activeForm":"three"}]}`}},
		{"condense", `{"context":"c","task_progress":"- [x] a"}`, []string{`condense {"context":"c"}`}},
		{"brand_new_tool", `{"x":{"a":[1]},"y":"z"}`, []string{`brand_new_tool {"x":{"a":[1]},"y":"z"}`}},
		// A call without its parameters is shown unchanged.
		{"execute_command", `{"cmd":"rm"}`, []string{`Bash,execute_command,run_commands {"cmd":"rm"}`}},
		{"read_file", `{"file":"x"}`, []string{`Read,read_file,read_files {"file":"x"}`}},
	}
	for _, tt := range tests {
		t.Run(tt.tool+" "+tt.in, func(t *testing.T) {
			c := call(t, pre(t, "classic", tt.tool, tt.in), here)
			diffLines(t, lines(c), tt.want)
		})
	}
}

func TestToolsOfTheSDK(t *testing.T) {
	bash := func(command string) string {
		return `Bash,run_commands,execute_command {"command":` + command + `,"run_in_background":false}`
	}
	read := func(path string) string { return `Read,read_files,read_file {"file_path":"` + path + `"}` }
	tests := []struct {
		tool, in string
		want     []string
	}{
		{"read_files", `{"files":[{"path":"a"},{"path":"/b","start_line":2,"end_line":4},{"path":"c","start_line":7,"end_line":null}]}`, []string{
			read("/w/a"), `Read,read_files,read_file {"file_path":"/b","offset":2,"limit":3}`, `Read,read_files,read_file {"file_path":"/w/c","offset":7}`,
		}},
		{"read_files", `{"files":["a",{"file_path":"b"},{"filePath":"c"}]}`, []string{read("/w/a"), read("/w/b"), read("/w/c")}},
		{"read_files", `{"files":{"path":"a"}}`, []string{read("/w/a")}},
		{"read_files", `{"files":"a"}`, []string{read("/w/a")}},
		{"read_files", `{"files":"[\"a\",\"b\"]"}`, []string{read(`/w/[\"a\",\"b\"]`)}},
		{"read_files", `{"path":"a"}`, []string{read("/w/a")}},
		{"read_files", `{"filePath":"a"}`, []string{read("/w/a")}},
		{"read_files", `{"paths":["a","b"]}`, []string{read("/w/a"), read("/w/b")}},
		{"read_files", `{"paths":"a"}`, []string{read("/w/a")}},
		{"read_files", `{"file_paths":["a"]}`, []string{read("/w/a")}},
		{"read_files", `{"file_paths":"a"}`, []string{read("/w/a")}},
		{"read_files", `"a"`, []string{read("/w/a")}},
		{"read_files", `["a","b"]`, []string{read("/w/a"), read("/w/b")}},
		{"read_files", `[{"path":"a"},{"start_line":3,"end_line":3}]`, []string{`Read,read_files,read_file {"file_path":"/w/a","offset":3,"limit":1}`}},
		{"read_files", `{"files":[{"path":"a"}],"path":"b"}`, []string{read("/w/a")}},
		{"read_files", `{"what":1}`, []string{`Read,read_files,read_file {"what":1}`}},
		{"read_files", `[]`, []string{`Read,read_files,read_file {"input":[]}`}},
		{"run_commands", `{"commands":["a && b","c"]}`, []string{bash(`"a && b"`), bash(`"c"`)}},
		{"run_commands", `{"commands":[{"command":"git","args":["commit","-m","it's; x"]},{"command":"ls -la"}]}`, []string{bash(`"git commit -m 'it'\\''s; x'"`), bash(`"ls -la"`)}},
		{"run_commands", `{"commands":[["rm","-rf","a b"]]}`, []string{bash(`"rm -rf 'a b'"`)}},
		{"run_commands", `{"commands":[{"cmd":"x","args":"y z"},{"shell_command":"s"},{"script":"t"}]}`, []string{bash(`"x 'y z'"`), bash(`"s"`), bash(`"t"`)}},
		{"run_commands", `{"commands":[{"command":"x","timeout":120000}]}`, []string{`Bash,run_commands,execute_command {"command":"x","timeout":120000,"run_in_background":false}`}},
		{"run_commands", `{"commands":"x"}`, []string{bash(`"x"`)}},
		{"run_commands", `{"commands":"[\"a\",\"b\"]"}`, []string{bash(`"[\"a\",\"b\"]"`)}},
		{"run_commands", `{"commands":{"command":"x"}}`, []string{bash(`"x"`)}},
		{"run_commands", `{"command":"x"}`, []string{bash(`"x"`)}},
		{"run_commands", `{"command":"x","args":["y"]}`, []string{bash(`"x y"`)}},
		{"run_commands", `{"cmd":"x"}`, []string{bash(`"x"`)}},
		{"run_commands", `"x"`, []string{bash(`"x"`)}},
		{"run_commands", `["a","b"]`, []string{bash(`"a"`), bash(`"b"`)}},
		{"run_commands", `{"commands":[{"odd":"rm"}]}`, []string{bash(`"{\"odd\":\"rm\"}"`)}},
		{"run_commands", `{"odd":"rm"}`, []string{`Bash,run_commands,execute_command {"odd":"rm"}`}},
		{"search_codebase", `{"queries":["a","[b]"]}`, []string{`Grep,search_codebase,search_files {"pattern":"a","path":"/w"}`, `Grep,search_codebase,search_files {"pattern":"[b]","path":"/w"}`}},
		{"search_codebase", `{"query":"a"}`, []string{`Grep,search_codebase,search_files {"pattern":"a","path":"/w"}`}},
		{"search_codebase", `["a"]`, []string{`Grep,search_codebase,search_files {"pattern":"a","path":"/w"}`}},
		{"fetch_web_content", `{"requests":[{"url":"u1","prompt":"p1"},{"url":"u2","prompt":"p2"}]}`, []string{`WebFetch,fetch_web_content,web_fetch {"url":"u1","prompt":"p1"}`, `WebFetch,fetch_web_content,web_fetch {"url":"u2","prompt":"p2"}`}},
		{"fetch_web_content", `{"url":"u","prompt":"p"}`, []string{`WebFetch,fetch_web_content,web_fetch {"url":"u","prompt":"p"}`}},
		{"fetch_web_content", `{"requests":{"url":"u","prompt":"p"}}`, []string{`WebFetch,fetch_web_content,web_fetch {"url":"u","prompt":"p"}`}},
		{"skills", `{"skill":"pdf","args":"a b"}`, []string{`Skill,skills,use_skill {"skill":"pdf","args":"a b"}`}},
		{"skills", `{"skill":"pdf","args":null}`, []string{`Skill,skills,use_skill {"skill":"pdf"}`}},
		{"ask_question", `{"question":"Q","options":["a","b"]}`, []string{`AskUserQuestion,ask_question,ask_followup_question {"questions":[{"question":"Q","header":"","options":[{"label":"a"},{"label":"b"}],"multiSelect":false}]}`}},
		{"submit_and_exit", `{"summary":"s","verified":true}`, nil},
		{"spawn_agent", `{"systemPrompt":"sp","task":"Do é x"}`, []string{`Agent,Task,spawn_agent,use_subagents {"prompt":"Do é x","description":"Do é x","subagent_type":"general-purpose"}`}},
		{"team_spawn", `{"a":1}`, []string{`team_spawn {"a":1}`}},
		{"switch_to_act_mode", `{}`, []string{`switch_to_act_mode {}`}},
		{"github__get-issue", `{"n":12}`, []string{`mcp__github__get-issue,github__get-issue,use_mcp_tool {"n":12}`}},
		{"mcp__a__b", `{"n":12}`, []string{`mcp__a__b,use_mcp_tool {"n":12}`}},
	}
	for _, tt := range tests {
		t.Run(tt.tool+" "+tt.in, func(t *testing.T) {
			c := call(t, pre(t, "sdk", tt.tool, tt.in), here)
			diffLines(t, lines(c), tt.want)
		})
	}
}

// The next dialect has the SDK's tools and the classic form.
func TestToolsOfNext(t *testing.T) {
	c := call(t, pre(t, "next", "read_files", `{"files":[{"path":"a"},{"path":"b"}]}`), here)
	diffLines(t, lines(c), []string{`Read,read_files,read_file {"file_path":"/w/a"}`, `Read,read_files,read_file {"file_path":"/w/b"}`})
}

func TestDescriptionOfAnAgentIsShort(t *testing.T) {
	long := "ééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééé" // 61
	c := call(t, pre(t, "sdk", "spawn_agent", `{"task":"`+long+`"}`), here)
	diffLines(t, lines(c), []string{`Agent,Task,spawn_agent,use_subagents {"prompt":"` + long + `","description":"` + long[:120] + `","subagent_type":"general-purpose"}`})
}

// One matcher fits the tool of an MCP server on every Cline, in the form of Claude
// Code's name or of the SDK's.
func TestMCPToolHasNamesOfAllDialects(t *testing.T) {
	for name, tt := range map[string]struct {
		server, tool, sdk string
		want              []string
	}{
		"plain":         {"my-hub", "get_issue", "my-hub__get_issue", []string{"mcp__my-hub__get_issue"}},
		"spaces":        {"My Server", "do it", "My_Server__do_it_ecbcd495", []string{"mcp__My_Server__do_it", "mcp__My_Server__do_it_ecbcd495", "My_Server__do_it_ecbcd495"}},
		"a package":     {"@acme/tools.v2", "run", "_acme_tools_v2__run_05a4bb69", []string{"mcp___acme_tools_v2__run"}},
		"other letters": {"Größe", "é", "Gr_e____08ff6dc7", nil},
		"long": {
			strings.Repeat("s", 40), strings.Repeat("t", 40), strings.Repeat("s", 40) + "__" + strings.Repeat("t", 13) + "_5b6f0c72",
			[]string{"mcp__" + strings.Repeat("s", 40) + "__" + strings.Repeat("t", 13) + "_5b6f0c72"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := sdkName(tt.server, tt.tool); got != tt.sdk {
				t.Errorf("the SDK's name is %q, want %q", got, tt.sdk)
			}
			classic := call(t, pre(t, "classic", "use_mcp_tool", `{"server_name":"`+tt.server+`","tool_name":"`+tt.tool+`"}`), here)
			sdk := call(t, pre(t, "sdk", tt.sdk, `{}`), here)
			for _, want := range append(tt.want, "use_mcp_tool") {
				for _, c := range []*Call{classic, sdk} {
					if !slices.Contains(c.Events[0].Subjects, want) {
						t.Errorf("%s: subjects %q lack %q", c.Dialect, c.Events[0].Subjects, want)
					}
				}
			}
		})
	}
}

// A guard that names a tool of one dialect runs for the same tool of the others.
func TestToolHasNamesOfAllDialects(t *testing.T) {
	for _, twins := range [][2]string{
		{"read_file", "read_files"},
		{"execute_command", "run_commands"},
		{"write_to_file", "editor"},
		{"search_files", "search_codebase"},
		{"web_fetch", "fetch_web_content"},
		{"ask_followup_question", "ask_question"},
		{"use_subagents", "spawn_agent"},
		{"use_skill", "skills"},
	} {
		in := `{"path":"a","command":"a","regex":"a","query":"a","url":"a","question":"a","prompt_1":"a","task":"a","skill":"a","skill_name":"a","content":"a"}`
		for i, tool := range twins {
			for _, dialect := range []string{"classic", "sdk"} {
				c := call(t, pre(t, dialect, tool, in), here)
				if len(c.Events) != 1 {
					t.Fatalf("%s: %d events", tool, len(c.Events))
				}
				got := c.Events[0].Subjects
				want := []string{tool, twins[1-i]}
				if diff := cmp.Diff(want, got[len(got)-2:]); diff != "" || got[0] != c.Events[0].Tool {
					t.Errorf("%s: subjects %q", tool, got)
				}
			}
		}
	}
}
