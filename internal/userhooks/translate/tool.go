package translate

import (
	"crypto/sha1" //nolint:gosec // Cline's SDK names tools by it; it protects nothing.
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/hookspan/hookspan/internal/jstext"
	"github.com/hookspan/hookspan/internal/rawjson"
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

// aliasMultiEdit is a former name of one of Claude's tools. Old configurations
// still use it.
const aliasMultiEdit = "MultiEdit"

// generalPurpose is the only kind of agent Cline starts.
const generalPurpose = "general-purpose"

// tool says how hooks see one of Cline's tools.
type tool struct {
	name string
	// dialect is dialectClassic or dialectSDK, empty for a tool of both.
	dialect string
	// form describes the parameters. If it has none, hooks see the input as Cline
	// wrote it.
	form form
	// twin is the tool's name in Cline's other dialects, empty if it is the same.
	twin string
	// one makes the one operation of a call for which the form is not enough, and
	// read takes apart one that has several operations or another form. params is
	// the input if that is an object. A result without members or operations means
	// that the input cannot be read.
	one  func(p place, params map[string]any) operation
	read func(p place, input any, params map[string]any) toolCall
	// samples are harmless inputs to try hooks with.
	samples []string
}

// table has Cline's tools. The SDK's tool "editor" does what two of the classic tools do; see
// twinOf. It is made when it is first used: the hook process links it and mostly needs it not.
var table = sync.OnceValue(func() []tool {
	return []tool{
		{name: "execute_command", dialect: dialectClassic, form: inRoot(commandForm("description")), twin: "run_commands", samples: []string{`{"command":"echo hello"}`}},
		{name: "run_commands", dialect: dialectSDK, form: form{tool: toolBash}, twin: "execute_command", read: runCommands, samples: []string{`{"commands":["echo hello"]}`}},
		{name: "read_file", dialect: dialectClassic, form: readForm, twin: "read_files", one: place.read, samples: []string{`{"path":"README.md"}`}},
		{name: "read_files", dialect: dialectSDK, form: readForm, twin: "read_file", read: readFiles, samples: []string{`{"files":[{"path":"README.md"}]}`}},
		{name: "write_to_file", dialect: dialectClassic, form: writeForm, twin: "editor", read: writeFile, samples: []string{`{"path":"hello.txt","content":"hello\n"}`}},
		{name: "editor", dialect: dialectSDK, form: form{tool: toolEdit}, twin: "replace_in_file", read: editor, samples: []string{`{"path":"hello.txt","old_text":"hello","new_text":"hello, you"}`, `{"path":"hello.txt","new_text":"hello\n"}`}},
		{name: "replace_in_file", dialect: dialectClassic, form: form{tool: toolEdit, aliases: []string{aliasMultiEdit}}, twin: "editor", read: replaceInFile, samples: []string{`{"path":"hello.txt","diff":"------- SEARCH\nhello\n=======\nhello, you\n+++++++ REPLACE"}`}},
		{name: "apply_patch", form: form{tool: toolEdit}, read: applyPatch, samples: []string{`{"input":"*** Begin Patch\n*** Add File: hello.txt\n+hello\n*** End Patch"}`}},
		{name: "search_files", dialect: dialectClassic, form: searchForm, twin: "search_codebase", samples: []string{`{"path":".","regex":"TODO"}`}},
		{name: "search_codebase", dialect: dialectSDK, form: form{tool: toolGrep}, twin: "search_files", read: searchCodebase, samples: []string{`{"queries":["TODO"]}`}},
		{name: "list_files", dialect: dialectClassic, form: listForm, one: place.list, samples: []string{`{"path":"."}`}},
		{name: "list_code_definition_names", dialect: dialectClassic, form: form{tool: "ListCodeDefinitionNames", params: []param{folderPath, {claude: "file_path", cline: pathNames, kind: asPath}}}, samples: []string{`{"path":"."}`}},
		{name: "browser_action", dialect: dialectClassic, form: form{tool: "BrowserAction"}, samples: []string{`{"action":"launch","url":"https://example.com"}`}},
		{name: "web_fetch", dialect: dialectClassic, form: fetchForm, twin: "fetch_web_content", samples: []string{`{"url":"https://example.com","prompt":"what is it about"}`}},
		{name: "fetch_web_content", dialect: dialectSDK, form: form{tool: toolFetch}, twin: "web_fetch", read: fetchWeb, samples: []string{`{"requests":[{"url":"https://example.com","prompt":"what is it about"}]}`}},
		{name: "web_search", form: form{tool: "WebSearch", params: []param{
			{claude: "query", required: true}, {claude: "allowed_domains", kind: asList}, {claude: "blocked_domains", kind: asList},
		}}, samples: []string{`{"query":"example"}`}},
		{name: mcpByName, dialect: dialectClassic, form: form{tool: mcpByName}, read: mcpTool, samples: []string{`{"server_name":"github","tool_name":"get_issue","arguments":{"number":1}}`}},
		{name: "access_mcp_resource", dialect: dialectClassic, form: form{tool: "ReadMcpResourceTool", params: []param{
			{claude: "server", cline: []string{"server_name"}, required: true}, {claude: "uri", required: true},
		}}, samples: []string{`{"server_name":"github","uri":"issue://1"}`}},
		{name: "ask_followup_question", dialect: dialectClassic, form: form{tool: "AskUserQuestion"}, twin: "ask_question", one: question, samples: []string{`{"question":"Which one?","options":["a","b"]}`}},
		{name: "ask_question", dialect: dialectSDK, form: form{tool: "AskUserQuestion"}, twin: "ask_followup_question", one: question, samples: []string{`{"question":"Which one?","options":["a","b"]}`}},
		{name: "plan_mode_respond", dialect: dialectClassic, form: form{tool: "ExitPlanMode", params: []param{{claude: "plan", cline: []string{"response"}, required: true}}}, samples: []string{`{"response":"first this, then that"}`}},
		{name: "use_subagents", dialect: dialectClassic, form: agentForm, twin: "spawn_agent", read: subagents, samples: []string{`{"prompt_1":"look around"}`}},
		{name: "spawn_agent", dialect: dialectSDK, form: agentForm, twin: "use_subagents", one: place.agent, samples: []string{`{"task":"look around","systemPrompt":"you look around"}`}},
		{name: "use_skill", dialect: dialectClassic, form: skillForm("skill_name", "skill"), twin: "skills", samples: []string{`{"skill_name":"pdf"}`}},
		{name: "skills", dialect: dialectSDK, form: skillForm("skill", "skill_name"), twin: "use_skill", samples: []string{`{"skill":"pdf"}`}},
		{name: "focus_chain", dialect: dialectClassic, form: form{tool: "TodoWrite"}, one: todos, samples: []string{`{"task_progress":"- [ ] first"}`}},
		{name: "new_rule", form: writeForm, twin: "write_to_file", read: writeFile},
		{name: "new_task", form: form{tool: "NewTask", params: []param{{claude: "context", required: true}}}},
	}
})

// tools is the table by name.
var tools = sync.OnceValue(func() map[string]tool {
	all := make(map[string]tool)
	for _, t := range table() {
		all[t.name] = t
	}
	return all
})

// Sample is a call of one of Cline's tools, for trials.
type Sample struct {
	Name string
	// Dialect is "classic" or "sdk", empty for a tool of both.
	Dialect string
	// Claude is the name of the tool that hooks see, empty if the input says which. Example is
	// a harmless input.
	Claude, Example string
}

// Samples returns calls of the tools, those of one tool side by side.
func Samples() (out []Sample) {
	for _, t := range table() {
		for _, text := range t.samples {
			input, _ := rawjson.Parse([]byte(text))
			claude := place{}.operations(t.name, input).operations[0].tool
			if strings.HasPrefix(claude, mcpPrefix) {
				claude = ""
			}
			out = append(out, Sample{t.name, t.dialect, claude, text})
		}
	}
	return out
}

// shownTools are the tools that hooks see as Cline has them: Claude has no tool like
// these.
var shownTools = []string{
	"act_mode_respond", "load_mcp_documentation", "condense", "summarize_task", "report_bug",
	"generate_explanation", "switch_to_act_mode", "image_generation",
}

// pathNames are the names under which Cline takes a path.
var pathNames = []string{"path", "absolutePath", "file_path", "filePath"}

// The path of a file, and of a folder to work in.
var (
	filePath   = param{claude: "file_path", cline: pathNames, kind: asPath, required: true}
	folderPath = param{claude: "path", cline: pathNames, kind: asPath}
)

// The forms that functions below need as well.
var (
	readForm   = form{tool: toolRead, params: []param{filePath}}
	writeForm  = form{tool: toolWrite, params: []param{filePath, {claude: "content", required: true}}}
	fetchForm  = form{tool: toolFetch, params: []param{{claude: "url", required: true}, {claude: "prompt"}}}
	listForm   = form{tool: toolGlob, aliases: []string{"LS"}, params: []param{folderPath}}
	searchForm = form{tool: toolGrep, fixed: object{{"output_mode", "content"}}, indifferent: []string{"output_mode"}, params: []param{
		{claude: "pattern", cline: []string{"regex"}, required: true}, folderPath, {claude: "glob", cline: []string{"file_pattern"}},
	}}
	// agentForm makes the description of the task, so that another description
	// changes nothing.
	agentForm = form{
		tool: toolAgent, aliases: []string{"Task"}, harmless: []string{"description"}, indifferent: []string{"description"},
		fixed:  object{{"subagent_type", generalPurpose}},
		params: []param{{claude: "prompt", cline: []string{"task"}, required: true}},
	}
)

// commandForm is a shell command. Cline has no parameter for the harmless members.
func commandForm(harmless ...string) form {
	f := form{
		tool: toolBash, fixed: object{{"run_in_background", false}}, harmless: harmless,
		indifferent: []string{"description", "timeout", "run_in_background"},
		params:      []param{{claude: "command", required: true}},
	}
	if !slices.Contains(harmless, "timeout") {
		f.params = append(f.params, param{claude: "timeout", kind: seconds})
	}
	return f
}

// inRoot is the form of a command that may name its root.
func inRoot(f form) form {
	f.params[0].kind = asLine
	return f
}

func skillForm(names ...string) form {
	return form{tool: toolSkill, params: []param{{claude: "skill", cline: names, required: true}, {claude: "args"}}}
}

// ToolNames returns the names of Cline's tools that matchers are tried against, in
// alphabetical order. The tools of MCP servers and of teams are not listed.
func ToolNames() []string {
	names := slices.Clone(shownTools)
	for name, t := range tools() {
		names = append(append(names, name, t.form.tool), t.form.aliases...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// twinOf returns the name that a Cline tool has in the other dialects, empty if it
// is the same. claude is Claude's name of the tool.
func twinOf(name, claude string) string {
	switch {
	case name == "editor" && claude == toolWrite:
		return "write_to_file"
	case name != mcpByName && strings.HasPrefix(claude, mcpPrefix):
		return mcpByName
	}
	return tools()[name].twin
}

// operations takes a call apart. A call that hooks do not get has none.
func (p place) operations(name string, input any) toolCall {
	if name == "attempt_completion" || name == "submit_and_exit" {
		return toolCall{}
	}
	t, known := tools()[name]
	if !known {
		return plain(name, input)
	}
	params, _ := input.(map[string]any)
	var call toolCall
	if t.read != nil {
		call = t.read(p, input, params)
	} else if op := t.operation(p, params); len(op.input) > len(t.form.fixed) {
		call = one(op)
	}
	if len(call.operations) == 0 {
		return shown(t.form.tool, input)
	}
	return call
}

func (t tool) operation(p place, params map[string]any) operation {
	if t.one != nil {
		return t.one(p, params)
	}
	return p.operation(t.form, params)
}

// plain is a call of a tool that is in no table. Hooks see its input as Cline wrote
// it.
func plain(tool string, input any) toolCall {
	name := tool
	if server, _, ok := strings.Cut(tool, "__"); ok && server != "" && server != "mcp" {
		name = mcpPrefix + tool
	}
	call := shown(name, input)
	if plainName, ok := withoutHash(tool); ok && strings.HasPrefix(name, mcpPrefix) {
		call.operations[0].aliases = []string{mcpPrefix + strings.TrimPrefix(plainName, mcpPrefix)}
	}
	return call
}

// shown is a call that is not taken apart. Its input is the same on both sides.
func shown(name string, input any) toolCall {
	params, isObject := input.(map[string]any)
	if !isObject && input != nil {
		params = map[string]any{"input": input}
	}
	kept, hasProgress := params[taskProgress]
	op := operation{tool: name, input: sorted(without(params, taskProgress)), value: input}
	if isObject {
		op.back = func(_ object, updated map[string]any) (any, []string, error) {
			out := maps.Clone(updated)
			if hasProgress {
				out[taskProgress] = kept
			}
			return out, nil, nil
		}
	}
	return one(op)
}

// taskProgress is a parameter that any classic tool may carry. It does not change
// what the tool does.
const taskProgress = "task_progress"

// subagents reads one agent for each of the parameters prompt_1 to prompt_5.
func subagents(p place, _ any, params map[string]any) toolCall {
	var call toolCall
	for n := 1; n <= 5; n++ {
		v := params["prompt_"+strconv.Itoa(n)]
		if text(v) == "" {
			continue
		}
		op := p.agent(map[string]any{"task": v})
		op.back = nil
		call.operations = append(call.operations, op)
	}
	return call
}

// agent is one agent. Claude's tool has a short description besides the prompt; it
// is the beginning of the prompt.
func (p place) agent(params map[string]any) operation {
	op := p.operation(agentForm, params)
	prompt := op.input.str("prompt")
	if prompt == "" {
		return operation{}
	}
	if utf8.RuneCountInString(prompt) > 60 {
		prompt = string([]rune(prompt)[:60])
	}
	op.input = slices.Insert(op.input, 1, field{"description", prompt})
	return op
}

// question reads a question to the user.
func question(_ place, params map[string]any) operation {
	choices := make([]any, 0, 5)
	list, _ := parsed(params["options"]).([]any)
	for _, option := range list {
		choices = append(choices, object{{"label", text(option)}})
	}
	return operation{
		tool: "AskUserQuestion", value: params,
		input: object{{"questions", []any{object{
			{"question", text(params["question"])}, {"header", ""}, {"options", choices}, {"multiSelect", false},
		}}}},
		back: func(_ object, updated map[string]any) (any, []string, error) {
			out, err := questionBack(params, updated)
			return out, nil, err
		},
	}
}

func questionBack(params, updated map[string]any) (any, error) {
	questions, _ := updated["questions"].([]any)
	if len(questions) != 1 {
		return nil, fmt.Errorf("%d questions: Cline asks one at a time", len(questions))
	}
	q, _ := questions[0].(map[string]any)
	question, ok := q["question"].(string)
	if !ok {
		return nil, errors.New(`"question" is missing`)
	}
	if multi, _ := q["multiSelect"].(bool); multi {
		return nil, fmt.Errorf("%q: %w", "multiSelect", errNoPlace)
	}
	out := with(without(params, "options"), "question", question)
	var labels []any
	list, _ := q["options"].([]any)
	for _, option := range list {
		o, _ := option.(map[string]any)
		label, ok := o["label"].(string)
		if !ok {
			return nil, errors.New(`an option has no "label"`)
		}
		labels = append(labels, label)
	}
	if labels != nil {
		out["options"] = labels
	}
	return out, nil
}

// todos reads the model's list of steps.
func todos(_ place, params map[string]any) operation {
	list, _ := pick(params, taskProgress, "focus_chain", "todos", "content")
	items := make([]any, 0, 8)
	for line := range strings.Lines(text(list)) {
		mark, content, ok := strings.Cut(strings.TrimLeft(jstext.Trim(line), "-* "), "]")
		mark, boxed := strings.CutPrefix(mark, "[")
		content = jstext.Trim(content)
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

// list is a search for all names below a folder.
func (p place) list(params map[string]any) operation {
	pattern := "*"
	if strings.EqualFold(text(params["recursive"]), "true") {
		pattern = "**/*"
	}
	op := p.operation(listForm, params)
	op.input = slices.Insert(op.input, 0, field{"pattern", pattern})
	return op
}

const (
	// mcpByName is the one classic tool for all tools of MCP servers. The SDK has
	// one tool for each, with the server's name before "__".
	mcpByName = "use_mcp_tool"
	// mcpPrefix begins Claude's names of tools of MCP servers.
	mcpPrefix = "mcp__"
	// maxSDKName is the length of the SDK's longest names of tools, sdkHash the
	// length of the hash at the end of some.
	maxSDKName, sdkHash = 64, 8
)

// mcpTool reads a call of mcpByName. The name that the SDK gives the tool is an
// alias, since a matcher may have been written for it.
func mcpTool(_ place, _ any, params map[string]any) toolCall {
	if params["server_name"] == nil {
		return toolCall{}
	}
	server, name := text(params["server_name"]), text(params["tool_name"])
	op := operation{tool: mcpPrefix + mcpPart(server) + "__" + mcpPart(name), twin: sdkName(server, name), value: params}
	if mcpPrefix+op.twin != op.tool {
		op.aliases = []string{mcpPrefix + op.twin}
	}
	args := parsed(params["arguments"])
	if given, ok := args.(map[string]any); ok {
		op.input = sorted(given)
	} else if text(args) != "" {
		op.input = object{{"arguments", args}}
	}
	op.back = func(_ object, updated map[string]any) (any, []string, error) {
		if _, isText := params["arguments"].(string); isText {
			return with(params, "arguments", text(updated)), nil, nil
		}
		return with(params, "arguments", updated), nil, nil
	}
	return one(op)
}

// mcpPart is a server's or a tool's name as Claude Code writes it in the name of
// an MCP tool.
func mcpPart(name string) string { return jstext.Replace(name, allowedInName, '_') }

// allowedInName reports whether names of tools may have a character.
func allowedInName(r rune) bool {
	return r == '_' || r == '-' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
}

// sdkName is the name that Cline's SDK gives a tool of an MCP server. Where the
// plain name is too long or has other characters, each run of these becomes "_",
// and the beginning of the plain name's hash follows.
func sdkName(server, tool string) string {
	raw := server + "__" + tool
	var b strings.Builder
	replaced := false
	for _, r := range raw {
		if allowedInName(r) {
			b.WriteRune(r)
		} else if !replaced {
			b.WriteByte('_')
		}
		replaced = !allowedInName(r)
	}
	name := b.String()
	if name == raw && len(raw) <= maxSDKName {
		return raw
	}
	sum := sha1.Sum([]byte(raw)) //nolint:gosec // As above.
	return name[:min(len(name), maxSDKName-1-sdkHash)] + "_" + hex.EncodeToString(sum[:])[:sdkHash]
}

// withoutHash removes what looks like the hash of sdkName from a name.
func withoutHash(name string) (string, bool) {
	at := len(name) - sdkHash - 1
	if at <= 0 || name[at] != '_' || strings.Trim(name[at+1:], "0123456789abcdef") != "" {
		return name, false
	}
	return name[:at], true
}
