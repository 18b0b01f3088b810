package cline

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/jstext"
	"github.com/hookspan/hookspan/internal/rawjson"
)

// toolStart reads the beginning of a tool call.
func (p *Payload) toolStart(dialect string) *hook.Tool {
	body, call := p.Members("preToolUse"), p.Members("tool_call")
	t := &hook.Tool{Duration: hook.UnknownDuration}
	nameTool(t, dialect, body, call)
	return t
}

// toolEnd reads the end of a tool call that was reported at the given time.
func (p *Payload) toolEnd(dialect string, at time.Time) *hook.Tool {
	body, call := p.Members("postToolUse"), p.Members("tool_result")
	t := &hook.Tool{Duration: hook.UnknownDuration}
	nameTool(t, dialect, body, call)
	timeTool(t, dialect, body, call, at)
	if p.callsOnly {
		t.Status = hook.ToolUnknown
		return t
	}

	var out rendered
	if output := call.Get("output"); output != nil {
		out = render(output, false)
	} else {
		out = render(body.Get("result"), dialect == dialectSDK)
	}
	t.Output = out.text
	p.judge(t, dialect, body, call, out)
	return t
}

// nameTool reads the members that start and end of a call have in common.
func nameTool(t *hook.Tool, dialect string, body, call rawjson.Object) {
	t.ID = call.Text("id")
	t.Name = cmp.Or(body.Text("toolName", "tool"), call.Text("name"))
	if input := call.Get("input"); input != nil {
		t.Input = rawjson.Canonical(input)
		return
	}
	params := body.Get("parameters")
	if params == nil && body != nil && dialect != dialectSDK {
		// proto3 leaves out a map without entries.
		params = []byte("{}")
	}
	t.Input = parameters(t.Name, params)
}

// timeTool reads the duration of a call, and its times if the dialect has them.
func timeTool(t *hook.Tool, dialect string, body, call rawjson.Object, at time.Time) {
	measured := call.Get("durationMs")
	if measured == nil {
		measured = body.Get("executionTimeMs", "durationMs")
	}
	if measured != nil || body != nil && dialect != dialectSDK {
		t.Duration = millis(measured)
	}
	switch dialect {
	case dialectSDK:
		t.Started, t.Ended = rawjson.Instant(call.Get("startedAt")), rawjson.Instant(call.Get("endedAt"))
		if t.Duration == hook.UnknownDuration && !t.Started.IsZero() && t.Ended.After(t.Started) {
			t.Duration = t.Ended.Sub(t.Started)
		}
	case dialectNext:
		// The event is stamped when the tool returns, and the measure is of the
		// execution alone, so that the two give the execution's bounds. Classic
		// measures the wait for approval as well and gets none.
		if at.IsZero() || t.Duration < 0 {
			return
		}
		if started := rawjson.Plausible(at.Add(-t.Duration)); !started.IsZero() {
			t.Started, t.Ended = started, at
		}
	}
}

// millis reads a number of milliseconds; absent gives zero, because proto3
// leaves zero out, and nonsense gives hook.UnknownDuration.
func millis(raw []byte) time.Duration {
	if raw == nil {
		return 0
	}
	if d, ok := rawjson.Millis(raw); ok {
		return d
	}
	return hook.UnknownDuration
}

// judge decides how a call ended. In the classic and next dialects the host reports
// success for calls that failed or were denied, so the wording of the result comes
// first.
func (p *Payload) judge(t *hook.Tool, dialect string, body, call rawjson.Object, out rendered) {
	failed, message := out.failed, out.err
	if cause := call.Get("error"); cause != nil {
		failed, message = true, cmp.Or(message, render(cause, true).text)
	}
	if p.Get("postToolUse") != nil {
		success, said := rawjson.Bool(body.Get("success"))
		// Absent means false where proto3 leaves false out, and nothing else
		// where it does not.
		if !success && (said || dialect != dialectSDK) {
			failed = true
		}
	}
	verdict, reason := hook.ToolOK, ""
	switch {
	case dialect != dialectSDK:
		verdict, reason = Outcome(t.Name, out.lead)
		if verdict == hook.ToolOK && out.hidden {
			// The tool returned; whether its command failed is in what it returned.
			verdict = hook.ToolUnknown
		}
	case failed:
		// Here the structure separates results from errors, and what a tool prints
		// may read like anything; only errors are examined.
		verdict, reason = SDKOutcome(message)
	}
	t.Status = verdict
	if failed && !verdict.Failed() {
		t.Status = hook.ToolFailed
	}
	if t.Status.Failed() {
		t.Error = cmp.Or(reason, message, out.text)
	}
}

