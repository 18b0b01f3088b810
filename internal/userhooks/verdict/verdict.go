package verdict

import "encoding/json"

// Decision is a hook's decision about an event.
type Decision string

// The decisions. Events other than PreToolUse use Block instead of Deny.
const (
	NoDecision Decision = ""
	Allow      Decision = "allow"
	Ask        Decision = "ask"
	Defer      Decision = "defer"
	Deny       Decision = "deny"
	Block      Decision = "block"
)

// Output is the result of one run of a command hook.
type Output struct {
	// Event is the name of the event that the hook ran for.
	Event string
	// Exit is the exit code; it does not count if Failed or TimedOut is set.
	Exit int
	// Failed reports that the hook could not be started or ended by a signal.
	Failed bool
	// TimedOut reports that the hook was stopped at its time limit.
	TimedOut bool
	// Stdout and Stderr are the kept parts of what it printed.
	Stdout, Stderr string
	// BlockOnFailure is the handler's onFailure "block".
	BlockOnFailure bool
	// StrictExit makes every exit code other than 0 block, not 2 alone.
	StrictExit bool
}

// Verdict is the decision of one or several hooks about an event.
type Verdict struct {
	Decision Decision
	// Reason is why. It is for the model if the event can reach it.
	Reason string
	// Stop asks the agent to stop altogether; StopReason is for the user.
	Stop       bool
	StopReason string
	// UpdatedInput replaces the whole input of the tool, UpdatedOutput its
	// output. They are JSON, or nil.
	UpdatedInput  json.RawMessage
	UpdatedOutput json.RawMessage
	// Context are texts for the model.
	Context []string
	// Feedback are texts for the model about something that cannot be undone,
	// such as a tool that has run.
	Feedback []string
	// SystemMessages are texts for the user.
	SystemMessages []string
	// Errors are failures that blocked nothing.
	Errors []string
	// Ignored names what hooks asked for that this event does not support.
	Ignored []string
}
