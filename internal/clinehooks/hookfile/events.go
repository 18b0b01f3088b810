package hookfile

import (
	"slices"
	"strings"

	"github.com/hookspan/hookspan/hook/claude"
)

// The events that this package treats in a special way.
const (
	userPromptSubmit = "UserPromptSubmit"
	sessionStart     = "SessionStart"
	sessionEnd       = "SessionEnd"
	stop             = "Stop"
	stopFailure      = "StopFailure"
)

// Events returns Claude's names of the events that can occur on Cline, in the
// order of a session's life. The slice is the caller's.
func Events() []string {
	return []string{
		sessionStart, userPromptSubmit, "PreToolUse", "PostToolUse", "PostToolUseFailure",
		"Notification", "PreCompact", "SubagentStart", "SubagentStop", stop, stopFailure, sessionEnd,
	}
}

// HasTool reports whether an event is about a tool call. Only those have permission
// rules.
func HasTool(event string) bool {
	return event == "PreToolUse" || event == "PostToolUse" || event == "PostToolUseFailure"
}

// hasMatcher reports whether a matcher means something on the event.
func hasMatcher(event string) bool { return event != userPromptSubmit && event != stop }

// nearest is the event that a user may have meant, empty if none is near.
func nearest(name string) string {
	switch name { // of Cline's hooks
	case "TaskStart", "TaskResume":
		return sessionStart
	case "TaskComplete":
		return stop
	case "TaskCancel", "SessionShutdown":
		return sessionEnd
	case "TaskError":
		return stopFailure
	}
	// Longer names are no misspelling of one of these.
	const longest = 40
	if len(name) > longest {
		return ""
	}
	// Half of the name must be right.
	best, least := "", len(name)/2+1
	for _, event := range slices.Concat(Events(), claude.EventNames()) {
		if d := distance(strings.ToLower(name), strings.ToLower(event)); d < least {
			best, least = event, d
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
