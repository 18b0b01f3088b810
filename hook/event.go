package hook

import "time"

// Kind says what happened, in words that fit every host.
type Kind uint8

// The kinds of event. A host that has no such moment never produces the kind.
const (
	// KindUnknown is an event whose name or shape no decoder knows. It is kept
	// and shown, and takes no part in any span.
	KindUnknown Kind = iota
	// KindRunStart opens a run (Cline TaskStart, agent_start). With a
	// ParentAgent it opens a subagent instead.
	KindRunStart
	// KindRunResume opens a run that continues an earlier one.
	KindRunResume
	// KindPrompt is text the user submitted.
	KindPrompt
	// KindToolStart is a tool about to run.
	KindToolStart
	// KindToolEnd is a tool that has returned, failed or been denied.
	KindToolEnd
	// KindCompact is the host shortening its conversation.
	KindCompact
	// KindNotification is the host asking for the user's attention.
	KindNotification
	// KindRunComplete closes a run that reached its end.
	KindRunComplete
	// KindRunCancel closes a run that was cancelled.
	KindRunCancel
	// KindRunError closes a run that failed.
	KindRunError
	// KindSessionEnd says that the host's process or window is closing.
	KindSessionEnd
)

var kindNames = [...]string{
	"unknown", "run_start", "run_resume", "prompt", "tool_start", "tool_end",
	"compact", "notification", "run_complete", "run_cancel", "run_error", "session_end",
}

// String returns the kind's name in snake case.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "unknown"
}

// Terminal reports whether an event of this kind ends a run.
func (k Kind) Terminal() bool {
	return k == KindRunComplete || k == KindRunCancel || k == KindRunError || k == KindSessionEnd
}

// ToolStatus is how a tool call ended.
type ToolStatus uint8

// The ways a tool call ends.
const (
	// ToolOK returned what it was asked for.
	ToolOK ToolStatus = iota
	// ToolFailed ran, or tried to, and failed.
	ToolFailed
	// ToolDenied was refused by the user or by a rule and never ran.
	ToolDenied
)

// Event is one moment an agent's hook reported.
//
// Zero values mean "the host did not say". Texts are whole, exactly as the host
// sent them: cutting and redacting happen on the way out, never here.
type Event struct {
	// Host is the agent: "cline" or "claude-code".
	Host string
	// Dialect names the wire form the event came in ("classic", "next", "sdk").
	Dialect string
	// Kind is what happened.
	Kind Kind
	// Name is the host's own documented name of the hook, such as "PreToolUse".
	Name string

	// Session is the host's identity of the conversation; every event of one
	// session carries the same one. Empty when the payload had none.
	Session string
	// Conversation is the host's finer identity within the session, where it
	// has one (Cline's SDK dialect: the conversation of one agent).
	Conversation string
	// Agent identifies the agent that acts, where the host tells agents apart.
	Agent string
	// ParentAgent identifies the agent that started this one; empty for the
	// session's lead agent.
	ParentAgent string
	// AgentType is the host's name for the kind of subagent.
	AgentType string

	// Time is the host's own timestamp, zero where it gives none.
	Time time.Time
	// StoredAt is when the hook process stored the event.
	StoredAt time.Time
	// Offset is the event's place in the session's log, in bytes.
	Offset int64
	// Hash is the first 8 bytes of SHA-256 over the payload's bytes; equal
	// payloads of two copies of one hook have equal hashes.
	Hash uint64

	// HostVersion is the agent's version.
	HostVersion string
	// Provider and Model name the language model, as the host spells them.
	Provider string
	Model    string
	// Cwd is the working directory: the first workspace root, else the
	// directory the hook ran in.
	Cwd string
	// User is the host's identity of the user, an opaque string.
	User string
	// PermissionMode is the host's approval mode.
	PermissionMode string
	// TraceParent is a W3C traceparent found in the hook's environment.
	TraceParent string

	// Prompt is the submitted text, or the task a run starts with.
	Prompt string
	// Result is the final text of a run that completed.
	Result string
	// Message is a notification's or an error's text.
	Message string
	// ErrorType is the host's class of a run's error.
	ErrorType string
	// Tool is set for KindToolStart and KindToolEnd.
	Tool *Tool
	// Attrs are further facts of the moment, in a stable order (compaction
	// sizes, notification source, ...).
	Attrs []Attr
}

// At is the event's moment: the host's time, else the stored one.
func (e *Event) At() time.Time {
	if e.Time.IsZero() {
		return e.StoredAt
	}
	return e.Time
}

// Tool is one end of a tool call.
type Tool struct {
	// ID is the host's tool call id, empty where it has none.
	ID string
	// Name is the tool as the host names it.
	Name string
	// Input is the call's parameters as compact JSON with sorted keys, so that
	// the two ends of one call compare equal.
	Input string
	// Output is the result's text. Empty when the host hid it.
	Output string
	// Status is how the call ended; meaningful on KindToolEnd alone.
	Status ToolStatus
	// Error is the failure's message.
	Error string
	// Started and Ended bound the execution exactly, where the host says so.
	Started time.Time
	Ended   time.Time
	// Duration is the host's measure of the call; on Cline classic it includes
	// the time the user took to approve it. Negative means unknown.
	Duration time.Duration
}

// Attr is a named fact: Value is a string, int64, float64 or bool.
type Attr struct {
	Key   string
	Value any
}

// Reply is what a hook answers its host.
type Reply struct {
	// Cancel asks the host to stop what it was about to do.
	Cancel bool
	// Context is text for the model.
	Context string
	// ErrorMessage tells the user why something was stopped.
	ErrorMessage string
}

// Head is what a hook process must know of a payload before it can store it.
type Head struct {
	// Session and Name are as in Event; Name falls back to the name the hook
	// file was started with.
	Session string
	Name    string
	// Kind is what happened, as far as it shows without decoding everything.
	Kind Kind
	// RunEnds reports that a run of the session's lead agent ends here, so that
	// delivery is due.
	RunEnds bool
}
