package mockllm

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/hookspan/hookspan/tests/claudecli/mockanthropic"
	"github.com/hookspan/hookspan/tests/internal/rig"
)

// Script is what the model says: the turns of the lead agent and those of subagents.
type Script struct {
	Main []Turn `json:"main"`
	Sub  []Turn `json:"sub,omitempty"`
	// Delegated are the turns of Main, by index, that go to a subagent which can start
	// agents itself.
	Delegated []int `json:"delegated,omitempty"`
}

func (s *Script) parts() map[string][]Turn {
	return map[string][]Turn{mockanthropic.PartMain: s.Main, mockanthropic.PartSub: s.Sub}
}

// ByTask returns the part of a Script that answers a request, by the tools it offers:
// Main's if the agent can start agents by "task". Without tools it belongs to no turn.
func ByTask(tools []string) string {
	switch {
	case len(tools) == 0:
		return ""
	case slices.Contains(tools, "task"):
		return mockanthropic.PartMain
	}
	return mockanthropic.PartSub
}

// Scripted makes models that play a Script, whose parts route chooses.
func Scripted(route func(tools []string) string) rig.NewModel {
	return func(script json.RawMessage) (rig.Model, error) {
		var s Script
		if err := json.Unmarshal(script, &s); err != nil {
			return nil, fmt.Errorf("decode the script: %w", err)
		}
		return NewParts(s.parts(), route), nil
	}
}

// Requests gives a log the form in which it is compared with spans, without the requests
// that belong to no turn, and finds what the model was told of each call.
func (s *Script) Requests(text json.RawMessage, model string) (out []mockanthropic.Request, err error) {
	var log []Request
	if err := json.Unmarshal(text, &log); err != nil {
		return nil, fmt.Errorf("decode the model's log: %w", err)
	}
	parts := s.parts()
	asked := make(map[string]*mockanthropic.ToolCall) // the newest call with an id, of a part
	for _, r := range log {
		r.tell(asked)
		if len(parts[r.Part]) == 0 {
			continue
		}
		q := mockanthropic.Request{
			N: r.N, Part: r.Part, Turn: r.Turn, Start: r.Start, End: r.End, Model: model, ID: fmt.Sprintf("chatcmpl-%d", r.N),
			Text: parts[r.Part][r.Turn].Text, Status: r.Status, Complete: r.Complete,
		}
		if r.Part == mockanthropic.PartMain && slices.Contains(s.Delegated, r.Turn) {
			q.Part = mockanthropic.PartSub
		}
		if u := r.Usage; u != nil {
			q.Usage = &mockanthropic.Usage{Input: u.Prompt - u.Cached, CacheRead: u.Cached, Output: u.Completion}
		}
		for i, c := range r.Calls {
			q.Calls = append(q.Calls, mockanthropic.ToolCall{ID: parts[r.Part][r.Turn].CallID(r.N, i), Name: c.Name, Input: c.Args})
		}
		for i := range q.Calls {
			asked[r.Part+"/"+q.Calls[i].ID] = &q.Calls[i]
		}
		out = append(out, q)
	}
	return out, nil
}

// tell gives the calls of the answer before a request what the request says of them.
func (r *Request) tell(asked map[string]*mockanthropic.ToolCall) {
	for _, raw := range slices.Backward(r.Last) {
		var m struct {
			Role    string `json:"role"`
			ID      string `json:"tool_call_id"`
			Content any    `json:"content"`
		}
		if err := json.Unmarshal(raw, &m); err != nil || m.Role == "assistant" {
			return
		}
		if c := asked[r.Part+"/"+m.ID]; c != nil && m.Role == "tool" {
			told := fmt.Sprint(m.Content)
			c.Told = &told
		}
	}
}

// Answer is a turn with a part of its input from the cache.
func Answer(text string, calls ...ToolCall) Turn { return Turn{Text: text, Tools: calls, Cached: 7} }

// Call is a call of a tool.
func Call(name string, args map[string]any) ToolCall { return ToolCall{Name: name, Args: args} }
