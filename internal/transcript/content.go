package transcript

import (
	"bytes"
	"encoding/json"
	"strings"
)

// content is what a message consists of. Both forms of Cline's files follow
// Anthropic's message format here: a plain string or a list of blocks.
type content []block

// block is one part of a message. Members of other kinds of block, such as the
// bytes of an image, are not kept.
type block struct {
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

// decodeContent reads a message's content; anything that is neither a string
// nor a list is an empty one.
func decodeContent(raw json.RawMessage) content {
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
		return content{{Type: "text", Text: s}}
	case '[':
		var blocks content
		if lenient(json.Unmarshal(raw, &blocks)) != nil {
			return nil
		}
		return blocks
	}
	return nil
}

// text joins the text blocks.
func (c content) text() string {
	var parts []string
	for _, b := range c {
		if b.Type == "text" && b.Text != "" {
			parts = append(parts, b.Text)
		}
	}
	return strings.Join(parts, "\n")
}

// toolIDs are the ids of the tool calls, in order.
func (c content) toolIDs() []string {
	var ids []string
	for _, b := range c {
		if b.Type == "tool_use" && b.ID != "" {
			ids = append(ids, b.ID)
		}
	}
	return ids
}

// resultPart is one answer within a tool's result; a tool that takes several
// queries or commands at once gives one for each.
type resultPart struct {
	Type    string          `json:"type"`
	Text    string          `json:"text"`
	Query   string          `json:"query"`
	Result  json.RawMessage `json:"result"`
	Error   json.RawMessage `json:"error"`
	Success *bool           `json:"success"`
}

// resultText reads the content of a tool_result: its text, and whether it says
// itself that something failed. Cline marks only calls that could not run at
// all with is_error; a command that exits with 1 is success:false in here.
func resultText(raw json.RawMessage) (text string, failed bool) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return "", false
	}
	switch raw[0] {
	case '"':
		var s string
		if json.Unmarshal(raw, &s) != nil {
			return "", false
		}
		// Some tools put one part into the string as JSON.
		if strings.HasPrefix(s, "{") {
			if text, failed, ok := partText([]byte(s)); ok {
				return text, failed
			}
		}
		return s, false
	case '{':
		if text, failed, ok := partText(raw); ok {
			return text, failed
		}
		return canonicalJSON(raw), false
	case '[':
		return partsText(raw)
	}
	return string(raw), false
}

// partsText joins a list of parts. Where there are several, each is headed by
// its query, or nobody could tell whose answer it is.
func partsText(raw json.RawMessage) (text string, failed bool) {
	var parts []json.RawMessage
	if json.Unmarshal(raw, &parts) != nil {
		return string(raw), false
	}
	var texts []string
	for _, p := range parts {
		t, bad, ok := partText(p)
		if !ok {
			t = canonicalJSON(p)
		}
		failed = failed || bad
		var head resultPart
		if len(parts) > 1 && lenient(json.Unmarshal(p, &head)) == nil && head.Query != "" {
			t = head.Query + "\n" + t
		}
		if t != "" {
			texts = append(texts, t)
		}
	}
	return strings.Join(texts, "\n\n"), failed
}

// partText reads one part; ok is false where it has none of the known members,
// so that the caller keeps it as it is.
func partText(raw []byte) (text string, failed, ok bool) {
	if len(raw) == 0 || raw[0] != '{' {
		return "", false, false
	}
	var p resultPart
	if lenient(json.Unmarshal(raw, &p)) != nil {
		return "", false, false
	}
	if p.Type == "text" {
		return p.Text, false, true
	}
	if p.Type == "image" {
		return "[image]", false, true
	}
	result, problem := scalarText(p.Result), scalarText(p.Error)
	if p.Result == nil && p.Error == nil && p.Success == nil {
		return "", false, false
	}
	failed = p.Success != nil && !*p.Success
	switch {
	case problem == "" || strings.Contains(result, problem):
		return result, failed, true
	case result == "":
		return problem, failed, true
	}
	return result + "\n" + problem, failed, true
}

// scalarText is a string's value, or any other JSON as it stands; null is
// nothing.
func scalarText(raw json.RawMessage) string {
	var s string
	if len(raw) == 0 || json.Unmarshal(raw, &s) == nil {
		return s
	}
	return canonicalJSON(raw)
}

// canonicalJSON is the form of hook.Tool.Input: compact, keys sorted, numbers
// as they were spelled, HTML characters unescaped. What is not JSON comes back
// as it is.
func canonicalJSON(raw []byte) string {
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
