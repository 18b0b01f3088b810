package translate

import (
	"crypto/sha1" //nolint:gosec // Cline's SDK names tools by it; nothing rests on it.
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The names of Claude's tools that more than one of Cline's maps to.
const (
	toolAgent = "Agent"
	toolBash  = "Bash"
	toolEdit  = "Edit"
	toolFetch = "WebFetch"
	toolGlob  = "Glob"
	toolGrep  = "Grep"
	toolRead  = "Read"
	toolSkill = "Skill"
	toolWrite = "Write"
)

// aliasMultiEdit and the others are names Claude's tools had before. Old
// configurations still use them.
const (
	aliasMultiEdit = "MultiEdit"
	aliasTask      = "Task"
	aliasLS        = "LS"
)

// generalPurpose is the only kind of agent Cline starts.
const generalPurpose = "general-purpose"

// pathNames are the names under which Cline takes a path.
var pathNames = []string{"path", "absolutePath", "file_path", "filePath"}

// forms are the tools whose parameters differ by name and unit alone.
var forms = map[string]form{
	"write_to_file": {tool: toolWrite, params: []param{
		{claude: "file_path", cline: pathNames, kind: asPath, required: true},
		{claude: "content", cline: []string{"content"}, required: true},
	}},
	"execute_command": {
		tool: toolBash, fixed: object{{"run_in_background", false}}, harmless: []string{"description"}, indifferent: commandForm.indifferent,
		params: []param{
			{claude: "command", cline: []string{"command"}, required: true},
			{claude: "timeout", cline: []string{"timeout"}, kind: seconds},
		},
	},
	"search_files": {tool: toolGrep, fixed: object{{"output_mode", "content"}}, indifferent: []string{"output_mode"}, params: []param{
		{claude: "pattern", cline: []string{"regex"}, required: true},
		{claude: "path", cline: pathNames, kind: asPath},
		{claude: "glob", cline: []string{"file_pattern"}},
	}},
	"list_code_definition_names": {tool: "ListCodeDefinitionNames", params: []param{
		{claude: "path", cline: pathNames, kind: asPath},
		{claude: "file_path", cline: pathNames, kind: asPath},
	}},
	"web_fetch": fetchForm,
	"web_search": {tool: "WebSearch", params: []param{
		{claude: "query", cline: []string{"query"}, required: true},
		{claude: "allowed_domains", cline: []string{"allowed_domains"}, kind: asList},
		{claude: "blocked_domains", cline: []string{"blocked_domains"}, kind: asList},
	}},
	"access_mcp_resource": {tool: "ReadMcpResourceTool", params: []param{
		{claude: "server", cline: []string{"server_name"}, required: true},
		{claude: "uri", cline: []string{"uri"}, required: true},
	}},
	"plan_mode_respond": {tool: "ExitPlanMode", params: []param{{claude: "plan", cline: []string{"response"}, required: true}}},
	"new_task":          {tool: "NewTask", params: []param{{claude: "context", cline: []string{"context"}, required: true}}},
	"use_skill":         skillForm("skill_name", "skill"),
	"skills":            skillForm("skill", "skill_name"),
}

func skillForm(names ...string) form {
	return form{tool: toolSkill, params: []param{
		{claude: "skill", cline: names, required: true},
		{claude: "args", cline: []string{"args"}},
	}}
}

// agentForm starts an agent. Its description is made of the task, so that another
// description changes nothing.
var agentForm = form{
	tool: toolAgent, aliases: []string{aliasTask}, harmless: []string{"description"},
	indifferent: []string{"description"},
	fixed:       object{{"subagent_type", generalPurpose}},
	params:      []param{{claude: "prompt", cline: []string{"task"}, required: true}},
}

var fetchForm = form{tool: toolFetch, params: []param{
	{claude: "url", cline: []string{"url"}, required: true},
	{claude: "prompt", cline: []string{"prompt"}},
}}

// passed are the tools of Cline's that Claude has nothing like, with the name that
// hooks see.
var passed = map[string]string{
	"browser_action": "BrowserAction", "act_mode_respond": "act_mode_respond", "load_mcp_documentation": "load_mcp_documentation",
	"condense": "condense", "summarize_task": "summarize_task", "report_bug": "report_bug", "new_rule": "new_rule",
	"generate_explanation": "generate_explanation", "switch_to_act_mode": "switch_to_act_mode", "image_generation": "image_generation",
	mcpByName: mcpByName, // without the name of a server
}

// twins are the names that a tool has in the classic dialect and in the others.
var twins = [...][2]string{
	{"read_file", "read_files"},
	{"execute_command", "run_commands"},
	{"search_files", "search_codebase"},
	{"web_fetch", "fetch_web_content"},
	{"ask_followup_question", "ask_question"},
	{"use_subagents", "spawn_agent"},
	{"use_skill", "skills"},
	{"write_to_file", "editor"},
	{"replace_in_file", "editor"},
}

// twinOf returns the name that a tool of Cline's has in its other dialects, empty
// if it has the same. The SDK's editor does what two of the classic tools do;
// Claude's name tells which.
func twinOf(tool, claude string) string {
	if tool == "editor" && claude != toolWrite {
		return "replace_in_file"
	}
	for _, t := range twins {
		switch tool {
		case t[0]:
			return t[1]
		case t[1]:
			return t[0]
		}
	}
	if tool != mcpByName && strings.HasPrefix(claude, mcpPrefix) {
		return mcpByName
	}
	return ""
}

// mcpByName is the one classic tool for all tools of MCP servers. The SDK has one
// tool for each, with the server's name before "__".
const mcpByName = "use_mcp_tool"

// mcpPrefix begins Claude's names of tools of MCP servers.
const mcpPrefix = "mcp__"

// operations takes a call apart. A call that hooks do not get has none.
func (p place) operations(tool string, input any) toolCall {
	params, _ := input.(map[string]any)
	if f, ok := forms[tool]; ok {
		op := p.operation(f, params)
		if len(op.input) == len(f.fixed) {
			return shown(f.tool, input)
		}
		return one(op)
	}
	switch tool {
	case "attempt_completion", "submit_and_exit":
		return toolCall{}
	case "read_file":
		if op := p.read(params); len(op.input) > 0 {
			return one(op)
		}
		return shown(toolRead, input)
	case "read_files":
		return p.readFiles(input)
	case "editor":
		if _, name := pick(params, pathNames...); name != "" {
			return one(p.editor(params))
		}
		return shown(toolEdit, input)
	case "replace_in_file":
		if len(params) == 0 {
			return shown(toolEdit, input)
		}
		return p.replaceInFile(params)
	case "apply_patch":
		return p.applyPatch(input)
	case "run_commands":
		return p.runCommands(input)
	case "search_codebase":
		return p.searchCodebase(input)
	case "list_files":
		return one(p.listFiles(params))
	case "fetch_web_content":
		return p.fetchWeb(input)
	case mcpByName:
		if _, name := pick(params, "server_name"); name != "" {
			return one(mcpTool(params))
		}
	case "ask_followup_question", "ask_question":
		return one(question(params))
	case "spawn_agent":
		if op := p.agent(params); op.input.str("prompt") != "" {
			return one(op)
		}
		return shown(toolAgent, input)
	case "use_subagents":
		return p.subagents(params)
	case "focus_chain":
		return one(todos(params))
	}
	return plain(tool, input)
}

// plain is a call whose input hooks see as Cline wrote it.
func plain(tool string, input any) toolCall {
	name, known := passed[tool]
	if !known {
		name, known = tool, strings.HasPrefix(tool, "team_")
	}
	if server, _, ok := strings.Cut(tool, "__"); ok && server != "" {
		known = true
		if server != "mcp" {
			name = mcpPrefix + tool
		}
	}
	w := shown(name, input)
	if plainName, ok := withoutHash(tool); ok && strings.HasPrefix(name, mcpPrefix) {
		w.operations[0].aliases = []string{mcpPrefix + strings.TrimPrefix(plainName, mcpPrefix)}
	}
	w.unknown = !known
	return w
}

// shown is a call that could not be taken apart.
func shown(name string, input any) toolCall {
	params, ok := input.(map[string]any)
	if !ok {
		params = map[string]any{}
		if input != nil {
			params["input"] = input
		}
	}
	op := same(name, params)
	if !ok {
		op.value, op.back = input, nil
	}
	return one(op)
}

// agent is one agent, with the short description that Claude's has, made of the
// prompt.
func (p place) agent(params map[string]any) operation {
	op := p.operation(agentForm, params)
	prompt := op.input.str("prompt")
	if prompt == "" {
		return op
	}
	if utf8.RuneCountInString(prompt) > 60 {
		prompt = string([]rune(prompt)[:60])
	}
	op.input = slices.Insert(op.input, 1, field{"description", prompt})
	return op
}

// subagents is one agent for each prompt_1 to prompt_5.
func (p place) subagents(params map[string]any) toolCall {
	w := toolCall{build: func([]any) any { return nil }}
	for n := 1; n <= 5; n++ {
		v, _ := pick(params, "prompt_"+strconv.Itoa(n))
		if text(v) == "" {
			continue
		}
		op := p.agent(map[string]any{"task": v})
		op.back = nil
		w.operations = append(w.operations, op)
	}
	if len(w.operations) == 0 {
		return shown(toolAgent, params)
	}
	return w
}

// mcpPart is a server's or a tool's name as Claude Code writes it in the name of
// an MCP tool.
func mcpPart(name string) string {
	return strings.Map(func(r rune) rune {
		if plainInName(r) {
			return r
		}
		return '_'
	}, name)
}

// plainInName reports a character that names of tools may have.
func plainInName(r rune) bool {
	return r == '_' || r == '-' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
}

// The form of the names that Cline's SDK gives the tools of MCP servers.
const (
	longestSDKName = 64
	sdkHashLength  = 8
)

// sdkName is the name that Cline's SDK gives a tool of an MCP server. Where the
// plain name is too long or has other characters, each run of these becomes "_",
// and the head of the plain name's hash follows.
func sdkName(server, tool string) string {
	raw := server + "__" + tool
	var b strings.Builder
	replaced := false
	for _, r := range raw {
		switch {
		case plainInName(r):
			b.WriteRune(r)
		case !replaced:
			b.WriteByte('_')
		}
		replaced = !plainInName(r)
	}
	name := b.String()
	if name == raw && len(raw) <= longestSDKName {
		return raw
	}
	sum := sha1.Sum([]byte(raw)) //nolint:gosec // As above.
	return name[:min(len(name), longestSDKName-1-sdkHashLength)] + "_" + hex.EncodeToString(sum[:])[:sdkHashLength]
}

// withoutHash takes what looks like the hash of sdkName off a name.
func withoutHash(name string) (string, bool) {
	at := len(name) - sdkHashLength - 1
	if at <= 0 || name[at] != '_' || strings.Trim(name[at+1:], "0123456789abcdef") != "" {
		return name, false
	}
	return name[:at], true
}

// mcpTool is a call by way of Cline's one tool for all MCP servers. A matcher
// may have been written for the name that the SDK gives the tool.
func mcpTool(params map[string]any) operation {
	server, _ := pick(params, "server_name")
	name, _ := pick(params, "tool_name")
	args := parsed(params["arguments"])
	op := operation{tool: mcpPrefix + mcpPart(text(server)) + "__" + mcpPart(text(name)), value: params}
	sdk := sdkName(text(server), text(name))
	op.twin = sdk
	if mcpPrefix+sdk != op.tool {
		op.aliases = []string{mcpPrefix + sdk}
	}
	given, ok := args.(map[string]any)
	switch {
	case ok:
		op.input = sorted(given)
	case args != nil && text(args) != "":
		op.input = object{{"arguments", args}}
	}
	op.back = func(_ object, updated map[string]any) (any, []string, error) {
		out := with(params, "arguments", updated)
		if _, isText := params["arguments"].(string); isText {
			out["arguments"] = text(updated)
		}
		return out, nil, nil
	}
	return op
}

// question is a question to the user.
func question(params map[string]any) operation {
	asked, _ := pick(params, "question")
	options, _ := pick(params, "options")
	choices := make([]any, 0, 5)
	list, _ := parsed(options).([]any)
	for _, option := range list {
		choices = append(choices, object{{"label", text(option)}})
	}
	return operation{
		tool: "AskUserQuestion", value: params,
		input: object{{"questions", []any{object{
			{"question", text(asked)}, {"header", ""}, {"options", choices}, {"multiSelect", false},
		}}}},
		back: func(_ object, updated map[string]any) (any, []string, error) { return questionBack(params, updated) },
	}
}

func questionBack(params, updated map[string]any) (any, []string, error) {
	questions, _ := updated["questions"].([]any)
	if len(questions) != 1 {
		return nil, nil, fmt.Errorf("%d questions: Cline asks one at a time", len(questions))
	}
	q, _ := questions[0].(map[string]any)
	question, ok := q["question"].(string)
	if !ok {
		return nil, nil, errors.New(`"question" is missing`)
	}
	if multi, _ := q["multiSelect"].(bool); multi {
		return nil, nil, fmt.Errorf("%q: %w", "multiSelect", errNoPlace)
	}
	out := with(params, "question", question)
	var labels []any
	list, _ := q["options"].([]any)
	for _, option := range list {
		o, _ := option.(map[string]any)
		label, ok := o["label"].(string)
		if !ok {
			return nil, nil, errors.New(`an option has no "label"`)
		}
		labels = append(labels, label)
	}
	delete(out, "options")
	if labels != nil {
		out["options"] = labels
	}
	return out, nil, nil
}

// todos reads the list that Cline's model keeps of its steps.
func todos(params map[string]any) operation {
	list, _ := pick(params, taskProgress, "focus_chain", "todos", "content")
	items := make([]any, 0, 8)
	for line := range strings.Lines(text(list)) {
		line = strings.TrimSpace(line)
		mark, content, ok := strings.Cut(strings.TrimLeft(line, "-* "), "]")
		mark, boxed := strings.CutPrefix(mark, "[")
		content = strings.TrimSpace(content)
		if !ok || !boxed || content == "" {
			continue
		}
		status := "in_progress"
		switch mark {
		case "x", "X":
			status = "completed"
		case " ", "":
			status = "pending"
		}
		items = append(items, object{{"content", content}, {"status", status}, {"activeForm", content}})
	}
	return operation{tool: "TodoWrite", input: object{{"todos", items}}, value: params}
}

// listFiles is a search for all names below a folder.
func (p place) listFiles(params map[string]any) operation {
	pattern := "*"
	if v, _ := pick(params, "recursive"); text(v) == "true" {
		pattern = "**/*"
	}
	op := p.operation(form{tool: toolGlob, aliases: []string{aliasLS}, params: []param{{claude: "path", cline: pathNames, kind: asPath}}}, params)
	op.input = slices.Insert(op.input, 0, field{"pattern", pattern})
	return op
}
