package otelmap

import (
	"cmp"
	"hash/maphash"
	"slices"
	"sort"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/hook"
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
	// result is the call's result in the host's files, if the events lack it. named is
	// the one that names the call, if they name none.
	result, named *hook.ToolResult
	span          trace.SpanID
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
	if c.named != nil {
		return c.named.Agent
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
	if id := c.tool().ID; id != "" || c.named == nil {
		return id
	}
	return c.named.ID
}

// toolKey is what the two ends of a call have in common: the call's id, or the
// tool and its input if the host gives no id.
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
	if m.opts.Agent.Unnamed {
		calls = joinRewritten(m.pairEqual(calls))
		for _, c := range calls {
			if c.named == nil {
				c.named = m.unnamedResult(c)
			}
		}
	}
	if more := m.unreportedCalls(calls, agent); len(more) > 0 {
		// Calls with one id get its ordinals in the order in which they were made.
		calls = append(calls, more...)
		slices.SortStableFunc(calls, func(x, y *call) int { return cmp.Compare(x.madeAt(), y.madeAt()) })
	}
	seen := make(map[string]int)
	for _, c := range calls {
		c.span = m.run.ID.spanID("tool", c.identify(agent, seen))
		m.toolTimes(c)
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
				if c.post == nil && c.result == nil && s.post != nil && !m.open {
					c.end = min(c.end, s.end) // it was denied, or never ran
				}
				break
			}
		}
	}
}

// calls finds the calls of one agent, in the order of their first events.
func (b *Builder) calls(items []*item) []*call {
	calls := match(items)
	if b.opts.Agent.Unnamed {
		calls = joinRewritten(calls)
	}
	return calls
}

// askedTwice reports whether an equal question was asked just before.
func askedTwice(questions map[uint64]*item, it *item) bool {
	before := questions[it.Hash]
	questions[it.Hash] = it
	return before != nil && it.StoredAt().Sub(before.StoredAt()) <= repeatWithin
}

// joinRewritten joins the ends that no start fits, as a hook has changed the input,
// with the newest start before them of that tool that has no end.
func joinRewritten(calls []*call) []*call {
	out := calls[:0]
	open := make(map[string][]*call)
	for _, c := range calls {
		switch name := c.tool().Name; {
		case c.post == nil:
			open[name] = append(open[name], c)
		case c.pre == nil && len(open[name]) > 0:
			last := len(open[name]) - 1
			open[name][last].post = c.post
			open[name] = open[name][:last]
			continue
		}
		out = append(out, c)
	}
	return out
}

// askedAbout returns the one of a tool's calls without an end that the host asks the user
// about, or nil. The question may spell the input differently (a path made absolute), so
// that the oldest counts if no input is equal, unless the question may be a copy.
func askedAbout(open []*call, it *item, copied bool) *call {
	i := slices.IndexFunc(open, func(c *call) bool { return it.input == c.pre.input })
	if len(open) == 0 || i < 0 && copied {
		return nil
	}
	return open[max(0, i)]
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

// unreportedCalls returns the calls of an agent that only the host's files have:
// some hosts run no hook for a tool that does not exist or an invalid input. Some models
// number their calls anew in every reply, so that an id is that of as many calls as the
// model asked for.
func (m *mapping) unreportedCalls(calls []*call, agent string) []*call {
	known := make(map[string][]*call)
	for _, c := range calls {
		if c.named == nil {
			known[c.id()] = append(known[c.id()], c)
		}
	}
	// Without ids it cannot be known which calls of the files are the reported ones.
	if !m.turns() && known[""] != nil {
		return nil
	}
	reported := m.reported(agent, known)
	var out []*call
	asked := make(map[string]time.Time)
	for _, own := range m.resultsOf(agent) {
		if own.ID == "" || m.taken[own] || reported[own] {
			continue
		}
		r := *own
		if by := m.files.asked[callKey{agent, r.ID}]; own.Asked.IsZero() {
			if n := sort.Search(len(by), func(i int) bool { return by[i].After(r.At) }); n > 0 {
				r.Asked = by[n-1]
			}
		}
		if r.Asked.IsZero() || asked[r.ID].Equal(r.Asked) {
			continue
		}
		asked[r.ID] = r.Asked
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
		out = append(out, &call{post: m.cleaner().clean(e), unreported: true})
	}
	return out
}

// reported returns those results in the files that are of calls that the hooks report, which
// known has by id. Of the results with one id those with a call's input are the call's, then
// the first ones.
func (m *mapping) reported(agent string, known map[string][]*call) map[*hook.ToolResult]bool {
	c := claims{lists: make(map[resultKey][]*hook.ToolResult), taken: make(map[*hook.ToolResult]bool)}
	for _, r := range m.resultsOf(agent) {
		if known[r.ID] != nil {
			c.add(r, toolKey{id: r.ID}, toolKey{r.ID, r.Name, maphash.String(m.seed, r.Input)})
		}
	}
	for id, calls := range known {
		left := slices.DeleteFunc(slices.Clone(calls), func(one *call) bool {
			return c.claim(agent, toolKey{id, one.tool().Name, one.event().input}) != nil
		})
		for range left {
			c.claim(agent, toolKey{id: id})
		}
	}
	return c.taken
}

// claims are results in the host's files by their keys, in order, each of which one call
// takes.
type claims struct {
	lists map[resultKey][]*hook.ToolResult
	taken map[*hook.ToolResult]bool
}

func (c *claims) add(r *hook.ToolResult, keys ...toolKey) {
	for _, k := range keys {
		key := resultKey{r.Agent, k}
		c.lists[key] = append(c.lists[key], r)
	}
}

// claim returns the first result with the first of the keys that no call has taken, or nil.
func (c *claims) claim(agent string, keys ...toolKey) *hook.ToolResult {
	for _, k := range keys {
		key := resultKey{agent, k}
		list := c.lists[key]
		for len(list) > 0 && c.taken[list[0]] {
			list = list[1:]
		}
		if c.lists[key] = list; len(list) > 0 {
			c.taken[list[0]] = true
			return list[0]
		}
	}
	return nil
}

// resultsOf returns the results of an agent that belong to the run.
func (m *mapping) resultsOf(agent string) []*hook.ToolResult {
	if m.agentResults == nil {
		m.agentResults = make(map[string][]*hook.ToolResult)
		for _, r := range m.fromFiles.results {
			m.agentResults[r.Agent] = append(m.agentResults[r.Agent], r)
		}
	}
	return m.agentResults[agent]
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
