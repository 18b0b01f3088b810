package transcript

import (
	"cmp"
	"iter"
	"slices"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/rawjson"
)

// unknownDuration is the duration of a call that the agent did not measure.
const unknownDuration = -1

// Events returns the events that hooks would have reported of a session, in the
// order of their times. The same transcript always gives the same
// events, and one that has grown gives more of them. What the files give no time for is
// left out. Those of calls are made when they are yielded, so that a session's are not all
// in memory at once: the transcript must not change before.
func (a Reader) Events(dialect string, t *hook.Transcript) iter.Seq[hook.Event] {
	b := &EventBuilder{
		Transcript: t, agent: a, dialect: dialect, types: make(map[string]string),
		events: make([]planned, 0, len(t.Prompts)+2*len(t.ToolResults)+len(t.Ends)+2*len(t.Agents)),
	}
	for i := range t.Agents {
		b.types[t.Agents[i].ID] = t.Agents[i].Type
	}
	a.AddEvents(b, dialect)
	b.addBeginning()
	for _, at := range t.Compactions {
		b.Add(at, hook.Event{Kind: hook.KindCompact, Name: "PreCompact"})
	}
	slices.SortStableFunc(b.events, func(x, y planned) int {
		return cmp.Or(x.at.Compare(y.at), cmp.Compare(rank(x.kind), rank(y.kind)))
	})
	return func(yield func(hook.Event) bool) {
		for i := range b.events {
			e := b.event(&b.events[i])
			// The place in the session replaces the place in a log, and
			// distinguishes events of the same time.
			e.Offset, e.Hash = int64(i), uint64(i)+1 //nolint:gosec // Never negative.
			if !yield(e) {
				return
			}
		}
	}
}

// planned is an event of which those of calls have yet to be made.
type planned struct {
	at   time.Time
	kind hook.Kind
	// call is the result of the call of which it is an end, whole any other event.
	call  *hook.ToolResult
	whole *hook.Event
}

// event returns a planned event.
func (b *EventBuilder) event(p *planned) hook.Event {
	if p.call == nil {
		return *p.whole
	}
	r := p.call
	call := &hook.Tool{ID: r.ID, Name: r.Name, Input: r.Input, Duration: unknownDuration}
	e := hook.Event{Kind: p.kind, Name: "PreToolUse", Turn: r.Turn, Tool: call}
	if p.kind == hook.KindToolEnd {
		e.Name, call.Output, call.Status, call.Agent = "PostToolUse", r.Text, r.Status, b.started[r]
		if r.Status.Failed() {
			call.Error = r.Text
		}
	}
	b.complete(&e, r.Agent, p.at)
	return e
}

// addBeginning adds the continuation of a turn whose beginning the files do not have, if a
// request of the lead agent had ended before anything else, or if nothing is left but
// requests of subagents: it would be of no run.
func (b *EventBuilder) addBeginning() {
	var first time.Time
	agents := !slices.ContainsFunc(b.events, func(e planned) bool {
		return e.kind == hook.KindToolStart || e.call != nil && e.call.Agent == "" || e.whole != nil && e.whole.Agent == ""
	})
	for i := range b.events {
		if at := b.events[i].at; first.IsZero() || at.Before(first) {
			first = at
		}
	}
	for i := range b.Transcript.Requests {
		c := &b.Transcript.Requests[i]
		if early := c.Agent == "" && c.Start.Before(first) && !c.End.IsZero() && !c.End.After(first); c.Kind == hook.RequestSingle && !c.Start.IsZero() && (early || agents) {
			b.Add(c.Start, hook.Event{Kind: hook.KindRunResume, Name: "session file", Turn: c.Turn})
			return // they are in order
		}
	}
}

// rank orders events of one time: a run's end before the next one's beginning,
// a call's beginning before its end, a turn before the agents that work in it.
func rank(kind hook.Kind) int {
	switch kind {
	case hook.KindToolStart:
		return 1
	case hook.KindToolEnd:
		return 2
	case hook.KindRunComplete, hook.KindRunCancel, hook.KindRunError, hook.KindSessionEnd:
		return 3
	case hook.KindRunResume:
		return 4
	case hook.KindRunStart:
		return 5
	}
	return 6
}

// EventBuilder gathers the events of one transcript.
type EventBuilder struct {
	Transcript *hook.Transcript

	agent   Reader
	dialect string
	events  []planned
	types   map[string]string           // of the subagents
	started map[*hook.ToolResult]string // the subagents by the calls that started them
	// asked are the ends of the replies that asked for a call, in order.
	asked map[CallKey][]time.Time
}

// Add adds an event. One without a time is left out.
func (b *EventBuilder) Add(at time.Time, e hook.Event) { b.AddFor("", at, e) }

// complete sets what all events of a session, those of an agent and those of a moment have.
func (b *EventBuilder) complete(e *hook.Event, agent string, at time.Time) {
	if agent != "" {
		e.Agent, e.ParentAgent, e.AgentType = agent, hook.ParentUnknown, b.types[agent]
	}
	e.Host, e.Dialect, e.Session = b.agent.Host, b.dialect, b.Transcript.Session
	e.HostVersion, e.Cwd = b.Transcript.HostVersion, b.Transcript.CwdAt(e.Agent, at)
	e.Folders, e.StoredAt = b.Transcript.Folders, at
	if b.agent.Timed {
		e.Time = at
	}
}

// AddFolders adds the folders of a row that names several: the texts in more, after main.
func AddFolders(list []string, main string, more []byte) []string {
	row := hook.Union(nil, append([]string{main}, slices.Collect(rawjson.Strings(more))...))
	if len(row) < 2 {
		return list
	}
	return hook.Union(list, row)
}

