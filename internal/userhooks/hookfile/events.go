package hookfile

import (
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"

	"github.com/hookspan/hookspan/hook/claude"
)

// Events returns Claude's names of the events that can occur on Cline, in the
// order of a session's life. The slice is the caller's.
func Events() []string {
	return []string{
		"SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure",
		"Notification", "PreCompact", "SubagentStart", "SubagentStop", "Stop", "StopFailure", "SessionEnd",
	}
}

// EventsOf are the events of hooks, in the order of a session's life.
func EventsOf(handlers []Handler) []string {
	return slices.DeleteFunc(Events(), func(event string) bool {
		return !slices.ContainsFunc(handlers, func(h Handler) bool { return h.Event == event })
	})
}

// HasTool reports whether an event is about a tool call. Only those have permission
// rules.
func HasTool(event string) bool {
	return event == "PreToolUse" || event == "PostToolUse" || event == "PostToolUseFailure"
}

// hasTool is HasTool for the event that is read. Claude Code asks for permission
// with two more.
func (r *reading) hasTool() bool {
	return HasTool(r.event) || r.claude && (r.event == "PermissionRequest" || r.event == "PermissionDenied")
}

// nearest is the event that a user may have meant, empty if none is near.
func nearest(name string) string {
	switch name { // of Cline's hooks
	case "TaskStart", "TaskResume":
		return "SessionStart"
	case "TaskComplete":
		return "Stop"
	case "TaskCancel", "SessionShutdown":
		return "SessionEnd"
	case "TaskError":
		return "StopFailure"
	}
	// Longer names are no misspelling of one of these.
	const longest = 40
	if len(name) > longest {
		return ""
	}
	// Half of the name must be right.
	best, least := "", len(name)/2+1
	for _, event := range slices.Concat(Events(), claude.EventNames()) {
		if d := levenshtein.ComputeDistance(strings.ToLower(name), strings.ToLower(event)); d < least {
			best, least = event, d
		}
	}
	return best
}
