// Package mockllm is an OpenAI-compatible chat server that plays a script, so
// that a coding agent can be driven through a whole task with no network and
// with known token counts.
//
// The request log is the truth tests compare spans with: it holds one entry for
// every completion the agent asked for, with the usage the server answered. The
// package does not promise to be a faithful OpenAI server: it answers what the
// agents under test ask for and no more.
package mockllm

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/hookspan/hookspan/tests/claudecli/mockanthropic"
	"github.com/hookspan/hookspan/tests/internal/rig"
)

// Model is the one model the server lists.
const Model = "mock-model"

// Turn is one scripted answer of the model. Turns are played in order, one per
// completion request; the last one is repeated when the script runs out.
type Turn struct {
	// Text is the answer's text.
	Text string `json:"text,omitempty"`
	// Tools are the tool calls of the answer, sent natively where the request
	// offers tools and as XML in the text where it does not.
	Tools []ToolCall `json:"tools,omitempty"`
	// In, Out and Cached are the token counts of the answer. Where In or Out is
	// zero, Usage picks counts that differ from turn to turn, so that no test
	// passes by mixing turns up.
	In     int64 `json:"in,omitempty"`
	Out    int64 `json:"out,omitempty"`
	Cached int64 `json:"cached,omitempty"`
	// Delay passes before the first byte of the answer, Tail between the last
	// tool call and the usage.
	Delay time.Duration `json:"delay,omitempty"`
	Tail  time.Duration `json:"tail,omitempty"`
	// Hang keeps the answer back after the headers until the client goes away.
	Hang bool `json:"hang,omitempty"`
	// Breaks ends the connection in the midst of the answer.
	Breaks bool `json:"breaks,omitempty"`
	// Anew gives the calls the ids of the calls of every other such answer.
	Anew bool `json:"anew,omitempty"`
	// HTTPError, if not zero, is the status of an answer that is an error;
	// Message, Code and Type, if empty "server_error", are in its body.
	HTTPError int    `json:"http_error,omitempty"`
	Message   string `json:"message,omitempty"`
	Code      string `json:"code,omitempty"`
	Type      string `json:"type,omitempty"`
}

// ToolCall is a tool the model asks for.
type ToolCall struct {
	Name string `json:"name"`
	// Args are the call's arguments, usually strings.
	Args map[string]any `json:"args"`
}

// Usage is what an answer says it cost. Prompt includes Cached, as on OpenAI.
type Usage struct {
	Prompt     int64 `json:"prompt"`
	Completion int64 `json:"completion"`
	Cached     int64 `json:"cached"`
}

// Usage returns the token counts of the turn when it answers request n, the
// first request being 1.
func (t *Turn) Usage(n int) Usage {
	u := Usage{Prompt: t.In, Completion: t.Out, Cached: t.Cached}
	if u.Prompt == 0 {
		u.Prompt = int64(1000 + 100*n)
	}
	if u.Completion == 0 {
		u.Completion = int64(50 + n)
	}
	return u
}

// Request is one completion the agent asked for.
type Request struct {
	// N counts requests from 1.
	N int `json:"n"`
	// Part is the part of the script that answered, Turn the index of its turn.
	Part string `json:"part,omitempty"`
	Turn int    `json:"turn"`
	// Start is when the request had been read; End when the answer was out or
	// the client had gone.
	Start time.Time `json:"start"`
	End   time.Time `json:"end"`
	// Stream and Native report how the agent asked: as an event stream, with
	// native tools.
	Stream bool `json:"stream"`
	Native bool `json:"native"`
	// Tools are the names of the tools it offered.
	Tools []string `json:"tools,omitempty"`
	// Last are the request's last messages as compact JSON, oldest first.
	Last []json.RawMessage `json:"last,omitempty"`
	// Calls are the tools the answer asked for; their ids are those of Turn.CallID where
	// Native is set.
	Calls []ToolCall `json:"calls,omitempty"`
	// Usage is what the answer said; nil for errors and hung answers.
	Usage *Usage `json:"usage,omitempty"`
	// Status is the HTTP status of the answer.
	Status int `json:"status"`
	// Complete reports that the whole answer was written to a client that was
	// there. A client that has it may be gone by the time the server returns.
	Complete bool `json:"complete"`
}

// CallID is the id of the i-th tool call, from 0, of the turn when it answers request n.
func (t *Turn) CallID(n, i int) string {
	if t.Anew {
		return rig.CallAnew(i)
	}
	return CallID(n, i)
}

// CallID is the id of the i-th tool call, from 0, of the answer to request n.
func CallID(n, i int) string { return fmt.Sprintf("call_%d_%d", n, i) }

