package transcript

import (
	"bytes"
	"encoding/json"
	"strings"
)

// Content is what a message consists of. Both forms of Cline's files follow
// Anthropic's message format here: a plain string or a list of blocks.
type Content []Block

// Block is one part of a message. Members of other kinds of block, such as the
// bytes of an image, are not kept.
type Block struct {
	Type string `json:"type"`
	Text string `json:"text"`
	// ID, Name and Input belong to tool_use.
	ID    string          `json:"id"`
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"`
	// ToolUseID, Name, Content and IsError belong to tool_result.
	ToolUseID string          `json:"tool_use_id"`
	Content   json.RawMessage `json:"content"`
	IsError   bool            `json:"is_error"`
}

// DecodeContent reads a message's content; anything that is neither a string
// nor a list is an empty one.
func DecodeContent(raw json.RawMessage) Content {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return nil
	}
	switch raw[0] {
	case '"':
		var s string
		if json.Unmarshal(raw, &s) != nil {
			return nil
		}
		return Content{{Type: "text", Text: s}}
	case '[':
		var blocks Content
		if Lenient(json.Unmarshal(raw, &blocks)) != nil {
			return nil
		}
		return blocks
	}
	return nil
}

// Text joins the text blocks.
func (c Content) Text() string {
	var parts []string
	for _, b := range c {
		if b.Type == "text" && b.Text != "" {
			parts = append(parts, b.Text)
		}
	}
	return strings.Join(parts, "\n")
}

// ToolIDs are the ids of the tool calls, in order.
func (c Content) ToolIDs() []string {
	var ids []string
	for _, b := range c {
		if b.Type == "tool_use" && b.ID != "" {
			ids = append(ids, b.ID)
		}
	}
	return ids
}

// ScalarText is a string's value, or any other JSON as it stands; null is
// nothing.
func ScalarText(raw json.RawMessage) string {
	var s string
	if len(raw) == 0 || json.Unmarshal(raw, &s) == nil {
		return s
	}
	return CanonicalJSON(raw)
}

// CanonicalJSON is the form of hook.Tool.Input: compact, keys sorted, numbers
// as they were spelled, HTML characters unescaped. What is not JSON comes back
// as it is.
func CanonicalJSON(raw []byte) string {
	if len(raw) == 0 {
		return ""
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return string(raw)
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if enc.Encode(v) != nil {
		return string(raw)
	}
	return strings.TrimSuffix(out.String(), "\n")
}
