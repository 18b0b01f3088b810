package codexcli

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/hookspan/hookspan/tests/claudecli/mockanthropic"
	"github.com/hookspan/hookspan/tests/internal/rig"
)

// Script is what the model says: the turns of the lead agent and those of its subagent,
// whose requests have SubWhen and not NotSubWhen in their input.
type Script struct {
	Main       []Turn `json:"main"`
	Sub        []Turn `json:"sub,omitempty"`
	SubWhen    string `json:"sub_when,omitempty"`
	NotSubWhen string `json:"not_sub_when,omitempty"`
}

// Turn is one scripted answer of the model.
type Turn struct {
	Text  string `json:"text,omitempty"`
	Tools []Tool `json:"tools,omitempty"`
	// Delay passes before the answer.
	Delay time.Duration `json:"delay,omitempty"`
	// HTTPError, if not zero, is the status of an answer that is an error, Failed is the
	// message of one that breaks off.
	HTTPError int    `json:"http_error,omitempty"`
	Failed    string `json:"failed,omitempty"`
	// Breaks ends the connection in the midst of the answer.
	Breaks bool `json:"breaks,omitempty"`
	// Anew gives the calls the ids of the calls of every other such answer.
	Anew bool `json:"anew,omitempty"`
}

// Tool is a call that the model asks for.
type Tool struct {
	Name      string         `json:"name"`
	Namespace string         `json:"namespace,omitempty"`
	Args      map[string]any `json:"args,omitempty"`
	// Input is the text of a custom tool, which has no Args.
	Input string `json:"input,omitempty"`
	// Nested are the calls that the script in Input makes. They are in the log in place
	// of the script, without ids: Codex gives them theirs.
	Nested []Tool `json:"nested,omitempty"`
	// Span and SpanInput are the call's name and input in spans, if they are others.
	Span      string         `json:"span,omitempty"`
	SpanInput map[string]any `json:"span_input,omitempty"`
}

// model is an OpenAI Responses server that plays a script. Its log has the form in
// which requests are compared with spans.
type model struct {
	rig.Journal[mockanthropic.Request]

	script Script
	used   map[string]int
	// process is the session id of the newest command that was left running.
	process json.Number
}

// Process is the value of an argument in a script that is the id of the newest command
// that was left running.
const Process = "@process"

var leftRunning = regexp.MustCompile(`session ID (\d+)`)

func newModel(script json.RawMessage) (rig.Model, error) {
	m := &model{used: make(map[string]int)}
	if err := json.Unmarshal(script, &m.script); err != nil {
		return nil, fmt.Errorf("decode the script: %w", err)
	}
	return m, nil
}

// ServeHTTP answers POST /v1/responses with the next turn.
func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/responses") {
		http.NotFound(w, r)
		return
	}
	var body struct {
		Model string          `json:"model"`
		Input json.RawMessage `json:"input"`
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		http.Error(w, err.Error(), http.StatusUnprocessableEntity)
		return
	}
	var turn Turn
	var req mockanthropic.Request
	entry := m.Add(func(n int) *mockanthropic.Request {
		req, turn = m.next(n, body.Model, string(body.Input))
		logged := req
		return &logged
	})
	status := m.answer(r.Context(), w, req, turn)
	m.Change(entry, func(e *mockanthropic.Request) {
		// Codex hangs up as soon as it has the last event.
		e.End, e.Status, e.Complete = time.Now(), status, status != 0
	})
}

func (m *model) next(n int, name, input string) (mockanthropic.Request, Turn) {
	part, turns := mockanthropic.PartMain, m.script.Main
	if when := m.script.SubWhen; when != "" && strings.Contains(input, when) && !strings.Contains(input, m.script.NotSubWhen) {
		part, turns = mockanthropic.PartSub, m.script.Sub
	}
	if found := leftRunning.FindAllStringSubmatch(input, -1); len(found) > 0 {
		m.process = json.Number(found[len(found)-1][1])
	}
	i := min(m.used[part], len(turns)-1)
	m.used[part]++
	turn := turns[i]
	for j := range turn.Tools {
		for name, value := range turn.Tools[j].Args {
			if value == Process {
				turn.Tools[j].Args[name] = m.process
			}
		}
	}
	req := mockanthropic.Request{
		N: n, Part: part, Turn: i, Start: time.Now(), Model: name, ID: fmt.Sprintf("resp_%d", n), Text: turn.Text,
	}
	for j, t := range turn.Tools {
		for _, nested := range t.Nested {
			req.Calls = append(req.Calls, nested.logged(""))
		}
		if len(t.Nested) == 0 {
			req.Calls = append(req.Calls, t.logged(turn.callID(n, j)))
		}
	}
	if turn.HTTPError == 0 && turn.Failed == "" {
		req.Usage = &mockanthropic.Usage{Input: int64(400 + 9*n), CacheRead: int64(600 + n), Output: int64(50 + n)}
	}
	return req, turn
}