// keepMessages is how many of a request's messages the log keeps.
const keepMessages = 16

// Server plays a script. It is a rig.Model, safe for concurrent use.
type Server struct {
	rig.Journal[Request]

	parts map[string][]Turn
	used  map[string]int // turns of each part
	route func(tools []string) string
}

// New returns a server that plays the script. An empty script answers every
// request with the text "ok".
func New(script []Turn) *Server {
	return NewParts(map[string][]Turn{mockanthropic.PartMain: script}, func([]string) string { return mockanthropic.PartMain })
}

// NewParts returns a server that plays a script in parts. route names the part that
// answers a request by the tools that it offers. A missing or empty part answers
// with the text "ok".
func NewParts(parts map[string][]Turn, route func(tools []string) string) *Server {
	return &Server{parts: parts, used: make(map[string]int), route: route}
}

// body is what the server reads of a completion request.
type body struct {
	Model    string            `json:"model"`
	Stream   bool              `json:"stream"`
	Messages []json.RawMessage `json:"messages"`
	Tools    []struct {
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
	} `json:"tools"`
}

// ServeHTTP answers model lists on GET and the next turn on POST.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		writeJSON(w, http.StatusOK, map[string]any{
			"object": "list", "data": []any{map[string]any{"id": Model, "object": "model"}},
		})
		return
	}
	var b body
	if err := json.NewDecoder(r.Body).Decode(&b); err != nil {
		writeJSON(w, http.StatusUnprocessableEntity, errorBody(fmt.Sprintf("mock: request is not JSON: %v", err), ""))
		return
	}
	req, turn := s.begin(&b)
	status, usage, complete := s.answer(r.Context(), w, &b, req, turn)
	s.Change(req, func(e *Request) { e.End, e.Status, e.Usage, e.Complete = time.Now(), status, usage, complete })
}

// begin logs the request and picks its turn.
func (s *Server) begin(b *body) (*Request, *Turn) {
	var turn *Turn
	req := s.Add(func(n int) *Request {
		req := &Request{N: n, Start: time.Now(), Stream: b.Stream, Native: len(b.Tools) > 0}
		for _, t := range b.Tools {
			req.Tools = append(req.Tools, t.Function.Name)
		}
		req.Last = b.Messages[max(0, len(b.Messages)-keepMessages):]
		req.Part = s.route(req.Tools)
		turn = &Turn{Text: "ok"}
		if part := s.parts[req.Part]; len(part) > 0 {
			req.Turn = min(s.used[req.Part], len(part)-1)
			s.used[req.Part]++
			turn = &part[req.Turn]
		}
		req.Calls = turn.Tools
		return req
	})
	return req, turn
}

func (s *Server) answer(ctx context.Context, w http.ResponseWriter, b *body, req *Request, t *Turn) (status int, usage *Usage, complete bool) {
	if t.HTTPError != 0 {
		body := errorBody(t.Message, t.Code)
		if t.Type != "" {
			body["error"].(map[string]any)["type"] = t.Type
		}
		return t.HTTPError, nil, ctx.Err() == nil && writeJSON(w, t.HTTPError, body)
	}
	if t.Hang {
		w.Header().Set("Content-Type", "text/event-stream")
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		<-ctx.Done()
		return http.StatusOK, nil, false
	}
	u := t.Usage(req.N)
	text := t.Text
	if !req.Native && len(t.Tools) > 0 {
		text = strings.TrimPrefix(text+"\n"+XML(t.Tools), "\n")
	}
	a := answer{id: fmt.Sprintf("chatcmpl-%d", req.N), model: b.Model, text: text, usage: u}
	if req.Native {
		for i, c := range t.Tools {
			args, err := json.Marshal(c.Args)
			if err != nil {
				writeJSON(w, http.StatusInternalServerError, errorBody(fmt.Sprintf("mock: arguments of %s: %v", c.Name, err), ""))
				return http.StatusInternalServerError, nil, false
			}
			a.calls = append(a.calls, map[string]any{
				"index": i, "id": t.CallID(req.N, i), "type": "function",
				"function": map[string]any{"name": c.Name, "arguments": string(args)},
			})
		}
	}
	if !pause(ctx, t.Delay) {
		return http.StatusOK, nil, false
	}
	if t.Breaks {
		a.begin(w)
		rig.BreakOff(w)
		return http.StatusOK, &u, false
	}
	if b.Stream {
		return http.StatusOK, &u, a.stream(ctx, w, t.Tail)
	}
	return http.StatusOK, &u, writeJSON(w, http.StatusOK, a.whole())
}

// pause waits for d and reports whether the client is still there.
func pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
