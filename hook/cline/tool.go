package cline

import (
	"strings"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/hook/internal/wire"
)

// toolStart reads the beginning of a tool call.
func (e *envelope) toolStart(dialect string) *hook.Tool {
	body, call := wire.Members(e.preToolUse), wire.Members(e.toolCall)
	t := &hook.Tool{Duration: wire.UnknownDuration}
	nameTool(t, dialect, body, call)
	return t
}

// toolEnd reads the end of a tool call that was reported at the given moment.
func (e *envelope) toolEnd(dialect string, at time.Time) *hook.Tool {
	body, call := wire.Members(e.postToolUse), wire.Members(e.toolResult)
	t := &hook.Tool{Duration: wire.UnknownDuration}
	nameTool(t, dialect, body, call)
	timeTool(t, dialect, body, call, at)

	var out rendered
	if output := call.Get("output"); output != nil {
		out = render(output, false)
	} else {
		out = render(body.Get("result"), dialect == dialectSDK)
	}
	t.Output = out.text
	e.judge(t, dialect, body, call, out)
	return t
}

// nameTool reads what both ends of a call have in common.
func nameTool(t *hook.Tool, dialect string, body, call wire.Object) {
	t.ID = wire.Text(call.Get("id"))
	t.Name = wire.Text(body.Get("toolName", "tool"))
	if t.Name == "" {
		t.Name = wire.Text(call.Get("name"))
	}
	if input := call.Get("input"); input != nil {
		t.Input = wire.Canonical(input)
		return
	}
	params := body.Get("parameters")
	if params == nil && body != nil && dialect != dialectSDK {
		// proto3 leaves out a map without entries.
		params = []byte("{}")
	}
	t.Input = parameters(t.Name, params)
}

// timeTool reads how long a call took, and when, where the dialect knows.
func timeTool(t *hook.Tool, dialect string, body, call wire.Object, at time.Time) {
	measured := call.Get("durationMs")
	if measured == nil {
		measured = body.Get("executionTimeMs", "durationMs")
	}
	if measured != nil || body != nil && dialect != dialectSDK {
		t.Duration = millis(measured)
	}
	switch dialect {
	case dialectSDK:
		t.Started, t.Ended = wire.Instant(call.Get("startedAt")), wire.Instant(call.Get("endedAt"))
		if t.Duration == wire.UnknownDuration && !t.Started.IsZero() && t.Ended.After(t.Started) {
			t.Duration = t.Ended.Sub(t.Started)
		}
	case dialectNext:
		// The event is stamped when the tool returns, and the measure is of the
		// execution alone, so that the two give the execution's bounds. Classic
		// measures the wait for approval as well and gets none.
		if at.IsZero() || t.Duration < 0 {
			return
		}
		if started := wire.Plausible(at.Add(-t.Duration)); !started.IsZero() {
			t.Started, t.Ended = started, at
		}
	}
}

// judge decides how a call ended. In the classic and next dialects the host
// says success for calls that failed or were denied, so there the wording of
// the result comes first.
func (e *envelope) judge(t *hook.Tool, dialect string, body, call wire.Object, out rendered) {
	failed, message := out.failed, out.err
	if cause := call.Get("error"); cause != nil {
		failed = true
		if message == "" {
			message = render(cause, true).text
		}
	}
	if e.postToolUse != nil {
		success, said := wire.Bool(body.Get("success"))
		// Absent means false where proto3 leaves false out, and nothing else
		// where it does not.
		if !success && (said || dialect != dialectSDK) {
			failed = true
		}
	}
	verdict, reason := hook.ToolOK, ""
	if dialect == dialectSDK {
		// Here a result is told from an error by structure, and what a tool
		// prints may read like anything; only errors are looked at.
		if failed {
			verdict, reason = classifySDK(message)
		}
	} else {
		verdict, reason = classify(out.lead)
	}
	switch {
	case verdict != hook.ToolOK:
		t.Status = verdict
	case failed:
		t.Status = hook.ToolFailed
	default:
		return
	}
	for _, candidate := range [...]string{reason, message, out.text} {
		if candidate != "" {
			t.Error = candidate
			return
		}
	}
}

// The beginnings of results by which classic Cline reports a call that did not
// do what it was asked to.
const (
	saysFailed  = "The tool execution failed with the following error:"
	saysExit    = "Command failed with exit code "
	saysMissing = "Missing value for required parameter"
	saysDenied  = "The user denied this operation"
	// saysRejected is the SDK's wording when the user refuses a call.
	saysRejected = "User rejected the tool call"
	saysBadJSON  = "Invalid JSON argument used with "
)

// classify reads the verdict from a result's wording, and with it the part of
// the text that says why.
func classify(result string) (hook.ToolStatus, string) {
	s := strings.TrimSpace(result)
	switch {
	case strings.HasPrefix(s, saysDenied):
		return hook.ToolDenied, s
	case strings.HasPrefix(s, saysFailed):
		return hook.ToolFailed, innerError(s[len(saysFailed):])
	case strings.HasPrefix(s, saysExit):
		return hook.ToolFailed, s
	case strings.HasPrefix(s, saysMissing), strings.HasPrefix(s, saysBadJSON):
		// A reminder of how tools are called follows, for the model.
		line, _, _ := strings.Cut(s, "\n")
		return hook.ToolFailed, strings.TrimSpace(line)
	}
	return hook.ToolOK, ""
}

// classifySDK tells a call that was refused from one that failed, by the
// reasons the SDK's runtime gives for not running a tool.
func classifySDK(message string) (hook.ToolStatus, string) {
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
	return strings.TrimSpace(s)
}