func (t *Turn) callID(request, index int) string {
	if t.Anew {
		return rig.CallAnew(index)
	}
	return fmt.Sprintf("call_%d_%d", request, index)
}

// logged is the call as it is in spans.
func (t *Tool) logged(id string) mockanthropic.ToolCall {
	if t.Span != "" {
		return mockanthropic.ToolCall{ID: id, Name: t.Span, Input: t.SpanInput}
	}
	return mockanthropic.ToolCall{ID: id, Name: t.Namespace + t.Name, Input: t.Args}
}

func (m *model) answer(ctx context.Context, w http.ResponseWriter, req mockanthropic.Request, t Turn) (status int) {
	if t.Delay > 0 {
		timer := time.NewTimer(t.Delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return 0
		}
	}
	if t.HTTPError != 0 {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(t.HTTPError)
		_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"message": "scripted refusal", "type": "invalid_request_error"}})
		return t.HTTPError
	}
	w.Header().Set("Content-Type", "text/event-stream")
	seq := 0
	event := func(kind string, members map[string]any) {
		members["type"], members["sequence_number"] = kind, seq
		seq++
		data, err := json.Marshal(members)
		if err == nil {
			_, _ = fmt.Fprintf(w, "event: %s\ndata: %s\n\n", kind, data)
			_ = http.NewResponseController(w).Flush()
		}
	}
	response := func(status string, more map[string]any) map[string]any {
		r := map[string]any{"id": req.ID, "object": "response", "created_at": req.Start.Unix(), "model": req.Model, "status": status, "output": []any{}}
		for k, v := range more {
			r[k] = v
		}
		return map[string]any{"response": r}
	}
	event("response.created", response("in_progress", nil))
	if t.Breaks {
		rig.BreakOff(w)
		return 0
	}
	if t.Failed != "" {
		event("response.failed", response("failed", map[string]any{"error": map[string]any{"code": "server_error", "message": t.Failed}}))
		return http.StatusOK
	}
	items := m.items(req, t)
	for i, item := range items {
		event("response.output_item.added", map[string]any{"output_index": i, "item": item})
		event("response.output_item.done", map[string]any{"output_index": i, "item": item})
	}
	u := req.Usage
	event("response.completed", response("completed", map[string]any{"output": items, "usage": map[string]any{
		"input_tokens": u.Input + u.CacheRead, "input_tokens_details": map[string]any{"cached_tokens": u.CacheRead},
		"output_tokens": u.Output, "output_tokens_details": map[string]any{"reasoning_tokens": 5}, "total_tokens": u.Input + u.CacheRead + u.Output,
	}}))
	return http.StatusOK
}

func (m *model) items(req mockanthropic.Request, t Turn) (items []map[string]any) {
	if t.Text != "" {
		items = append(items, map[string]any{
			"type": "message", "id": fmt.Sprintf("msg_%d", req.N), "role": "assistant", "status": "completed",
			"content": []any{map[string]any{"type": "output_text", "text": t.Text, "annotations": []any{}}},
		})
	}
	for i, tool := range t.Tools {
		item := map[string]any{"call_id": t.callID(req.N, i), "id": fmt.Sprintf("fc_%d_%d", req.N, i), "name": tool.Name, "status": "completed"}
		if tool.Input != "" {
			item["type"], item["input"] = "custom_tool_call", tool.Input
		} else {
			args, _ := json.Marshal(tool.Args) // from JSON
			item["type"], item["arguments"] = "function_call", string(args)
		}
		if tool.Namespace != "" {
			item["namespace"] = tool.Namespace
		}
		items = append(items, item)
	}
	return items
}
