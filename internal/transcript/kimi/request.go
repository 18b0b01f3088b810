package kimi

import (
	"cmp"
	"slices"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/hook/kimi"
	"github.com/hookspan/hookspan/internal/rawjson"
	"github.com/hookspan/hookspan/internal/transcript"
)

// failed is how a step ends whose request has failed.
const failed = "error"

// addRequest adds a request, or what a later row says of the newest one.
func (l *log) addRequest(r *row) {
	if r.kind == "llm.request" {
		c := hook.Request{Kind: hook.RequestSingle, ID: l.step, Turn: l.turn, Agent: l.agent, Start: r.at, Provider: r.o.Text("provider"), Model: r.o.Text("model", "modelAlias")}
		l.alias = r.o.Text("modelAlias")
		if r.o.Text("kind") != "loop" || c.ID == "" { // it is of no step
			c.ID = transcript.TimeID("req-", r.at)
		}
		if l.call < 0 || l.asking != c.ID { // else it is sent again in another form
			l.call, l.asking, l.out.Calls = len(l.out.Calls), c.ID, append(l.out.Calls, c)
		}
		return
	}
	c := l.newest()
	switch {
	case r.kind == "usage.record" && (c == nil || c.Usage != nil): // of the program itself
		own := hook.Request{Kind: hook.RequestSingle, ID: transcript.TimeID("req-", r.at), Turn: l.turn, Agent: l.agent, Start: r.at, Model: r.o.Text("model")}
		if c != nil && own.Model == l.alias {
			own.Provider, own.Model = c.Provider, c.Model
		}
		l.count(&own, r.o.Members("usage"), r.at)
		l.out.Calls = append(l.out.Calls, own)
	case r.kind == "usage.record":
		l.count(c, r.o.Members("usage"), r.at)
	case r.kind == "turn.step.retrying":
		l.explain(r.o.Text("errorName"), r.o.Text("errorMessage"))
	case r.kind == "turn.step.interrupted":
		l.explain("", r.o.Text("message"))
	case c == nil || l.asking != r.o.Text("stepUuid", "uuid"):
	case r.kind == "content.part":
		l.addPart(c, r)
	default:
		l.endStep(c, r)
	}
}

// newest is the agent's newest request, nil if it has none.
func (l *log) newest() *hook.Request {
	if l.call < 0 {
		return nil
	}
	return &l.out.Calls[l.call]
}

// answer is what the newest request gave, if it is of the turn.
func (l *log) answer() string {
	if c := l.newest(); c != nil && c.Turn == l.turn {
		return c.Text
	}
	return ""
}

// count adds what a request took.
func (l *log) count(c *hook.Request, u rawjson.Object, at time.Time) {
	c.End = at
	c.Usage = &hook.Usage{
		Input: transcript.TokenCount(u, "inputOther"), Output: transcript.TokenCount(u, "output"),
		CacheRead: transcript.TokenCount(u, "inputCacheRead"), CacheWrite: transcript.TokenCount(u, "inputCacheCreation"),
	}
	c.Usage.CostUSD = transcript.ListCost(c, true)
}

// addPart adds a part of the answer.
func (l *log) addPart(c *hook.Request, r *row) {
	part := r.o.Members("part")
	if text := part.Text("text"); text != "" {
		l.out.Texts.Drop(len(c.Text))
		c.Text = l.out.Texts.Keep(hook.Lines(c.Text, text))
	}
	if thought := part.Text("think"); thought != "" {
		l.out.Texts.Drop(len(c.Reasoning))
		c.Reasoning = l.out.Texts.Keep(hook.Lines(c.Reasoning, thought))
	}
}

// endStep adds how the request's step ended, which is after its calls.
func (l *log) endStep(c *hook.Request, r *row) {
	c.ID, c.FinishReason = cmp.Or(r.o.Text("messageId"), c.ID), r.o.Text("finishReason")
	switch u := r.o.Members("usage"); {
	case c.Usage != nil:
	case u != nil:
		first, _ := rawjson.Millis(r.o.Get("llmFirstTokenLatencyMs"))
		stream, _ := rawjson.Millis(r.o.Get("llmStreamDurationMs"))
		l.count(c, u, c.Start.Add(first+stream))
	case c.FinishReason == failed || c.FinishReason == "interrupted":
		c.End, c.Error = r.at, c.FinishReason
	default:
		c.End = r.at
	}
}

// identify gives a request that was answered and whose step was interrupted the answer's id: it
// is that of the message that no other request has.
func (l *log) identify(meta rawjson.Object) {
	c, id := l.newest(), meta.Text("messageId")
	if c == nil || c.Usage == nil || c.ID != l.asking || id == "" {
		return
	}
	if !slices.ContainsFunc(l.out.Calls, func(other hook.Request) bool { return other.ID == id && other.Agent == l.agent }) {
		c.ID = id
	}
}

// explain says why the newest request has failed, if it has.
func (l *log) explain(kind, message string) {
	if c := l.newest(); c != nil && c.Error != "" {
		if c.Error == failed {
			c.Error = cmp.Or(kind, c.Error)
		}
		c.Message = cmp.Or(c.Message, message)
	}
}

// ask adds a call that the model asks for.
func (l *log) ask(r *row) {
	id := r.o.Text("toolCallId")
	if c := l.newest(); c != nil && l.asking == r.o.Text("stepUuid") && id != "" {
		c.ToolCallIDs = append(c.ToolCallIDs, id)
	}
	l.out.Ask(hook.ToolResult{ID: id, Agent: l.agent, Turn: l.turn, Name: r.o.Text("name"), Input: rawjson.Canonical(r.o.Get("args")), Asked: r.at})
}

// addResult adds the end of a call. One that a hook denied looks like a failure.
func (l *log) addResult(r *row) {
	key, result := transcript.CallKey{Agent: l.agent, ID: r.o.Text("toolCallId")}, r.o.Members("result")
	call, text := l.out.Asked[key], kimi.Text(result.Get("output"))
	call.ID, call.Agent, call.Turn, call.At = key.ID, l.agent, l.turn, r.at
	took, _ := rawjson.Millis(result.Get("durationMs"))
	switch {
	case !result.Is("isError"):
		call.Status = hook.ToolOK
	case kimi.Denied(text):
		call.Status = hook.ToolDenied
	case l.cancelled:
		call.Status, call.Ran = hook.ToolCancelled, took > 0
	default:
		call.Status = hook.ToolFailed
	}
	l.out.Answer(call, text)
}

// addUnknown ends a call of a tool that there is not: of several in one answer, the first ends the
// step, and the others have no row of their results, only a message when the turn has ended.
func (l *log) addUnknown(m rawjson.Object) {
	call, open := l.out.Asked[transcript.CallKey{Agent: l.agent, ID: m.Text("toolCallId")}]
	if text := kimi.Text(m.Get("content")); open && text == "unknown tool: "+call.Name {
		call.At, call.Status = call.Asked, hook.ToolFailed
		l.out.Answer(call, text)
	}
}
