package otelmap

import (
	"cmp"
	"slices"
	"strings"

	"go.opentelemetry.io/otel/trace"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/otelmap/spanid"
)

// call is one tool call: either end may be missing.
type call struct {
	pre, post *item
	// next is the event after pre. It bounds a call that has no end, because the
	// tools of one agent run one after another.
	next *item
	// echo is the success that was reported after post, a failure.
	echo *item
	// asked is the host's question whether the call may run.
	asked *item
	// result is the call's result in the host's files. used is the same if the events lack the
	// end, its text or its status. named reports that the events give the call no id and that
	// the result names it.
	result, used *hook.ToolResult
	named        bool
	span         trace.SpanID
	// start and end bound the execution.
	start, end instant
	// unreported says that only the host's files have the call.
	unreported bool
	// within is the call of a script that made this one, nested how many such calls are known.
	within *call
	nested int
}

// event returns the event that has the most to say about the call.
func (c *call) event() *item {
	if c.post != nil {
		return c.post
	}
	return c.pre
}

func (c *call) tool() *toolEvent { return c.event().Tool }

// madeAt returns when the call was made, as far as is known.
func (c *call) madeAt() instant {
	switch {
	case c.pre != nil:
		return c.pre.at()
	case !c.post.Tool.Started.IsZero():
		return instantOf(c.post.Tool.Started)
	}
	return c.post.at()
}

// agent is the id of the subagent that made the call, "" for the lead agent.
func (c *call) agent() string {
	if it := c.event(); it.ParentAgent != "" {
		return it.Agent
	}
	if c.named {
		return c.result.Agent
	}
	return ""
}

// started is the subagent that the call started, if its end names it.
func (c *call) started() string {
	if c.post == nil {
		return ""
	}
	return c.post.Tool.Agent
}

// id is the call's id, empty if nobody gives one.
func (c *call) id() string {
	if id := c.tool().ID; id != "" || !c.named {
		return id
	}
	return c.result.ID
}

// agentCalls finds the calls of one agent and plans their spans.
func (m *mapping) plannedCalls(items []*item, agent string) []*call {
	calls := m.assign(items, agent)
	seen := make(map[string]int)
	for _, c := range calls {
		c.span = m.run.ID.spanID("tool", c.identify(agent, seen))
		m.findResult(c)
	}
	m.nest(calls)
	for _, c := range calls {
		m.toolSpan(c)
	}
	return calls
}

// maxScripts bounds the scripts among which that of a call is looked for.
const maxScripts = 16

// nest finds the scripts that made calls: of those at work when a call began, the newest.
func (m *mapping) nest(calls []*call) {
	t := &m.opts.Agent
	if t.Script == "" {
		return
	}
	var scripts []*call
	for _, c := range calls {
		if c.tool().Name == t.Script {
			scripts = append(scripts, c)
		}
	}
	slices.SortStableFunc(scripts, func(x, y *call) int { return cmp.Compare(x.start, y.start) })
	for _, c := range calls {
		if !strings.HasPrefix(c.id(), t.Nested) {
			continue
		}
		after, _ := slices.BinarySearchFunc(scripts, c.start, func(s *call, at instant) int {
			if s.start <= at {
				return -1
			}
			return 1
		})
		before := scripts[max(0, after-maxScripts):after]
		for _, s := range slices.Backward(before) {
			if s.end >= c.start {
				c.within = s
				s.nested++
				if c.post == nil && c.used == nil && s.post != nil && !m.open {
					c.end = min(c.end, s.end) // it was denied, or never ran
				}
				break
			}
		}
	}
}

// identify returns the call's identity within its agent. Later events do not change it. Some models
// number their calls anew in every reply, so that an id needs its ordinal.
func (c *call) identify(agent string, seen map[string]int) (key string) {
	t := c.tool()
	base := cmp.Or(t.ID, "name:"+t.Name)
	key = spanid.Call(agent, t.ID, t.Name, seen[base])
	seen[base]++
	return key
}

// cleaner cleans what comes from the host's files: several destinations may map at once.
func (m *mapping) cleaner() *Builder {
	if m.filesBuilder == nil {
		m.filesBuilder = NewBuilder(m.host, m.session, m.opts, Carry{})
		m.filesBuilder.seed = m.seed
	}
	return m.filesBuilder
}

