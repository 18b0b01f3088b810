package importer

import (
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/otelmap"
)

// userCancelled is classic Cline's reason for a request that the user stopped.
const userCancelled = "user_cancelled"

func injectedAttr() []hook.Attr {
	return []hook.Attr{{Key: otelmap.KeyPromptInjected, Value: true}}
}

// clineTool names the hooks of a call.
func clineTool(*hook.ToolResult) (start, end hook.Event) {
	return hook.Event{Name: "PreToolUse"}, hook.Event{Name: "PostToolUse"}
}

// classic makes the events of a task of classic Cline: it begins with its first
// prompt; completions and requests that the user cancelled end a run, and the
// next thing to happen begins another.
func (b *builder) classic() {
	tr := b.tr
	for i, p := range tr.Prompts {
		if i == 0 {
			b.add(p.At, hook.Event{Kind: hook.KindRunStart, Name: "TaskStart", Prompt: p.Text})
		}
		b.add(p.At, b.prompt(p))
	}
	if len(tr.Prompts) == 0 {
		b.add(b.first(), hook.Event{Kind: hook.KindRunStart, Name: "TaskStart"})
	}
	var ends []time.Time
	for _, end := range tr.Ends {
		if end.Kind != hook.KindRunComplete {
			continue
		}
		ends = append(ends, end.At)
		b.add(end.At, hook.Event{Kind: hook.KindRunComplete, Name: "TaskComplete", Result: end.Result})
	}
	for i := range tr.Calls {
		if c := &tr.Calls[i]; c.Error == userCancelled {
			ends = append(ends, c.End)
			b.add(c.End, hook.Event{Kind: hook.KindRunCancel, Name: "TaskCancel"})
		}
	}
	// A result is written down with the next message to the model, which may be
	// a day after the completion that stood beside the call.
	b.tools(clineTool, func(asked, at time.Time) time.Time {
		for _, end := range ends {
			if !end.Before(asked) && end.Before(at) {
				at = end
			}
		}
		return at
	})
}

func (b *builder) prompt(p hook.Prompt) hook.Event {
	e := hook.Event{Kind: hook.KindPrompt, Name: "UserPromptSubmit", Prompt: p.Text}
	if p.Injected {
		e.Attrs = injectedAttr()
	}
	return e
}

// sdk makes the events of a session of Cline's SDK: one run for each prompt,
// but a prompt given while the agent was still at work belongs to the run.
func (b *builder) sdk() {
	tr := b.tr
	open, ended := false, false
	for i, p := range tr.Prompts {
		// A session that is resumed without a word had stopped.
		if !open || p.Text == "" {
			b.add(p.At, hook.Event{Kind: hook.KindRunStart, Name: "TaskStart", Prompt: p.Text})
		}
		b.add(p.At, b.prompt(p))
		open, ended = true, false
		var next time.Time
		if i+1 < len(tr.Prompts) {
			next = tr.Prompts[i+1].At
		}
		if c := b.lastReply("", p.At, next); c != nil && final(c) {
			b.add(c.End, hook.Event{Kind: hook.KindRunComplete, Name: "TaskComplete", Result: c.Text})
			open, ended = false, true
		}
	}
	if len(tr.Prompts) == 0 {
		b.add(b.first(), hook.Event{Kind: hook.KindRunStart, Name: "TaskStart"})
	}
	if !ended {
		for _, end := range tr.Ends {
			b.add(end.At, hook.Event{
				Kind: end.Kind, Name: "session file", Result: end.Result, Message: end.Message, ErrorType: end.ErrorType,
			})
		}
	}
	b.tools(clineTool, nil)
	b.sdkAgents()
}

// final reports that a reply asks for nothing more, so that the agent stopped.
func final(c *hook.LLMCall) bool {
	return len(c.ToolCallIDs) == 0 && c.Error == "" && !c.End.IsZero()
}

// lastReply is an agent's newest reply after a moment and not after another; a
// zero bound is none.
func (b *builder) lastReply(agent string, from, to time.Time) *hook.LLMCall {
	var last *hook.LLMCall
	for i := range b.tr.Calls {
		c := &b.tr.Calls[i]
		if c.Kind != hook.CallRequest || c.Agent != agent || !c.End.After(from) || !to.IsZero() && c.End.After(to) {
			continue
		}
		if last == nil || !c.End.Before(last.End) {
			last = c
		}
	}
	return last
}

// sdkAgents adds the subagents, of which nothing is known but their requests
// and tools.
func (b *builder) sdkAgents() {
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
	for i := range b.tr.Calls {
		see(b.tr.Calls[i].Agent, b.tr.Calls[i].Start)
	}
	for i := range b.tr.ToolResults {
		see(b.tr.ToolResults[i].Agent, b.tr.ToolResults[i].At)
	}
	for _, id := range order {
		b.add(begun[id], b.agent(hook.Event{Kind: hook.KindRunStart, Name: "TaskStart"}, id))
		if c := b.lastReply(id, time.Time{}, time.Time{}); c != nil && final(c) {
			b.add(c.End, b.agent(hook.Event{Kind: hook.KindRunComplete, Name: "TaskComplete", Result: c.Text}, id))
		}
	}
}
