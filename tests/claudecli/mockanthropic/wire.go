package mockanthropic

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// chunkRunes is the length of one piece of streamed text or input.
const chunkRunes = 40

// body is what the server reads of a request.
type body struct {
	Model    string    `json:"model"`
	Stream   bool      `json:"stream"`
	Messages []message `json:"messages"`
	Tools    []struct {
		Name string `json:"name"`
	} `json:"tools"`
}

type message struct {
	Role string `json:"role"`
	// Content is a string or an array of blocks.
	Content json.RawMessage `json:"content"`
}

// block is a part of a message.
type block struct {
	Type string `json:"type"`
	Text string `json:"text"`
	// ToolUseID, Content and IsError are a tool result's. Content is a string or
	// an array of blocks.
	ToolUseID string          `json:"tool_use_id"`
	Content   json.RawMessage `json:"content"`
	IsError   bool            `json:"is_error"`
}

// blocks reads content in either of its forms.
func blocks(content json.RawMessage) []block {
	var text string
	if json.Unmarshal(content, &text) == nil {
		return []block{{Type: "text", Text: text}}
	}
	var out []block
	if json.Unmarshal(content, &out) != nil {
		return nil
	}
	return out
}

func text(bs []block) string {
	var b strings.Builder
	for _, x := range bs {
		b.WriteString(x.Text)
	}
	return b.String()
}

// first is the text of the first user message.
func (b *body) first() string {
	for _, m := range b.Messages {
		if m.Role == "user" {
			return text(blocks(m.Content))
		}
	}
	return ""
}

// latest are the messages since the model's last answer.
func (b *body) latest() []message {
	from := 0
	for i, m := range b.Messages {
		if m.Role == "assistant" {
			from = i + 1
		}
	}
	return b.Messages[from:]
}

// heard are the texts since the model's last answer.
func (b *body) heard() []string {
	var out []string
	for _, m := range b.latest() {
		for _, x := range blocks(m.Content) {
			for _, t := range []string{x.Text, text(blocks(x.Content))} {
				if t != "" {
					out = append(out, t)
				}
			}
		}
	}
	return out
}

// results are the tool results since the model's last answer.
func (b *body) results() []ToolResult {
	var out []ToolResult
	for _, m := range b.latest() {
		for _, x := range blocks(m.Content) {
			if x.Type == "tool_result" {
				out = append(out, ToolResult{ID: x.ToolUseID, Text: text(blocks(x.Content)), IsError: x.IsError})
			}
		}
	}
	return out
}

// content is the answer in blocks.
func content(req Request) []map[string]any {
	out := []map[string]any{}
	if req.Text != "" {
		out = append(out, map[string]any{"type": "text", "text": req.Text})
	}
	for _, c := range req.Calls {
		out = append(out, map[string]any{"type": "tool_use", "id": c.ID, "name": c.Name, "input": c.Input})
	}
	return out
}

// whole is the answer to a request that does not stream.
func whole(req Request) map[string]any {
	return map[string]any{
		"id": req.ID, "type": "message", "role": "assistant", "model": req.Model, "content": content(req),
		"stop_reason": req.Finish, "stop_sequence": nil, "usage": req.Usage,
	}
}

// stream writes the answer as server-sent events and reports whether all that it
// says, its usage included, went out to a client that was there. What the client
// does after that says nothing: it may close the connection before message_stop.
func stream(ctx context.Context, w http.ResponseWriter, req Request) bool {
	w.Header().Set("Content-Type", "text/event-stream")
	rc := http.NewResponseController(w)
	ok := true
	event := func(kind string, members map[string]any) {
		members["type"] = kind
		data, err := json.Marshal(members)
		if err == nil && ok {
			_, err = fmt.Fprintf(w, "event: %s\ndata: %s\n\n", kind, data)
		}
		ok = ok && err == nil && rc.Flush() == nil
	}
	begin := whole(req)
	begin["content"], begin["stop_reason"] = []any{}, nil
	usage := *req.Usage
	usage.Output = 1 // As the real server has it: the true count comes last.
	begin["usage"] = usage
	event("message_start", map[string]any{"message": begin})
	for i, c := range content(req) {
		piece, kind, key := "", "text_delta", "text"
		if c["type"] == "text" {
			piece, _ = c["text"].(string)
			c["text"] = ""
		} else {
			input, err := json.Marshal(c["input"])
			if err != nil {
				return false
			}
			piece, kind, key = string(input), "input_json_delta", "partial_json"
			c["input"] = map[string]any{}
		}
		event("content_block_start", map[string]any{"index": i, "content_block": c})
		for chunk := range slices.Chunk([]rune(piece), chunkRunes) {
			event("content_block_delta", map[string]any{"index": i, "delta": map[string]any{"type": kind, key: string(chunk)}})
		}
		event("content_block_stop", map[string]any{"index": i})
	}
	there := ctx.Err() == nil
	event("message_delta", map[string]any{
		"delta": map[string]any{"stop_reason": req.Finish, "stop_sequence": nil}, "usage": map[string]any{"output_tokens": req.Usage.Output},
	})
	complete := there && ok
	event("message_stop", map[string]any{})
	return complete
}

func errorBody(kind, message string) map[string]any {
	if kind == "" {
		kind = "invalid_request_error"
	}
	if message == "" {
		message = "mock error"
	}
	return map[string]any{"type": "error", "error": map[string]any{"type": kind, "message": message}}
}

// writeJSON answers with a document and reports whether all of it went out.
func writeJSON(w http.ResponseWriter, status int, v any) bool {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	return json.NewEncoder(w).Encode(v) == nil
}
