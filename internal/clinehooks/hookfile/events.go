package hookfile

import "strings"

// The events that are looked at by name.
const (
	preToolUse         = "PreToolUse"
	postToolUse        = "PostToolUse"
	postToolUseFailure = "PostToolUseFailure"
	userPromptSubmit   = "UserPromptSubmit"
	sessionStart       = "SessionStart"
	sessionEnd         = "SessionEnd"
	stop               = "Stop"
	subagentStart      = "SubagentStart"
	subagentStop       = "SubagentStop"
	stopFailure        = "StopFailure"
	preCompact         = "PreCompact"
	notification       = "Notification"
)

// Events returns Claude's names of the events that can occur on Cline, in the
// order of a session's life. The slice is the caller's.
func Events() []string {
	return []string{
		sessionStart, userPromptSubmit, preToolUse, postToolUse, postToolUseFailure,
		notification, preCompact, subagentStart, subagentStop, stop, stopFailure, sessionEnd,
	}
}

// otherEvents are Claude's events that Cline never gives.
func otherEvents() []string {
	return []string{
		"Setup", "InstructionsLoaded", "UserPromptExpansion", "MessageDisplay", "PermissionRequest", "PermissionDenied",
		"PostToolBatch", "TaskCreated", "TaskCompleted", "TeammateIdle", "ConfigChange", "CwdChanged",
		"DirectoryAdded", "FileChanged", "WorktreeCreate", "WorktreeRemove", "PostCompact", "PreModelSwitch",
		"PostModelSwitch", "Elicitation", "ElicitationResult",
	}
}

// hasTool reports an event of a tool call: only those have permission rules.
func hasTool(event string) bool {
	return event == preToolUse || event == postToolUse || event == postToolUseFailure
}

// hasMatcher reports whether a matcher means something on the event.
func hasMatcher(event string) bool { return event != userPromptSubmit && event != stop }

// fromCline is Claude's name of a hook of Cline.
func fromCline(name string) string {
	switch name {
	case "TaskStart", "TaskResume":
		return sessionStart
	case "TaskComplete":
		return stop
	case "TaskCancel", "SessionShutdown":
		return sessionEnd
	case "TaskError":
		return stopFailure
	}
	return ""
}

// nearest is the event that may have been meant, or "".
func nearest(name string) string {
	if claude := fromCline(name); claude != "" {
		return claude
	}
	// Longer names are no misspelling of one of these.
	const longest = 40
	if len(name) > longest {
		return ""
	}
	// Half of what was written must be right.
	best, least := "", len(name)/2+1
	for _, list := range [][]string{Events(), otherEvents()} {
		for _, event := range list {
			if d := distance(strings.ToLower(name), strings.ToLower(event)); d < least {
				best, least = event, d
			}
		}
	}
	return best
}

// distance is the number of bytes to insert, delete or replace to make b of a.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
