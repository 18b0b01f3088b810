package claude

import "github.com/hookspan/hookspan/hook"

// The names of hooks that the code refers to.
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
	// A shell command in the text of a skill, before it runs. No hook reports its end.
	preSkillShellCommand = "PreSkillShellCommand"
	elicitation          = "Elicitation"
	elicitationResult    = "ElicitationResult"
	sessionEnd           = "SessionEnd"
)

// hooks are all hooks that some version of Claude Code runs, in the order of a
// session's life, and what they mean.
var hooks = [...]struct {
	name string
	kind hook.Kind
}{
	{"Setup", hook.KindAside},
	{sessionStart, hook.KindSessionStart},
	{"InstructionsLoaded", hook.KindAside},
	{userPromptSubmit, hook.KindPrompt},
	{userPromptExpansion, hook.KindNote},
	{preSkillShellCommand, hook.KindToolEnd},
	{"MessageDisplay", hook.KindAside},
	{preToolUse, hook.KindToolStart},
	{permissionRequest, hook.KindPermission},
	{permissionDenied, hook.KindToolEnd},
	{postToolUse, hook.KindToolEnd},
	{postToolUseFailure, hook.KindToolEnd},
	{"PostToolBatch", hook.KindAside},
	{notification, hook.KindNotification},
	{subagentStart, hook.KindRunStart},
	{subagentStop, hook.KindRunComplete},
	{taskCreated, hook.KindNote},
	{taskCompleted, hook.KindNote},
	{"TeammateIdle", hook.KindAside},
	{stop, hook.KindRunComplete},
	{stopFailure, hook.KindRunError},
	{"ConfigChange", hook.KindAside},
	{"CwdChanged", hook.KindAside},
	{"DirectoryAdded", hook.KindAside},
	{"FileChanged", hook.KindAside},
	{"WorktreeCreate", hook.KindAside},
	{"WorktreeRemove", hook.KindAside},
	{preCompact, hook.KindCompact},
	{postCompact, hook.KindNote},
	{"PreModelSwitch", hook.KindAside},
	{postModelSwitch, hook.KindNote},
	{elicitation, hook.KindNote},
	{elicitationResult, hook.KindNote},
	{sessionEnd, hook.KindSessionEnd},
}

// EventNames returns the names of all hooks that some version of Claude Code
// runs, in the order of a session's life. The slice is the caller's.
//
// Not each of them may be given a hook that prints nothing: Claude Code takes
// the directory of a new worktree from what the WorktreeCreate hooks print.
func EventNames() []string {
	var names []string
	for _, h := range hooks {
		names = append(names, h.name)
	}
	return names
}

// kindOf returns the kind of the hook with that name. inAgent reports whether the
// payload names a subagent: versions before 2.0.42 do not name the subagent that
// began or ended, and the event is only a note.
func kindOf(name string, inAgent bool) hook.Kind {
	if (name == subagentStart || name == subagentStop) && !inAgent {
		return hook.KindNote
	}
	for _, h := range hooks {
		if h.name == name {
			return h.kind
		}
	}
	return hook.KindUnknown
}
