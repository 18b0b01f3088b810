package otelmap

import (
	"cmp"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/trace"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/hook"
)

// call is one tool call: either end may be missing.
type call struct {
	pre, post *item
	// next is the event after pre, which bounds a call that never reported an
	// end: tools of one agent that run one after another are over when the next
	// event comes.
	next *item
	// asked is the host's question whether the call may run.
	asked *item
	// key is the call's identity within its agent.
	key  string
	span trace.SpanID
	// start and end bound the execution.
	start, end time.Time
}

func (c *call) tool() *hook.Tool {
	if c.post != nil {
		return c.post.Tool
	}
	return c.pre.Tool
}

// toolKey is what the two ends of a call have in common when the host gives no
// call id.
type toolKey struct {
	id, name string
	input    uint64
}

func keyOf(it *item) toolKey {
	if it.Tool.ID != "" {
		return toolKey{id: it.Tool.ID}
	}
	return toolKey{name: it.Tool.Name, input: it.input}
}

// pair matches the starts and ends of one agent's tools and adds their spans.
func (m *mapping) pair(items []*item, agent string) []*call {
	calls := match(items)
	calls = append(calls, m.unheard(calls, agent)...)
	seen := make(map[string]int)
	for _, c := range calls {
		c.identify(agent, seen)
		m.toolSpan(c)
	}
	return calls
}

// match finds the calls of one agent, in the order in which they are first
// heard of. Calls with one key are matched in order.
func match(items []*item) []*call {
	var calls []*call
	waiting := make(map[toolKey][]*call)
	for i, it := range items {
		if it.Tool == nil {
			continue
		}
		k := keyOf(it)
		switch it.Kind {
		case hook.KindToolStart:
			c := &call{pre: it}
			if i+1 < len(items) {
				c.next = items[i+1]
			}
			calls = append(calls, c)
			waiting[k] = append(waiting[k], c)
		case hook.KindToolEnd:
			if w := waiting[k]; len(w) > 0 {
				w[0].post, waiting[k] = it, w[1:]
				continue
			}
			calls = append(calls, &call{post: it})
		case hook.KindPermission:
			if c := askedAbout(calls, it); c != nil {
				c.asked = it
			}
		}
	}
	return calls
}

// identify gives the call its key. What is heard of the call, or of others,
// later does not change it.
func (c *call) identify(agent string, seen map[string]int) {
	t := c.tool()
	// Some models number their calls anew in every reply, so that an id is the
	// call's only together with its ordinal.
	base := t.ID
	if base == "" {
		base = "name:" + t.Name
	}
	c.key = agent + "/" + base + "/" + strconv.Itoa(seen[base])
	seen[base]++
}

// unheard are the calls of an agent that stand in the host's files and that no
// hook told of: some hosts run none for a tool that does not exist or an input
// that is not valid.
func (m *mapping) unheard(calls []*call, agent string) []*call {
	if !m.turns() {
		return nil
	}
	heard := make(map[string]bool)
	for _, c := range calls {
		heard[c.tool().ID] = true
	}
	var out []*call
	for i := range m.tr.ToolResults {
		r := &m.tr.ToolResults[i]
		if r.Agent != agent || r.ID == "" || heard[r.ID] || r.Asked.IsZero() || !m.holds(r.Agent, r.Turn, r.At) {
			continue
		}
		heard[r.ID] = true
		e := hook.Event{
			Kind: hook.KindToolEnd, StoredAt: r.At, Agent: agent,
			Tool: &hook.Tool{
				ID: r.ID, Name: r.Name, Input: r.Input, Output: r.Text, Status: r.Status,
				Started: r.Asked, Ended: r.At, Duration: -1,
			},
		}
		if agent != "" {
			e.ParentAgent = hook.ParentUnknown
		}
		out = append(out, &call{post: m.clean(e)})
	}
	return out
}

// toolSpan gives the call its times and adds its span.
func (m *mapping) toolSpan(c *call) {
	t := c.tool()
	c.span = m.run.ID.spanID("tool", c.key)
	m.toolTimes(c)
	out := m.toolOutcome(c)
	input := t.Input
	if out.denied != nil {
		input = c.pre.Tool.Input // what the other end has may be what took its place
	}

	a := attrs{
		text(KeyOperation, OpExecuteTool),
		text(KeyConversationID, m.session),
		text(KeyToolName, t.Name),
		text(KeyToolType, "function"),
	}
	a.str(KeyToolCallID, t.ID)
	a.str(KeyToolArguments, input)
	a.str(KeyToolResult, out.result)
	m.toolCalls++
	if out.unknown {
		m.toolUnknown++
		a.str(KeyToolOutcome, ToolOutcomeUnknown)
	}
	if c.post != nil && t.Duration >= 0 {
		a.num(KeyHostDuration, t.Duration.Milliseconds())
	}
	a.facts(&m.opts, c.pre, c.post)
	m.hookFacts(&a, c, out.denied)
	s := m.span(OpExecuteTool+" "+t.Name, tracepb.Span_SPAN_KIND_INTERNAL, c.span, m.agents[m.agentOf(c)], c.start, c.end, a)
	if c.asked != nil {
		s.Events = append(s.Events, m.event(EventPermission, c.asked, "", 0))
	}
	s.Events = append(s.Events, m.callHooks(c)...)
	if out.failure != "" {
		m.toolFailures++
		fail(s, out.failure, out.message, latest(c.start, c.end))
	}
	m.add(s)
}

