package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Cline's wire forms, as --dialect spells them.
const (
	classicDialect = "classic"
	nextDialect    = "next"
	sdkDialect     = "sdk"
)

// moment is an event that a test can have, by the name it has in Claude Code, as
// Cline's hook, and in the payload of Cline's SDK. Where a form of Cline's has no
// such event its name is empty.
type moment struct{ claude, cline, sdk string }

func moments() []moment {
	return []moment{
		{"SessionStart", "TaskStart", "agent_start"},
		{"SessionStart", "TaskResume", "agent_resume"},
		{"UserPromptSubmit", "UserPromptSubmit", "prompt_submit"},
		{"PreToolUse", "PreToolUse", "tool_call"},
		{"PostToolUse", "PostToolUse", "tool_result"},
		{"PostToolUseFailure", "PostToolUse", "tool_result"},
		{"PreCompact", "PreCompact", ""},
		{"Notification", "Notification", ""},
		{"Stop", "TaskComplete", "agent_end"},
		{"SubagentStart", "", "agent_start"},
		{"SubagentStop", "", "agent_end"},
		{"StopFailure", "", "agent_error"},
		{"SessionEnd", "TaskCancel", "agent_abort"},
		{"SessionEnd", "", "session_shutdown"},
	}
}

// findMoment finds an event by any of its names.
func findMoment(name string) (moment, error) {
	var known []string
	for _, m := range moments() {
		if name != "" && (m.claude == name || m.cline == name || m.sdk == name || hookName(m) == name) {
			return m, nil
		}
		if !slices.Contains(known, m.claude) {
			known = append(known, m.claude)
		}
	}
	return moment{}, fmt.Errorf("event %q: want one of %s, or Cline's name for it", name, strings.Join(known, ", "))
}

// hookName is the name of the hook file that Cline starts.
func hookName(m moment) string {
	switch {
	case m.cline != "":
		return m.cline
	case m.sdk == "agent_start":
		return "TaskStart"
	case m.sdk == "agent_end":
		return "TaskComplete"
	case m.sdk == "agent_error":
		return "TaskError"
	}
	return "SessionShutdown"
}

// tools reports that the event belongs to a tool call.
func (m moment) tools() bool { return m.sdk == "tool_call" || m.sdk == "tool_result" }

// clineTool is a tool of Cline's.
type clineTool struct {
	name string
	// dialect is where it exists; empty is everywhere. The next core has the
	// SDK's tools.
	dialect string
	// claude is what Claude Code calls it.
	claude string
	// example is an input that harms nothing.
	example string
}

func clineTools() []clineTool {
	const patch = `{"input":"*** Begin Patch\n*** Add File: hello.txt\n+hello\n*** End Patch"}`
	return []clineTool{
		{"execute_command", classicDialect, "Bash", `{"command":"echo hello"}`},
		{"run_commands", sdkDialect, "Bash", `{"commands":["echo hello"]}`},
		{"read_file", classicDialect, "Read", `{"path":"README.md"}`},
		{"read_files", sdkDialect, "Read", `{"files":[{"path":"README.md"}]}`},
		{"write_to_file", classicDialect, "Write", `{"path":"hello.txt","content":"hello\n"}`},
		{"editor", sdkDialect, "Edit", `{"path":"hello.txt","old_text":"hello","new_text":"hello, you"}`},
		{"editor", sdkDialect, "Write", `{"path":"hello.txt","new_text":"hello\n"}`},
		{
			"replace_in_file", classicDialect, "Edit",
			`{"path":"hello.txt","diff":"------- SEARCH\nhello\n=======\nhello, you\n+++++++ REPLACE"}`,
		},
		{"apply_patch", "", "Write", patch},
		{"search_files", classicDialect, "Grep", `{"path":".","regex":"TODO"}`},
		{"search_codebase", sdkDialect, "Grep", `{"queries":["TODO"]}`},
		{"list_files", classicDialect, "Glob", `{"path":"."}`},
		{"list_code_definition_names", classicDialect, "", `{"path":"."}`},
		{"browser_action", classicDialect, "", `{"action":"launch","url":"https://example.com"}`},
		{"web_fetch", classicDialect, "WebFetch", `{"url":"https://example.com","prompt":"what is it about"}`},
		{"fetch_web_content", sdkDialect, "WebFetch", `{"requests":[{"url":"https://example.com","prompt":"what is it about"}]}`},
		{"web_search", "", "WebSearch", `{"query":"example"}`},
		{"use_mcp_tool", classicDialect, "", `{"server_name":"github","tool_name":"get_issue","arguments":{"number":1}}`},
		{"access_mcp_resource", classicDialect, "ReadMcpResourceTool", `{"server_name":"github","uri":"issue://1"}`},
		{"ask_followup_question", classicDialect, "AskUserQuestion", `{"question":"Which one?","options":["a","b"]}`},
		{"ask_question", sdkDialect, "AskUserQuestion", `{"question":"Which one?","options":["a","b"]}`},
		{"plan_mode_respond", classicDialect, "ExitPlanMode", `{"response":"first this, then that"}`},
		{"use_subagents", classicDialect, "Agent", `{"prompt_1":"look around"}`},
		{"spawn_agent", sdkDialect, "Agent", `{"task":"look around","systemPrompt":"you look around"}`},
		{"use_skill", classicDialect, "Skill", `{"skill_name":"pdf"}`},
		{"skills", sdkDialect, "Skill", `{"skill":"pdf"}`},
		{"focus_chain", classicDialect, "TodoWrite", `{"task_progress":"- [ ] first"}`},
	}
}

