package otelmap

import (
	"cmp"
	"hash/maphash"
	"slices"
	"time"

	"github.com/hookspan/hookspan/hook"
)

// What belongs to one call is found here and nowhere else: its start, its end and the
// question about it among the hooks' events, and its result in the host's files. The order
// of trust is that of hook.CallKey: the id with the input, the id with the tool, the id.
// Where the hooks give no ids, the tool with its input counts, in order.

// keyOf is by what the call of an event is known.
func keyOf(it *item) hook.CallKey {
	return hook.CallKey{ID: it.Tool.ID, Name: it.Tool.Name, Input: it.Tool.input}
}

// pairing finds the calls of one agent among its hooks' events.
type pairing struct {
	calls []*call
	open  hook.OpenCalls[*call]
	// failed are the calls whose latest ends, by the keys of these, are failures.
	failed map[hook.CallKey]*call
	// unasked are the calls of each tool that may still be asked about, questions the
	// newest questions by their hashes.
	unasked   map[string][]*call
	questions map[uint64]*item
	allowed   map[*item]*item // as in joined
}

// pair finds the calls of one agent, in the order of their first events, and adds to allowed the
// user's answers to the questions about them.
func pair(items []*item, allowed map[*item]*item) []*call {
	p := &pairing{
		failed: make(map[hook.CallKey]*call), unasked: make(map[string][]*call), questions: make(map[uint64]*item), allowed: allowed,
	}
	for i, it := range items {
		if it.Tool == nil {
			continue
		}
		switch it.Kind {
		case hook.KindToolStart:
			c := &call{pre: it}
			if i+1 < len(items) {
				c.next = items[i+1]
			}
			p.calls = append(p.calls, c)
			p.open.Start(keyOf(it), c)
			p.unasked[it.Tool.Name] = append(p.unasked[it.Tool.Name], c)
		case hook.KindToolEnd:
			p.end(it)
		case hook.KindPermission:
			p.ask(it)
		case hook.KindNote:
			if c, ok := p.open.Newest(it.Tool.ID); ok && c.asked != nil {
				p.allowed[c.asked] = it
			}
		}
	}
	return p.calls
}

func (p *pairing) end(it *item) {
	k := keyOf(it)
	c, begun := p.open.End(k)
	if before := p.failed[k]; !begun && before != nil && before.echo == nil && it.end.Status == hook.ToolOK {
		before.echo = it // Claude Code runs an organisation's hooks for a failure and for a success
		return
	}
	if !begun {
		c = &call{}
		p.calls = append(p.calls, c)
	}
	c.post = it
	if delete(p.failed, k); k.ID != "" && it.end.Status.Failed() {
		p.failed[k] = c
	}
}

