package otelmap

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/otlp"
)

// chats adds one span for each request to the model.
func (m *mapping) chats() {
	if i := slices.IndexFunc(m.run.items, func(it *item) bool { return it.Kind == hook.KindCompact && it.ParentAgent == "" }); i >= 0 {
		m.compacted = m.run.items[i].At()
	}
	seen := make(map[string]int)
	exchanges := make(map[string][]*exchange)
	for i := range m.calls {
		if c := &m.calls[i]; c.Kind == hook.RequestSingle {
			key := c.Agent + "/" + c.ID
			key += "/" + strconv.Itoa(seen[key])
			seen[key]++
			exchanges[c.Agent] = append(exchanges[c.Agent], m.chat(c, key))
		}
	}
	if m.opts.Capture == CaptureNone {
		return
	}
	for agent, list := range exchanges {
		slices.SortStableFunc(list, func(x, y *exchange) int { return x.start.Compare(y.start) })
		m.converse(agent, list)
	}
}

// effort returns the effort that the run's end reports.
func (m *mapping) effort() string {
	if t := m.run.terminal; t != nil {
		for _, f := range t.Attrs {
			if text, ok := f.Value.(string); ok && f.Key == KeyEffort {
				return m.opts.text(text, m.opts.MaxOutput)
			}
		}
	}
	return ""
}

func (m *mapping) chat(c *hook.Request, key string) *exchange {
	if c.Model == "" && m.turns() {
		// A failed request names no model.
		c.Model = m.model
	}
	parent, ok := m.agents[c.Agent]
	if !ok {
		parent = m.root.SpanID()
	}
	start, end := m.chatTimes(c)
	x := &exchange{Request: c, start: start, end: latest(start, end)}
	m.plan(m.run.ID.spanID("chat", key), parent, start, end, func() *tracepb.Span { return m.chatMessage(x) })
	return x
}

func (m *mapping) chatMessage(c *exchange) *tracepb.Span {
	id := c.ID
	if c.Error != "" && c.RequestID == "" && m.turns() {
		id = "" // the host made it up; there was no response
	}
	a := texts(
		KeyOperation, OpChat,
		KeyConversationID, m.session,
		KeyProvider, m.standardProvider(c.Provider),
		KeyAgentName, m.agentName(c.Agent),
		KeyRequestModel, c.Model,
		KeyResponseModel, c.ResponseModel,
		KeyResponseID, id,
		KeyRequestID, c.RequestID,
	)
	reason := cmp.Or(finishReasons[c.FinishReason], c.FinishReason)
	if c.Error != "" {
		reason = finishError
	}
	if reason != "" {
		a = append(a, otlp.Strings(KeyFinishReasons, []string{reason}))
	}
	a.texts(KeyHostProvider, c.Provider)
	if u := c.Usage; u != nil {
		a.usage(u, u.TotalInput(), true, sameKey)
	}
	if here, branch := m.checkedOut("", m.end).Branch, m.checkedOut(c.Agent, c.start).Branch; branch != here {
		a.texts(KeyBranch, branch)
		a.flag(KeyBranchUnknown, branch == "")
	}
	if c.Agent == "" {
		a.texts(KeyEffort, m.effort())
		a.flag(KeyCompacted, !m.compacted.IsZero() && c.start.After(m.compacted))
	}
	finish := class(c.Error)
	if finish == ErrorOther {
		finish = "" // which is no reason
	}
	a.texts(KeyFinish, finish, KeySystemInstructions, m.system(c), KeyInputMessages, m.input(c), KeyOutputMessages, m.output(c, reason))
	s := newSpan(OpChat, c.Model, a)
	if c.Error != "" {
		fail(s, cmp.Or(class(c.Error), ErrorOther), m.opts.text(c.Message, m.opts.MaxOutput), c.end)
	}
	return s
}

