package hook

import "time"

// Kind says what happened, in words that fit every host.
type Kind uint8

// The kinds of event. No host has all of them.
const (
	// KindUnknown is an event whose name or shape no decoder knows. It is kept
	// and shown, and is part of no span.
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
	// KindSessionEnd reports that the host's process or window is closing.
	KindSessionEnd
	// KindSessionStart reports that the host has begun, resumed, cleared or
	// compacted its conversation. It opens no run.
	KindSessionStart
	// KindPermission is the host asking the user whether a tool may run. Its
	// Tool has a name and an input and mostly no id.
	KindPermission
	// KindNote is any other event that is worth a line in the trace.
	KindNote
	// KindAside is a known event that is part of no trace, such as a piece of
	// streamed text.
	KindAside
	// KindHookRuns reports which of the user's hooks ran for an earlier event,
	// and what was answered. hookspan writes it into the log itself. It opens,
	// ends and continues no run.
	KindHookRuns
	// KindRequestError reports that a request to the model failed. The agent may
	// send it again: the run, or the subagent, has failed only if nothing but an
	// end follows.
	KindRequestError
)

var kindNames = [...]string{
	"unknown", "run_start", "run_resume", "prompt", "tool_start", "tool_end",
	"compact", "notification", "run_complete", "run_cancel", "run_error", "session_end",
	"session_start", "permission", "note", "aside", "hook_runs", "request_error",
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

// UnknownDuration is the Duration of a call whose host measured none.
const UnknownDuration = -1

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
	// ToolCancelled was stopped by the user while it ran.
	ToolCancelled
	// ToolUnknown has returned, and the host does not say how it ended.
	ToolUnknown
)

// Failed reports that a call certainly did not do what it was asked to.
func (s ToolStatus) Failed() bool { return s != ToolOK && s != ToolUnknown }

// ParentUnknown is the ParentAgent of a subagent whose host does not say which
// agent started it.
const ParentUnknown = "?"

// Event is one event that an agent's hook reported.
//
// A zero value means that the host did not report it. Texts are complete, exactly as
// the host sent them: they are cut and redacted later.
type Event struct {
	// Host is the agent's name in the spool, such as "cline" or "claude-code".
	Host string
	// Dialect names the wire form the event came in ("classic", "next", "sdk").
	Dialect string
	// Kind is what happened.
	Kind Kind
	// Name is the host's own documented name of the hook, such as "PreToolUse".
	Name string

	// Session identifies the conversation; all events of a session have the same
	// value. Empty if the payload has none.
	Session string
	// Turn identifies the run that the event belongs to, if the host has such an
	// id (Claude Code's prompt id). A subagent's events have the turn that started
	// it.
	Turn string
	// Key identifies repeats of the event: of equal keys in one session only the
	// first counts. Empty if the host gives no such id.
	Key string
	// KeyWithin bounds how far apart repeats with the Key are stored, if the id in it may
	// come again: a model may number its calls anew in each reply. If zero, nothing does.
	KeyWithin time.Duration `json:",omitzero"`
	// Agent identifies the agent that acts, if the host distinguishes agents.
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
	// Offset is the event's position in the session's log, in bytes.
	Offset int64
	// Hash is the first 8 bytes of SHA-256 over the payload.
	Hash uint64

	// HostVersion is the agent's version.
	HostVersion string
	// Provider and Model name the language model, as the host spells them.
	Provider string
	Model    string
	// Cwd is the working directory: the first workspace root, else the
	// directory the hook ran in.
	Cwd string
	// User is the host's id of the user, an opaque string and no name.
	User string
	// PermissionMode is the host's approval mode.
	PermissionMode string
	// Transcript is the path of the session's file, if the host names it.
	Transcript string
	// TraceParent is a W3C traceparent found in the hook's environment.
	TraceParent string
	// Resource are attributes of the resource, as url.Values encodes them.
	Resource string

	// Prompt is the submitted text, or the task a run starts with.
	Prompt string
	// Result is the final text of a run that completed.
	Result string
	// Message is a notification's or an error's text.
	Message string
	// ErrorType is the host's class of a run's error.
	ErrorType string
	// Tool is set for KindToolStart, KindToolEnd and KindPermission, and for a KindNote that
	// says that the call with that ID was allowed.
	Tool *Tool
	// Request is what a KindAside event says about a request to the model: its RequestID when
	// it begins, and the ID of the response and the tokens when it has ended.
	Request *Request `json:",omitempty"`
	// Folders are those of a workspace that has several, the main one first.
	Folders []string `json:",omitempty"`
	// Attrs are further facts, such as compaction sizes, in a stable order.
	Attrs []Attr

	// Background is what the event says about agents that work in the background; nil if
	// nothing.
	Background *Background `json:",omitempty"`

	// HookRuns are the runs in the order in which they are configured. HookRuns,
	// About and Answer are set for KindHookRuns only.
	HookRuns []HookRun `json:",omitempty"`
	// About is the Hash of the event that the hooks ran for.
	About uint64 `json:",omitempty"`
	// Answer is the answer to the host after they ran.
	Answer *HookAnswer `json:",omitempty"`
}

