package verdict

// The events that have rules of their own in more than one place.
const (
	preToolUse        = "PreToolUse"
	permissionRequest = "PermissionRequest"
)

// blocking is the effect of exit code 2 on an event, and of a failed hook with
// onFailure "block".
type blocking uint8

const (
	// blocksNothing events ignore the exit code.
	blocksNothing blocking = iota
	// blocksNotice events show the error stream to the user.
	blocksNotice
	// blocksFeedback events show it to the model, since nothing can be undone.
	blocksFeedback
	// blocksDeny events deny a tool call.
	blocksDeny
	// blocksEvent events stop what is about to happen.
	blocksEvent
)

// rules are what the hooks of one event can do in Claude Code.
type rules struct {
	exit blocking
	// plain reports that text on the output stream is context for the model.
	plain bool
	// context reports that the event has additionalContext, output that it has
	// updatedToolOutput.
	context, output bool
	// decision reports that the event has the top-level decision "block".
	decision bool
	// permission are the values of permissionDecision, nil if the event has no
	// such member.
	permission []Decision
	// silent events ignore whatever their hooks print.
	silent bool
	// anyExit events treat every exit code other than 0 as 2.
	anyExit bool
	// failsOpen events ignore onFailure: a broken hook would keep Claude Code from
	// ever stopping.
	failsOpen bool
	// deniesOnFailure events ignore exit code 2 and heed onFailure.
	deniesOnFailure bool
	// blocksOnTimeout events are blocked by a hook that takes too long.
	blocksOnTimeout bool
}

// rulesOf is the one table of what the events' hooks can do, after the tables
// "exit code 2 behavior per event" and "decision control" of Claude Code's hooks
// reference. Hooks of an event that it does not name can decide nothing.
func rulesOf(event string) rules {
	switch event {
	case preToolUse:
		return rules{exit: blocksDeny, context: true, decision: true, permission: []Decision{Allow, Deny, Ask, Defer}}
	case "PreSkillShellCommand":
		return rules{exit: blocksDeny, permission: []Decision{Allow, Deny, Ask, Defer}}
	case permissionRequest:
		return rules{deniesOnFailure: true}
	case "PostToolUse":
		return rules{exit: blocksFeedback, context: true, output: true, decision: true}
	case "PostToolUseFailure":
		return rules{exit: blocksFeedback, context: true, decision: true}
	case "PostToolBatch":
		return rules{exit: blocksEvent, context: true, decision: true}
	case "UserPromptSubmit", "UserPromptExpansion":
		return rules{exit: blocksEvent, plain: true, context: true, decision: true}
	case "SessionStart":
		return rules{exit: blocksNotice, plain: true, context: true}
	case "Stop", "SubagentStop":
		return rules{exit: blocksEvent, context: true, decision: true, failsOpen: true}
	case "PreCompact", "ConfigChange", "TaskCreated":
		return rules{exit: blocksEvent, decision: true}
	case "TaskCompleted", "TeammateIdle":
		return rules{exit: blocksEvent, failsOpen: true}
	case "Elicitation", "ElicitationResult":
		return rules{exit: blocksEvent}
	case "PreModelSwitch":
		return rules{exit: blocksEvent, permission: []Decision{Allow, Deny, Ask}, blocksOnTimeout: true}
	case "WorktreeCreate":
		return rules{exit: blocksEvent, anyExit: true}
	case "PostModelSwitch":
		return rules{exit: blocksNotice, plain: true, context: true}
	case "SubagentStart":
		return rules{exit: blocksNotice, context: true}
	case "SessionEnd", "PostCompact", "CwdChanged", "FileChanged":
		return rules{exit: blocksNotice}
	case "Setup":
		return rules{context: true}
	case "Notification", "StopFailure", "InstructionsLoaded":
		return rules{silent: true}
	}
	return rules{}
}

// word is the event's word for a denial.
func (r rules) word() Decision {
	if r.exit == blocksDeny || r.deniesOnFailure {
		return Deny
	}
	return Block
}
