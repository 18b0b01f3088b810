package otelmap

import "github.com/hookspan/hookspan/hook"

// fate is how a call ended, as far as is known.
type fate uint8

// The fates. The first are those of hook.ToolStatus, which the agent reports.
const (
	fateOK fate = iota
	fateFailed
	fateDenied
	fateCancelled
	fateUnknown

	fateRunning
	fateHook        // the user's hooks denied it
	fateAsked       // the user was asked, and it never ran
	fateInterrupted // it was under way when its turn was interrupted
	fateUnfinished
)

// Messages for calls that the host describes to the model only.
const (
	messageDenied     = "the user was asked, and the tool never ran"
	messageCancelled  = "the turn was interrupted while the tool ran"
	messageUnfinished = "the tool never reported an end"
	messageAbandoned  = "the run never reported an end"
	messageStopped    = "the subagent was stopped"
	messageAgentOpen  = "the subagent never reported an end"
)

// fates are the error types, the descriptions that are hookspan's and the values of
// KeyToolOutcome. The error type of fateFailed is the agent's, the description of fateHook the hook's.
var fates = [...]struct{ failure, message, outcome string }{
	fateDenied: {failure: ErrorToolDenied}, fateCancelled: {failure: ErrorToolCancelled}, fateHook: {failure: ErrorToolDenied},
	fateAsked: {ErrorToolDenied, messageDenied, ""}, fateInterrupted: {ErrorToolCancelled, messageCancelled, ""}, fateUnfinished: {ErrorToolUnfinished, messageUnfinished, ""},
	fateRunning: {outcome: ToolOutcomeRunning}, fateUnknown: {outcome: ToolOutcomeUnknown},
}

// failure is the error type of a call, "" for one that succeeded or whose outcome is unknown.
func (j *joined) failure(c *call) string {
	if c.fate == fateFailed {
		return j.opts.Agent.ToolError
	}
	return fates[c.fate].failure
}

// decide finds how a call ended: by the hooks that denied it, by the event of its end, and by
// its result in the host's files if there is no event or it lacks the text or the status. A call
// that has no end ends with the result, a denied one with the hooks that denied it.
func (j *joined) decide(c *call) {
	if rec := j.denial(c); rec != nil {
		if c.fate = fateHook; c.post == nil {
			c.end = max(c.start, instantOf(hooksEnded(rec)))
		}
		return
	}
	c.used = c.result != nil && (c.named || c.post == nil || c.post.end.Status == hook.ToolUnknown || c.post.end.Output == "" && j.opts.Capture != CaptureNone)
	r, status := c.result, hook.ToolOK
	if c.post != nil {
		status = c.post.end.Status
	}
	if c.used && (c.post == nil || !status.Failed() && r.Status != hook.ToolUnknown) {
		status = r.Status
	}
	c.fate = fate(status)
	switch {
	case c.post != nil:
		return
	case !c.used:
		c.fate = j.unfinished(c)
		return
	// Files may have one refusal for a call that was interrupted and for one that the user
	// rejected. It is an instruction to the model.
	case (status == hook.ToolCancelled && !r.Ran || status == hook.ToolDenied) && j.waits(c):
		c.fate = fateAsked
	case status == hook.ToolCancelled:
		c.fate = fateInterrupted
	}
	c.end = max(c.start, instantOf(r.At))
}

// unfinished is the fate of a call of which only the start is known.
func (j *joined) unfinished(c *call) fate {
	if j.open {
		return fateRunning
	}
	switch {
	case j.turns() && j.waits(c):
		return fateAsked
	case j.turns() && j.outcome == OutcomeInterrupted:
		return fateInterrupted
	}
	return fateUnfinished
}

// waits reports that the user was asked about a call and is not known to have allowed it.
func (j *joined) waits(c *call) bool { return c.asked != nil && j.allowed[c.asked] == nil }