// saysDenied and saysRejected begin the results of calls that the user refused;
// the latter is the SDK's wording.
const (
	saysDenied   = "The user denied this operation"
	saysRejected = "User rejected the tool call"
)

// notExecuted ends the error of each call that was not approved, since Cline CLI 3.0.61;
// the reason is before it.
const notExecuted = " -- NOT a tool or system failure. Clarify with user before proceeding."

// Outcome reads from the wording of a result how a call of classic Cline ended,
// which its hooks and its files say nowhere else, and of a failure the part of
// the text that says why. What a tool returns may begin like such a wording, so that
// it must have Cline's exact form.
//
// In an editor's terminal, the default, a command ends without an exit code, and a
// command that still runs has none yet: how these end is unknown. The wordings of
// commands are those of CommandOrchestrator.ts.
func Outcome(tool, result string) (status hook.ToolStatus, reason string) {
	const saysFailed = "The tool execution failed with the following error:"
	s := jstext.Trim(result)
	line, _, more := strings.Cut(s, "\n")
	line = jstext.Trim(line)
	said := func(begin, end string) bool {
		return len(line) > len(begin)+len(end) && strings.HasPrefix(line, begin) && strings.HasSuffix(line, end)
	}
	begins := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(s, w) })
	}
	switch {
	case line == saysDenied+"." && (!more || strings.Contains(s, "\nThe user provided ")), line == saysDenied+" and provided the following feedback:":
		return hook.ToolDenied, s
	case begins(saysFailed + "\n<error>"):
		return hook.ToolFailed, innerError(s[len(saysFailed):])
	case said("Missing value for required parameter '", "'. Please retry with complete response."),
		said("Invalid JSON argument used with ", " Please retry."),
		said("Invalid JSON argument used with ", ". Please retry with a properly formatted JSON argument."):
		return hook.ToolFailed, line // a reminder of how tools are called follows, for the model
	case begins("Command failed with exit code ") && (tool == "execute_command" || tool == "run_commands"):
		return hook.ToolFailed, s
	case tool != "execute_command":
	case begins("Command terminated by signal "):
		return hook.ToolFailed, s
	case begins("Command cancelled."):
		return hook.ToolCancelled, s
	case s == "Command executed.", begins("Command executed.\n",
		"Command is still running in the user's terminal.", "Command is running in the background.",
		"Command execution timed out after ", "Command timed out after "):
		return hook.ToolUnknown, ""
	}
	return hook.ToolOK, ""
}

// SDKOutcome reads from the error of a call of the SDK how the call ended, and why:
// whether it was not approved, by the reasons that the SDK's runtime gives for not
// running a tool, or its command was stopped with the run.
func SDKOutcome(message string) (status hook.ToolStatus, reason string) {
	if line, _, _ := strings.Cut(message, "\n"); line == "Command failed: Command was aborted" {
		return hook.ToolCancelled, message
	}
	if why, ok := strings.CutSuffix(message, notExecuted); ok {
		return hook.ToolDenied, why
	}
	if strings.HasPrefix(message, saysDenied) || message == saysRejected {
		return hook.ToolDenied, message
	}
	rest, named := strings.CutPrefix(message, "Tool ")
	if !named {
		return hook.ToolFailed, message
	}
	for _, end := range [...]string{
		" was not approved", " is disabled by policy", " was blocked by a runtime hook",
		" requires approval but no approval callback is configured",
		" requires approval in a TTY session",
	} {
		if strings.HasSuffix(rest, end) {
			return hook.ToolDenied, message
		}
	}
	return hook.ToolFailed, message
}

// innerError is the text between <error> and </error>, or all of it where
// there are no such marks.
func innerError(s string) string {
	if _, after, ok := strings.Cut(s, "<error>"); ok {
		s = after
		if i := strings.LastIndex(s, "</error>"); i >= 0 {
			s = s[:i]
		}
	}
	return jstext.Trim(s)
}
