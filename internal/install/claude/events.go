package claude

// hookTimeout is how long Claude Code waits for a hook, in seconds. A hook
// answers in milliseconds; this bounds what a stuck disk can cost. At SessionEnd
// it also raises the 1.5 s that all hooks share there.
const hookTimeout = 10

// hookEvent is one event of Claude Code that hookspan records.
type hookEvent struct {
	name string
	// since is the first version known to have the event, empty for those that
	// are older than any version that matters. An older Claude Code may warn
	// about the name.
	since string
	// timeout is how long the agent waits for the hook, in its unit; if zero,
	// hookTimeout, in seconds.
	timeout int
}

// hookEvents lists what is installed, in the order of a settings file. It leaves
// out WorktreeCreate, where any hook replaces git; PreModelSwitch, which a hook
// that times out blocks; MessageDisplay, which comes for every piece of streamed
// text; and PostToolBatch, which repeats PostToolUse.
//
// The versions are those of Claude Code's change log. It does not name two of
// them: PostToolUseFailure is in descriptions of 2.1.1, UserPromptExpansion in the
// reference of 2.1.152 and in none before 2.1.114.
func hookEvents() []hookEvent {
	return []hookEvent{
		{name: "SessionStart"},
		{name: "UserPromptSubmit"},
		{name: "UserPromptExpansion", since: "2.1.152"},
		{name: "PreToolUse"},
		{name: "PermissionRequest", since: "2.0.45"},
		{name: "PermissionDenied", since: "2.1.89"},
		{name: "PostToolUse"},
		{name: "PostToolUseFailure", since: "2.1.1"},
		{name: "SubagentStart", since: "2.0.43"},
		{name: "SubagentStop"},
		{name: "Notification"},
		{name: "PreCompact"},
		{name: "PostCompact", since: "2.1.76"},
		{name: "PostModelSwitch", since: "2.1.251"},
		{name: "Elicitation", since: "2.1.76"},
		{name: "ElicitationResult", since: "2.1.76"},
		{name: "TaskCreated", since: "2.1.84"},
		{name: "TaskCompleted", since: "2.1.33"},
		{name: "Stop"},
		{name: "StopFailure", since: "2.1.78"},
		{name: "SessionEnd"},
	}
}

// codexEvents lists what is installed for Codex, which waits a second for the last two
// by itself and warns of more than three.
func codexEvents() []hookEvent {
	var events []hookEvent
	for _, name := range []string{
		"SessionStart", "UserPromptSubmit", "PreToolUse", "PermissionRequest", "PostToolUse", "PreCompact", "PostCompact",
		"SubagentStart", "SubagentStop", "Stop",
	} {
		events = append(events, hookEvent{name: name})
	}
	return append(events, hookEvent{name: "Interrupt", timeout: 1}, hookEvent{name: "SessionEnd", timeout: 1})
}

// qwenEvents lists what is installed for Qwen Code. PostToolBatch is among them, as
// only it reports calls that never started, and MessageDisplay is not.
func qwenEvents() []hookEvent {
	var events []hookEvent
	for _, name := range []string{
		"SessionStart", "UserPromptSubmit", "PreToolUse", "PermissionRequest", "PermissionDenied", "PostToolUse",
		"PostToolUseFailure", "PostToolBatch", "SubagentStart", "SubagentStop", "Notification", "PreCompact", "PostCompact",
		"Stop", "StopFailure", "SessionEnd",
	} {
		events = append(events, hookEvent{name: name})
	}
	return events
}

// copilotEvents lists what is installed for Copilot. It leaves out permissionRequest,
// which comes for calls that need no permission, too.
func copilotEvents() []hookEvent {
	var events []hookEvent
	for _, name := range []string{
		"sessionStart", "userPromptSubmitted", "preToolUse", "postToolUse", "postToolUseFailure", "subagentStart", "subagentStop",
		"notification", "preCompact", "agentStop", "errorOccurred", "sessionEnd",
	} {
		events = append(events, hookEvent{name: name})
	}
	return events
}

// geminiEvents lists what is installed for the Gemini CLI, which counts in
// milliseconds. It leaves out the hooks of requests: each of their payloads has the
// whole conversation, and some come for every piece of an answer.
func geminiEvents() []hookEvent {
	var events []hookEvent
	for _, name := range []string{
		"SessionStart", "BeforeAgent", "BeforeTool", "AfterTool", "Notification", "AfterAgent", "SessionEnd",
	} {
		events = append(events, hookEvent{name: name, timeout: hookTimeout * 1000})
	}
	return events
}