// Background is what an event says about agents that work in the background.
type Background struct {
	// Listed reports that the host listed those that are at work, which AtWork are.
	Listed bool     `json:",omitempty"`
	AtWork []string `json:",omitempty"`
	// Ended are agents that have ended.
	Ended []AgentEnd `json:",omitempty"`
}

// AgentEnd is the end of an agent that did not report it.
type AgentEnd struct {
	ID     string
	Result string `json:",omitempty"`
	// Stopped reports that it did not end by itself.
	Stopped bool `json:",omitempty"`
}

// At is the event's time: the host's, else the stored one.
func (e *Event) At() time.Time {
	if e.Time.IsZero() {
		return e.StoredAt
	}
	return e.Time
}

// TextOf returns the attribute with a key, "" if there is none or it is no text.
func TextOf(attrs []Attr, key string) string {
	for _, a := range attrs {
		if s, ok := a.Value.(string); ok && a.Key == key {
			return s
		}
	}
	return ""
}

// Tool is the start or the end of a tool call.
type Tool struct {
	// ID is the host's tool call id, empty if it has none.
	ID string
	// Name is the tool as the host names it.
	Name string
	// Input is the call's parameters as compact JSON with sorted keys, so that
	// start and end of one call compare equal.
	Input string
	// Output is the result's text. Empty if the host hides it.
	Output string
	// Agent is the subagent that the call started, if the end of the call names it.
	Agent string
	// Status is how the call ended, for KindToolEnd only.
	Status ToolStatus
	// Error is the failure's message.
	Error string
	// Started and Ended are the exact times of the execution, if the host reports
	// them.
	Started time.Time
	Ended   time.Time
	// Duration is the host's measure of the call, or UnknownDuration. On Cline
	// classic it includes the time the user took to approve the call.
	Duration time.Duration
}

// Values of HookRun.Status.
const (
	// HookOK ended without an error; it may have denied something.
	HookOK = "ok"
	// HookError failed without deciding anything.
	HookError = "error"
	// HookTimeout was stopped at its time limit.
	HookTimeout = "timeout"
	// HookNotStarted could not be started.
	HookNotStarted = "not_started"
	// HookAsync was started and not waited for.
	HookAsync = "async"
)

// NoExit is the HookRun.Exit of a run without an exit code: it was not waited for,
// not started or stopped, or it is no program.
const NoExit = -1

// HookRun is one execution of one of the user's hooks.
type HookRun struct {
	// Event and Tool are the names that the hook is given, which may differ from
	// the host's. One tool call of the host may be several for its hooks.
	Event, Tool string
	// Matcher is the condition that the call met; empty if there is none.
	Matcher string
	// Command is the command line, or the address of an http hook.
	Command string
	// Source is the file that names the hook.
	Source string
	// Started is the start time, Duration how long the run took.
	Started  time.Time
	Duration time.Duration
	// Exit is the exit code, or NoExit.
	Exit int
	// Status is one of the constants above.
	Status string
	// Decision is the hook's decision, such as "deny"; empty if there is none.
	// Reason is the reason that the hook gave.
	Decision, Reason string
}

// HookAnswer is the answer to the host after the user's hooks ran.
type HookAnswer struct {
	// Cancelled reports that the host was asked to stop.
	Cancelled bool
	// SoftDenied reports that a tool call was denied without stopping the run: it
	// got an input that makes it fail.
	SoftDenied bool
	// InputChanged reports that a hook changed the call's input.
	InputChanged bool
	// By is the command of the hook that decided, Reason the reason it gave.
	By, Reason string
}

// Denies reports that the hooks denied the operation that they ran for.
func (a *HookAnswer) Denies() bool { return a != nil && (a.Cancelled || a.SoftDenied) }

// Attr is a named fact: Value is a string, int64, float64 or bool.
type Attr struct {
	Key   string
	Value any
}

// AttrPromptInjected marks a prompt that the host wrote, not the user.
const AttrPromptInjected = "hookspan.prompt.injected"

// AttrPromptQueued marks a prompt that joins the turn under way, whatever its Turn.
const AttrPromptQueued = "hookspan.prompt.queued"

// Reply is what a hook answers its host.
type Reply struct {
	// Cancel asks the host to stop what it was about to do.
	Cancel bool
	// Context is text for the model.
	Context string
	// ErrorMessage tells the user why something was stopped.
	ErrorMessage string
	// OverrideInput is JSON that replaces the input of a tool call, if it is not
	// empty. Only Cline's SDK dialect supports it, before a tool runs.
	OverrideInput string
}

// Head is the part of a payload that a hook process needs before it stores it.
type Head struct {
	// Session and Name are as in Event; Name falls back to the name the hook
	// file was started with.
	Session string
	Name    string
	// Kind is what happened, as far as the head of the payload shows.
	Kind Kind
	// RunEnds reports that a run of the session's lead agent ends, so that a
	// delivery starts.
	RunEnds bool
	// Dirs are the session's project folders that the payload names.
	Dirs []string
	// Agent is a short name, such as "codex", of another agent that sent the
	// payload to this agent's hook; else empty.
	Agent string
	// Version is the version of the program, as far as the payload names it.
	Version string
	// Patience is how long the host waits for a hook's answer; 0 means 30 s.
	Patience time.Duration
}