// AddPrompt adds a prompt's event. e has what else is known of it.
func (b *EventBuilder) AddPrompt(p *hook.Prompt, e hook.Event) {
	e.Kind, e.Prompt = hook.KindPrompt, p.Text
	if p.Injected {
		e.Attrs = append(e.Attrs, hook.Attr{Key: hook.AttrPromptInjected, Value: true})
	}
	if p.Queued {
		e.Attrs = append(e.Attrs, hook.Attr{Key: hook.AttrPromptQueued, Value: true})
	}
	b.Add(p.At, e)
}

// AddFor adds an event of a subagent, or of the lead agent if id is empty. The
// agent that started it is not named: it is the one at work then, as with hooks.
func (b *EventBuilder) AddFor(id string, at time.Time, e hook.Event) {
	if at.IsZero() {
		return
	}
	b.complete(&e, id, at)
	b.events = append(b.events, planned{at: at, kind: e.Kind, whole: &e})
}

// AddTools adds both ends of every tool call as the events PreToolUse and
// PostToolUse. They have no keys: the readers know repeats. bound limits the time of a result that was only written down
// with the next message; if nil, nothing does.
func (b *EventBuilder) AddTools(bound func(asked, at time.Time) time.Time) {
	b.started = b.starters()
	for i := range b.Transcript.ToolResults {
		r := &b.Transcript.ToolResults[i]
		asked, at := b.askedAt(r), r.At
		if bound != nil && !at.IsZero() {
			at = bound(asked, at)
		}
		if !asked.IsZero() {
			b.events = append(b.events, planned{at: asked, kind: hook.KindToolStart, call: r})
		}
		if !at.IsZero() {
			b.events = append(b.events, planned{at: at, kind: hook.KindToolEnd, call: r})
		}
	}
}

// starters returns the subagents by the calls that started them.
func (b *EventBuilder) starters() map[*hook.ToolResult]string {
	calls := make(map[string][]*hook.ToolResult)
	for i := range b.Transcript.Agents {
		calls[b.Transcript.Agents[i].CallID] = nil
	}
	delete(calls, "")
	for i := range b.Transcript.ToolResults {
		r := &b.Transcript.ToolResults[i]
		if list, starts := calls[r.ID]; starts {
			calls[r.ID] = append(list, r)
		}
	}
	for _, list := range calls {
		slices.SortStableFunc(list, func(x, y *hook.ToolResult) int { return b.askedAt(x).Compare(b.askedAt(y)) })
	}
	out := make(map[*hook.ToolResult]string)
	for i := range b.Transcript.Agents {
		a := &b.Transcript.Agents[i]
		list := calls[a.CallID]
		by, ok := hook.Newest(list, a.Start, b.askedAt)
		if !ok && len(list) > 0 {
			by = list[0]
		}
		if out[by] == "" {
			out[by] = a.ID
		}
	}
	return out
}

// askedAt is when the reply that asked for a call was complete, the newest one before its
// result, or when the call ended if that is not known.
func (b *EventBuilder) askedAt(r *hook.ToolResult) time.Time {
	asked := r.Asked
	if asked.IsZero() {
		asked = b.replied(r)
	}
	if asked.IsZero() || !r.At.IsZero() && asked.After(r.At) {
		return r.At
	}
	return asked
}

func (b *EventBuilder) replied(r *hook.ToolResult) time.Time {
	if b.asked == nil {
		b.asked = make(map[CallKey][]time.Time)
		for i := range b.Transcript.Requests {
			c := &b.Transcript.Requests[i]
			for _, id := range c.ToolCallIDs {
				k := CallKey{c.Agent, id}
				b.asked[k] = append(b.asked[k], c.End)
			}
		}
		for _, ends := range b.asked {
			slices.SortFunc(ends, time.Time.Compare)
		}
	}
	ends := b.asked[CallKey{r.Agent, r.ID}]
	if r.At.IsZero() && len(ends) > 0 {
		return ends[len(ends)-1]
	}
	at, _ := hook.Newest(ends, r.At, func(t time.Time) time.Time { return t })
	return at
}

// AddAgents adds the start and the end of every subagent that has an id under the names of
// their hooks.
// more adds to an event what the agent's hooks have besides; it may be nil.
func (b *EventBuilder) AddAgents(start, stop string, more func(a *hook.Subagent, e *hook.Event)) {
	for i := range b.Transcript.Agents {
		a := &b.Transcript.Agents[i]
		if a.ID == "" {
			continue
		}
		began, ended := hook.Event{Kind: hook.KindRunStart, Name: start, Prompt: a.Task}, a.Ending(stop)
		if more != nil {
			more(a, &began)
			more(a, &ended)
		}
		b.AddFor(a.ID, a.Start, began)
		b.AddFor(a.ID, a.End, ended)
	}
}

// AddEnds adds the ends of turns under the names of their hooks; those of a kind without a
// name are left out. A turn that the user interrupted is cancelled. key returns an end's
// key; it may be nil.
func (b *EventBuilder) AddEnds(names map[hook.Kind]string, key func(*hook.TurnEnd) string) {
	for i := range b.Transcript.Ends {
		end := &b.Transcript.Ends[i]
		name, ok := names[end.Kind]
		if !ok {
			continue
		}
		e := hook.Event{Kind: end.Kind, Name: name, Turn: end.Turn, Result: end.Result, Message: end.Message, ErrorType: end.ErrorType}
		if end.Kind == hook.KindSessionEnd {
			e.Kind = hook.KindRunCancel
		}
		if key != nil {
			e.Key = key(end)
		}
		b.Add(end.At, e)
	}
}
