// Package mockanthropic is a Messages API server that plays a script, so that
// Claude Code can be driven through whole turns with no network and with known
// token counts.
//
// The request log is the truth tests compare spans with: it holds one entry for
// every message the agent asked for, with the ids and the usage the server
// answered, and with the tool results the agent sent. The package does not
// promise to be a faithful server: it answers what the agent under test asks for
// and no more.
package mockanthropic

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/hookspan/hookspan/tests/internal/rig"
)

// Script is what the model says. A request whose first user message holds
// SubWhen is a subagent's and takes the next turn of Sub, every other one that
// offers tools takes the next of Main; the last turn of each is repeated.
// Requests without tools, such as for a title, are answered with a short text.
type Script struct {
	Main    []Turn `json:"main"`
	Sub     []Turn `json:"sub,omitempty"`
	SubWhen string `json:"sub_when,omitempty"`
}

// Turn is one scripted answer of the model.
type Turn struct {
	// Text is the answer's text, Tools the tool calls that follow it.
	Text  string     `json:"text,omitempty"`
	Tools []ToolCall `json:"tools,omitempty"`
	// Delay passes before the first byte of the answer.
	Delay time.Duration `json:"delay,omitempty"`
	// HTTPError, if not zero, is the status of an answer that is an error;
	// ErrorType and Message are in its body.
	HTTPError int    `json:"http_error,omitempty"`
	ErrorType string `json:"error_type,omitempty"`
	Message   string `json:"message,omitempty"`
	// Breaks ends the connection before the answer says anything.
	Breaks bool `json:"breaks,omitempty"`
	// Anew gives the calls the ids of the calls of every other such answer.
	Anew bool `json:"anew,omitempty"`
}

// ToolCall is a tool the model asks for.
type ToolCall struct {
	// ID is set in the log; in a script it is left out.
	ID    string         `json:"id,omitempty"`
	Name  string         `json:"name"`
	Input map[string]any `json:"input"`
	// Told is what the model was told of it, where a log has that.
	Told *string `json:"told,omitempty"`
}

// ToolResult is what the agent said became of a call.
type ToolResult struct {
	ID      string `json:"id"`
	Text    string `json:"text"`
	IsError bool   `json:"is_error,omitempty"`
}

// Usage is what an answer says it cost. The four counts are disjoint, as with
// Anthropic.
type Usage struct {
	Input      int64 `json:"input_tokens"`
	CacheWrite int64 `json:"cache_creation_input_tokens"`
	CacheRead  int64 `json:"cache_read_input_tokens"`
	Output     int64 `json:"output_tokens"`
}

// usageOf gives counts that differ from request to request, so that no test
// passes by mixing requests up.
func usageOf(n int) Usage {
	return Usage{Input: int64(100 + n), CacheWrite: int64(20 + 3*n), CacheRead: int64(300 + 7*n), Output: int64(40 + n)}
}

// The parts of a script.
const (
	PartMain = "main"
	PartSub  = "sub"
)

// Request is one message the agent asked for.
type Request struct {
	// N counts requests from 1.
	N int `json:"n"`
	// Part is PartMain or PartSub; empty for a request without tools. Turn is the
	// index of the turn of that part that answered.
	Part string `json:"part,omitempty"`
	Turn int    `json:"turn"`
	// Start is when the request had been read; End when the answer was out or
	// the client had gone.
	Start time.Time `json:"start"`
	End   time.Time `json:"end"`
	// Model and Stream are as asked, Tools the names of the tools offered.
	Model  string   `json:"model"`
	Stream bool     `json:"stream"`
	Tools  []string `json:"tools,omitempty"`
	// Results are the tool results that are new in the request.
	Results []ToolResult `json:"results,omitempty"`
	// Heard are the texts since the model's last answer, those of tool results
	// included: what the user and hooks have to say.
	Heard []string `json:"heard,omitempty"`

	// ID and RequestID are the identities of the answer, Text and Calls what it
	// said, Finish why it ended.
	ID        string     `json:"id"`
	RequestID string     `json:"request_id"`
	Text      string     `json:"text,omitempty"`
	Calls     []ToolCall `json:"calls,omitempty"`
	Finish    string     `json:"finish,omitempty"`
	// Usage is what the answer said; nil for errors.
	Usage *Usage `json:"usage,omitempty"`
	// Status is the HTTP status of the answer.
	Status int `json:"status"`
	// Complete reports that the whole answer was written to a client that was
	// there.
	Complete bool `json:"complete"`
}

