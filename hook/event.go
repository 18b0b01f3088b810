package hook

import "time"

// Kind says what happened, in words that fit every host.
type Kind uint8

// The kinds of event. No host has all of them.
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
	// KindSessionStart says that the host has begun, resumed, cleared or
	// compacted its conversation. It opens no run.
	KindSessionStart
	// KindPermission is the host asking the user whether a tool may run. Its
	// Tool has a name and an input and mostly no id.
	KindPermission
	// KindNote is any other event that is worth a line in the trace.
	KindNote
	// KindAside is a known event that takes no part in any trace, such as a
	// piece of streamed text.
	KindAside
	// KindHookRuns says which of the user's hooks ran for an earlier event, and
	// what was answered. hookspan writes it into the log itself. It opens, ends
	// and continues no run.
	KindHookRuns
)

var kindNames = [...]string{
	"unknown", "run_start", "run_resume", "prompt", "tool_start", "tool_end",
	"compact", "notification", "run_complete", "run_cancel", "run_error", "session_end",
	"session_start", "permission", "note", "aside", "hook_runs",
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

// Failed reports that a call did not do what it was asked to. Of one that ended
// in an unknown way that is not known, nor is the opposite.
func (s ToolStatus) Failed() bool { return s != ToolOK && s != ToolUnknown }

// ParentUnknown is the ParentAgent of a subagent whose host does not say which
// agent started it.
const ParentUnknown = "?"

// Event is one event that an agent's hook reported.
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
	// Turn is the host's identity of the run the event belongs to, where it has
	// one (Claude Code's prompt id). A subagent's events carry the turn that
	// started it.
	Turn string
	// Key identifies repeats of the event: of equal keys in one session only the
	// first counts. Empty where the host gives no such identity.
	Key string
	// Agent identifies the agent that acts, where the host distinguishes agents.
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
	// Transcript is the path of the session's file, where the host names it.
	Transcript string
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
	// Tool is set for KindToolStart, KindToolEnd and KindPermission.
	Tool *Tool
	// Attrs are further facts of the event, in a stable order (compaction
	// sizes, notification source, ...).
	Attrs []Attr

	// HookRuns are set for KindHookRuns alone, and so are About and Answer: the
	// runs in the order in which they are configured.
	HookRuns []HookRun `json:",omitempty"`
	// About is the Hash of the event that the hooks ran for.
	About uint64 `json:",omitempty"`
	// Answer is what the host was told after they ran.
	Answer *HookAnswer `json:",omitempty"`
}

// At is the event's time: the host's, else the stored one.
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
	// Agent is the subagent that the call started, where its end says so.
	Agent string
	// Status is how the call ended; meaningful on KindToolEnd alone.
	Status ToolStatus
	// Error is the failure's message.
	Error string
	// Started and Ended bound the execution exactly, where the host says so.
	Started time.Time
	Ended   time.Time
	// Duration is the host's measure of the call; on Cline classic it includes
	// the time the user took to approve it; UnknownDuration where it measured none.
	Duration time.Duration
}

// Values of HookRun.Status.
const (
	// HookOK ended by itself without a fault; it may have denied something.
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

// NoExit is the HookRun.Exit of a run that has no exit code: one that was not
// waited for, not started or stopped, and any that is no program.
const NoExit = -1

// HookRun is one execution of a hook of the user's.
type HookRun struct {
	// Event is the name of the event that the hook is configured for, Tool that
	// of the tool; both as the hook knows them, which the host may call
	// otherwise. One call of the host may be several for its hooks.
	Event, Tool string
	// Matcher is the condition that the call met; empty where there is none.
	Matcher string
	// Command is the command line, or the address of a hook that is asked over
	// HTTP.
	Command string
	// Source is the file that names the hook.
	Source string
	// Started is when it began, Duration how long it took.
	Started  time.Time
	Duration time.Duration
	// Exit is the exit code, NoExit where there is none.
	Exit int
	// Status is one of the constants above.
	Status string
	// Decision is the hook's own word, such as "deny"; empty where it decided
	// nothing. Reason is why.
	Decision, Reason string
}

// HookAnswer is what the host was told after the user's hooks ran.
type HookAnswer struct {
	// Cancelled reports that the host was asked to stop.
	Cancelled bool
	// SoftDenied reports that a tool call was denied without stopping the run: its
	// input was replaced by one that fails.
	SoftDenied bool
	// InputChanged reports that a hook changed the call's input.
	InputChanged bool
	// By is the command of the hook that decided, Reason what it said.
	By, Reason string
}

// Denies reports that what the hooks ran for was not to happen.
func (a *HookAnswer) Denies() bool { return a != nil && (a.Cancelled || a.SoftDenied) }

// Attr is a named fact: Value is a string, int64, float64 or bool.
type Attr struct {
	Key   string
	Value any
}

// AttrPromptInjected marks a prompt that the host wrote, not the user.
const AttrPromptInjected = "hookspan.prompt.injected"

// Reply is what a hook answers its host.
type Reply struct {
	// Cancel asks the host to stop what it was about to do.
	Cancel bool
	// Context is text for the model.
	Context string
	// ErrorMessage says to the user why something was stopped.
	ErrorMessage string
	// OverrideInput is the tool input, as JSON, that replaces the call's. Only
	// Cline's SDK dialect takes one, before a tool runs; empty leaves the input
	// as it is.
	OverrideInput string
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
	// Dirs are the session's project folders, as far as the payload names them.
	Dirs []string
	// Agent is the agent that sent the payload, by a short name such as "codex",
	// where it is another than the one the hook was installed for; else empty.
	Agent string
	// Patience is how long the host waits for a hook's answer; 0 means 30 s.
	Patience time.Duration
}
