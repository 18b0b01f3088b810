package cline

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/hook/cline"
	"github.com/hookspan/hookspan/internal/rawjson"
	"github.com/hookspan/hookspan/internal/transcript"
)

// workspaceHeading precedes the workspace's folders, in JSON, in what the model is told.
const workspaceHeading = "# Workspace Configuration\n"

// classicTools gathers the tool calls of a classic history: what a reply asks
// for, the next user message answers.
type classicTools struct {
	calls []hook.ToolResult
	// asked are the numbers of the messages that asked for the calls, told says which of them
	// were answered.
	asked []int
	told  []bool
	// open is the index of the newest reply's first call.
	open int
	// row is the number of the message.
	row int
	// folders are those of the workspace.
	folders []string
}

// reply adds what an assistant message asks for: blocks if the provider
// has tool calls, else XML in the text.
func (c *classicTools) reply(blocks transcript.Content, at time.Time) {
	c.open = len(c.calls)
	for _, b := range blocks {
		switch b.Type {
		case "tool_use":
			c.ask(hook.ToolResult{ID: b.ID, Name: b.Name, Input: rawjson.Canonical(b.Input), Asked: at})
		case "text":
			cutToolXML(b.Text, func(tag, body string) {
				c.ask(hook.ToolResult{Name: tag, Input: xmlInput(body), Asked: at})
			})
		}
	}
}

// ask adds a call. attempt_completion ends the run and is not a tool, as in
// Cline's hooks.
func (c *classicTools) ask(r hook.ToolResult) {
	r.Status = hook.ToolUnknown // until it is answered
	r.Row = c.row
	if r.Name != "" && r.Name != "attempt_completion" {
		c.calls, c.asked, c.told = append(c.calls, r), append(c.asked, c.row), append(c.told, false)
	}
}

// date gives the calls of a history of a version that noted no times those of the requests
// that the replies are of. It reports false if there are none.
func (c *classicTools) date(messages []apiMessage) bool {
	var asked, answered time.Time
	for i := range c.calls {
		if m := messages[c.asked[i]-1]; !m.at.IsZero() {
			asked, answered = m.at, m.next
		}
		c.calls[i].Asked = asked
		if c.told[i] {
			c.calls[i].At = answered
		}
	}
	return !asked.IsZero()
}

// answer adds a user message: its blocks tool_result, and texts below a
// heading such as "[read_file for 'a.ts'] Result:".
func (c *classicTools) answer(blocks transcript.Content, at time.Time) {
	asked, told := c.calls[c.open:], c.told[c.open:]
	c.open = len(c.calls)
	take := func(match func(*hook.ToolResult) bool, text string, failed bool) {
		i := 0
		for i < len(asked) && (told[i] || !match(&asked[i])) {
			i++
		}
		if i == len(asked) {
			return
		}
		told[i] = true
		asked[i].At, asked[i].Text, asked[i].Row = at, text, c.row
		if _, asked[i].Status = unrun(text); asked[i].Status == hook.ToolOK {
			asked[i].Status, _ = cline.Outcome(asked[i].Name, text)
		}
		if failed && !asked[i].Status.Failed() {
			asked[i].Status = hook.ToolFailed
		}
	}
	for i, b := range blocks {
		switch b.Type {
		case "tool_result":
			text, failed := resultText(b.Content)
			if _, rest, ok := resultHeading(text); ok {
				text = rest
			}
			take(func(r *hook.ToolResult) bool { return r.ID == b.ToolUseID }, text, failed || b.IsError)
		case "text":
			if _, said, ok := strings.Cut(b.Text, workspaceHeading); ok && c.folders == nil {
				rawjson.EachMember([]byte(said), func(_, of []byte) {
					rawjson.EachMember(of, func(dir, _ []byte) { c.folders = append(c.folders, string(dir)) })
				})
			}
			name, text, ok := resultHeading(b.Text)
			if !ok {
				if name, _ = unrun(b.Text); name != "" {
					take(func(r *hook.ToolResult) bool { return r.Name == name }, strings.TrimSpace(b.Text), false)
				}
				continue
			}
			if text == "" && i+1 < len(blocks) && blocks[i+1].Type == "text" && !classicAside(blocks[i+1].Text) {
				text = blocks[i+1].Text
			}
			take(func(r *hook.ToolResult) bool { return r.Name == name }, strings.TrimSpace(text), false)
		}
	}
}