// Server plays a script. It is a rig.Model, safe for concurrent use.
type Server struct {
	rig.Journal[Request]

	script Script
	used   map[string]int // turns of each part
}

// New returns a server that plays the script. An empty part answers every
// request with the text "ok".
func New(script Script) *Server {
	for _, part := range []*[]Turn{&script.Main, &script.Sub} {
		if len(*part) == 0 {
			*part = []Turn{{Text: "ok"}}
		}
	}
	return &Server{script: script, used: make(map[string]int)}
}

// ServeHTTP answers POST /v1/messages with the next turn and everything else,
// such as counting tokens, with something harmless.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost || r.URL.Path != "/v1/messages" {
		writeJSON(w, http.StatusOK, map[string]any{"input_tokens": 10})
		return
	}
	var b body
	if err := json.NewDecoder(r.Body).Decode(&b); err != nil {
		writeJSON(w, http.StatusUnprocessableEntity, errorBody("", fmt.Sprintf("mock: request is not JSON: %v", err)))
		return
	}
	entry, req, turn := s.begin(&b)
	status, complete := s.answer(r.Context(), w, req, turn)
	s.Change(entry, func(e *Request) { e.End, e.Status, e.Complete = time.Now(), status, complete })
}

// begin logs the request and picks its turn. The request it returns beside the
// entry is the caller's own.
func (s *Server) begin(b *body) (entry *Request, req Request, turn Turn) {
	entry = s.Add(func(n int) *Request {
		req, turn = s.next(n, b)
		logged := req
		return &logged
	})
	return entry, req, turn
}

// next is the n-th request and its turn.
func (s *Server) next(n int, b *body) (Request, Turn) {
	req := Request{
		N: n, Start: time.Now(), Model: b.Model, Stream: b.Stream, Results: b.results(), Heard: b.heard(),
		ID: fmt.Sprintf("msg_mock_%d", n), RequestID: fmt.Sprintf("req_mock_%d", n),
	}
	for _, t := range b.Tools {
		req.Tools = append(req.Tools, t.Name)
	}
	turn := Turn{Text: "A title"}
	if len(b.Tools) > 0 {
		part := s.script.Main
		req.Part = PartMain
		if s.script.SubWhen != "" && strings.Contains(b.first(), s.script.SubWhen) {
			part, req.Part = s.script.Sub, PartSub
		}
		req.Turn = min(s.used[req.Part], len(part)-1)
		s.used[req.Part]++
		turn = part[req.Turn]
	}
	if turn.HTTPError == 0 {
		u := usageOf(n)
		req.Usage, req.Text, req.Finish = &u, turn.Text, "end_turn"
		for i, c := range turn.Tools {
			c.ID = fmt.Sprintf("toolu_mock_%d_%d", n, i)
			if turn.Anew {
				c.ID = rig.CallAnew(i)
			}
			req.Calls, req.Finish = append(req.Calls, c), "tool_use"
		}
	}
	return req, turn
}

func (s *Server) answer(ctx context.Context, w http.ResponseWriter, req Request, t Turn) (status int, complete bool) {
	if t.Delay > 0 {
		timer := time.NewTimer(t.Delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return 0, false
		}
	}
	w.Header().Set("Request-Id", req.RequestID)
	switch {
	case t.Breaks:
		w.Header().Set("Content-Type", "text/event-stream")
		rig.BreakOff(w)
		return http.StatusOK, false
	case t.HTTPError != 0:
		return t.HTTPError, ctx.Err() == nil && writeJSON(w, t.HTTPError, errorBody(t.ErrorType, t.Message))
	case req.Stream:
		return http.StatusOK, stream(ctx, w, req)
	}
	return http.StatusOK, ctx.Err() == nil && writeJSON(w, http.StatusOK, whole(req))
}
