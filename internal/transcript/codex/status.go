package codex

import (
	"regexp"
	"strings"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/rawjson"
)

// exitLine is in the head of a command's output for the model, if the command has ended.
var exitLine = regexp.MustCompile(`(?:^Exit code: |Process exited with code )(-?\d+)`)

// exitCode returns the exit code of a command by the words for the model.
func exitCode(text string) (code int64, ok bool) {
	head, _, _ := strings.Cut(text, "\nOutput:")
	if m := exitLine.FindStringSubmatch(head); m != nil {
		return rawjson.Int([]byte(m[1]))
	}
	return 0, false
}

// statusOf returns how a call ended that became no item, by the words for the model.
func statusOf(text string) hook.ToolStatus {
	if strings.HasPrefix(text, "exec_command failed for `") { // 0.99 to 0.13x name the command
		_, failure, _ := strings.Cut(text, "`: CreateProcess")
		text = "exec_command failed: CreateProcess" + failure
	}
	code, coded := exitCode(text)
	switch {
	case strings.HasPrefix(text, "exec command rejected by user"), strings.HasPrefix(text, "patch rejected by user"):
		return hook.ToolDenied // before 0.60
	case strings.HasPrefix(text, "Command blocked by PreToolUse hook:"), strings.HasPrefix(text, `exec_command failed: CreateProcess { message: "Rejected(`):
		return hook.ToolDenied
	case strings.HasPrefix(text, "aborted by user"), strings.HasSuffix(text, "\naborted by user"):
		return hook.ToolCancelled
	case coded && code == 0:
		return hook.ToolOK
	case coded:
		return hook.ToolFailed
	}
	for _, words := range [...]string{
		"apply_patch verification failed", "unsupported call:", "unsupported custom tool call:", "unable to locate ", "exec_command failed:", "write_stdin failed:",
		"failed to ", "failed in sandbox", "execution error", "error: ", "invalid ", "Script failed",
	} {
		if strings.HasPrefix(text, words) {
			return hook.ToolFailed
		}
	}
	return hook.ToolOK
}

// jsonOutput reads the output of a command as versions before 0.59 wrote it: an object
// with the text, the exit code and the duration. Anything else is returned as it is.
func jsonOutput(text string) (output string, status hook.ToolStatus, took time.Duration, ok bool) {
	if !strings.HasPrefix(text, "{") {
		return text, hook.ToolOK, 0, false
	}
	o := rawjson.Members([]byte(text))
	meta := o.Members("metadata")
	code, coded := rawjson.Int(meta.Get("exit_code"))
	if !coded || !rawjson.IsString(o.Get("output")) {
		return text, hook.ToolOK, 0, false
	}
	output = o.Text("output")
	if seconds, timed := rawjson.Float(meta.Get("duration_seconds")); timed && seconds > 0 && seconds < maxSeconds {
		took = time.Duration(seconds * float64(time.Second))
	}
	switch {
	case code == 0:
		return output, hook.ToolOK, took, true
	case statusOf(output) == hook.ToolCancelled, statusOf(output) == hook.ToolDenied:
		return output, statusOf(output), took, true
	}
	return output, hook.ToolFailed, took, true
}

// maxSeconds bounds the duration of a command, in seconds: a longer one is nonsense.
const maxSeconds = 1e6

// itemStatus returns how a call ended that became an item.
func (l *log) itemStatus(item rawjson.Object) hook.ToolStatus {
	code, coded := rawjson.Int(item.Get("exit_code"))
	status := item.Text("status")
	if status == "" && coded && code != 0 { // events of old versions
		status = "failed"
	}
	switch status {
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
