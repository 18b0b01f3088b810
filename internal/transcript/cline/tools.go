package cline

import (
	"slices"
	"strings"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/hook/cline"
	"github.com/hookspan/hookspan/internal/rawjson"
	"github.com/hookspan/hookspan/internal/transcript"
)

// classicTools gathers the tool calls of a classic history: what a reply asks
// for, the next user message answers.
type classicTools struct {
	calls []hook.ToolResult
	// open is the index of the newest reply's first call.
	open int
}

// reply takes in what an assistant message asks for: blocks of their own where
// the provider has tool calls, else XML in the text.
func (c *classicTools) reply(blocks transcript.Content, at time.Time) {
	c.open = len(c.calls)
	for _, b := range blocks {
		switch b.Type {
		case "tool_use":
			c.ask(hook.ToolResult{ID: b.ID, Name: b.Name, Input: rawjson.Canonical(b.Input), Asked: at})
		case "text":
			for rest := b.Text; ; {
				start, tag := firstToolTag(rest)
				if start < 0 {
					break
				}
				body, after, whole := strings.Cut(rest[start+len(tag)+2:], "</"+tag+">")
				c.ask(hook.ToolResult{Name: tag, Input: xmlInput(body), Asked: at})
				if !whole {
					break
				}
				rest = after
			}
		}
	}
}

// ask adds a call. attempt_completion ends the run and is none, as in Cline's
// hooks.
func (c *classicTools) ask(r hook.ToolResult) {
	if r.Name != "" && r.Name != "attempt_completion" {
		c.calls = append(c.calls, r)
	}
}

// answer takes in a user message: its blocks tool_result, and texts below a
// heading such as "[read_file for 'a.ts'] Result:".
func (c *classicTools) answer(blocks transcript.Content, at time.Time) {
	asked := c.calls[c.open:]
	c.open = len(c.calls)
	take := func(match func(*hook.ToolResult) bool, text string, failed bool) {
		i := slices.IndexFunc(asked, func(r hook.ToolResult) bool { return r.At.IsZero() && match(&r) })
		if i < 0 {
			return
		}
		asked[i].At, asked[i].Text = at, text
		asked[i].Status, _ = cline.Outcome(asked[i].Name, text)
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
			name, text, ok := resultHeading(b.Text)
			if !ok {
				continue
			}
			if text == "" && i+1 < len(blocks) && blocks[i+1].Type == "text" && !classicAside(blocks[i+1].Text) {
				text = blocks[i+1].Text
			}
			take(func(r *hook.ToolResult) bool { return r.Name == name }, strings.TrimSpace(text), false)
		}
	}
}

// resultHeading splits a result into the tool that its heading names and what
// stands below.
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

// classicAside reports a text that Cline adds to every message by itself.
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

// trimLine takes off the line ends that stand for layout.
func trimLine(s string) string {
	return strings.TrimSuffix(strings.TrimPrefix(s, "\n"), "\n")
}

func plainName(s string) bool {
	return s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz_0123456789") == ""
}