// testPayload is what Cline would send.
type testPayload struct {
	moment  moment
	dialect string
	// tool and input are Cline's name and parameters; a tool in mcp__ form
	// becomes what Cline makes of it.
	tool  string
	input json.RawMessage
	// text is the tool's result, the prompt, or what else the event is about.
	text string
	root string
	now  time.Time
}

// choose settles the dialect and the tool, and says what does not go together.
func (p *testPayload) choose() error {
	var known *clineTool
	if p.tool != "" {
		for _, t := range clineTools() {
			if t.name == p.tool {
				known = &t
				break
			}
		}
	}
	if p.dialect == "" {
		p.dialect = classicDialect
		if p.moment.cline == "" || known != nil && known.dialect == sdkDialect {
			p.dialect = sdkDialect
		}
	}
	sdk := p.dialect == sdkDialect
	switch {
	case !slices.Contains([]string{classicDialect, nextDialect, sdkDialect}, p.dialect):
		return fmt.Errorf("--dialect %q: want classic (VS Code to 3.x, CLI 2), next (VS Code 4.1) or sdk (CLI 3)", p.dialect)
	case sdk && p.moment.sdk == "":
		return fmt.Errorf("--dialect sdk: it has no %s; classic has", p.moment.claude)
	case !sdk && p.moment.cline == "":
		return fmt.Errorf("--dialect %s: it has no %s; sdk has", p.dialect, p.moment.claude)
	case p.moment.claude == "PreCompact" && p.dialect == nextDialect, p.moment.claude == "Notification" && p.dialect == nextDialect,
		p.moment.cline == "TaskResume" && p.dialect == nextDialect:
		return fmt.Errorf("--dialect next: it has no %s; classic has", p.moment.cline)
	case !p.moment.tools():
		return nil
	}
	if server, tool, ok := strings.Cut(strings.TrimPrefix(p.tool, "mcp__"), "__"); ok && strings.HasPrefix(p.tool, "mcp__") {
		return p.mcp(server, tool)
	}
	if known == nil {
		return p.claudesName()
	}
	if core := known.dialect; core != "" && (core == classicDialect) != (p.dialect == classicDialect) {
		for _, t := range clineTools() {
			if t.claude == known.claude && t.dialect != core && t.claude != "" {
				return fmt.Errorf("--tool %s: with --dialect %s it is %s, such as --json '%s'", p.tool, p.dialect, t.name, t.example)
			}
		}
		return fmt.Errorf("--tool %s: with --dialect %s there is none", p.tool, p.dialect)
	}
	if p.input == nil {
		p.input = json.RawMessage(known.example)
	}
	return nil
}

// mcp puts a call of an MCP server's tool into Cline's form.
func (p *testPayload) mcp(server, tool string) error {
	if p.input == nil {
		p.input = json.RawMessage("{}")
	}
	if p.dialect != classicDialect {
		p.tool = server + "__" + tool
		return nil
	}
	p.tool = "use_mcp_tool"
	var err error
	p.input, err = json.Marshal(map[string]any{"server_name": server, "tool_name": tool, "arguments": p.input})
	return err
}

