package sample

import (
	"slices"
	"strings"
)

// Cline's wire forms, as --dialect spells them. The next core has the SDK's tools.
const (
	Classic = "classic"
	Next    = "next"
	SDK     = "sdk"
)

// Tool is one of Cline's tools.
type Tool struct {
	Name string
	// Dialect is Classic or SDK; empty for a tool of both.
	Dialect string
	// Claude is Claude Code's name of the tool; empty if it has none.
	Claude string
	// Example is a harmless input.
	Example string
}

// Tools returns the tools that hookspan knows, those of one name side by side.
func Tools() []Tool {
	return []Tool{
		{"execute_command", Classic, "Bash", `{"command":"echo hello"}`},
		{"run_commands", SDK, "Bash", `{"commands":["echo hello"]}`},
		{"read_file", Classic, "Read", `{"path":"README.md"}`},
		{"read_files", SDK, "Read", `{"files":[{"path":"README.md"}]}`},
		{"write_to_file", Classic, "Write", `{"path":"hello.txt","content":"hello\n"}`},
		{"editor", SDK, "Edit", `{"path":"hello.txt","old_text":"hello","new_text":"hello, you"}`},
		{"editor", SDK, "Write", `{"path":"hello.txt","new_text":"hello\n"}`},
		{"replace_in_file", Classic, "Edit", `{"path":"hello.txt","diff":"------- SEARCH\nhello\n=======\nhello, you\n+++++++ REPLACE"}`},
		{"apply_patch", "", "Write", `{"input":"*** Begin Patch\n*** Add File: hello.txt\n+hello\n*** End Patch"}`},
		{"search_files", Classic, "Grep", `{"path":".","regex":"TODO"}`},
		{"search_codebase", SDK, "Grep", `{"queries":["TODO"]}`},
		{"list_files", Classic, "Glob", `{"path":"."}`},
		{"list_code_definition_names", Classic, "", `{"path":"."}`},
		{"browser_action", Classic, "", `{"action":"launch","url":"https://example.com"}`},
		{"web_fetch", Classic, "WebFetch", `{"url":"https://example.com","prompt":"what is it about"}`},
		{"fetch_web_content", SDK, "WebFetch", `{"requests":[{"url":"https://example.com","prompt":"what is it about"}]}`},
		{"web_search", "", "WebSearch", `{"query":"example"}`},
		{"use_mcp_tool", Classic, "", `{"server_name":"github","tool_name":"get_issue","arguments":{"number":1}}`},
		{"access_mcp_resource", Classic, "ReadMcpResourceTool", `{"server_name":"github","uri":"issue://1"}`},
		{"ask_followup_question", Classic, "AskUserQuestion", `{"question":"Which one?","options":["a","b"]}`},
		{"ask_question", SDK, "AskUserQuestion", `{"question":"Which one?","options":["a","b"]}`},
		{"plan_mode_respond", Classic, "ExitPlanMode", `{"response":"first this, then that"}`},
		{"use_subagents", Classic, "Agent", `{"prompt_1":"look around"}`},
		{"spawn_agent", SDK, "Agent", `{"task":"look around","systemPrompt":"you look around"}`},
		{"use_skill", Classic, "Skill", `{"skill_name":"pdf"}`},
		{"skills", SDK, "Skill", `{"skill":"pdf"}`},
		{"focus_chain", Classic, "TodoWrite", `{"task_progress":"- [ ] first"}`},
	}
}

// in reports whether a dialect has the tool.
func (t Tool) in(dialect string) bool {
	return t.Dialect == "" || (t.Dialect == Classic) == (dialect == Classic)
}

// ToolNames returns Cline's names of the tools.
func ToolNames() []string {
	var names []string
	for _, t := range Tools() {
		names = append(names, t.Name)
	}
	return slices.Compact(names)
}

// KnownTool reports whether a tool has the name, Cline's or Claude Code's. A name of
// the form server__tool may be an MCP server's.
func KnownTool(name string) bool {
	return strings.Contains(name, "__") || slices.ContainsFunc(Tools(), func(t Tool) bool { return t.Name == name || t.Claude == name })
}
