package translate

// ToolNames are the names of Cline's tools that matchers are tried against,
// Claude's first. Tools of MCP servers and of teams have others besides.
func ToolNames() []string {
	return []string{
		toolBash, toolEdit, toolWrite, toolRead, toolGrep, "Glob", toolFetch, "WebSearch", toolAgent, toolSkill, "AskUserQuestion",
		"ExitPlanMode", "TodoWrite", "ReadMcpResourceTool", aliasMultiEdit, aliasTask, aliasLS,
		"BrowserAction", "ListCodeDefinitionNames", "NewTask",
		"execute_command", "run_commands", "read_file", "read_files", "write_to_file", "replace_in_file", "editor", "apply_patch",
		"search_files", "search_codebase", "list_files", "list_code_definition_names", "web_fetch", "fetch_web_content", "web_search",
		mcpByName, "access_mcp_resource", "ask_followup_question", "ask_question", "plan_mode_respond", "act_mode_respond",
		"use_subagents", "spawn_agent", "use_skill", "skills", "focus_chain", "browser_action", "new_task",
		"load_mcp_documentation", "condense", "summarize_task", "report_bug", "new_rule", "generate_explanation",
		"switch_to_act_mode", "image_generation",
	}
}
