package otelmap

import (
	"cmp"

	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
)

// This file has the names that more than one place of hookspan puts on a span, a span
// event or a resource. The decoders in hook name the attributes of their events, and
// WithLatestNames adds its names. Standard names follow the OpenTelemetry
// semantic conventions v1.41 (GenAI); hookspan's names begin with "hookspan.". The folder
// registry describes them.

// SchemaURL is the version of the semantic conventions the spans follow.
const SchemaURL = semconv.SchemaURL

// ScopeName is the instrumentation scope of every span.
const ScopeName = "github.com/hookspan/hookspan"

// Values of gen_ai.operation.name, the kinds of span.
const (
	OpInvokeAgent = "invoke_agent"
	OpExecuteTool = "execute_tool"
	OpChat        = "chat"
	// OpInvokeWorkflow is a script that calls tools, which count in its place.
	OpInvokeWorkflow = "invoke_workflow"
)

// Standard attribute keys.
const (
	KeyOperation      = string(semconv.GenAIOperationNameKey)
	KeyAgentName      = string(semconv.GenAIAgentNameKey)
	KeyConversationID = string(semconv.GenAIConversationIDKey)
	KeyProvider       = string(semconv.GenAIProviderNameKey)
	KeyRequestModel   = string(semconv.GenAIRequestModelKey)
	KeyResponseModel  = string(semconv.GenAIResponseModelKey)
	KeyResponseID     = string(semconv.GenAIResponseIDKey)
	KeyToolName       = string(semconv.GenAIToolNameKey)
	KeyWorkflowName   = string(semconv.GenAIWorkflowNameKey)
	KeyToolType       = string(semconv.GenAIToolTypeKey)
	KeyToolCallID     = string(semconv.GenAIToolCallIDKey)
	// KeyToolArguments and KeyToolResult hold previews unless everything is
	// captured.
	KeyToolArguments = string(semconv.GenAIToolCallArgumentsKey)
	KeyToolResult    = string(semconv.GenAIToolCallResultKey)
	// KeyInputTokens includes cache reads and writes.
	KeyInputTokens      = string(semconv.GenAIUsageInputTokensKey)
	KeyOutputTokens     = string(semconv.GenAIUsageOutputTokensKey)
	KeyCacheReadTokens  = string(semconv.GenAIUsageCacheReadInputTokensKey)
	KeyCacheWriteTokens = string(semconv.GenAIUsageCacheCreationInputTokensKey)
	KeyFinishReasons    = string(semconv.GenAIResponseFinishReasonsKey)
	// KeyReasoningTokens are among the output tokens, if the agent's files count them.
	KeyReasoningTokens = string(semconv.GenAIUsageReasoningOutputTokensKey)
	// KeyInputMessages and KeyOutputMessages are lists of Message, KeySystemInstructions
	// one of Part, each as one JSON text. On agents they are the prompts and the answer, on
	// requests what was added since the agent's request before and the reply.
	KeyInputMessages      = string(semconv.GenAIInputMessagesKey)
	KeyOutputMessages     = string(semconv.GenAIOutputMessagesKey)
	KeySystemInstructions = string(semconv.GenAISystemInstructionsKey)
	KeyErrorType          = string(semconv.ErrorTypeKey)
	// KeyUser is the user that the resource names, else the host's opaque identity.
	KeyUser             = string(semconv.UserIDKey)
	KeyMCPMethod        = string(semconv.McpMethodNameKey)
	KeyWorkingDirectory = string(semconv.ProcessWorkingDirectoryKey)
	KeyServiceName      = string(semconv.ServiceNameKey)
	KeyServiceVersion   = string(semconv.ServiceVersionKey)
	KeyHostName         = string(semconv.HostNameKey)
	KeyHostArch         = string(semconv.HostArchKey)
	KeyOSType           = string(semconv.OSTypeKey)

	// KeyRepositoryName and KeyRepositoryURL are the repository that the run worked in,
	// KeyBranch and KeyRevision the branch and the commit at its end, on roots. A request that
	// was made on another branch or in another repository has its own of the first three.
	KeyRepositoryName = "vcs.repository.name"
	KeyRepositoryURL  = "vcs.repository.url.full"
	KeyBranch         = "vcs.ref.head.name"
	KeyRevision       = "vcs.ref.head.revision"

	// KeyInputValue is the run's first prompt as typed, up to MaxTaskRunes, and
	// KeyOutputValue its final text, on roots: the names by OpenInference, which some
	// backends list traces by. If a task begins without a prompt, the first is a preview of
	// the session's first.
	KeyInputValue  = "input.value"
	KeyOutputValue = "output.value"
	// KeyUsageCost is KeyCost under the name that Langfuse reads, on requests. It is there
	// only after WithUsageCost: the conventions have no name for it yet.
	KeyUsageCost = "gen_ai.usage.cost"

	KeyExceptionType    = string(semconv.ExceptionTypeKey)
	KeyExceptionMessage = string(semconv.ExceptionMessageKey)
)