// claudesName refuses Claude's name of a tool that Cline calls otherwise: its
// input would be another, too.
func (p *testPayload) claudesName() error {
	for _, t := range clineTools() {
		if p.tool != "" && t.claude == p.tool && (t.dialect == "" || (t.dialect == classicDialect) == (p.dialect == classicDialect)) {
			return fmt.Errorf("--tool %s: that is Claude Code's name; Cline's is %s, such as --json '%s'", p.tool, t.name, t.example)
		}
	}
	if p.tool == "" {
		return errors.New("--tool: want a tool of Cline's, such as execute_command")
	}
	if p.input == nil {
		p.input = json.RawMessage("{}")
	}
	return nil
}

// object is a JSON object under construction, its members in order.
type object []member

type member struct {
	key   string
	value any
}

func (o object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		key, err := plainJSON(m.key)
		if err != nil {
			return nil, err
		}
		value, err := plainJSON(m.value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m.key, err)
		}
		b.Write(key)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// plainJSON encodes without the escapes that only a web page needs.
func plainJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// build returns the payload. choose comes first.
func (p *testPayload) build() ([]byte, error) {
	if p.dialect == sdkDialect {
		return p.sdk()
	}
	return p.envelope()
}

// envelope is the form of the classic and the next core.
func (p *testPayload) envelope() ([]byte, error) {
	millis := strconv.FormatInt(p.now.UnixMilli(), 10)
	version, task, model := "3.89.2", millis, object{{"provider", "anthropic"}, {"slug", "claude-sonnet-4-5"}}
	if p.dialect == nextDialect {
		version, task, model = "4.1.13", "conv_"+millis+"_test", object{{"provider", "unknown"}, {"slug", "unknown"}}
	}
	o := object{
		{"clineVersion", version},
		{"hookName", p.moment.cline},
		{"timestamp", millis},
		{"taskId", task},
		{"workspaceRoots", []string{p.root}},
		{"userId", "test"},
		{"model", model},
	}
	meta := object{{"taskId", task}, {"ulid", ""}}
	if p.dialect == nextDialect && (p.moment.cline == "TaskComplete" || p.moment.cline == "TaskCancel") {
		meta = append(meta, member{"initialTask", ""})
	}
	switch p.moment.cline {
	case "TaskStart":
		o = append(o, member{"taskStart", object{{"taskMetadata", append(meta, member{"initialTask", p.text})}}})
	case "TaskResume":
		o = append(o, member{"taskResume", object{
			{"taskMetadata", meta},
			{"previousState", object{{"lastMessageTs", millis}, {"messageCount", "2"}, {"conversationHistoryDeleted", "false"}}},
		}})
	case "UserPromptSubmit":
		o = append(o, member{"userPromptSubmit", object{{"prompt", p.text}}})
	case "PreCompact":
		o = append(o, member{"preCompact", object{
			{"taskId", task},
			{"ulid", ""},
			{"contextSize", 8},
			{"compactionStrategy", "standard-truncation-lasthalf"},
			{"previousApiReqIndex", 33},
			{"tokensIn", 20},
			{"tokensOut", 401},
			{"tokensInCache", 700},
			{"tokensOutCache", 14305},
			{"deletedRangeStart", 2},
			{"deletedRangeEnd", 5},
		}})
	case "Notification":
		o = append(o, member{"notification", object{
			{"event", "user_attention"}, {"source", "tool"}, {"message", p.text}, {"waitingForUserInput", true},
		}})
	case "TaskComplete":
		o = append(o, member{"taskComplete", object{{"taskMetadata", append(meta, member{"result", p.text})}}})
	case "TaskCancel":
		o = append(o, member{"taskCancel", object{{"taskMetadata", append(meta, member{"completionStatus", "cancelled"})}}})
	default:
		body, err := p.body()
		if err != nil {
			return nil, err
		}
		o = append(o, body)
	}
	return plainJSON(o)
}

// body is the tool call as every dialect has it, its parameters all texts.
func (p *testPayload) body() (member, error) {
	params, err := p.parameters()
	if err != nil {
		return member{}, err
	}
	call := object{{"toolName", p.tool}, {"parameters", params}}
	if p.moment.sdk == "tool_call" {
		return member{"preToolUse", call}, nil
	}
	result, failed := p.text, p.failed()
	switch {
	case p.dialect == classicDialect && failed:
		// Classic says success even then; its words tell.
		result = "The tool execution failed with the following error:\n<error>\n" + result + "\n</error>"
		failed = false
	case p.dialect == nextDialect:
		// So it comes for every result that is no text.
		result = "[object Object]"
	}
	call = append(call, member{"result", result})
	if !failed {
		// What is false is left out in this form.
		call = append(call, member{"success", true})
	} else if p.dialect == sdkDialect {
		call = append(call, member{"success", false})
	}
	return member{"postToolUse", append(call, member{"executionTimeMs", 120})}, nil
}

