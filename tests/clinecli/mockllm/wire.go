package mockllm

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
)

// chunkRunes is the length of one piece of streamed text; small enough that a
// tool call in XML is cut in the middle, as real streams do.
const chunkRunes = 40

// answer is one completion before it takes a wire form.
type answer struct {
	id, model, text string
	calls           []map[string]any
	usage           Usage
}

func (a *answer) finish() string {
	if len(a.calls) > 0 {
		return "tool_calls"
	}
	return "stop"
}

func (a *answer) usageBody() map[string]any {
	return map[string]any{
		"prompt_tokens": a.usage.Prompt, "completion_tokens": a.usage.Completion,
		"total_tokens":          a.usage.Prompt + a.usage.Completion,
		"prompt_tokens_details": map[string]any{"cached_tokens": a.usage.Cached},
	}
}

// whole is the answer to a request that does not stream.
func (a *answer) whole() map[string]any {
	msg := map[string]any{"role": "assistant", "content": a.text}
	if len(a.calls) > 0 {
		msg["tool_calls"] = a.calls
	}
	return map[string]any{
		"id": a.id, "object": "chat.completion", "created": 1, "model": a.model, "usage": a.usageBody(),
		"choices": []any{map[string]any{"index": 0, "message": msg, "finish_reason": a.finish()}},
	}
}

// stream writes the answer as server-sent events and reports whether all that it
// says, its usage included, went out to a client that was there. What the client
// does after that says nothing: it may close the connection before [DONE].
func (a *answer) stream(ctx context.Context, w http.ResponseWriter, tail time.Duration) bool {
	w.Header().Set("Content-Type", "text/event-stream")
	rc := http.NewResponseController(w)
	event := func(choices []any, usage map[string]any) bool {
		chunk := map[string]any{"id": a.id, "object": "chat.completion.chunk", "created": 1, "model": a.model, "choices": choices}
		if usage != nil {
			chunk["usage"] = usage
		}
		data, err := json.Marshal(chunk)
		if err != nil {
			return false
		}
		if _, err := fmt.Fprintf(w, "data: %s\n\n", data); err != nil {
			return false
		}
		return rc.Flush() == nil
	}
	delta := func(d map[string]any, finish any) bool {
		return event([]any{map[string]any{"index": 0, "delta": d, "finish_reason": finish}}, nil)
	}
	if !delta(map[string]any{"role": "assistant", "content": ""}, nil) {
		return false
	}
	for piece := range slices.Chunk([]rune(a.text), chunkRunes) {
		if !delta(map[string]any{"content": string(piece)}, nil) {
			return false
		}
	}
	for _, c := range a.calls {
		if !delta(map[string]any{"tool_calls": []any{c}}, nil) {
			return false
		}
	}
	if !pause(ctx, tail) || !delta(map[string]any{}, a.finish()) || !event([]any{}, a.usageBody()) {
		return false
	}
	if _, err := fmt.Fprint(w, "data: [DONE]\n\n"); err == nil {
		_ = rc.Flush()
	}
	return true
}

// begin writes the beginning of a streamed answer.
func (a *answer) begin(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/event-stream")
	data, _ := json.Marshal(map[string]any{ // It is plain data.
		"id": a.id, "object": "chat.completion.chunk", "created": 1, "model": a.model,
		"choices": []any{map[string]any{"index": 0, "delta": map[string]any{"role": "assistant", "content": a.text}, "finish_reason": nil}},
	})
	_, _ = fmt.Fprintf(w, "data: %s\n\n", data)
}

// XML writes tool calls the way models without native tools do: an element per
// call, an element per argument, arguments in the order of their names.
func XML(calls []ToolCall) string {
	var b strings.Builder
	for i, c := range calls {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "<%s>\n", c.Name)
		for _, k := range slices.Sorted(maps.Keys(c.Args)) {
			v, ok := c.Args[k].(string)
			if !ok {
				// Arguments come from test scripts and from JSON: both marshal.
				data, _ := json.Marshal(c.Args[k])
				v = string(data)
			}
			fmt.Fprintf(&b, "<%s>%s</%s>\n", k, v, k)
		}
		fmt.Fprintf(&b, "</%s>", c.Name)
	}
	return b.String()
}

func errorBody(message, code string) map[string]any {
	if message == "" {
		message = "mock error"
	}
	e := map[string]any{"message": message, "type": "server_error"}
	if code != "" {
		e["code"] = code
	}
	return map[string]any{"error": e}
}

// writeJSON answers with a document and reports whether all of it went out.
func writeJSON(w http.ResponseWriter, status int, v any) bool {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	return json.NewEncoder(w).Encode(v) == nil
}