// unrun reads what Cline answers to a call that it has not run: the tool's name, empty
// where it is not said, and the status, hook.ToolOK for any other text.
func unrun(text string) (name string, status hook.ToolStatus) {
	text = strings.TrimSpace(text)
	if text == "Task was interrupted before this tool call could be completed." {
		return "", hook.ToolCancelled
	}
	call, ok := strings.CutPrefix(text, "Tool [")
	why := []string{"] was not executed ", "] was interrupted and not executed "}
	if !ok {
		call, ok = strings.CutPrefix(text, "Skipping tool [")
		why = []string{"] due to user rejecting a previous tool"}
	}
	if !ok || !slices.ContainsFunc(why, func(w string) bool { return strings.Contains(call, w) }) {
		return "", hook.ToolOK
	}
	return call[:strings.IndexAny(call, " ]")], hook.ToolDenied
}

// resultHeading splits a result into the tool that its heading names and the text
// below.
func resultHeading(text string) (name, rest string, ok bool) {
	text = strings.TrimLeft(text, "\r\n ")
	if !strings.HasPrefix(text, "[") {
		return "", "", false
	}
	line, _, _ := strings.Cut(text, "\n")
	const mark = "] Result:"
	// A command on the heading's line may hold the mark itself, so the last one
	// there counts; a command of several lines ends at the first.
	end := strings.LastIndex(line, mark)
	if end < 0 {
		end = strings.Index(text, "'"+mark) + 1
	}
	if end < 1 {
		return "", "", false
	}
	below := text[end+len(mark):]
	name = line[1:min(end+1, len(line))]
	if i := strings.IndexAny(name, " ]"); i >= 0 {
		name = name[:i]
	}
	return name, strings.TrimSpace(below), name != ""
}

// classicAside reports a text that Cline adds to every message.
func classicAside(text string) bool {
	text = strings.TrimSpace(text)
	_, _, heading := resultHeading(text)
	return heading || strings.HasPrefix(text, "<environment_details>") || strings.HasPrefix(text, "# task_progress")
}

// xmlInput reads the parameters of a call written as XML, <name>value</name>
// one after another, as JSON in the form of hook.Tool.Input. The last end tag
// of a name counts, as a file's content may quote one.
func xmlInput(body string) string {
	params := make(map[string]string)
	for {
		open := strings.IndexByte(body, '<')
		if open < 0 {
			break
		}
		name, rest, ok := strings.Cut(body[open+1:], ">")
		if !ok || !plainName(name) {
			body = body[open+1:]
			continue
		}
		end := strings.LastIndex(rest, "</"+name+">")
		if end < 0 {
			params[name] = trimLine(rest)
			break
		}
		params[name] = trimLine(rest[:end])
		body = rest[end+len(name)+3:]
	}
	return rawjson.Encode(params)
}

// trimLine takes off the line ends that are layout.
func trimLine(s string) string {
	return strings.TrimSuffix(strings.TrimPrefix(s, "\n"), "\n")
}

func plainName(s string) bool {
	return s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz_0123456789") == ""
}

// toolTags are the tools a model calls by writing XML into its text, if its provider
// has no tool calls.
var toolTags = [...]string{
	"access_mcp_resource", "apply_patch", "ask_followup_question", "attempt_completion", "browser_action",
	"condense", "execute_command", "focus_chain", "generate_explanation", "list_code_definition_names",
	"list_files", "load_mcp_documentation", "new_rule", "new_task", "plan_mode_respond", "act_mode_respond",
	"read_file", "replace_in_file", "report_bug", "search_files", "summarize_task", "use_mcp_tool",
	"use_skill", "use_subagents", "web_fetch", "web_search", "write_to_file",
}

