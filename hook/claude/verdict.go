package claude

import "encoding/json"

// Decision is what a hook says about what is about to happen, or has happened.
type Decision string

// The decisions. Block is the word of the events other than PreToolUse for Deny.
const (
	NoDecision Decision = ""
	Allow      Decision = "allow"
	Ask        Decision = "ask"
	Defer      Decision = "defer"
	Deny       Decision = "deny"
	Block      Decision = "block"
)

// Output is what one run of a command hook left behind.
type Output struct {
	// Event is the name of the event that the hook ran for.
	Event string
	// Exit is the exit code; it means nothing where Failed or TimedOut is set.
	Exit int
	// Failed reports that the hook could not be started or ended by a signal.
	Failed bool
	// TimedOut reports that the hook was stopped at its time limit.
	TimedOut bool
	// Stdout and Stderr are what it printed, as far as it was kept.
	Stdout, Stderr string
	// BlockOnFailure is the handler's onFailure "block".
	BlockOnFailure bool
	// StrictExit makes every exit code other than 0 block, not 2 alone.
	StrictExit bool
}

// Verdict is what one or several hooks make of an event.
type Verdict struct {
	Decision Decision
	// Reason is why, for the model where the event can reach it.
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
	// Errors are what went wrong without blocking anything.
	Errors []string
	// Ignored names what a hook asked for that has no meaning on this event.
	Ignored []string
}
