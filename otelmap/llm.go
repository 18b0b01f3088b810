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

// promptLead is how far a prompt in the host's files may precede the event that
// opened its run: an agent may write the message before it calls the hook.
const promptLead = 5 * time.Second

// within reports whether an entry of the transcript made at that moment belongs
// to the run: it comes after the previous run's end and not after this one's.
// Where the previous run told no end, or the clock was set back since, the run
// begins with its own first event, and a run that tells no end goes on until
// the next one begins. What came before the session's first run is not its own:
// the hooks may have been installed, or the log removed, in the middle.
func (m *mapping) within(at time.Time) bool {
	r := m.run
	after := m.start.Add(-promptLead)
	if end := r.prev.PrevEnd; !end.IsZero() && !end.After(m.start) {
		after = end
	}
	switch {
	case !at.After(after):
		return false
	case r.terminal != nil:
		return !at.After(r.terminal.At())
	case r.next != nil:
		return at.Before(r.next.from.At().Add(-promptLead))
	}
	return true
}

// holds reports whether an entry of the transcript belongs to the run: by the
// turn where the host gives it, else by time. at is when the entry was complete.
// The time counts for a turn, too: a session that was forked begins with a copy
// of the other's entries, all under the turn of its own first prompt; and a turn
// may be split over several runs.
func (m *mapping) holds(agent, turn string, at time.Time) bool {
	r := m.run
	if turn == "" || r.turn == "" {
		return m.within(at)
	}
	if turn != r.turn {
		return false
	}
	// The files have no finer times than milliseconds.
	since := r.from.At().Truncate(time.Millisecond)
	if m.laterPart && !r.prev.PrevEnd.IsZero() {
		// What came between the end of a turn's earlier part and the first that
		// the hooks told of this one is this one's.
		since = r.prev.PrevEnd.Truncate(time.Millisecond).Add(time.Millisecond)
	}
	switch {
	case at.Before(since):
		return false
	case r.agents[agent] != nil:
		return true // it may work on in the background
	case r.terminal != nil && agent == "":
		return !at.After(r.terminal.At())
	case r.next != nil && r.next.turn == r.turn:
		return at.Before(r.next.from.At().Truncate(time.Millisecond))
	}
	return true
}

// window returns the requests to the model that belong to the run. Those of a
// subagent go where the agent went, whenever they were made; those of an agent
// that no hook reported go by time.
func (m *mapping) window() []hook.LLMCall {
	elsewhere := make(map[string]bool)
	for _, id := range m.run.prev.Agents {
		elsewhere[id] = true
	}
	for _, r := range m.runs {
		for id := range r.agents {
			elsewhere[id] = r != m.run
		}
	}
	var out []hook.LLMCall
	for _, c := range m.tr.Calls {
		a, ours := m.run.agents[c.Agent]
		if ours && a.spans(c.Start) || !ours && !elsewhere[c.Agent] && m.holds(c.Agent, c.Turn, done(&c)) {
			out = append(out, c)
		}
	}
	slices.SortStableFunc(out, func(x, y hook.LLMCall) int {
		if c := x.Start.Compare(y.Start); c != 0 {
			return c
		}
		return cmp.Compare(x.ID, y.ID)
	})
	return out
}

// done is when a request was answered, as far as that is known. Where a host
// gives no turns, its beginning places it.
func done(c *hook.LLMCall) time.Time {
	if c.Turn == "" || c.End.IsZero() {
		return c.Start
	}
	return c.End
}

// spans reports whether the agent was at work then.
func (a *agent) spans(at time.Time) bool {
	if at.Before(a.items[0].At().Add(-promptLead)) {
		return false
	}
	return a.ended == nil || !at.After(a.ended.At())
}

// chats adds one span for each request to the model.
func (m *mapping) chats() {
	seen := make(map[string]int)
	for i := range m.calls {
		c := &m.calls[i]
		if c.Kind != hook.CallRequest {
			continue
		}
		key := c.Agent + "/" + c.ID
		key += "/" + strconv.Itoa(seen[key])
		seen[key]++
		m.chat(c, key)
	}
}

