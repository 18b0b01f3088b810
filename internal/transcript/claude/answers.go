package claude

import (
	"cmp"
	"slices"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/hook/claude"
	"github.com/hookspan/hookspan/internal/rawjson"
	"github.com/hookspan/hookspan/internal/transcript"
)

// request is a request as Claude Code noted it before sending.
type request struct {
	id, model string
	at        time.Time
}

// maxRequests bounds the requests that are kept. Answers follow their requests
// closely; requests without an answer must not pile up.
const maxRequests = 32

// request returns the request with an id, the zero one if it is not there.
func (l *fileLog) request(id string) request {
	i := slices.IndexFunc(l.requests, func(q request) bool { return q.id == id })
	if i < 0 || id == "" {
		return request{}
	}
	return l.requests[i]
}

// addAnswer adds a row of a model's answer, or of what Claude Code wrote instead
// of one.
func (l *fileLog) addAnswer(r *row) {
	m := rawjson.Members(r.message)
	if m == nil {
		return
	}
	model, stop := rawjson.Unquote(m.Get("model")), rawjson.Unquote(m.Get("stop_reason"))
	request := r.text("requestId")
	id := cmp.Or(rawjson.Unquote(m.Get("id")), request, r.text("uuid"))
	if id == "" {
		id = transcript.TimeID("req-", r.at)
	}
	c := transcript.DecodeContent(m.Get("content"))
	l.b.kinds.MeetParts(l.path, knownParts, c, r.at, m)
	failed := r.is("isApiErrorMessage")
	if model == syntheticModel && !failed {
		return
	}
	if l.command > 0 && l.lead(r) {
		l.b.ends.prompt(l.turn, false) // the command was for the model
	}
	l.command, l.begun = 0, true
	if failed {
		l.addFailure(r, id, claude.FailureText(c.Text()))
		return
	}
	l.refused = l.refused[:0]

	agent := cmp.Or(l.agent, r.text("agentId"))
	call, fresh := l.response(r, id, request, agent)
	again := call.seen(c)
	if fresh || !again {
		call.until(r.at)
	}
	call.Model = cmp.Or(word(model), call.Model)
	call.ResponseModel = cmp.Or(word(model), call.ResponseModel)
	call.FinishReason = cmp.Or(word(stop), call.FinishReason)
	call.counts.add(m.Get("usage"), r.Get("costUSD"), stop != "")
	if !again {
		call.say(&l.b.texts, c.Text(), c.Reasoning())
		l.addUses(r, call, c, agent)
	}
	if call.Text != "" {
		l.words = call.Text
	}
	said, calls := c.Text() != "", slices.ContainsFunc(c, func(b transcript.Block) bool { return b.Type == "tool_use" })
	l.stop, l.done = call.FinishReason, stop == "" && said && !calls
	l.kind = cmp.Or(r.text("attributionAgent"), l.kind)
	if l.lead(r) {
		at := r.at
		if at.Before(call.End) { // a text may be dated before the thought that it follows
			at = call.End
		}
		l.b.ends.answer(call.Turn, id, stop, call.Text, said, calls, at)
	}
}

// response returns the response that a row belongs to.
func (l *fileLog) response(r *row, id, request, agent string) (call *response, fresh bool) {
	call, fresh = l.b.calls.at(id, request, agent, r.sidechain)
	if fresh {
		call.Turn, call.Provider = l.turn, providerOf(id)
		// Claude Code records the sending of the request since 2.1.329; before,
		// the row that the request answers is the nearest.
		call.Start = l.request(r.text("requestRef")).at
		if call.Start.IsZero() {
			call.Start = l.asked
		}
	}
	return call, fresh
}

// until extends the response to a row.
func (c *response) until(at time.Time) {
	if at.After(c.End) {
		c.End = at
	}
	if c.Start.IsZero() || c.Start.After(c.End) {
		c.Start = c.End
	}
}

// addUses adds the tool calls that a row asks for.
func (l *fileLog) addUses(r *row, call *response, c transcript.Content, agent string) {
	for _, b := range c {
		if b.Type != "tool_use" || b.ID == "" {
			continue
		}
		call.ToolCallIDs = append(call.ToolCallIDs, b.ID)
		if l.tools == nil {
			l.tools = make(map[string]toolUse)
		}
		l.tools[b.ID] = toolUse{id: b.ID, name: word(b.Name), input: rawjson.Canonical(b.Input), turn: l.turn, agent: agent, at: r.at, line: r.line}
	}
}

// addFailure adds a request that failed for good: a call without usage.
func (l *fileLog) addFailure(r *row, id, text string) {
	name, detail := r.text("error"), r.text("apiErrorType")
	call, fresh := l.response(r, id, r.text("requestId"), cmp.Or(l.agent, r.text("agentId")))
	call.until(r.at)
	if fresh {
		if n := len(l.requests); n > 0 && !l.requests[n-1].at.Before(l.asked) {
			call.Model = l.requests[n-1].model
		}
		call.Error = cmp.Or(name, detail, "unknown")
		if name == "unknown" {
			call.Error = cmp.Or(detail, name)
		}
		call.Message = text
	}
	if l.lead(r) {
		l.b.ends.failure(id, hook.TurnEnd{
			Turn: l.turn, At: r.at, Kind: hook.KindRunError, Message: text, ErrorType: cmp.Or(name, detail, "unknown"),
		})
	}
}
