package cline

import (
	"slices"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/transcript"
)

// userCancelled is classic Cline's reason for a request that the user stopped.
const userCancelled = "user_cancelled"

func addEvents(b *transcript.EventBuilder, dialect string) {
	if dialect == DialectSDK {
		addSessionEvents(b)
	} else {
		addTaskEvents(b)
	}
}

// addTaskEvents adds the events of a task of classic Cline: it begins with its
// first prompt; completions and requests that the user cancelled end a run, and
// the next event begins another.
func addTaskEvents(b *transcript.EventBuilder) {
	t := b.Transcript
	start := hook.Event{Kind: hook.KindRunStart, Name: "TaskStart"}
	began := first(t)
	for i, p := range t.Prompts {
		if i == 0 && !began.Before(p.At) {
			start.Prompt = p.Text
		}
		b.AddPrompt(&p, hook.Event{Name: "UserPromptSubmit"})
	}
	b.Add(began, start)
	var ends []time.Time
	for _, end := range t.Ends {
		if end.Kind != hook.KindRunComplete {
			continue
		}
		ends = append(ends, end.At)
		b.Add(end.At, hook.Event{Kind: hook.KindRunComplete, Name: "TaskComplete", Result: end.Result})
	}
	for i := range t.Requests {
		if c := &t.Requests[i]; c.Error == userCancelled {
			ends = append(ends, c.End)
			b.Add(c.End, hook.Event{Kind: hook.KindRunCancel, Name: "TaskCancel"})
		}
	}
	// A result is written down with the next message to the model, which may be
	// a day after the completion beside the call.
	b.AddTools(func(asked, at time.Time) time.Time {
		for _, end := range ends {
			if !end.Before(asked) && end.Before(at) {
				at = end
			}
		}
		return at
	})
}

// addSessionEvents adds the events of a session of Cline's SDK: one run for each
// prompt, but a prompt given while the agent is at work belongs to its run.
func addSessionEvents(b *transcript.EventBuilder) {
	t := b.Transcript
	open, ended := false, false
	for i, p := range t.Prompts {
		// A session that is resumed without a text had stopped.
		if !open || p.Text == "" {
			b.Add(p.At, hook.Event{Kind: hook.KindRunStart, Name: "TaskStart", Prompt: p.Text})
		}
		b.AddPrompt(&p, hook.Event{Name: "UserPromptSubmit"})
		var next time.Time
		if i+1 < len(t.Prompts) {
			next = t.Prompts[i+1].At
		}
		ended = addAnswer(b, "", p.At, next)
		open = !ended
	}
	if len(t.Prompts) == 0 {
		b.Add(first(t), hook.Event{Kind: hook.KindRunStart, Name: "TaskStart"})
	}
	if !ended {
		for _, end := range t.Ends {
			b.Add(end.At, hook.Event{
				Kind: end.Kind, Name: "session file", Result: end.Result, Message: end.Message, ErrorType: end.ErrorType,
			})
		}
	}
	b.AddTools(nil)

	// Of subagents nothing is known but their requests and tools.
	var order []string
	begun := make(map[string]time.Time)
	see := func(id string, at time.Time) {
		if id == "" || at.IsZero() {
			return
		}
		first, known := begun[id]
		if !known {
			order = append(order, id)
		}
		if !known || at.Before(first) {
			begun[id] = at
		}
	}
	for i := range t.Requests {
		see(t.Requests[i].Agent, t.Requests[i].Start)
	}
	for i := range t.ToolResults {
		see(t.ToolResults[i].Agent, t.ToolResults[i].At)
	}
	for _, id := range order {
		b.AddFor(id, begun[id], hook.Event{Kind: hook.KindRunStart, Name: "TaskStart"})
		addAnswer(b, id, time.Time{}, time.Time{})
	}
}

// addAnswer adds the end of a run if an agent's newest reply after from, and not after to,
// asks for nothing more, or says that the request failed, or if what the lead agent's asks
// for was stopped. A zero time is no bound.
func addAnswer(b *transcript.EventBuilder, agent string, from, to time.Time) (ended bool) {
	var last *hook.Request
	for i := range b.Transcript.Requests {
		c := &b.Transcript.Requests[i]
		if c.Kind != hook.RequestSingle || c.Agent != agent || !c.End.After(from) || !to.IsZero() && c.End.After(to) {
			continue
		}
		if last == nil || !c.End.Before(last.End) {
			last = c
		}
	}
	if last == nil || last.End.IsZero() {
		return false
	}
	for _, r := range b.Transcript.ToolResults {
		// The id may be that of an earlier call, too.
		other := r.At.Before(last.End) || !to.IsZero() && r.At.After(to)
		if !other && r.Status == hook.ToolCancelled && agent == "" && r.Agent == "" && slices.Contains(last.ToolCallIDs, r.ID) {
			b.Add(r.At, hook.Event{Kind: hook.KindSessionEnd, Name: "session file"})
			return true
		}
	}
	if len(last.ToolCallIDs) > 0 {
		return false
	}
	if last.Error != "" {
		b.AddFor(agent, last.End, hook.Event{Kind: hook.KindRunError, Name: "TaskError", Message: last.Error})
		return true
	}
	b.AddFor(agent, last.End, hook.Event{Kind: hook.KindRunComplete, Name: "TaskComplete", Result: last.Text})
	return true
}

// first is the earliest time in a transcript, zero for an empty one.
func first(t *hook.Transcript) time.Time {
	var first time.Time
	see := func(at time.Time) {
		if !at.IsZero() && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	for _, p := range t.Prompts {
		see(p.At)
	}
	for _, c := range t.Requests {
		see(c.Start)
	}
	for _, r := range t.ToolResults {
		see(r.Asked)
		see(r.At)
	}
	return first
}
