// Package qwen reads what Qwen Code writes to its hooks.
//
// Qwen Code speaks Claude Code's protocol, so that package hook/claude reads its
// payloads; this package makes up for the differences. Qwen Code sends the time of
// each event. It repeats UserPromptSubmit, with an empty prompt, after each round of
// tools, and with a hook's words after a Stop that the hook refused; those are no
// prompts. It makes up an id for each call of a tool and also
// gives the model's, which is the one in its files. A call that never started, such
// as one that a hook denied, is only in PostToolBatch.
//
// The package promises what hook/claude promises, except that a payload can give
// several events. The first has the kind that [Protocol] finds with its PeekIn.
//
// The members are those of payloads recorded from version 0.24.4.
package qwen

import (
	"slices"
	"strings"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/hook/claude"
	"github.com/hookspan/hookspan/internal/rawjson"
)

// Dialect is the form of its hooks and files.
const Dialect = "qwen"

// The names of hooks that the code refers to.
const (
	userPromptSubmit   = "UserPromptSubmit"
	preToolUse         = "PreToolUse"
	postToolUse        = "PostToolUse"
	postToolUseFailure = "PostToolUseFailure"
	postToolBatch      = "PostToolBatch"
	notification       = "Notification"
)

// Interrupt is the name of the event for a turn that the user interrupts, for which
// Qwen Code has no hook.
const Interrupt = "interrupt"

// Protocol reads the payloads of Qwen Code.
var Protocol = claude.Protocol{Host: hook.HostQwen, Kind: kind, Ends: interrupts, Adapt: adapt}

// Decode turns a payload into events. Its errors are those of hook/claude.
func Decode(r hook.Raw) ([]hook.Event, error) { return Protocol.Decode(r) }

// Reply is the answer to any event. Qwen Code's telemetry counts a hook as failed that
// prints no object.
func Reply(hook.Reply) []byte { return []byte("{}") }

// kind is the meaning of a hook, where it is not Claude Code's.
func kind(p rawjson.Object, name string, kind hook.Kind) hook.Kind {
	switch name {
	case userPromptSubmit:
		switch {
		case p.Get("submitted_prompt") != nil:
		case p.Text("prompt") != "":
			// What a hook answers to a Stop becomes a prompt that no user submitted.
			return hook.KindRunResume
		default:
			return hook.KindAside
		}
	case notification:
		// At each start, before the first prompt.
		if p.Text("notification_type") == "auth_success" {
			return hook.KindAside
		}
	}
	return kind
}

// interrupts reports the end of a tool that the user interrupted, and the turn with
// it. One of a subagent ends the call that started the subagent, which reports it
// again.
func interrupts(p rawjson.Object, name string) bool {
	return name == postToolUseFailure && p.Is("is_interrupt") && p.Text("agent_id") == ""
}

func adapt(p rawjson.Object, ev hook.Event) []hook.Event {
	ev.Time = rawjson.Instant(p.Get("timestamp"))
	if t := ev.Tool; t != nil {
		tool(p, &ev, t)
	}
	switch ev.Name {
	case userPromptSubmit:
		ev.Prompt, ev.Message, ev.Attrs, ev.Key = p.Text("submitted_prompt"), "", nil, ""
		switch ev.Kind {
		case hook.KindPrompt:
			ev.Key = claude.PromptKey(ev.Turn, ev.Prompt)
		case hook.KindRunResume:
			ev.Message = p.Text("prompt")
		}
	case postToolBatch:
		return append([]hook.Event{ev}, notStarted(p, ev)...)
	}
	if end, ok := failedAgent(p, ev); ok {
		return []hook.Event{ev, end}
	}
	if interrupts(p, ev.Name) {
		end := ev
		end.Kind, end.Name, end.Key, end.Tool, end.Attrs = hook.KindRunCancel, Interrupt, "", nil, nil
		return []hook.Event{ev, end}
	}
	return []hook.Event{ev}
}

// failedAgent returns the end of the subagent that a call waited for and that failed:
// Qwen Code has no hook for it.
func failedAgent(p rawjson.Object, ev hook.Event) (end hook.Event, ok bool) {
	shown := p.Members("tool_response").Members("returnDisplay")
	if ev.Name != postToolUse || ev.Tool == nil || ev.Tool.Agent == "" || shown.Text("status") != "failed" || shown.Text("executionMode") == "background" {
		return end, false
	}
	end = ev
	end.Kind, end.Key, end.Tool, end.Attrs = hook.KindRunError, "", nil, nil
	end.Agent, end.ParentAgent, end.AgentType = ev.Tool.Agent, hook.ParentUnknown, shown.Text("subagentName")
	end.Message = shown.Text("terminateReason")
	return end, true
}