// ask notes a question about a call. With an id only that is certain: the question may name
// another tool. Without one it may spell the input differently (a path made absolute), so
// that the oldest call of the tool counts if no input is equal, unless an equal question was
// asked just before and this one may be its copy.
func (p *pairing) ask(it *item) {
	before := p.questions[it.Hash]
	p.questions[it.Hash] = it
	copied := before != nil && it.StoredAt().Sub(before.StoredAt()) <= repeatWithin
	name := it.Tool.Name
	open := slices.DeleteFunc(p.unasked[name], func(c *call) bool { return c.post != nil || c.asked != nil })
	p.unasked[name] = open
	var c *call
	switch i := slices.IndexFunc(open, func(c *call) bool { return it.Tool.input == c.pre.Tool.input }); {
	case it.Tool.ID != "":
		c, _ = p.open.Newest(it.Tool.ID)
	case i >= 0:
		c = open[i]
	case len(open) > 0 && !copied:
		c = open[0]
	}
	switch {
	case c == nil:
	case c.asked == nil:
		c.asked = it
	default: // as about its folder before
		delete(p.allowed, c.asked)
	}
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

// results are what the host's files say of a run's calls. Each is one call's.
type results struct {
	j *joined
	// by are the results by agent and key, in order: those with a time first. Those of
	// anyAgent have a time, and no id in the key.
	by    map[resultKey][]*hook.ToolResult
	of    map[string][]*hook.ToolResult // those with a time by agent
	taken map[*hook.ToolResult]bool
	// cleaner cleans what comes from the files, nil until something does: several
	// destinations may map at once.
	cleaner *Builder
}

type resultKey struct {
	agent string
	hook.CallKey
}

// anyAgent is an agent of resultKey: where hooks name no calls, they may not name the
// subagents either.
const anyAgent = "\x00"

// readResults gathers the run's results.
func (j *joined) readResults() *results {
	t := &results{j: j, by: make(map[resultKey][]*hook.ToolResult), of: make(map[string][]*hook.ToolResult), taken: make(map[*hook.ToolResult]bool)}
	add := func(r *hook.ToolResult, agent string, k hook.CallKey) {
		key := resultKey{agent, k}
		t.by[key] = append(t.by[key], r)
	}
	for _, r := range slices.Concat(j.own.results, j.files.timeless) {
		if r.At.IsZero() && r.Text == "" && (r.Status == hook.ToolUnknown || !r.Asked.IsZero()) {
			continue // the call has none
		}
		k := hook.CallKey{ID: r.ID, Name: r.Name, Input: maphash.String(j.seed, r.Input)}
		for _, key := range k.Keys() {
			add(r, r.Agent, key)
		}
		if r.ID != "" && j.opts.Agent.Unnamed {
			add(r, anyAgent, k)
		}
		k.ID = ""
		if r.ID != "" {
			add(r, r.Agent, k)
		}
		if !r.At.IsZero() {
			t.of[r.Agent] = append(t.of[r.Agent], r)
			if j.opts.Agent.Unnamed {
				add(r, anyAgent, k)
			}
		}
	}
	return t
}

// clean returns an event from the files with its texts cleaned.
func (t *results) clean(e hook.Event) *item {
	if t.cleaner == nil {
		t.cleaner = NewBuilder(t.j.host, t.j.session, t.j.opts, Carry{})
		t.cleaner.seed = t.j.seed
	}
	return t.cleaner.clean(e)
}

// free returns the results with a key that no call has taken.
func (t *results) free(k resultKey) []*hook.ToolResult {
	list := t.by[k]
	for len(list) > 0 && t.taken[list[0]] {
		list = list[1:]
	}
	t.by[k] = list
	return list
}

// take makes a result a call's.
func (t *results) take(c *call, r *hook.ToolResult) { c.result, t.taken[r] = r, true }

// assign finds the calls of one agent and gives each its result in the host's files. The
// calls that only the files have are among them.
func (t *results) assign(items []*item, agent string) []*call {
	calls := pair(items, t.j.allowed)
	if t.j.opts.Agent.Unnamed {
		calls = joinRewritten(t.pairEqual(calls))
		for _, c := range calls {
			t.nameCall(c)
		}
	}
	calls = append(calls, t.lateEnds(calls, agent)...)
	for _, c := range calls {
		t.j.toolTimes(c)
	}
	t.claim(agent, calls)
	if more := t.unreportedCalls(calls, agent); len(more) > 0 {
		// Calls with one id get its ordinals in the order in which they were made.
		calls = append(calls, more...)
		slices.SortStableFunc(calls, func(x, y *call) int { return cmp.Compare(x.madeAt(), y.madeAt()) })
	}
	return calls
}

// nameCall gives a call the oldest result that fits it, if it is that of a subagent which the
// hooks do not name, or if they do not name the call.
func (t *results) nameCall(c *call) {
	// If a hook has changed the input, the files have one or the other.
	for _, it := range []*item{c.post, c.pre} {
		if it == nil || c.result != nil || it.Tool.ID != "" && len(t.free(resultKey{it.Agent, keyOf(it)})) > 0 {
			continue
		}
		for _, r := range t.free(resultKey{anyAgent, keyOf(it)}) {
			if t.fits(r, it) {
				t.take(c, r)
				c.named = true
				break
			}
		}
	}
}

// fits reports whether a result may be that of an event's call: a subagent that the hooks
// name makes its calls itself.
func (t *results) fits(r *hook.ToolResult, it *item) bool {
	marked := it.ParentAgent != "" || t.j.run.agents[r.Agent] != nil
	return !t.taken[r] && (!marked || r.Agent == it.Agent)
}

// manyOpen bounds the equal calls in progress among which an end's is looked for.
const manyOpen = 64

// pairEqual pairs the starts and ends of equal calls again, which no id distinguishes, since
// there is none or each agent counts its own, if the host's files do: each start takes a result in order, and an end belongs to the call
// whose result has its outcome and is nearest to it. A call that was denied has no end.
func (t *results) pairEqual(calls []*call) []*call {
	groups := make(map[hook.CallKey][]*call)
	for _, c := range calls {
		k := keyOf(c.event())
		groups[k] = append(groups[k], c)
	}
	paired := make(map[*call]bool) // ends that had no start
	for _, c := range calls {
		k := keyOf(c.event())
		group := groups[k]
		delete(groups, k)
		if len(group) < 2 {
			continue
		}
		if found := t.free(resultKey{anyAgent, k}); len(found) > 0 {
			slices.SortStableFunc(found, func(x, y *hook.ToolResult) int { return x.Asked.Compare(y.Asked) })
			for _, c := range t.pairGroup(group, found) {
				paired[c] = true
			}
		}
	}
	return slices.DeleteFunc(calls, func(c *call) bool { return c.pre == nil && paired[c] })
}

// pairGroup pairs the starts and ends of calls with one key. It returns the ends without a
// start that have one now.
func (t *results) pairGroup(group []*call, found []*hook.ToolResult) (paired []*call) {
	type end struct {
		it   *item
		from *call
	}
	var ends []end
	var started []*call
	for _, c := range group {
		if c.post != nil {
			ends = append(ends, end{c.post, c})
		}
		if c.pre == nil {
			continue
		}
		started = append(started, c)
		for len(found) > 0 && c.result == nil {
			if r := found[0]; t.fits(r, c.pre) && !c.before(r) {
				t.take(c, r)
				c.named = true
			}
			found = found[1:]
		}
	}
	slices.SortStableFunc(ends, func(x, y end) int { return cmp.Compare(x.it.at(), y.it.at()) })
	for _, c := range started {
		c.post = nil
	}
	var open []*call
	for _, e := range ends {
		for len(started) > 0 && started[0].pre.at() <= e.it.at() {
			if r := started[0].result; r == nil || r.Status != hook.ToolDenied {
				open = append(open, started[0])
			}
			started = started[1:]
		}
		if len(open) == 0 {
			// The files contradict the hooks, which count.
			if e.from.pre != nil && e.from.post == nil {
				e.from.post = e.it
			}
			continue
		}
		best := 0
		for i := range open[:min(len(open), manyOpen)] {
			if open[i].distance(e.it) < open[best].distance(e.it) {
				best = i
			}
		}
		open[best].post = e.it
		open = slices.Delete(open, best, best+1)
		paired = append(paired, e.from)
	}
	return paired
}

// distance is how little an end fits a call by the call's result: the time between them,
// and more than any time if the outcomes differ or there is no result.
func (c *call) distance(end *item) instant {
	if c.result == nil {
		return always
	}
	apart := instantOf(c.result.At) - end.at()
	if apart < 0 {
		apart = -apart
	}
	if s := c.result.Status; s != hook.ToolUnknown && end.end.Status != hook.ToolUnknown && s.Failed() != end.end.Status.Failed() {
		apart += always / 4
	}
	return apart
}

// claim gives each of an agent's calls its result in the host's files, by the narrowest key
// that fits.
func (t *results) claim(agent string, calls []*call) {
	if len(t.by) == 0 {
		return
	}
	byID, byKey := make(map[string][]*call), make(map[hook.CallKey][]*call)
	for _, c := range calls {
		byID[c.id()] = append(byID[c.id()], c)
	}
	for width := range 3 {
		var keys []hook.CallKey
		groups := make(map[hook.CallKey][]*call)
		for _, c := range calls {
			all := keyOf(c.event()).Keys()
			if width >= len(all) {
				continue
			}
			k := all[width]
			if byKey[k] = append(byKey[k], c); c.result == nil {
				keys, groups[k] = append(keys, k), append(groups[k], c)
			}
		}
		for _, k := range keys {
			all := byKey[k]
			if k.ID != "" && k.Input == 0 {
				all = byID[k.ID]
			}
			t.share(groups[k], all, resultKey{agent, k})
			delete(groups, k)
		}
	}
}

// share gives calls with one key the results with it. all are the calls with the key or,
// where that has no input, with its id, with those that have a result by a narrower one.
func (t *results) share(calls, all []*call, k resultKey) {
	if len(calls) == 0 {
		return
	}
	found := slices.Clone(t.free(k))
	found = slices.DeleteFunc(found, func(r *hook.ToolResult) bool { return t.taken[r] })
	// Without the input an id says little if it comes again.
	again := k.ID != "" && k.Input == 0 && len(all)+len(found) > 2
	if again || len(found) < len(calls) {
		t.shareByTime(all, calls, found, again)
		return
	}
	more := len(found) - len(calls)
	for _, c := range calls {
		for ; more > 0 && c.before(found[0]); more-- {
			found = found[1:] // that of a call which no hook reported
		}
		if k.ID != "" && k.Input == 0 && (c.after(found[0]) || c.post == nil && t.askedFor(found[0]).After(c.start.Time())) {
			continue // the id was that of a call which no hook reported
		}
		t.take(c, found[0])
		found = found[1:]
	}
}

// shareByTime gives each result to the call of all that had begun last before it, if that is one
// of calls and has none: of the others it is not known what became of them. If again is set, the
// model must not have asked for the call later.
func (t *results) shareByTime(all, calls []*call, found []*hook.ToolResult, again bool) {
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(x, y *call) int { return cmp.Compare(x.start, y.start) })
	may := make(map[*call]bool, len(calls))
	for _, c := range calls {
		may[c] = true
	}
	for _, r := range found {
		if c, ok := hook.Newest(all, r.At.Add(time.Millisecond), func(c *call) time.Time { return c.start.Time() }); ok && may[c] && c.result == nil &&
			!(again && t.askedFor(r).After(c.start.Time())) {
			t.take(c, r)
		}
	}
}

// unreportedCalls returns the calls of an agent that only the host's files have:
// some hosts run no hook for a tool that does not exist or an invalid input.
func (t *results) unreportedCalls(calls []*call, agent string) []*call {
	// Without ids it cannot be known which calls of the files are the reported ones.
	if !t.j.turns() && slices.ContainsFunc(calls, func(c *call) bool { return !c.named && c.id() == "" }) {
		return nil
	}
	var out []*call
	asked := make(map[string]time.Time)
	for _, own := range t.of[agent] {
		if own.ID == "" || t.taken[own] {
			continue
		}
		r := *own
		r.Asked = t.askedFor(own)
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
		c := &call{post: t.clean(e), unreported: true}
		t.take(c, own)
		t.j.toolTimes(c)
		out = append(out, c)
	}
	return out
}

// askedFor returns when the reply that asked for a call was complete, zero if that is not known.
func (t *results) askedFor(r *hook.ToolResult) time.Time {
	if !r.Asked.IsZero() {
		return r.Asked
	}
	asked, known := hook.Newest(t.j.files.asked[callKey{r.Agent, r.ID}], r.At, asking.at)
	if !known {
		return time.Time{}
	}
	return asked.at()
}