func (p *testPayload) failed() bool { return p.moment.claude == "PostToolUseFailure" }

// parameters are the input's members as texts, in the order of the input.
func (p *testPayload) parameters() (object, error) {
	dec := json.NewDecoder(bytes.NewReader(p.input))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, fmt.Errorf("--json %q: want a JSON object with the tool's parameters", p.input)
	}
	var out object
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, fmt.Errorf("--json: %w", err)
		}
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return nil, fmt.Errorf("--json: %w", err)
		}
		var text string
		if json.Unmarshal(raw, &text) != nil || raw[0] != '"' {
			var b bytes.Buffer
			if err := json.Compact(&b, raw); err != nil {
				return nil, fmt.Errorf("--json: %w", err)
			}
			text = b.String()
		}
		out = append(out, member{key.(string), text})
	}
	return out, nil
}

// sdk is the form of Cline's SDK.
func (p *testPayload) sdk() ([]byte, error) {
	millis := strconv.FormatInt(p.now.UnixMilli(), 10)
	stamp := func(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }
	agent, parent := "agent_1", any(nil)
	if p.moment.claude == "SubagentStart" || p.moment.claude == "SubagentStop" {
		agent, parent = "agent_2", "agent_1"
	}
	o := object{
		{"clineVersion", ""},
		{"timestamp", stamp(p.now)},
		{"taskId", "conv_" + millis + "_test"},
		{"sessionContext", object{{"rootSessionId", millis + "_test"}}},
		{"workspaceRoots", []string{p.root}},
		{"workspaceInfo", object{{"rootPath", p.root}, {"hint", "workspace"}}},
		{"userId", "unknown"},
		{"agent_id", agent},
		{"parent_agent_id", parent},
		{"hookName", p.moment.sdk},
	}
	switch p.moment.sdk {
	case "agent_start", "agent_resume":
		o = append(o, member{"taskStart", object{{"taskMetadata", object{}}}})
	case "prompt_submit":
		o = append(o, member{"userPromptSubmit", object{{"prompt", p.text}}})
	case "agent_end":
		o = append(o, member{"iteration", 1}, member{"turn", object{{"outputText", p.text}, {"status", "completed"}}},
			member{"taskComplete", object{{"taskMetadata", object{}}}})
	case "agent_error":
		o = append(o, member{"iteration", 1}, member{"error", object{{"name", "Error"}, {"message", p.text}}})
	case "tool_call", "tool_result":
		call := object{{"id", "call_1_0"}, {"name", p.tool}, {"input", p.input}}
		if p.moment.sdk == "tool_result" {
			call = append(call, member{"output", p.output()})
			if p.failed() {
				call = append(call, member{"error", p.text})
			}
			call = append(call, member{"durationMs", 120},
				member{"startedAt", stamp(p.now.Add(-120 * time.Millisecond))}, member{"endedAt", stamp(p.now)})
		}
		body, err := p.body()
		if err != nil {
			return nil, err
		}
		o = append(o, member{"iteration", 1}, member{p.moment.sdk, call}, body)
	}
	return plainJSON(o)
}

// output is a tool's result as the SDK reports it: one for each element of the
// input where the tool takes several.
func (p *testPayload) output() any {
	if p.failed() {
		return object{{"error", p.text}}
	}
	var list []object
	for _, key := range []string{"commands", "files", "queries", "requests"} {
		var in map[string]json.RawMessage
		var elements []json.RawMessage
		if json.Unmarshal(p.input, &in) != nil || json.Unmarshal(in[key], &elements) != nil {
			continue
		}
		for _, e := range elements {
			query := string(e)
			var text string
			var fields struct{ Path, URL string }
			if json.Unmarshal(e, &text) == nil {
				query = text
			} else if json.Unmarshal(e, &fields) == nil && fields.Path+fields.URL != "" {
				query = fields.Path + fields.URL
			}
			list = append(list, object{{"query", query}, {"result", p.text}, {"success", true}})
		}
	}
	if list == nil {
		return p.text
	}
	return list
}
