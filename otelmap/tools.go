package otelmap

import (
	"strconv"
	"time"

	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/hookspan/hookspan/hook"
)

// call is one tool call: either end may be missing.
type call struct {
	pre, post *item
	// next is the event after pre, which bounds a call that never reported an
	// end: tools of one agent that run one after another are over when the next
	// event comes.
	next *item
	// key is the call's identity within its agent.
	key  string
	span trace.SpanContext
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

// pair matches the starts and ends of one agent's tools and adds their spans
// below parent. Calls with one key are matched in order.
func (m *mapping) pair(items []*item, agent string) []*call {
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
		}
	}
	seen := make(map[string]int)
	for _, c := range calls {
		m.toolSpan(c, agent, seen)
	}
	return calls
}

// toolSpan gives the call its identity and times and adds its span.
func (m *mapping) toolSpan(c *call, agent string, seen map[string]int) {
	t := c.tool()
	// Some models number their calls anew in every reply, so that an id is the
	// call's only together with its ordinal.
	base := t.ID
	if base == "" {
		base = "name:" + t.Name
	}
	c.key = agent + "/" + base + "/" + strconv.Itoa(seen[base])
	seen[base]++
	c.span = m.child("tool", c.key)
	m.toolTimes(c)

	result, errText, status := t.Output, t.Error, t.Status
	if c.post != nil && result == "" && m.opts.Capture != CaptureNone {
		if r := m.transcriptResult(c); r != nil {
			result = m.opts.text(r.Text, m.opts.MaxOutput)
			if status == hook.ToolOK {
				status = r.Status
			}
			if status == hook.ToolFailed && errText == "" {
				errText = result
			}
		}
	}

	a := attrs{
		KeyOperation.String(OpExecuteTool),
		KeyToolName.String(t.Name),
		KeyToolType.String("function"),
	}
	a.str(KeyToolCallID, t.ID)
	a.str(KeyToolArguments, t.Input)
	a.str(KeyToolResult, result)
	if c.post != nil && t.Duration >= 0 {
		a.num(KeyHostDuration, t.Duration.Milliseconds())
	}
	s := tracetest.SpanStub{
		Name: OpExecuteTool + " " + t.Name, SpanKind: trace.SpanKindInternal,
		SpanContext: c.span, Parent: m.agents[m.agentOf(c)],
		StartTime: c.start, EndTime: c.end, Attributes: a,
	}
	at := c.end
	if at.Before(c.start) {
		at = c.start
	}
	switch {
	case c.post == nil:
		fail(&s, ErrorToolUnfinished, "the tool never reported an end", at)
	case status == hook.ToolDenied:
		fail(&s, ErrorToolDenied, errText, at)
	case status == hook.ToolFailed:
		fail(&s, m.toolError(), errText, at)
	}
	m.add(s)
}

func (m *mapping) toolError() string {
	if m.host == "claude-code" {
		return ErrorToolFailure
	}
	return ErrorTool
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
		if c.next != nil {
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