// toolSpan plans the call's span and counts the call.
func (m *mapping) toolSpan(c *call) {
	out := m.toolOutcome(c)
	parent := m.agents[c.agent()]
	if c.within != nil {
		parent = c.within.span
	}
	m.noteStart(c)
	m.callsBy[c.agent()] = append(m.callsBy[c.agent()], c)
	m.plan(c.span, parent, c.start.Time(), c.end.Time(), func() *tracepb.Span { return m.toolMessage(c) })
	if c.nested > 0 && out.failure != m.opts.Agent.ToolError {
		return // its calls count
	}
	m.toolCalls++
	if out.unknown {
		m.toolUnknown++
	}
	if out.failure != "" {
		m.toolFailures++
	}
}

func (m *mapping) toolMessage(c *call) *tracepb.Span {
	t := c.tool()
	input, _, out := m.callTexts(c)
	op, workflow := OpExecuteTool, ""
	if c.nested > 0 && out.failure != m.opts.Agent.ToolError {
		op, workflow = OpInvokeWorkflow, t.Name
	}
	server, method := c.mcpServer(), ""
	if server != "" {
		method = mcpCall
	}
	a := texts(
		KeyOperation, op,
		KeyWorkflowName, workflow,
		KeyConversationID, m.session,
		KeyAgentName, m.agentName(c.agent()),
		KeyToolName, t.Name,
		KeyToolType, m.toolType(c),
		KeyToolCallID, c.id(),
		KeyToolArguments, input,
		KeyMCPMethod, method,
		KeyMCPServer, server,
		KeyFolder, m.folder(c),
	)
	if out.failure == "" {
		a.texts(KeyToolResult, out.result)
	}
	switch {
	case out.running:
		a.texts(KeyToolOutcome, ToolOutcomeRunning)
	case out.unknown:
		a.texts(KeyToolOutcome, ToolOutcomeUnknown)
	}
	if c.post != nil && t.Duration >= 0 {
		a.num(KeyHostDuration, t.Duration.Milliseconds())
	}
	if c.post != nil && len(m.commits[c.post.Hash]) > 0 {
		a = append(a, otlp.Strings(KeyCommits, m.commits[c.post.Hash]))
	}
	a.facts(&m.opts, c.pre, c.post)
	if out.denied != nil {
		a.texts(KeyHookDeniedBy, out.denied.Answer.By)
	} else if rec := m.ran[c.pre]; rec != nil {
		a.flag(KeyHookInputChanged, rec.Answer.InputChanged)
	}
	s := newSpan(op, t.Name, a)
	if c.asked != nil {
		s.Events = append(s.Events, m.event(EventPermission, c.asked, "", 0))
	}
	s.Events = append(s.Events, m.callHooks(c)...)
	if out.failure != "" {
		// What a failed call returned is no result.
		failWith(s, out.failure, out.message, cmp.Or(out.result, out.message), max(c.start, c.end).Time())
	}
	return s
}

// mcpCall is the method of the protocol that calls a tool.
const mcpCall = "tools/call"

// mcpServer returns the MCP server of a call's tool, "" if it is no server's.
func (c *call) mcpServer() string {
	for _, it := range []*item{c.pre, c.post} {
		if it == nil {
			continue
		}
		for _, f := range it.Attrs {
			if name, ok := f.Value.(string); ok && f.Key == KeyMCPServer {
				return name
			}
		}
	}
	return ""
}

// mcpServer returns the server in the name of a tool, mcp__server__tool, which most agents
// use.
func mcpServer(tool, _ string) string {
	if rest, ok := strings.CutPrefix(tool, "mcp__"); ok {
		if server, _, ok := strings.Cut(rest, "__"); ok {
			return server
		}
	}
	return ""
}

// toolType says who ran a call's tool: the provider or, as its hooks ran for the call, the
// client. It is empty if that is not known.
func (m *mapping) toolType(c *call) string {
	switch {
	case slices.Contains(m.opts.Agent.Extensions, c.tool().Name):
		return "extension"
	case c.unreported && c.tool().Name != m.opts.Agent.Script:
		return ""
	}
	return "function"
}

// toolTimes bounds the execution: by the host's exact times if it gives them,
// else by the two events, else by the end and the host's duration.
func (m *mapping) toolTimes(c *call) {
	switch {
	case c.post == nil:
		c.start, c.end = c.pre.at(), instantOf(m.end)
		// Tools of one turn run at the same time, so that the next event does not
		// bound the call.
		if c.next != nil && !m.turns() {
			c.end = c.next.at()
		}
	case !c.post.Tool.Started.IsZero():
		c.start, c.end = instantOf(c.post.Tool.Started), instantOf(c.post.Tool.Ended)
		if c.end == never {
			c.end = c.post.at()
		}
	case c.pre != nil:
		c.start, c.end = c.pre.at(), c.post.at()
	default:
		c.end = c.post.at()
		c.start = instantOf(c.end.Time().Add(-max(0, c.post.Tool.Duration)))
	}
}