// askedAbout is the call that the host asks the user about. It gives no id, and
// may spell the input otherwise than where the call began (a path made
// absolute), so that the tool must tell where the input does not.
func askedAbout(calls []*call, it *item) *call {
	var named *call
	for _, c := range calls {
		if c.pre == nil || c.post != nil || c.asked != nil {
			continue
		}
		switch {
		case it.Tool.ID != "":
			if it.Tool.ID == c.pre.Tool.ID {
				return c
			}
		case it.Tool.Name != c.pre.Tool.Name:
		case it.input == c.pre.input:
			return c
		case named == nil:
			named = c
		}
	}
	return named
}

// toolOutcome is what came of a call. An empty failure is success, unless the
// outcome is unknown.
type toolOutcome struct {
	result, failure, message string
	unknown                  bool
	// denied is the record of the user's hooks that denied the call, or nil.
	denied *hook.Event
}

// toolOutcome asks the end's event, and the host's files where that is missing
// or hides the text or how the call ended.
func (m *mapping) toolOutcome(c *call) toolOutcome {
	if rec := m.denial(c); rec != nil {
		return m.deniedCall(c, rec)
	}
	var out toolOutcome
	var status hook.ToolStatus
	if c.post != nil {
		out.result, out.message, status = c.post.Tool.Output, c.post.Tool.Error, c.post.Tool.Status
	}
	known := c.post != nil
	if c.post == nil || status == hook.ToolUnknown || out.result == "" && m.opts.Capture != CaptureNone {
		if r := m.transcriptResult(c); r != nil {
			out.result = cmp.Or(out.result, m.opts.text(r.Text, m.opts.MaxOutput))
			if !status.Failed() && r.Status != hook.ToolUnknown || c.post == nil {
				status = r.Status
			}
			if c.post == nil {
				known = true
				c.end = latest(c.start, r.At)
			}
		}
	}
	if !known {
		return m.unreported(c)
	}
	if status == hook.ToolCancelled && c.post == nil && c.asked != nil {
		// The host's files hold one and the same refusal for a call that ran when
		// the user broke off and for one that the user rejected when asked.
		status = hook.ToolDenied
	}
	// What the host's files hold of these is an instruction to the model.
	switch {
	case c.post != nil:
	case status == hook.ToolCancelled:
		out.message = messageCancelled
	case status == hook.ToolDenied && c.asked != nil:
		out.message = messageDenied
	}
	if status.Failed() && out.message == "" {
		out.message = out.result
	}
	switch status {
	case hook.ToolUnknown:
		out.unknown = true
	case hook.ToolDenied:
		out.failure = ErrorToolDenied
	case hook.ToolCancelled:
		out.failure = ErrorToolCancelled
	case hook.ToolFailed:
		out.failure = m.opts.Agent.ToolError
	}
	return out
}

// What is said of calls whose host says nothing fit for people.
const (
	messageDenied    = "the user was asked, and the tool never ran"
	messageCancelled = "the turn was interrupted while the tool ran"
)

// unreported is the outcome of a call of which only the beginning is known.
func (m *mapping) unreported(c *call) toolOutcome {
	switch {
	case !m.turns():
	case c.asked != nil:
		return toolOutcome{failure: ErrorToolDenied, message: messageDenied}
	case m.interrupted():
		return toolOutcome{failure: ErrorToolCancelled, message: messageCancelled}
	}
	return toolOutcome{failure: ErrorToolUnfinished, message: "the tool never reported an end"}
}

// interrupted reports that the user broke the run off.
func (m *mapping) interrupted() bool {
	outcome, _ := m.outcome()
	return outcome == OutcomeInterrupted
}

// agentOf is the key into m.agents of the agent that made the call.
func (m *mapping) agentOf(c *call) string {
	it := c.post
	if it == nil {
		it = c.pre
	}
	if it.ParentAgent == "" {
		return ""
	}
	return it.Agent
}

// toolTimes bounds the execution: the host's exact times where it gives them,
// else the moments of the two events, else the end less the host's duration.
func (m *mapping) toolTimes(c *call) {
	switch {
	case c.post == nil:
		c.start = c.pre.At()
		c.end = m.end
		// Tools of one turn run at the same time, so that the next event says
		// nothing of this call.
		if c.next != nil && !m.turns() {
			c.end = c.next.At()
		}
	case !c.post.Tool.Started.IsZero():
		c.start, c.end = c.post.Tool.Started, c.post.Tool.Ended
		if c.end.IsZero() {
			c.end = c.post.At()
		}
	case c.pre != nil:
		c.start, c.end = c.pre.At(), c.post.At()
	default:
		c.end = c.post.At()
		c.start = c.end.Add(-max(0, c.post.Tool.Duration))
	}
}
