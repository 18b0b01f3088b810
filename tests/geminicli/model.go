package geminicli

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"time"

	"github.com/hookspan/hookspan/tests/claudecli/mockanthropic"
	"github.com/hookspan/hookspan/tests/internal/rig"
)

// Script is what the model says: the turns of the lead agent and those of its subagent.
type Script struct {
	Main []Turn `json:"main"`
	Sub  []Turn `json:"sub,omitempty"`
}

// Turn is one scripted answer of the model.
type Turn struct {
	Text  string `json:"text,omitempty"`
	Tools []Tool `json:"tools,omitempty"`
	// HTTPError, if not zero, is the status of an answer that is an error.
	HTTPError int `json:"http_error,omitempty"`
	// Breaks ends the connection before the answer says anything.
	Breaks bool `json:"breaks,omitempty"`
	// Anew gives the calls the ids of the calls of every other such answer.
	Anew bool `json:"anew,omitempty"`
}

// Tool is a call that the model asks for.
type Tool struct {
	Name string         `json:"name"`
	Args map[string]any `json:"args,omitempty"`
}

// model is a server of the Gemini API that plays a script. Its log has the form in which
// requests are compared with spans.
type model struct {
	rig.Journal[mockanthropic.Request]

	script Script
	used   map[string]int
}

func newModel(script json.RawMessage) (rig.Model, error) {
	m := &model{used: make(map[string]int)}
	if err := json.Unmarshal(script, &m.script); err != nil {
		return nil, fmt.Errorf("decode the script: %w", err)
	}
	return m, nil
}

var operation = regexp.MustCompile(`/models/([^:/]+):(\w+)$`)

// The operations of the API.
const (
	opStream = "streamGenerateContent"
	opCount  = "countTokens"
)

// thoughts are the tokens of each answer's thoughts, which the API counts apart.
const thoughts = 7

// ServeHTTP answers a request with the next turn. One that offers no tools, such as that
// for a title, belongs to no turn.
func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	op := operation.FindStringSubmatch(r.URL.Path)
	if r.Method != http.MethodPost || op == nil {
		http.NotFound(w, r)
		return
	}
	var body struct {
		Tools []struct {
			Functions []struct {
				Name string `json:"name"`
			} `json:"functionDeclarations"`
		} `json:"tools"`
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		http.Error(w, err.Error(), http.StatusUnprocessableEntity)
		return
	}
	var tools []string
	for _, t := range body.Tools {
		for _, f := range t.Functions {
			tools = append(tools, f.Name)
		}
	}
	switch {
	case op[2] == opCount:
		reply(w, map[string]any{"totalTokens": 100})
	case len(tools) == 0:
		answer(r.Context(), w, op[2], op[1], []map[string]any{{"text": "{}"}}, nil)
	default:
		m.turn(w, r, op, tools)
	}
}

func (m *model) turn(w http.ResponseWriter, r *http.Request, op, tools []string) {
	var turn Turn
	var req mockanthropic.Request
	entry := m.Add(func(n int) *mockanthropic.Request {
		req, turn = m.next(n, op[1], tools)
		logged := req
		return &logged
	})
	status := http.StatusOK
	switch {
	case turn.Breaks:
		w.Header().Set("Content-Type", "text/event-stream")
		rig.BreakOff(w)
	case turn.HTTPError != 0:
		status = turn.HTTPError
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		reply(w, map[string]any{"error": map[string]any{"code": status, "message": "scripted refusal", "status": "INVALID_ARGUMENT"}})
	default:
		var parts []map[string]any
		if turn.Text != "" {
			parts = append(parts, map[string]any{"text": turn.Text})
		}
		for i, t := range turn.Tools {
			parts = append(parts, map[string]any{"functionCall": map[string]any{"name": t.Name, "args": t.Args, "id": turn.id(req.N, i)}})
		}
		answer(r.Context(), w, op[2], op[1], parts, req.Usage)
	}
	m.Change(entry, func(e *mockanthropic.Request) { e.End, e.Status, e.Complete = time.Now(), status, !turn.Breaks })
}

func (t *Turn) id(n, i int) string {
	if t.Anew {
		return rig.CallAnew(i)
	}
	return fmt.Sprintf("call_%d_%d", n, i)
}

func (m *model) next(n int, name string, tools []string) (mockanthropic.Request, Turn) {
	part, turns := mockanthropic.PartMain, m.script.Main
	// Only a subagent can complete a task.
	if slices.Contains(tools, "complete_task") {
		part, turns = mockanthropic.PartSub, m.script.Sub
	}
	i := min(m.used[part], len(turns)-1)
	m.used[part]++
	turn := turns[i]
	req := mockanthropic.Request{N: n, Part: part, Turn: i, Start: time.Now(), Model: name, Text: turn.Text}
	for j, t := range turn.Tools {
		// The Gemini CLI puts the tool's name before the model's id.
		req.Calls = append(req.Calls, mockanthropic.ToolCall{ID: t.Name + "__" + turn.id(n, j), Name: t.Name, Input: t.Args})
	}
	if turn.HTTPError == 0 {
		req.Usage = &mockanthropic.Usage{Input: int64(400 + 9*n), CacheRead: int64(600 + n), Output: int64(50 + n + thoughts)}
	}
	return req, turn
}

func reply(w http.ResponseWriter, v any) { _ = json.NewEncoder(w).Encode(v) }

// answer writes a model's answer, a text in two pieces.
func answer(ctx context.Context, w http.ResponseWriter, op, model string, parts []map[string]any, u *mockanthropic.Usage) {
	piece := func(parts []map[string]any, more map[string]any) map[string]any {
		candidate := map[string]any{"content": map[string]any{"role": "model", "parts": parts}, "index": 0}
		out := map[string]any{"candidates": []any{candidate}, "modelVersion": model, "responseId": "resp"}
		for k, v := range more {
			if k == "finishReason" {
				candidate[k] = v
				continue
			}
			out[k] = v
		}
		return out
	}
	end := map[string]any{"finishReason": "STOP"}
	if u != nil {
		end["usageMetadata"] = map[string]any{
			"promptTokenCount": u.Input + u.CacheRead, "cachedContentTokenCount": u.CacheRead,
			"candidatesTokenCount": u.Output - thoughts, "thoughtsTokenCount": thoughts, "totalTokenCount": u.Input + u.CacheRead + u.Output,
		}
	}
	if op != opStream {
		w.Header().Set("Content-Type", "application/json")
		reply(w, piece(parts, end))
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	send := func(v any) {
		if data, err := json.Marshal(v); err == nil && ctx.Err() == nil {
			_, _ = fmt.Fprintf(w, "data: %s\r\n\r\n", data)
			_ = http.NewResponseController(w).Flush()
		}
	}
	if text, ok := parts[0]["text"].(string); ok && len(text) > 1 {
		half := len(text) / 2
		send(piece([]map[string]any{{"text": text[:half]}}, nil))
		parts = append([]map[string]any{{"text": text[half:]}}, parts[1:]...)
	}
	send(piece(parts, end))
}
