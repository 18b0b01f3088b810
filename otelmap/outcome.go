package otelmap

import (
	"cmp"

	"github.com/hookspan/hookspan/hook"
)

// toolOutcome is the outcome of a call. If failure is empty, the call succeeded
// or its outcome is unknown.
type toolOutcome struct {
	result, failure, message string
	unknown, running         bool
	// denied is the record of the user's hooks that denied the call, or nil.
	denied *hook.Event
}

// returned adds what a call returned whose message is hookspan's.
func (o *toolOutcome) returned(text string) {
	if text != "" {
		o.result = o.message + "\n" + text
	}
}

// Messages for calls that the host describes to the model only.
const (
	messageDenied     = "the user was asked, and the tool never ran"
	messageCancelled  = "the turn was interrupted while the tool ran"
	messageUnfinished = "the tool never reported an end"
	messageAbandoned  = "the run never reported an end"
	messageStopped    = "the subagent was stopped"
	messageAgentOpen  = "the subagent never reported an end"
)

// findResult finds the call in the host's files if its end's event is missing or
// lacks the text or the status. A call that has no end ends with the result, a
// denied one with the hooks that denied it.
func (m *mapping) findResult(c *call) {
	if rec := m.denial(c); rec != nil {
		if c.post == nil {
			c.end = max(c.start, instantOf(hooksEnded(rec)))
		}
		return
	}
	if c.named || c.post == nil || c.post.Tool.Status == hook.ToolUnknown || c.post.Tool.Output == "" && m.opts.Capture != CaptureNone {
		c.used = c.result
	}
	if c.post == nil && c.used != nil {
		c.end = max(c.start, instantOf(c.used.At))
	}
}

// toolOutcome returns the outcome by the end's event and the host's files.
func (m *mapping) toolOutcome(c *call) toolOutcome {
	if rec := m.denial(c); rec != nil {
		return m.deniedCall(c, rec)
	}
	var out toolOutcome
	var status hook.ToolStatus
	if c.post != nil {
		out.result, out.message, status = c.post.Tool.Output, c.post.Tool.Error, c.post.Tool.Status
	}
	if r := c.used; r != nil {
		cut := m.opts.text
		if r.Status.Failed() {
			cut = m.opts.failure
		}
		out.result = cmp.Or(out.result, cut(r.Text, m.opts.MaxOutput))
		if !status.Failed() && r.Status != hook.ToolUnknown || c.post == nil {
			status = r.Status
		}
	}
	if c.post == nil {
		if c.used == nil {
			return m.unfinished(c)
		}
		// Files may have one refusal for a call that was interrupted and for one that the
		// user rejected. It is an instruction to the model.
		switch {
		case c.asked != nil && (status == hook.ToolCancelled && !c.used.Ran || status == hook.ToolDenied):
			status, out.message = hook.ToolDenied, messageDenied
			out.returned(out.result)
		case status == hook.ToolCancelled:
			out.message = messageCancelled
			out.returned(out.result)
		}
	}
	if status.Failed() {
		out.message = cmp.Or(out.message, out.result)
	}
	switch status {
	case hook.ToolUnknown:
		out.unknown = true
	case hook.ToolDenied:
		out.failure = ErrorToolDenied
	case hook.ToolCancelled:
		out.failure = ErrorToolCancelled
	case hook.ToolFailed:
		out.failure = m.opts.Agent.ToolError
	}
	return out
}

// unfinished is the outcome of a call of which only the start is known.
func (m *mapping) unfinished(c *call) toolOutcome {
	if m.open {
		return toolOutcome{running: true}
	}
	if m.turns() {
		if c.asked != nil {
			return toolOutcome{failure: ErrorToolDenied, message: messageDenied}
		}
		if outcome, _ := m.outcome(); outcome == OutcomeInterrupted {
			return toolOutcome{failure: ErrorToolCancelled, message: messageCancelled}
		}
	}
	return toolOutcome{failure: ErrorToolUnfinished, message: messageUnfinished}
}