// Keys of hookspan, on the root span unless said otherwise.
const (
	// KeyHost is the name of the agent program.
	KeyHost = "hookspan.host"
	// KeyHostVersion is that program's version.
	KeyHostVersion = "hookspan.host_version"
	// KeyHostApp is the program the agent runs in, such as an editor.
	KeyHostApp = "hookspan.host_app"
	// KeyBranchUnknown is true on requests whose branch is not known, or was none, while the
	// root has one.
	KeyBranchUnknown = "hookspan.branch.unknown"
	// KeyCommits are the commits that a call made, on tool spans.
	KeyCommits = "hookspan.commits"
	// KeyFolders are the folders of a workspace that has several, the main one first.
	// KeyFolder is the one that the path in a call's input is in, on tool spans.
	KeyFolders = "hookspan.workspace.folders"
	KeyFolder  = "hookspan.workspace.folder"
	// KeyImported is true on every span that was sent from history: by an import, or by an
	// export to a destination.
	KeyImported = "hookspan.imported"
	// KeyTest is true on every span of hookspan test, which gateways keep and do not count.
	KeyTest = "hookspan.test"
	// KeyDialect is the wire form of the events.
	KeyDialect = "hookspan.dialect"
	// KeyHostProvider is the model's provider as the host spells it; the
	// standard key holds the standard spelling.
	KeyHostProvider = "hookspan.host_provider"
	// KeyOutcome is one of the Outcome values.
	KeyOutcome = "hookspan.outcome"
	// KeyEvidence is how much of the run is known: one of the Evidence values.
	// KeyEvidenceMissing is what is missing, unless it is complete.
	KeyEvidence        = "hookspan.evidence"
	KeyEvidenceMissing = "hookspan.evidence_missing"
	// KeyCancelStatus and KeySessionEndReason are the host's names for how a
	// cancelled or interrupted run ended.
	KeyCancelStatus     = "hookspan.cancel.status"
	KeySessionEndReason = "hookspan.session_end.reason"
	// KeyCompletionCommand is the command that classic Cline ran at the end of a task
	// without asking a hook before it.
	KeyCompletionCommand = "hookspan.completion.command"
	// KeyPromptID is the host's identity of the turn that is the run.
	KeyPromptID = "hookspan.prompt.id"
	// KeySessionSource is how the session began just before the run: "startup",
	// "resume", "clear", "compact" or "fork".
	KeySessionSource = "hookspan.session.source"
	// KeyTurns is the number of turns that are joined in a root.
	KeyTurns = "hookspan.turns"
	// KeyModel, KeyAgent and the counts below are on agents what the standard keys are on
	// requests: many backends take a span with a model for a request, and add up the tokens
	// of all spans.
	KeyModel = "hookspan.model"
	// KeyAgent is the host's id of a subagent.
	KeyAgent               = "hookspan.agent.id"
	KeyRunInputTokens      = "hookspan.usage.input_tokens"                //nolint:gosec // Counts tokens of a model.
	KeyRunOutputTokens     = "hookspan.usage.output_tokens"               //nolint:gosec // Counts tokens of a model.
	KeyRunCacheReadTokens  = "hookspan.usage.cache_read.input_tokens"     //nolint:gosec // Counts tokens of a model.
	KeyRunCacheWriteTokens = "hookspan.usage.cache_creation.input_tokens" //nolint:gosec // Counts tokens of a model.
	KeyRunReasoningTokens  = "hookspan.usage.reasoning.output_tokens"     //nolint:gosec // Counts tokens of a model.
	// KeyCost is US dollars, on root and chat spans.
	KeyCost = "hookspan.cost.usd"
	// KeyHostInputTokens is the input count as the host counts it, with or
	// without cache tokens, on root and chat spans.
	KeyHostInputTokens = "hookspan.usage.host_input_tokens" //nolint:gosec // Counts tokens of a model.
	// KeyCacheWriteHourTokens are those of the cache's writes that it keeps for an hour, on chat
	// spans of agents whose files say so.
	KeyCacheWriteHourTokens = "hookspan.usage.cache_creation.hour.input_tokens" //nolint:gosec // Counts tokens of a model.
	// KeyLLMRequests counts the run's requests to the model.
	KeyLLMRequests = "hookspan.llm.requests"
	// KeyToolCalls, KeyToolFailures and KeyToolUnknown count the run's tool calls,
	// those that failed and those of unknown outcome, if any.
	KeyToolCalls    = "hookspan.tool.calls"
	KeyToolFailures = "hookspan.tool.failures"
	KeyToolUnknown  = "hookspan.tool.unknown"
	// KeyToolOutcome is ToolOutcomeUnknown on the span of a tool call whose outcome
	// is not reported, and absent on all others: error.type marks failed calls.
	KeyToolOutcome = "hookspan.tool.outcome"
	// KeyEffort is the model's effort setting, on the root and on the lead agent's requests,
	// KeyCompacted marks the requests after a compaction of the run.
	KeyEffort    = "hookspan.effort"
	KeyCompacted = "hookspan.compacted"
	// KeyPermissionMode is the host's approval mode.
	KeyPermissionMode = "hookspan.permission_mode"
	// KeyMCPServer is the server of a tool that a server has, on tool spans.
	KeyMCPServer = "hookspan.mcp.server"
	// KeyHostDuration is the host's measure of a tool call in milliseconds, on tool
	// spans. It may include the time the user took to approve the call.
	KeyHostDuration = "hookspan.tool.host_duration_ms"
	// KeyClamped marks a span whose end was moved to its start because the
	// host's clock ran backwards.
	KeyClamped = "hookspan.clock_clamped"
	// KeyRequestID is the provider's identity of a chat request.
	KeyRequestID = "hookspan.llm.request_id"
	// KeyFinish is the host's reason for an aborted chat request.
	KeyFinish = "hookspan.llm.finish"

	// KeyText is the text of a prompt or notification, on span events.
	KeyText = "hookspan.text"
	// KeyEventName is the host's name of the hook that a note is about.
	KeyEventName = "hookspan.event.name"
	// KeyStopBlocked marks the note of an end after which one of the user's hooks
	// made the agent continue.
	KeyStopBlocked = "hookspan.stop.blocked"
	// KeyPromptInjected marks a prompt that the host wrote, not the user.
	KeyPromptInjected = "hookspan.prompt.injected"
	// KeyPromptQueued marks a prompt that was typed while the agent worked.
	KeyPromptQueued = "hookspan.prompt.queued"
	// KeyHookEvent and KeyHookTool are the event and the tool that one of the
	// user's hooks ran for, by the names that the hook gets. They and the keys
	// below are on span events.
	KeyHookEvent = "hookspan.hook.event"
	KeyHookTool  = "hookspan.hook.tool"
	// KeyHookMatcher is the condition that the event matched.
	KeyHookMatcher = "hookspan.hook.matcher"
	// KeyHookCommand is a preview of the command, KeyHookSource the file that has
	// it.
	KeyHookCommand = "hookspan.hook.command"
	KeyHookSource  = "hookspan.hook.source"
	// KeyHookDuration is in milliseconds.
	KeyHookDuration = "hookspan.hook.duration_ms"
	// KeyHookExitCode is absent if the hook did not exit.
	KeyHookExitCode = "hookspan.hook.exit_code"
	// KeyHookStatus is "ok", "error", "timeout", "not_started" or "async".
	KeyHookStatus = "hookspan.hook.status"
	// KeyHookDecision is the hook's decision, such as "deny", KeyHookReason its
	// reason.
	KeyHookDecision = "hookspan.hook.decision"
	KeyHookReason   = "hookspan.hook.reason"
	// KeyHookDeniedBy is the command of the hook that denied the call, and
	// KeyHookInputChanged marks a call whose input a hook changed. Both are on tool
	// spans.
	KeyHookDeniedBy     = "hookspan.hook.denied_by"
	KeyHookInputChanged = "hookspan.hook.input_changed"
	// KeyHookStoppedBy is the command of the hook that asked the host to stop.
	KeyHookStoppedBy = "hookspan.hook.stopped_by"
	// KeyAwaitsUser is true on a notification of a host that waits for its user, KeyWaited
	// how long it did, in milliseconds: until the next event of the run.
	KeyAwaitsUser = "hookspan.notification.waiting_for_user_input"
	KeyWaited     = "hookspan.notification.waited_ms"
	// KeyUsageSource is "deleted", "subagents" or "session", on usage events.
	KeyUsageSource = "hookspan.usage.source"
)