// chatTimes returns when a request began and ended. A host writes the request to
// its files before it calls the hook that opens the run or the agent, so that the
// request begins no earlier than these.
func (m *mapping) chatTimes(c *hook.Request) (start, end time.Time) {
	start, end = latest(c.Start, m.start), c.End
	if asked := m.run.asked(); c.Agent == "" && !m.turns() && (end.IsZero() || !end.Before(asked)) {
		start = latest(start, asked)
	}
	if a := m.run.agents[c.Agent]; a != nil {
		start = latest(start, a.items[0].At())
		if first := m.firstCall(c); !first.IsZero() && !end.IsZero() && !start.Before(first) && start.Sub(first) <= agentLag && first.After(a.items[0].At()) {
			start, end = latest(first.Add(start.Sub(end)), a.items[0].At()), first
		}
	}
	if end.IsZero() {
		end = latest(start, m.end)
	}
	if d := start.Sub(end); d > 0 && d < time.Millisecond {
		end = start // the clock did not run backwards: the files have milliseconds
	}
	return start, end
}

// callKey is the id of a call of a subagent.
type callKey struct{ agent, id string }

// noteStart notes when a call of a subagent began.
func (m *mapping) noteStart(c *call) {
	key := callKey{c.agent(), c.id()}
	if key.agent == "" || key.id == "" {
		return
	}
	if _, again := m.begun[key]; again {
		m.begun[key] = never
		return
	}
	m.begun[key] = c.start
}

// firstCall returns when the first call began that a subagent's request asked for, zero
// if that is not known. The file of an agent may date the request later than a hook
// dates the call: a subagent's rows can reach the file late.
func (m *mapping) firstCall(c *hook.Request) (first time.Time) {
	for _, id := range c.ToolCallIDs {
		at, ok := m.begun[callKey{c.Agent, id}]
		if ok && at != never && (first.IsZero() || at.Time().Before(first)) {
			first = at.Time()
		}
	}
	return first
}

// finishError is the reason of a request that failed or was cancelled.
const finishError = "error"

func sameKey(key string) string { return key }

// finishReasons maps the hosts' reasons to the values that the conventions know;
// others stay as they are.
var finishReasons = map[string]string{
	"end_turn":                      "stop",
	"stop_sequence":                 "stop",
	"max_tokens":                    "length",
	"model_context_window_exceeded": "length",
	"tool_use":                      "tool_call",
	"refusal":                       "content_filter",
}

// usage adds the sums over the calls of one agent, or of the whole run if agent
// is empty.
func (m *mapping) usage(a *attrs, agent string) {
	var sum *hook.Usage
	var total, requests int64
	add := func(c *hook.Request) {
		if c.Kind == hook.RequestSingle {
			requests++
		}
		u := c.Usage
		if u == nil {
			return
		}
		if sum == nil {
			sum = &hook.Usage{}
		}
		total += u.TotalInput()
		sum.Input += u.Input
		sum.Output += u.Output
		sum.Reasoning += u.Reasoning
		sum.CacheRead += u.CacheRead
		sum.CacheWrite += u.CacheWrite
		if u.CostUSD != nil {
			cost := *u.CostUSD
			if sum.CostUSD != nil {
				cost += *sum.CostUSD
			}
			sum.CostUSD = &cost
		}
	}
	for _, i := range m.agentCalls[agent] {
		add(&m.calls[i])
	}
	for i := 0; agent == "" && i < len(m.calls); i++ {
		add(&m.calls[i])
	}
	if requests > 0 {
		a.num(KeyLLMRequests, requests)
	}
	if sum != nil {
		key := RunKey
		if requests == 0 && agent == "" {
			key = sameKey // no span of a request has them
		}
		a.usage(sum, total, true, key)
	}
}

// usageEvents returns an event for each use of the model that has no span.
func (m *mapping) usageEvents() []*tracepb.Span_Event {
	sources := map[hook.RequestKind]string{hook.RequestsDeleted: "deleted", hook.RequestsOfSubagents: "subagents", hook.RequestsUnlisted: "session"}
	var events []*tracepb.Span_Event
	for _, c := range m.calls {
		if source := sources[c.Kind]; source != "" && c.Usage != nil {
			a := texts(KeyUsageSource, source)
			a.usage(c.Usage, c.Usage.TotalInput(), false, RunKey)
			events = append(events, spanEvent(EventUsage, latest(c.Start, m.start), a))
		}
	}
	return events
}