// tool corrects the start or end of a call.
func tool(p rawjson.Object, ev *hook.Event, t *hook.Tool) {
	// Qwen Code's id identifies the event; models may number their calls anew in each
	// reply.
	if own := t.ID; own != "" && ev.Kind != hook.KindPermission {
		ev.Key, ev.KeyWithin = ev.Name+"/"+own, 0
	}
	if id := p.Text("tool_call_id"); id != "" {
		t.ID = id
	}
	switch ev.Name {
	case postToolUse:
		response := p.Members("tool_response")
		t.Output, t.Agent = Output(t.Name, response.Get("llmContent")), ""
		if shown := response.Members("returnDisplay"); shown.Text("type") == "task_execution" {
			t.Agent = AgentID(shown.Text("subagentName"), t.ID)
		}
	case postToolUseFailure:
		t.Error = Shell(t.Error)
	}
}

// AgentID is the id of the subagent of a type that a call started.
func AgentID(kind, call string) string {
	if kind == "" || call == "" {
		return ""
	}
	return kind + "-" + call
}

// notStarted returns the ends of the calls of a batch that never started, and have
// reported no end for that reason.
func notStarted(p rawjson.Object, batch hook.Event) (ends []hook.Event) {
	calls, _ := p.Elements("tool_calls")
	for _, raw := range calls {
		call := rawjson.Members(raw)
		response := call.Members("tool_response")
		if response.Text("execution_status") != "not_started" {
			continue
		}
		ev := batch
		ev.Kind, ev.Attrs = hook.KindToolEnd, nil
		ev.Tool = &hook.Tool{
			ID: call.Text("tool_call_id", "tool_use_id"), Name: call.Text("tool_name"),
			Input:    rawjson.Canonical(call.Get("tool_input")),
			Status:   StatusOf(call.Text("status"), response.Text("error_type"), false),
			Error:    response.Text("error"),
			Duration: hook.UnknownDuration,
		}
		if ev.Tool.ID != "" {
			ev.Key = strings.Join([]string{postToolBatch, ev.Turn, ev.Tool.ID, p.Text("timestamp")}, "/")
		}
		ends = append(ends, ev)
	}
	return ends
}

// StatusOf returns how a call ended by Qwen Code's words for its status and its
// error. started reports that it ran: one that the user cancelled before that is
// denied.
func StatusOf(status, errorType string, started bool) hook.ToolStatus {
	switch {
	case errorType == "execution_denied":
		return hook.ToolDenied
	case status == "cancelled" && started:
		return hook.ToolCancelled
	case status == "cancelled":
		return hook.ToolDenied
	case status == "success":
		return hook.ToolOK
	case status == "error":
		return hook.ToolFailed
	}
	return hook.ToolUnknown
}

// toolShell is the name of the tool that runs commands.
const toolShell = "run_shell_command"

// Output is what a tool told the model: a text, or a list of parts of which some
// have a text. Any other value becomes compact JSON.
func Output(tool string, content []byte) string {
	if rawjson.IsString(content) {
		text := rawjson.Unquote(content)
		if tool == toolShell {
			text = Shell(text)
		}
		return text
	}
	parts, ok := rawjson.Elements(content)
	if !ok {
		if content = rawjson.Present(content); content == nil {
			return ""
		}
		return rawjson.Canonical(content)
	}
	var texts []string
	for _, raw := range parts {
		part := rawjson.Members(raw)
		switch text := part.Text("text"); {
		case text != "":
			texts = append(texts, text)
		case part.Get("inlineData") != nil:
			texts = append(texts, "[image]")
		}
	}
	return hook.Lines(texts...)
}

// Shell returns the output in a report about a command, which has the form
//
//	Command: ...
//	Directory: ...
//	Output: ...
//	Error: (none)
//	Exit Code: 0
//	Signal: (none)
//	Process Group PGID: (none)
//
// with what says that the command failed. Any other text stays as it is.
func Shell(report string) string {
	head, rest, found := strings.Cut(report, "\nOutput: ")
	if !found || !strings.HasPrefix(head, "Command: ") {
		return report
	}
	// The output may look like what follows it.
	at := strings.LastIndex(rest, "\nError: ")
	if at < 0 {
		return report
	}
	out, tail := rest[:at], strings.Split(rest[at+1:], "\n")
	if out == "(empty)" {
		out = ""
	}
	// An error can have several lines.
	code := slices.IndexFunc(tail, func(line string) bool { return strings.HasPrefix(line, "Exit Code: ") })
	if code < 0 {
		return report
	}
	lines := []string{out}
	if text := strings.Join(tail[:code], "\n"); text != "Error: (none)" {
		lines = append(lines, text)
	}
	for _, line := range tail[code:] {
		_, value, _ := strings.Cut(line, ": ")
		if quiet := value == "(none)" || line == "Exit Code: 0" || strings.HasPrefix(line, "Process Group PGID: "); !quiet {
			lines = append(lines, line)
		}
	}
	return hook.Lines(lines...)
}