func (m *mapping) chat(c *hook.LLMCall, key string) {
	if c.Model == "" && m.turns() {
		// A request that failed was for the model of the others.
		_, c.Model = m.model()
	}
	model := cmp.Or(c.Model, "unknown")
	parent, ok := m.agents[c.Agent]
	if !ok {
		parent = m.root.SpanID()
	}
	start, end := c.Start, c.End
	// The host notes the request's message before it calls the hook that opens
	// the run or the agent.
	start = latest(start, m.start)
	if asked := m.run.asked(); c.Agent == "" && !m.turns() && (end.IsZero() || !end.Before(asked)) {
		start = latest(start, asked)
	}
	if a := m.run.agents[c.Agent]; a != nil {
		start = latest(start, a.items[0].At())
	}
	if end.IsZero() {
		end = latest(start, m.end)
	}
	if d := start.Sub(end); d > 0 && d < time.Millisecond {
		end = start // no clock ran backwards: the files have no finer times
	}
	a := attrs{text(KeyOperation, OpChat), text(KeyConversationID, m.session)}
	a.str(KeyProvider, m.standardProvider(c.Provider))
	a.str(KeyRequestModel, c.Model)
	if c.Error == "" || c.RequestID != "" || !m.turns() {
		// A failure of which no answer came has an id that nobody else knows.
		a.str(KeyResponseID, c.ID)
	}
	a.str(KeyRequestID, c.RequestID)
	if r := finishReason(c.FinishReason); r != "" {
		a = append(a, otlp.Strings(KeyFinishReasons, []string{r}))
	}
	a.str(KeyHostProvider, c.Provider)
	if u := c.Usage; u != nil {
		a.num(KeyInputTokens, u.TotalInput())
		a.num(KeyOutputTokens, u.Output)
		a.num(KeyCacheReadTokens, u.CacheRead)
		a.num(KeyCacheWriteTokens, u.CacheWrite)
		a.num(KeyHostInputTokens, u.Input)
		if u.CostUSD != nil {
			a = append(a, otlp.Float(KeyCost, *u.CostUSD))
		}
	}
	a.str(KeyFinish, class(c.Error))
	a.str(KeyText, m.opts.text(c.Text, m.opts.MaxOutput))
	s := m.span(OpChat+" "+model, tracepb.Span_SPAN_KIND_CLIENT, m.run.ID.spanID("chat", key), parent, start, end, a)
	if c.Error != "" {
		fail(s, cmp.Or(class(c.Error), ErrorOther), m.opts.text(c.Message, m.opts.MaxOutput), latest(start, end))
	}
	m.add(s)
}

// finishReason is the conventions' word for why the model stopped; a reason they
// have none for stays as the host spells it.
func finishReason(host string) string {
	switch host {
	case "end_turn", "stop_sequence":
		return "stop"
	case "max_tokens", "model_context_window_exceeded":
		return "length"
	case "tool_use":
		return "tool_call"
	case "refusal":
		return "content_filter"
	}
	return host
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// usage adds the sums over the calls of one agent, or of the whole run when
// agent is empty, and returns the events that explain what is in them but has
// no span.
func (m *mapping) usage(a *attrs, agent string) []*tracepb.Span_Event {
	var sum hook.Usage
	var total, requests int64
	var cost float64
	var any, priced bool
	var events []*tracepb.Span_Event
	for i := range m.calls {
		c := &m.calls[i]
		if agent != "" && c.Agent != agent {
			continue
		}
		if c.Kind == hook.CallRequest {
			requests++
		}
		u := c.Usage
		if u == nil {
			continue
		}
		any = true
		total += u.TotalInput()
		sum.Input += u.Input
		sum.Output += u.Output
		sum.CacheRead += u.CacheRead
		sum.CacheWrite += u.CacheWrite
		if u.CostUSD != nil {
			priced = true
			cost += *u.CostUSD
		}
		if c.Kind != hook.CallRequest {
			events = append(events, usageEvent(c, latest(c.Start, m.start)))
		}
	}
	if requests > 0 {
		a.num(KeyLLMRequests, requests)
	}
	if !any {
		return events
	}
	a.num(KeyInputTokens, total)
	a.num(KeyOutputTokens, sum.Output)
	a.num(KeyCacheReadTokens, sum.CacheRead)
	a.num(KeyCacheWriteTokens, sum.CacheWrite)
	a.num(KeyHostInputTokens, sum.Input)
	if priced {
		*a = append(*a, otlp.Float(KeyCost, cost))
	}
	return events
}

// usageEvent tells of usage that has no span of its own.
func usageEvent(c *hook.LLMCall, at time.Time) *tracepb.Span_Event {
	source := "deleted"
	if c.Kind == hook.CallSubagents {
		source = "subagents"
	}
	a := attrs{text(KeyUsageSource, source)}
	a.num(KeyInputTokens, c.Usage.TotalInput())
	a.num(KeyOutputTokens, c.Usage.Output)
	a.num(KeyCacheReadTokens, c.Usage.CacheRead)
	a.num(KeyCacheWriteTokens, c.Usage.CacheWrite)
	if c.Usage.CostUSD != nil {
		a = append(a, otlp.Float(KeyCost, *c.Usage.CostUSD))
	}
	return &tracepb.Span_Event{Name: EventUsage, TimeUnixNano: otlp.UnixNano(at), Attributes: a}
}

// transcriptResult finds the result of a call whose payload hid it. Results
// with one key are taken in the order of the calls.
func (m *mapping) transcriptResult(c *call) *hook.ToolResult {
	if m.results == nil {
		m.results = make(map[resultKey][]*hook.ToolResult)
		for i := range m.tr.ToolResults {
			r := &m.tr.ToolResults[i]
			if !r.At.IsZero() && !m.holds(r.Agent, r.Turn, r.At) {
				continue
			}
			for _, k := range m.resultKeys(r) {
				m.results[k] = append(m.results[k], r)
			}
		}
	}
	it := c.post
	if it == nil {
		it = c.pre
	}
	agent := ""
	if it.ParentAgent != "" {
		agent = it.Agent
	}
	k := resultKey{agent: agent, toolKey: keyOf(it)}
	if rs := m.results[k]; len(rs) > 0 {
		m.results[k] = rs[1:]
		return rs[0]
	}
	return nil
}
