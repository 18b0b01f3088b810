// Package llm is a scripted model: a server that plays a script in the form of an agent's
// API, so that the agent can be driven through whole tasks with no network and with known
// token counts.
//
// The log of requests is the truth that tests compare spans with: it has an entry for each
// answer that an agent asked for, with the ids, calls and usage that were answered. The
// package does not promise to be a faithful server: it answers what the agents under test
// ask for and no more.
package llm

import (
	"slices"
	"strings"
	"time"
)

// Name is the model that the server lists.
const Name = "mock-model"

// Script is what the model says: the turns of the lead agent and those of its subagents.
// Each request takes the next turn of its part; the last one is repeated.
type Script struct {
	Form Form   `json:"form"`
	Main []Turn `json:"main"`
	Sub  []Turn `json:"sub,omitempty"`
}

// Form is how an agent asks its model.
type Form struct {
	// API names the form of requests and answers.
	API API `json:"api"`
	// LeadTool is a tool that only the lead agent is offered, SubTool one that only
	// subagents are offered. SubWhen is a text of all requests of a subagent, which then
	// lack NotSubWhen. Where both tools are named, a request without either has no turn.
	LeadTool   string `json:"lead_tool,omitempty"`
	SubTool    string `json:"sub_tool,omitempty"`
	SubWhen    string `json:"sub_when,omitempty"`
	NotSubWhen string `json:"not_sub_when,omitempty"`
	// Toolless reports that requests that offer no tools take turns as well. Otherwise
	// they are for a title or the like, and are answered with a short text.
	Toolless bool `json:"toolless,omitempty"`
	// Headers are added to those of streams.
	Headers map[string]string `json:"headers,omitempty"`
}

// API is a form of requests and answers.
type API string

// The APIs.
const (
	Messages  API = "messages"  // Anthropic's
	Chat      API = "chat"      // OpenAI's chat completions
	Responses API = "responses" // OpenAI's responses
	Gemini    API = "gemini"    // Google's
)

// The parts of a script.
const (
	PartMain = "main"
	PartSub  = "sub"
)

// Turn is one scripted answer of the model.
type Turn struct {
	// Text is the answer's text, Calls are the tool calls that follow it. The chat form has
	// them as XML in the text where the request offers no tools.
	Text  string `json:"text,omitempty"`
	Calls []Call `json:"calls,omitempty"`
	// In and Out are the counts of input and output tokens. Where one is zero, it differs
	// from request to request, so that no test passes by mixing requests up.
	In  int64 `json:"in,omitempty"`
	Out int64 `json:"out,omitempty"`
	// Tail passes between the last call and the usage, in the chat form.
	Tail time.Duration `json:"tail,omitempty"`
	// Breaks ends the connection in the midst of the answer.
	Breaks bool `json:"breaks,omitempty"`
	// Anew gives the calls the ids of the calls of every other such answer.
	Anew bool `json:"anew,omitempty"`
	// Sub reports that the turn of the lead agent's part is for a subagent, which has the
	// lead agent's tools.
	Sub bool `json:"sub,omitempty"`
	// HTTPError, if not zero, is the status of an answer that is an error. Message, if
	// empty "scripted refusal", and Code are in its body.
	HTTPError int    `json:"http_error,omitempty"`
	Message   string `json:"message,omitempty"`
	Code      string `json:"code,omitempty"`
	// Failed is the message of an answer that fails after its beginning, in the responses form.
	Failed string `json:"failed,omitempty"`
}

// Call is a tool call that the model asks for.
type Call struct {
	// ID and Result are set in the log.
	ID   string         `json:"id,omitempty"`
	Name string         `json:"name"`
	Args map[string]any `json:"args"`
	// Result is the call's result as the agent returned it to the model, in the forms messages
	// and chat.
	Result *Result `json:"result,omitempty"`

	// The others are of the responses form. Text is the input of a custom tool, which has
	// no Args.
	Namespace string `json:"namespace,omitempty"`
	Text      string `json:"text,omitempty"`
	// Nested are the calls that the script in Text makes. They are in the log in place of
	// the script, without ids: Codex gives them theirs.
	Nested []Call `json:"nested,omitempty"`
	// Span and SpanArgs are the call's name and arguments in spans, if they are others.
	Span     string         `json:"span,omitempty"`
	SpanArgs map[string]any `json:"span_args,omitempty"`
}

// Process is the value of an argument that is the id of the newest command that Codex has
// left running.
const Process = "@process"

// Result is what the agent said came of a call.
type Result struct {
	Text string `json:"text"`
	// Failed is nil in a form that does not say it.
	Failed *bool `json:"failed,omitempty"`
}

// Usage is what an answer says it cost. The four counts are disjoint.
type Usage struct {
	Input      int64 `json:"input_tokens"`
	CacheWrite int64 `json:"cache_creation_input_tokens"`
	CacheRead  int64 `json:"cache_read_input_tokens"`
	Output     int64 `json:"output_tokens"`
}

// Request is one answer that the agent asked for.
type Request struct {
	// N counts requests from 1.
	N int `json:"n"`
	// Part is PartMain or PartSub; empty for a request that takes no turn. Turn is the
	// index of the turn that answered.
	Part string `json:"part,omitempty"`
	Turn int    `json:"turn"`
	// Start is when the request had been read; End when the answer was out or the client
	// had gone.
	Start time.Time `json:"start"`
	End   time.Time `json:"end"`
	// Model is as asked.
	Model string `json:"model"`
	// Heard are the texts since the model's last answer, those of results included: what
	// the user and hooks have to say. Only the forms messages and chat have them.
	Heard []string `json:"heard,omitempty"`
	// ID is the answer's. RequestID and Finish, why the model stopped, are those of the
	// form messages.
	ID        string `json:"id"`
	RequestID string `json:"request_id,omitempty"`
	Finish    string `json:"finish,omitempty"`
	// Text, Calls and Usage are what was answered; no Usage is that of an error.
	Text  string `json:"text,omitempty"`
	Calls []Call `json:"calls,omitempty"`
	Usage *Usage `json:"usage,omitempty"`
	// Status is the HTTP status of the answer.
	Status int `json:"status"`
	// Complete reports that all of the answer, up to its usage, was written to a client
	// that was there. What the client does after that says nothing.
	Complete bool `json:"complete"`
}

// Answer is a turn with a text and calls.
func Answer(text string, calls ...Call) Turn { return Turn{Text: text, Calls: calls} }

// part is the part of the script that answers a request; empty for one that takes no turn.
func (f *Form) part(q *asked) string {
	offers := func(tool string) bool { return tool != "" && slices.Contains(q.tools, tool) }
	says := func(text string) bool { return text != "" && strings.Contains(q.text, text) }
	switch {
	case len(q.tools) == 0 && !f.Toolless:
		return ""
	case offers(f.LeadTool):
		return PartMain
	case offers(f.SubTool), says(f.SubWhen) && !says(f.NotSubWhen):
		return PartSub
	case f.LeadTool == "":
		return PartMain
	case f.SubTool == "":
		return PartSub
	}
	return ""
}

// usage is what the turn costs as the answer to request n.
func (t *Turn) usage(n int, api API) *Usage {
	u := &Usage{Input: int64(400 + 9*n), CacheRead: int64(600 + 2*n), Output: int64(50 + n)}
	if t.In > 0 {
		u.Input = t.In
	}
	if t.Out > 0 {
		u.Output = t.Out
	}
	if api == Messages {
		u.CacheWrite = int64(20 + 3*n)
	}
	return u
}
