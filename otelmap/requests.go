package otelmap

import (
	"bytes"
	"cmp"
	"slices"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/otelmap/spanid"
)

// requests are those to the model that hooks report with the id of the response, which the
// host's files have, too.
type requests struct {
	// began are the starts by the ids of the requests.
	began map[string]time.Time
	// turns are the lead agent's by turn, agents those of subagents.
	turns, agents map[string][]*hook.Request
}

// add adds an event about a request.
func (q *requests) add(e *hook.Event) {
	if q.began == nil {
		q.began, q.turns, q.agents = make(map[string]time.Time), make(map[string][]*hook.Request), make(map[string][]*hook.Request)
	}
	c := *e.Request
	if c.ID == "" {
		if _, again := q.began[c.RequestID]; !again {
			q.began[c.RequestID] = e.At()
		}
		return
	}
	c.Turn, c.Agent, c.End = e.Turn, e.Agent, e.At()
	if began, known := q.began[c.RequestID]; known && began.Before(c.End) {
		c.Start = began
	} else if c.Start.IsZero() {
		c.Start = c.End
	}
	delete(q.began, c.RequestID)
	if c.Agent != "" {
		q.agents[c.Agent] = append(q.agents[c.Agent], &c)
		return
	}
	q.turns[c.Turn] = append(q.turns[c.Turn], &c)
}

// joinRequests gives the requests in the files the ids that hooks report of them, and adds
// those that the files do not have yet.
func (j *joined) joinRequests() {
	for _, c := range j.own.calls {
		own := *c
		j.requests = append(j.requests, &own)
	}
	if j.Builder.requests.turns != nil {
		j.addReported()
	}
	for _, c := range j.requests {
		by := j.actor(c.Agent)
		by.requests = append(by.requests, c)
	}
}

func (j *joined) addReported() {
	known := make(map[callKey][]*hook.Request)
	for _, c := range j.requests {
		key := callKey{c.Agent, c.ID}
		known[key] = append(known[key], c)
	}
	// A response that was given the id of another has its own request: with the id that it was
	// asked with, or else from another time. Two hooks report one sum at two times.
	reported := make(map[*hook.Request]time.Time)
	join := func(c *hook.Request) {
		key := callKey{c.Agent, c.ID}
		for _, id := range []string{c.RequestID, ""} {
			if i := slices.IndexFunc(known[key], func(have *hook.Request) bool {
				at, again := reported[have]
				return have.RequestID == id && (id != "" || !again || c.Kind != hook.RequestSingle || at.Equal(c.Start))
			}); i >= 0 {
				known[key][i].RequestID, reported[known[key][i]] = c.RequestID, c.Start
				return
			}
		}
		more := *c
		more.Provider, reported[&more] = j.tr.Provider, c.Start
		known[key] = append(known[key], &more)
		j.requests = append(j.requests, &more)
	}
	if j.run.turn != "" {
		for _, c := range j.Builder.requests.turns[j.run.turn] {
			if !c.End.Before(j.start) && j.run.holds("", c.End) {
				join(c)
			}
		}
	}
	for id, a := range j.run.agents {
		from, to := a.within()
		for _, c := range j.Builder.requests.agents[id] {
			if at := instantOf(c.End); from <= at && at <= to {
				join(c)
			}
		}
	}
	slices.SortStableFunc(j.requests, func(x, y *hook.Request) int { return x.Start.Compare(y.Start) })
}

// callKey is the id of a call of a subagent.
type callKey struct{ agent, id string }

// chats adds one span for each request to the model.
func (j *joined) chats() {
	if i := slices.IndexFunc(j.run.items, func(it *item) bool { return it.Kind == hook.KindCompact && it.ParentAgent == "" }); i >= 0 {
		j.compacted = j.run.items[i].At()
	}
	seen := make(map[callKey]int)
	exchanges := make(map[string][]*exchange)
	for _, c := range j.requests {
		if c.Kind == hook.RequestSingle {
			// A provider may give two responses one id, or none.
			key := callKey{c.Agent, c.ID}
			exchanges[c.Agent] = append(exchanges[c.Agent], j.chat(c, spanid.Request(c.Agent, c.ID, seen[key])))
			seen[key]++
		}
	}
	if j.opts.Capture == CaptureNone {
		return
	}
	for agent, list := range exchanges {
		slices.SortStableFunc(list, func(x, y *exchange) int { return x.start.Compare(y.start) })
		j.converse(agent, list)
	}
}

