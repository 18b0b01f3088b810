package otelmap

import (
	"cmp"
	"slices"
	"sort"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"

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
	// asked is the host's first question whether the call may run, as for its folder before its file.
	asked *item
	// result is the call's result in the host's files.
	result *hook.ToolResult
	span   trace.SpanID
	// start and end bound the execution.
	start, end instant
	// within is the call of a script that made this one, nested how many such calls are known.
	within *call
	nested int32
	// list is the place of the agent that has its events, place that among the agent's calls.
	list, place int32
	// used reports that the result counts, as the events lack the end, its text or its status,
	// named that the events give the call no id and that the result names it.
	used, named bool
	// unreported says that only the host's files have the call.
	unreported bool
	fate       fate
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
	case !c.post.end.Started.IsZero():
		return instantOf(c.post.end.Started)
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
	return c.post.end.Agent
}

// id is the call's id, empty if neither the hooks nor the files have one.
func (c *call) id() string {
	if id := c.tool().ID; id != "" || !c.named {
		return id
	}
	return c.result.ID
}

// joinCalls finds the calls among an agent's events, how they ended and who made them.
func (j *joined) joinCalls(a *actor, t *results) {
	a.calls = t.assign(a.items, a.id)
	j.planned = slices.Grow(j.planned, len(a.calls)+1)
	seen := make(map[string]int)
	for _, c := range a.calls {
		c.span = j.run.ID.spanID("tool", c.identify(a.id, seen))
		j.decide(c)
	}
	j.nest(a.calls)
	for _, c := range a.calls {
		by := j.actor(c.agent())
		by.add(c)
		parent := by.span
		switch {
		case c.within != nil:
			parent = c.within.span
		case !parent.IsValid():
			parent = a.span // the agent that made it is of another run
		}
		j.plan(c.span, parent, c.start.Time(), c.end.Time(), c)
		if c.script() {
			continue // its calls count
		}
		j.toolCalls++
		if c.fate == fateUnknown {
			j.toolUnknown++
		}
		if j.failure(c) != "" {
			j.toolFailures++
		}
	}
}

// maxScripts bounds the scripts among which that of a call is looked for.
const maxScripts = 16

// nest finds the scripts that made calls: that which a call's id names, else of those at work
// when the call began the newest.
func (j *joined) nest(calls []*call) {
	t := &j.opts.Agent
	if t.Within != "" {
		made := make(map[string]*call)
		for _, c := range calls { // a script begins before the calls that it makes
			if i := strings.LastIndex(c.id(), t.Within); i > 0 && made[c.id()[:i]] != nil {
				c.within = made[c.id()[:i]]
				c.within.nested++
			}
			made[c.id()] = c
		}
	}
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
		after := sort.Search(len(scripts), func(i int) bool { return scripts[i].start > c.start })
		for _, s := range slices.Backward(scripts[max(0, after-maxScripts):after]) {
			if s.end >= c.start {
				c.within = s
				s.nested++
				if c.post == nil && !c.used && s.post != nil && !j.open {
					c.end = min(c.end, s.end) // it was denied, or never ran
				}
				break
			}
		}
	}
}

// before reports that a result is from before the call: it is that of one that no hook
// reported.
func (c *call) before(r *hook.ToolResult) bool {
	return c.pre != nil && instantOf(r.At) < c.pre.at()-instant(agentLag)
}

// after reports that the call certainly began after a result. The end alone may be late.
func (c *call) after(r *hook.ToolResult) bool {
	lag := time.Millisecond // the precision of the files
	if c.pre == nil {
		lag = agentLag
	}
	return !r.At.IsZero() && r.At.Add(lag).Before(c.start.Time())
}

// lateEnds takes from an agent's calls the ends that came behind its end with another input than the
// start's, if the files have the result of the start's: of either call a hook was lost, since
// agents wait for the hooks of a call.
func (t *results) lateEnds(calls []*call, agent string) (ends []*call) {
	stop := t.j.run.terminal
	if a := t.j.run.agents[agent]; a != nil {
		stop = a.ended
	}
	for _, c := range calls {
		if stop == nil || c.pre == nil || c.post == nil || c.pre.Tool.input == c.post.Tool.input || c.post.at() <= stop.at() ||
			len(t.free(resultKey{agent, keyOf(c.pre)})) == 0 {
			continue
		}
		ends = append(ends, &call{post: c.post})
		c.post = nil
	}
	return ends
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

// script reports that the call ran a script, which made calls.
func (c *call) script() bool { return c.nested > 0 && c.fate != fateFailed }

// toolTimes bounds the execution: by the host's exact times if it gives them,
// else by the two events, else by the end and the host's duration.
func (j *joined) toolTimes(c *call) {
	switch {
	case c.post == nil:
		c.start, c.end = c.pre.at(), instantOf(j.end)
		// Tools of one turn run at the same time, so that the next event does not
		// bound the call.
		if c.next != nil && !j.turns() {
			c.end = c.next.at()
		}
	case !c.post.end.Started.IsZero():
		c.start, c.end = instantOf(c.post.end.Started), instantOf(c.post.end.Ended)
		if c.end == never {
			c.end = c.post.at()
		}
	case c.pre != nil:
		c.start, c.end = c.pre.at(), c.post.at()
	default:
		c.end = c.post.at()
		c.start = instantOf(c.end.Time().Add(-max(0, c.post.end.Duration)))
	}
}
