package codex

import (
	"slices"
	"strings"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/rawjson"
)

// statusOf returns how a call ended that became no item, by the words for the model.
func statusOf(text string) hook.ToolStatus {
	has := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(text, w) })
	}
	head, _, _ := strings.Cut(text, "\nOutput:")
	switch {
	case strings.HasPrefix(text, "Command blocked by PreToolUse hook:"), strings.HasPrefix(text, "exec_command failed:") && has("Rejected("):
		return hook.ToolDenied
	case strings.HasPrefix(text, "aborted by user"), strings.HasSuffix(text, "\naborted by user"):
		return hook.ToolCancelled
	case strings.Contains(head, "Process exited with code "):
		if strings.Contains(head, "Process exited with code 0") {
			return hook.ToolOK
		}
		return hook.ToolFailed
	case strings.HasPrefix(head, "Exit code: "):
		if strings.HasPrefix(head, "Exit code: 0") {
			return hook.ToolOK
		}
		return hook.ToolFailed
	}
	for _, words := range [...]string{
		"apply_patch verification failed", "unsupported call:", "unsupported custom tool call:", "unable to locate ", "exec_command failed:",
		"failed to ", "invalid ", "Script failed",
	} {
		if strings.HasPrefix(text, words) {
			return hook.ToolFailed
		}
	}
	return hook.ToolOK
}

// itemStatus returns how a call ended that became an item.
func (l *log) itemStatus(item rawjson.Object) hook.ToolStatus {
	code, coded := rawjson.Int(item.Get("exit_code"))
	switch item.Text("status") {
	case "failed":
		if l.aborted && coded && code < 0 {
			return hook.ToolCancelled
		}
		return hook.ToolFailed
	case "declined":
		return hook.ToolDenied
	case "in_progress":
		return hook.ToolUnknown
	}
	return hook.ToolOK
}

// unclassed is the error.type of a request that failed without a class, as the
// conventions name it.
const unclassed = "_OTHER"

// answered are the classes of failures with the status of the answer. Such a class is
// the name of an object's member, any other one is a text.
var answered = [...]string{
	"http_connection_failed", "response_stream_connection_failed", "response_stream_disconnected", "response_too_many_failed_attempts",
}

// errorClass is Codex's class of a turn's failure, empty if it has none. Codex writes
// "other" for a failure that its list of classes does not have.
func errorClass(failure rawjson.Object) string {
	info := failure.Members("codex_error_info")
	for _, class := range answered {
		if info.Get(class) != nil {
			return class
		}
	}
	if class := failure.Text("codex_error_info"); class != "other" {
		return class
	}
	return ""
}
