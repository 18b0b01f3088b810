package cline

import (
	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/rawjson"
)

// The wire forms, as in Event.Dialect.
const (
	dialectClassic = "classic"
	dialectNext    = "next"
	dialectSDK     = "sdk"
)

// The hooks by the names Cline documents, which are also the hook files' names.
const (
	taskStart        = "TaskStart"
	taskResume       = "TaskResume"
	userPromptSubmit = "UserPromptSubmit"
	preToolUse       = "PreToolUse"
	postToolUse      = "PostToolUse"
	preCompact       = "PreCompact"
	notification     = "Notification"
	taskComplete     = "TaskComplete"
	taskError        = "TaskError"
	taskCancel       = "TaskCancel"
	sessionShutdown  = "SessionShutdown"
)

// hooks are the hooks that some version of Cline runs, in the order of a task's
// life: the documented name, the name in the SDK dialect where it has one, and
// the meaning.
var hooks = [...]struct {
	name, sdk string
	kind      hook.Kind
}{
	{taskStart, "agent_start", hook.KindRunStart},
	{taskResume, "agent_resume", hook.KindRunResume},
	{userPromptSubmit, "prompt_submit", hook.KindPrompt},
	{preToolUse, "tool_call", hook.KindToolStart},
	{postToolUse, "tool_result", hook.KindToolEnd},
	{preCompact, "", hook.KindCompact},
	{notification, "", hook.KindNotification},
	{taskComplete, "agent_end", hook.KindRunComplete},
	{taskError, "agent_error", hook.KindRunError},
	{taskCancel, "agent_abort", hook.KindRunCancel},
	{sessionShutdown, "session_shutdown", hook.KindSessionEnd},
}

// documentedName maps the name that was sent to the documented one. Names it
// does not know stay as they are.
func documentedName(sent string) string {
	for _, h := range hooks {
		if sent != "" && sent == h.sdk {
			return h.name
		}
	}
	return sent
}

// kindOf returns the kind of the hook with a documented name. turn is the payload's
// member of that name: the SDK runs the same hook for a turn that did not complete.
func kindOf(name string, turn rawjson.Object) hook.Kind {
	if name == taskComplete {
		switch turn.Text("status") {
		case "aborted", "cancelled", "canceled":
			return hook.KindRunCancel
		case "failed", "error":
			return hook.KindRunError
		}
	}
	for _, h := range hooks {
		if h.name == name {
			return h.kind
		}
	}
	return hook.KindUnknown
}