// Names of span events. All are on the root span, except that an exception is on
// the span that failed, and the permission request and the user's hooks of a tool
// call are on the tool's span.
const (
	// EventHook is a call of one of the user's hooks.
	EventHook = "hookspan.hook"
	// EventTurnFailed is a failed turn before the last, on the root of a session
	// whose turns are joined.
	EventTurnFailed   = "hookspan.turn_failed"
	EventNote         = "hookspan.note"
	EventPermission   = "hookspan.permission_request"
	EventPrompt       = "hookspan.prompt"
	EventCompaction   = "hookspan.compaction"
	EventNotification = "hookspan.notification"
	EventUsage        = "hookspan.usage"
	EventException    = "exception"
)

// The outcomes of a run.
const (
	OutcomeCompleted   = "completed"
	OutcomeCancelled   = "cancelled"
	OutcomeInterrupted = "interrupted"
	OutcomeFailed      = "failed"
	OutcomeAbandoned   = "abandoned"
	// OutcomeRunning is that of a run that has not ended. It is never sent or stored.
	OutcomeRunning = "running"
)

// The values of KeyEvidence: nothing is known to be missing, something is, or the host's
// files could not tell.
const (
	EvidenceComplete = "complete"
	EvidencePartial  = "partial"
	EvidenceUnknown  = "unknown"
)

