package importer

import (
	"cmp"
	"slices"
	"time"

	"github.com/hookspan/hookspan/hook"
)

// The hosts and dialects whose transcripts Events knows; others give no events.
const (
	HostCline      = "cline"
	HostClaude     = "claude-code"
	DialectClassic = "classic"
	DialectSDK     = "sdk"
	DialectClaude  = "claude"
)

// unknownDuration says that the host did not measure a call.
const unknownDuration = -1

// Events gives the events that hooks would have reported of the session that tr
// tells of, in the order of their moments. The same transcript always gives the
// same events, and one that has grown gives more of them.
//
// Claude Code's events have no time of their own, as from its hooks: StoredAt is
// the moment, and otelmap tells runs by their turns. Cline's have both, and a
// run is told by its first moment. What the files give no moment for is left
// out.
func Events(host, dialect string, tr *hook.Transcript) []hook.Event {
	b := &builder{
		tr:   tr,
		base: hook.Event{Host: host, Dialect: dialect, Session: tr.Session, HostVersion: tr.HostVersion, Cwd: tr.Cwd},
	}
	switch {
	case host == HostClaude:
		b.claude()
	case host == HostCline && dialect == DialectSDK:
		b.sdk()
	case host == HostCline:
		b.classic()
	}
	return b.sorted()
}

// builder gathers the events of one transcript.
type builder struct {
	tr     *hook.Transcript
	base   hook.Event
	events []hook.Event
	// types are the kinds of the subagents.
	types map[string]string
	// asked finds the replies that asked for a call by their ends.
	asked map[toolCall][]time.Time
}

// toolCall is a tool call of one agent.
type toolCall struct{ agent, id string }

// add takes an event of a moment; one without a moment is left out.
func (b *builder) add(at time.Time, e hook.Event) {
	if at.IsZero() {
		return
	}
	e.Host, e.Dialect, e.Session = b.base.Host, b.base.Dialect, b.base.Session
	e.HostVersion, e.Cwd = b.base.HostVersion, b.base.Cwd
	e.StoredAt = at
	if e.Host == HostCline {
		e.Time = at
	}
	b.events = append(b.events, e)
}

// agent marks an event as a subagent's. Which agent started it is left to the
// one that is at work then, as with hooks.
func (b *builder) agent(e hook.Event, id string) hook.Event {
	if id != "" {
		e.Agent, e.ParentAgent, e.AgentType = id, hook.ParentUnknown, b.types[id]
	}
	return e
}

// rank orders events of one moment as they come in life: a run's end before the
// next one's beginning, a call's beginning before its end.
func rank(e *hook.Event) int {
	switch e.Kind {
	case hook.KindToolStart:
		return 1
	case hook.KindToolEnd:
		return 2
	case hook.KindRunComplete, hook.KindRunCancel, hook.KindRunError, hook.KindSessionEnd:
		return 3
	case hook.KindRunStart:
		return 4
	}
	return 5
}

func (b *builder) sorted() []hook.Event {
	slices.SortStableFunc(b.events, func(x, y hook.Event) int {
		return cmp.Or(x.StoredAt.Compare(y.StoredAt), cmp.Compare(rank(&x), rank(&y)))
	})
	for i := range b.events {
		// The place in the session stands for the place in a log, and for what
		// tells one event from another of the same moment.
		b.events[i].Offset, b.events[i].Hash = int64(i), uint64(i)+1 //nolint:gosec // Never negative.
	}
	return b.events
}

// tools adds both ends of every call. end bounds a result that was only written
// down with the next message; if nil, nothing does.
func (b *builder) tools(name func(*hook.ToolResult) (start, end hook.Event), bound func(asked, at time.Time) time.Time) {
	for i := range b.tr.ToolResults {
		r := &b.tr.ToolResults[i]
		asked := r.Asked
		if asked.IsZero() {
			asked = b.askedAt(r)
		}
		if asked.IsZero() || !r.At.IsZero() && asked.After(r.At) {
			asked = r.At
		}
		call := hook.Tool{ID: r.ID, Name: r.Name, Input: r.Input, Duration: unknownDuration}
		start, end := name(r)
		start.Kind, start.Turn, start.Tool = hook.KindToolStart, r.Turn, new(call)
		b.add(asked, b.agent(start, r.Agent))

		call.Output, call.Status = r.Text, r.Status
		if r.Status.Failed() {
			call.Error = r.Text
		}
		call.Agent = b.started(r)
		end.Kind, end.Turn, end.Tool = hook.KindToolEnd, r.Turn, &call
		at := r.At
		if bound != nil && !at.IsZero() {
			at = bound(asked, at)
		}
		b.add(at, b.agent(end, r.Agent))
	}
}

// started is the subagent that a call started.
func (b *builder) started(r *hook.ToolResult) string {
	for i := range b.tr.Agents {
		if a := &b.tr.Agents[i]; r.ID != "" && a.CallID == r.ID {
			return a.ID
		}
	}
	return ""
}

// askedAt is when the reply that asked for a call was whole. Models may number
// their calls anew in each reply, so the newest reply before the result counts.
func (b *builder) askedAt(r *hook.ToolResult) time.Time {
	if b.asked == nil {
		b.asked = make(map[toolCall][]time.Time)
		for i := range b.tr.Calls {
			c := &b.tr.Calls[i]
			for _, id := range c.ToolCallIDs {
				k := toolCall{c.Agent, id}
				b.asked[k] = append(b.asked[k], c.End)
			}
		}
	}
	var at time.Time
	for _, end := range b.asked[toolCall{r.Agent, r.ID}] {
		if end.After(at) && (r.At.IsZero() || !end.After(r.At)) {
			at = end
		}
	}
	return at
}

// first is the earliest moment the transcript knows, zero for an empty one.
func (b *builder) first() time.Time {
	var first time.Time
	see := func(at time.Time) {
		if !at.IsZero() && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	for _, p := range b.tr.Prompts {
		see(p.At)
	}
	for _, c := range b.tr.Calls {
		see(c.Start)
	}
	for _, r := range b.tr.ToolResults {
		see(r.Asked)
		see(r.At)
	}
	return first
}
