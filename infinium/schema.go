package infinium

// This file is the one table of the names that Infinium's trace form uses. The
// names are those of the "Traced Events" pages of its connectors; where the pages
// disagree (input_preview, input_summary), the agent's Form decides.

// Trace is the body of POST {base}/agents/{id}/trace.
type Trace struct {
	// Name is a short title, up to MaxNameRunes.
	Name string `json:"name"`
	// Description is the whole task text, up to MaxDescriptionRunes.
	Description string `json:"description"`
	// CurrentDatetime is the run's start, RFC 3339 in UTC with milliseconds.
	CurrentDatetime string `json:"current_datetime"`
	// Duration is in seconds, within 0 and MaxDurationSeconds.
	Duration float64 `json:"duration"`
	// InputSummary and OutputSummary are previews of the first prompt and of
	// the final answer.
	InputSummary  string `json:"input_summary,omitempty"`
	OutputSummary string `json:"output_summary,omitempty"`
	// Steps are what happened, oldest first.
	Steps []Step `json:"steps,omitempty"`
	// Errors repeat the steps' errors in order, with those of the earlier turns
	// of a joined session at their ends; the run's own error, if any, comes
	// last.
	Errors []ErrorDetail `json:"errors,omitempty"`
	// LLMUsage is nil when no token count is known.
	LLMUsage *LLMUsage `json:"llm_usage,omitempty"`
	// Environment is what the run ran in.
	Environment Environment `json:"environment"`

	// TraceID and RootSpanID are the OpenTelemetry ids in hex. They are not
	// members of the body; the tag hookspan_trace_id carries the first.
	// RootSpanID is empty when Late is set.
	TraceID    string `json:"-"`
	RootSpanID string `json:"-"`
	// Late marks spans without the root of their run.
	Late bool `json:"-"`
}

// Step is one thing that happened in a run. Form.Turns selects whether tools use
// the Preview members or the Summary members.
type Step struct {
	Action        string `json:"action"`
	Description   string `json:"description,omitempty"`
	InputPreview  string `json:"input_preview,omitempty"`
	OutputPreview string `json:"output_preview,omitempty"`
	InputSummary  string `json:"input_summary,omitempty"`
	OutputSummary string `json:"output_summary,omitempty"`
	// DurationMS is in milliseconds, nil when unknown.
	DurationMS *int64       `json:"duration_ms,omitempty"`
	Error      *ErrorDetail `json:"error,omitempty"`
	// Metadata names the subagent a step belongs to, nil for the lead agent.
	Metadata *Metadata `json:"metadata,omitempty"`
}

// Metadata names a subagent.
type Metadata struct {
	SubagentID string `json:"subagent_id,omitempty"`
	AgentType  string `json:"agent_type,omitempty"`
}

// ErrorDetail is a failure. Failures of tools are recoverable, failures of a
// run are not.
type ErrorDetail struct {
	ErrorType   string `json:"error_type"`
	Message     string `json:"message"`
	Recoverable bool   `json:"recoverable"`
}

// LLMUsage sums a run's requests to the model. Counts are nil when unknown.
type LLMUsage struct {
	Provider string `json:"provider,omitempty"`
	Model    string `json:"model,omitempty"`
	// PromptTokens is with or without cache tokens, as Form.Turns says.
	PromptTokens     *int64 `json:"prompt_tokens,omitempty"`
	CompletionTokens *int64 `json:"completion_tokens,omitempty"`
	TotalTokens      *int64 `json:"total_tokens,omitempty"`
	APICallsCount    *int64 `json:"api_calls_count,omitempty"`
}

// Environment is the metadata of a run.
type Environment struct {
	Framework  string            `json:"framework,omitempty"`
	CustomTags map[string]string `json:"custom_tags,omitempty"`
}

// Actions of steps. With Form.Turns ":{tool}" follows ActionTool; ":{type}"
// always follows ActionSubagent.
const (
	ActionPrompt   = "user_prompt"
	ActionTool     = "tool_use"
	ActionSubagent = "subagent"
	// ActionInjected is a prompt that the agent program wrote, not the user.
	// Infinium documents no name for it; it must not look like the user's.
	ActionInjected = "injected_prompt"
	// ActionTruncated replaces the steps that were left out and gives their
	// number.
	ActionTruncated = "truncated"
)

// ErrorTruncated is the error_type of the entry that replaces the errors that were
// left out.
const ErrorTruncated = "Truncated"

// Keys of Environment.CustomTags.
const (
	// TagFramework repeats Environment.Framework: the connectors' pages list it
	// among the tags.
	TagFramework        = "framework"
	TagModel            = "model"
	TagModelProvider    = "model_provider"
	TagSessionID        = "session_id"
	TagWorkingDirectory = "working_directory"
	TagPermissionMode   = "permission_mode"
	TagCacheReads       = "cache_reads"
	TagCacheWrites      = "cache_writes"
	TagTotalCost        = "total_cost"
	TagTraceID          = "hookspan_trace_id"
	TagOutcome          = "outcome"
	TagCompactions      = "compactions"
)

// Limits of Infinium's form. Texts count in characters (runes).
const (
	MaxNameRunes        = 500
	MaxDescriptionRunes = 10_000
	// MaxDurationSeconds is one day.
	MaxDurationSeconds = 86_400
	// MaxBodyBytes stays below the service's 1 MB, as its connectors do.
	MaxBodyBytes = 950_000
)

// timeLayout has a fixed number of digits: older readers of ISO 8601 accept
// three or six digits of fraction and nothing else.
const timeLayout = "2006-01-02T15:04:05.000Z"
