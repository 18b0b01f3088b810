package transcript

import (
	"strings"

	"github.com/hookspan/hookspan/internal/rawjson"
)

// Content is what a message consists of. Cline's files and Claude Code's follow
// Anthropic's message format: a plain string or a list of blocks.
type Content []Block

// Block is one part of a message. Members of other kinds of block, such as the
// bytes of an image, are not kept. Input and Content alias the message.
type Block struct {
	Type string
	Text string
	// ID, Name and Input belong to tool_use.
	ID    string
	Name  string
	Input []byte
	// ToolUseID, Name, Content and IsError belong to tool_result.
	ToolUseID string
	Content   []byte
	IsError   bool
}

// DecodeContent reads a message's content. Anything that is neither a string
// nor a list is an empty one.
func DecodeContent(raw []byte) Content {
	if rawjson.IsString(raw) {
		return Content{{Type: "text", Text: rawjson.Unquote(raw)}}
	}
	var c Content
	if !rawjson.EachElement(raw, func(value []byte) {
		var b Block
		rawjson.EachMember(value, func(name, value []byte) {
			switch string(name) {
			case "type":
				b.Type = rawjson.Unquote(value)
			case "text", "thinking":
				b.Text = rawjson.Unquote(value)
			case "id":
				b.ID = rawjson.Unquote(value)
			case "name":
				b.Name = rawjson.Unquote(value)
			case "input":
				b.Input = value
			case "tool_use_id":
				b.ToolUseID = rawjson.Unquote(value)
			case "content":
				b.Content = value
			case "is_error":
				b.IsError, _ = rawjson.Bool(value)
			}
		})
		c = append(c, b)
	}) {
		return nil
	}
	return c
}

// Text joins the text blocks.
func (c Content) Text() string { return c.texts("text") }

// Reasoning joins the blocks with what the model thought.
func (c Content) Reasoning() string { return c.texts("thinking") }

func (c Content) texts(kind string) string {
	var parts []string
	for i := range c {
		if c[i].Type == kind && c[i].Text != "" {
			parts = append(parts, c[i].Text)
		}
	}
	return strings.Join(parts, "\n")
}

// ToolIDs are the ids of the tool calls, in order.
func (c Content) ToolIDs() []string {
	var ids []string
	for i := range c {
		if c[i].Type == "tool_use" && c[i].ID != "" {
			ids = append(ids, c[i].ID)
		}
	}
	return ids
}

// ScalarText is a string's text, or the canonical form of any other JSON. null
// has none.
func ScalarText(raw []byte) string {
	if rawjson.IsString(raw) {
		return rawjson.Unquote(raw)
	}
	if raw = rawjson.Present(raw); raw == nil {
		return ""
	}
	return rawjson.Canonical(raw)
}