func (j *joined) chat(c *hook.Request, key string) *exchange {
	if c.Model == "" && j.turns() {
		// A failed request names no model.
		c.Model = j.model
	}
	parent := j.byID[c.Agent].span
	if !parent.IsValid() {
		parent = j.root.SpanID()
	}
	start, end := j.chatTimes(c)
	x := &exchange{Request: c, start: start, end: latest(start, end)}
	j.plan(j.run.ID.spanID("chat", key), parent, start, end, x)
	return x
}

// chatTimes returns when a request began and ended. A host writes the request to
// its files before it calls the hook that opens the run or the agent, so that the
// request begins no earlier than these.
func (j *joined) chatTimes(c *hook.Request) (start, end time.Time) {
	start, end = latest(c.Start, j.start), c.End
	if asked := j.run.asked(); c.Agent == "" && !j.turns() && (end.IsZero() || !end.Before(asked)) {
		start = latest(start, asked)
	}
	if a := j.run.agents[c.Agent]; a != nil {
		start = latest(start, a.items[0].At())
		if first := j.firstCall(c); !first.IsZero() && !end.IsZero() && !start.Before(first) && start.Sub(first) <= agentLag && first.After(a.items[0].At()) {
			start, end = latest(first.Add(start.Sub(end)), a.items[0].At()), first
		}
	}
	if end.IsZero() {
		end = latest(start, j.end)
	}
	if d := start.Sub(end); d > 0 && d < time.Millisecond {
		end = start // the clock did not run backwards: the files have milliseconds
	}
	return start, end
}

// firstCall returns when the first call began that a subagent's request asked for, zero
// if that is not known. The file of an agent may date the request later than a hook
// dates the call: a subagent's rows can reach the file late.
func (j *joined) firstCall(c *hook.Request) (first time.Time) {
	for _, id := range c.ToolCallIDs {
		at, ok := j.byID[c.Agent].first[id]
		if ok && at != never && (first.IsZero() || at.Time().Before(first)) {
			first = at.Time()
		}
	}
	return first
}

// exchange is a request to the model with what its agent's request before left to answer.
type exchange struct {
	*hook.Request
	start, end time.Time
	// prompts are those that were added since the request before.
	prompts []said
	// asked are the calls that the answer asked for, before the exchange before.
	asked  []*call
	before *exchange
	// named says that one of the calls that the file names is reported.
	named bool
}

// converse gives each of an agent's requests, which are by start, its prompts and calls.
func (j *joined) converse(agent string, list []*exchange) {
	byID, known := make(map[string][]*exchange), make(map[string]bool)
	for _, c := range j.byID[agent].made {
		known[c.id()] = true
	}
	for i, x := range list {
		if i > 0 {
			x.before = list[i-1]
		}
		for _, id := range x.ToolCallIDs {
			x.named = x.named || known[id]
			byID[id] = append(byID[id], x)
		}
	}
	// newest returns the newest one that had begun, the first if none had.
	newest := func(of []*exchange, at time.Time) *exchange {
		x, _ := hook.Newest(of, at, func(x *exchange) time.Time { return x.start })
		return cmp.Or(x, of[0])
	}
	for _, c := range j.byID[agent].made {
		id, at := c.id(), c.start.Time()
		switch of := byID[id]; {
		case id != "" && of != nil:
			x := newest(of, at)
			x.asked = append(x.asked, c)
		default:
			// A request of which the file names the calls asked for no other, unless these
			// are not reported: a program that the model wrote makes calls with other ids.
			if x := newest(list, at); !x.start.After(at) && (id == "" || !x.named) {
				x.asked = append(x.asked, c)
			}
		}
	}
	for _, x := range list {
		slices.SortStableFunc(x.asked, func(c, d *call) int {
			return cmp.Or(
				cmp.Compare(slices.Index(x.ToolCallIDs, c.id()), slices.Index(x.ToolCallIDs, d.id())),
				cmp.Compare(c.start, d.start), bytes.Compare(c.span[:], d.span[:]),
			)
		})
	}
	for i, p := range j.prompted(agent) {
		// The first one opened the run, whatever the clocks say.
		at, _ := slices.BinarySearchFunc(list, p.at, func(x *exchange, at time.Time) int { return x.start.Compare(at) })
		if i == 0 {
			at = 0
		}
		if at < len(list) {
			p.text = j.opts.preview(p.text, j.opts.MaxInput)
			list[at].prompts = append(list[at].prompts, p)
		}
	}
}
