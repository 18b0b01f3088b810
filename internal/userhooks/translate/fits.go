package translate

import (
	"slices"

	"github.com/hookspan/hookspan/hook"
)

// EventsOf returns the names of the events that Claude can have for an event of
// Cline of that kind.
func EventsOf(kind hook.Kind) []string {
	switch kind {
	case hook.KindToolStart:
		return []string{"PreToolUse"}
	case hook.KindToolEnd:
		return []string{"PostToolUse", "PostToolUseFailure"}
	case hook.KindPrompt:
		return []string{"UserPromptSubmit"}
	case hook.KindRunStart:
		return []string{"SessionStart", "SubagentStart"}
	case hook.KindRunResume:
		return []string{"SessionStart"}
	case hook.KindRunComplete:
		return []string{"Stop", "SubagentStop"}
	case hook.KindRunCancel, hook.KindSessionEnd:
		return []string{"SessionEnd", "SubagentStop"}
	case hook.KindRunError:
		return []string{"StopFailure", "SubagentStop"}
	case hook.KindCompact:
		return []string{"PreCompact"}
	case hook.KindNotification:
		return []string{"Notification"}
	}
	return nil
}

// ToolSubjects returns Cline's tools, each with all names that a matcher of its calls
// can be tried against. Left out are the tools of MCP servers, whose names are in the
// input of a call, and unknown ones.
func ToolSubjects() map[string][]string {
	out := make(map[string][]string, len(tools()))
	for name, t := range tools() {
		if name == mcpByName {
			continue
		}
		names := append([]string{name, t.form.tool, t.twin}, t.form.aliases...)
		if t.form.tool == toolEdit || t.form.tool == toolWrite {
			// An edit can be a whole file, and several edits one.
			names = append(names, toolEdit, toolWrite, aliasMultiEdit, "write_to_file")
		}
		slices.Sort(names)
		out[name] = slices.Compact(names)
	}
	return out
}
