package claude

import "github.com/hookspan/hookspan/hook"

// Host is the name of Claude Code in every event.
const Host = "claude-code"

// dialect is the Event.Dialect of every payload: there is one wire form.
const dialect = "claude"

// The hooks whose payloads are looked into, by their names on the wire.
const (
	sessionStart        = "SessionStart"
	userPromptSubmit    = "UserPromptSubmit"
	userPromptExpansion = "UserPromptExpansion"
	preToolUse          = "PreToolUse"
	permissionRequest   = "PermissionRequest"
	permissionDenied    = "PermissionDenied"
	postToolUse         = "PostToolUse"
	postToolUseFailure  = "PostToolUseFailure"
	notification        = "Notification"
	subagentStart       = "SubagentStart"
	subagentStop        = "SubagentStop"
	taskCreated         = "TaskCreated"
	taskCompleted       = "TaskCompleted"
	stop                = "Stop"
	stopFailure         = "StopFailure"
	preCompact          = "PreCompact"
	postCompact         = "PostCompact"
	postModelSwitch     = "PostModelSwitch"
	elicitation         = "Elicitation"
	elicitationResult   = "ElicitationResult"
	sessionEnd          = "SessionEnd"
)

// EventNames returns the names of all hooks that some version of Claude Code
// runs, in the order of a session's life. The slice is the caller's.
//
// Not each of them may be given a hook that prints nothing: Claude Code takes
// the directory of a new worktree from what the WorktreeCreate hooks print.
func EventNames() []string {
	return []string{
		"Setup", sessionStart, "InstructionsLoaded",
		userPromptSubmit, userPromptExpansion, "MessageDisplay",
		preToolUse, permissionRequest, permissionDenied, postToolUse, postToolUseFailure, "PostToolBatch",
		notification, subagentStart, subagentStop,
		taskCreated, taskCompleted, "TeammateIdle",
		stop, stopFailure,
		"ConfigChange", "CwdChanged", "DirectoryAdded", "FileChanged", "WorktreeCreate", "WorktreeRemove",
		preCompact, postCompact, "PreModelSwitch", postModelSwitch,
		elicitation, elicitationResult,
		sessionEnd,
	}
}

// kindOf says what the hook of a name means. inAgent tells whether the payload
// names a subagent: without that, nobody can say which subagent began or ended
// (versions before 2.0.42 do not), and the moment is no more than a note.
func kindOf(name string, inAgent bool) hook.Kind {
	switch name {
	case sessionStart:
		return hook.KindSessionStart
	case userPromptSubmit:
		return hook.KindPrompt
	case preToolUse:
		return hook.KindToolStart
	case postToolUse, postToolUseFailure, permissionDenied:
		return hook.KindToolEnd
	case permissionRequest:
		return hook.KindPermission
	case preCompact:
		return hook.KindCompact
	case notification:
		return hook.KindNotification
	case subagentStart:
		if inAgent {
			return hook.KindRunStart
		}
		return hook.KindNote
	case subagentStop:
		if inAgent {
			return hook.KindRunComplete
		}
		return hook.KindNote
	case stop:
		return hook.KindRunComplete
	case stopFailure:
		return hook.KindRunError
	case sessionEnd:
		return hook.KindSessionEnd
	case userPromptExpansion, postModelSwitch, taskCreated, taskCompleted, elicitation, elicitationResult, postCompact:
		return hook.KindNote
	case "PostToolBatch", "MessageDisplay", "InstructionsLoaded", "FileChanged", "ConfigChange", "TeammateIdle",
		"Setup", "DirectoryAdded", "CwdChanged", "WorktreeCreate", "WorktreeRemove", "PreModelSwitch":
		return hook.KindAside
	}
	return hook.KindUnknown
}