// cutToolXML cuts the tool calls out of a reply's text and visits each. A call
// begins on its own line and ends at its end tag, or at the end of a reply that
// broke off inside it. If visit is nil, the calls are only cut.
func cutToolXML(text string, visit func(tag, body string)) string {
	start, tag := firstToolTag(text)
	if start < 0 {
		return text
	}
	var kept strings.Builder
	rest := text
	for ; start >= 0; start, tag = firstToolTag(rest) {
		kept.WriteString(rest[:start])
		var body string
		body, rest, _ = strings.Cut(rest[start+len(tag)+2:], "</"+tag+">")
		if visit != nil {
			visit(tag, body)
		}
	}
	kept.WriteString(rest)
	return strings.TrimSpace(kept.String())
}

// firstToolTag finds the first start tag of a tool at the beginning of a line.
func firstToolTag(text string) (int, string) {
	for at := 0; at < len(text); {
		open := strings.IndexByte(text[at:], '<')
		if open < 0 {
			break
		}
		at += open
		name, _, found := strings.Cut(text[at+1:min(len(text), at+1+maxTagLen)], ">")
		if found && (at == 0 || text[at-1] == '\n') && slices.Contains(toolTags[:], name) {
			return at, name
		}
		at++
	}
	return -1, ""
}

// maxTagLen exceeds the longest name in toolTags and its bracket.
const maxTagLen = 32

// shownTools are the tools by the names under which ui_messages.json shows their calls.
var shownTools = map[string]string{
	"readFile": "read_file", "listFilesTopLevel": "list_files", "listFilesRecursive": "list_files",
	"listCodeDefinitionNames": "list_code_definition_names", "searchFiles": "search_files",
	"editedExistingFile": "replace_in_file", "newFileCreated": "write_to_file", "fileDeleted": "apply_patch",
	"webFetch": "web_fetch", "webSearch": "web_search", "summarizeTask": "summarize_task", "useSkill": "use_skill",
}

// addTool adds a call that ui_messages.json shows, whether it was approved before it was
// shown or after.
func (l *uiLog) addTool(at time.Time, kind, text string) {
	o := rawjson.Members([]byte(text))
	var name, input string
	switch kind {
	case "tool":
		name = o.Text("tool")
		name, input = cmp.Or(shownTools[name], name), rawjson.Canonical([]byte(text))
	case "command":
		name, input = "execute_command", rawjson.Encode(map[string]string{"command": text})
	case "use_mcp_server":
		name, input = "use_mcp_tool", rawjson.Canonical([]byte(text))
		if o.Text("type") == "access_mcp_resource" {
			name = "access_mcp_resource"
		}
	case "browser_action_launch", "browser_action":
		name, input = "browser_action", rawjson.Encode(map[string]string{"action": text})
	case "use_subagents":
		name, input = kind, rawjson.Canonical([]byte(text))
	}
	if name != "" {
		l.tools = append(l.tools, hook.ToolResult{Name: name, Input: input, Status: hook.ToolUnknown, Asked: at, Row: l.rows})
	}
}

// shownCalls returns the calls that ui_messages.json shows, for a task whose history does
// not tell them. Each has ended when the next request begins; how it ended is not shown.
func (l *uiLog) shownCalls() []hook.ToolResult {
	slices.SortStableFunc(l.tools, func(a, b hook.ToolResult) int { return a.Asked.Compare(b.Asked) })
	next := 0
	for i := range l.tools {
		for next < len(l.requests) && !l.requests[next].start.After(l.tools[i].Asked) {
			next++
		}
		if next < len(l.requests) {
			l.tools[i].At = l.requests[next].start
		}
	}
	return l.tools
}