// The values of KeyToolOutcome.
const (
	ToolOutcomeUnknown = "unknown"
	// ToolOutcomeRunning is that of a call that has not ended. It is never sent or stored.
	ToolOutcomeRunning = "running"
)

// Values of error.type.
const (
	// ErrorTool is a failed tool.
	ErrorTool = "ToolError"
	// ErrorToolFailure is a failed tool of an agent with this Agent.ToolError.
	ErrorToolFailure = "ToolFailure"
	// ErrorToolDenied is a call that the user or a rule denied.
	ErrorToolDenied = "ToolDenied"
	// ErrorToolCancelled is a call the user stopped while it ran.
	ErrorToolCancelled = "ToolCancelled"
	// ErrorToolUnfinished is a call that never reported an end.
	ErrorToolUnfinished = "ToolUnfinished"
	// ErrorRun is a run that failed without a reason.
	ErrorRun = "RunError"
	// ErrorOther is a request to the model that failed without a class of error,
	// as the conventions name it.
	ErrorOther = "_OTHER"
	// ErrorAbandoned is a run that never reported an end.
	ErrorAbandoned = "RunAbandoned"
)

// runKeys are the keys of counts on agents by those on requests.
var runKeys = map[string]string{
	KeyInputTokens: KeyRunInputTokens, KeyOutputTokens: KeyRunOutputTokens, KeyCacheReadTokens: KeyRunCacheReadTokens,
	KeyCacheWriteTokens: KeyRunCacheWriteTokens, KeyReasoningTokens: KeyRunReasoningTokens,
}

// RunKey returns the key that a count of requests has on their agent, any other unchanged.
func RunKey(key string) string { return cmp.Or(runKeys[key], key) }

// MaxTaskRunes bounds the task and the result on the root span. It is Infinium's
// limit for a description.
const MaxTaskRunes = 10_000
