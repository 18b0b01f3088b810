// Package copilot reads what the GitHub Copilot CLI writes to its hooks.
//
// It reads Copilot's own form, whose payloads do not name their event: the hook is
// started with the name. They name neither calls nor turns, which the session's file
// does (package transcript/copilot); subagents they name. A call that was denied reports
// no end. Copilot also runs hooks that were installed for Claude Code, with payloads in
// the form of that; package hook/claude recognises these.
//
// Functions are pure and never panic. The members are those of payloads recorded from
// version 1.0.102.
package copilot

import (
	"strings"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/hook/claude"
	"github.com/hookspan/hookspan/internal/rawjson"
)

// Dialect is the form of its hooks and files.
const Dialect = "copilot"

// The hooks that are read.
const (
	sessionStart        = "sessionStart"
	sessionEnd          = "sessionEnd"
	userPromptSubmitted = "userPromptSubmitted"
	preToolUse          = "preToolUse"
	postToolUse         = "postToolUse"
	postToolUseFailure  = "postToolUseFailure"
	subagentStart       = "subagentStart"
	subagentStop        = "subagentStop"
	agentStop           = "agentStop"
	errorOccurred       = "errorOccurred"
	notification        = "notification"
	preCompact          = "preCompact"
)

var kinds = map[string]hook.Kind{
	sessionStart: hook.KindSessionStart, sessionEnd: hook.KindSessionEnd, userPromptSubmitted: hook.KindPrompt,
	preToolUse: hook.KindToolStart, postToolUse: hook.KindToolEnd, postToolUseFailure: hook.KindToolEnd,
	subagentStart: hook.KindRunStart, subagentStop: hook.KindRunComplete, agentStop: hook.KindRunComplete,
	errorOccurred: hook.KindRequestError, notification: hook.KindNotification, preCompact: hook.KindCompact,
}

// payload is a payload with the name of its hook.
type payload struct {
	rawjson.Object
	name string
}

// read reads a payload.
func read(data []byte, event string) (p payload, empty bool, err error) {
	p.name = event
	data = rawjson.Trim(data)
	if len(data) == 0 {
		return p, true, nil
	}
	p.Object, err = rawjson.Open(data)
	return p, false, err
}

func (p payload) kind() hook.Kind {
	kind, known := kinds[p.name]
	switch {
	case !known:
		return hook.KindUnknown
	case p.agent() != "" && (p.name == userPromptSubmitted || p.name == agentStop):
		return hook.KindAside // what starts a subagent, and what subagentStop says again
	}
	return kind
}

func (p payload) agent() string { return p.Text("agentId") }

// session is the session of the lead agent. What a subagent does has the agent's id in
// its place, and the session's as that of the parent. For a subagent that a subagent
// started the session is only in the path of its file, which the subagent's start and
// end name: its calls get the id of the agent that started it.
func (p payload) session() string {
	if folder, ok := strings.CutSuffix(strings.ReplaceAll(p.Text("transcriptPath"), "\\", "/"), "/events.jsonl"); ok && p.agent() != "" {
		return folder[strings.LastIndexByte(folder, '/')+1:]
	}
	if id := p.Text("sessionId"); id != p.agent() {
		return id
	}
	return p.Text("parentAgentId")
}

// PeekIn returns what reads the part of a payload that a hook process needs before it stores
// it. event is the name the hook was started with. It never fails: for a payload that is not
// a JSON object it returns the name alone. VS Code runs the same hooks, and names the event.
func PeekIn(getenv func(string) string) func(data []byte, event string) hook.Head {
	return func(data []byte, event string) hook.Head { return peek(data, event, getenv) }
}

func peek(data []byte, event string, getenv func(string) string) hook.Head {
	p, empty, err := read(data, event)
	h := hook.Head{Name: event}
	if err != nil {
		return h
	}
	if p.Get("session_id", "hookEventName") != nil || p.Get("toolName") != nil && p.Get("sessionId") == nil { // Copilot has none
		sender := claude.Sender(p.Object, getenv)
		if sender == "" || sender == hook.HostCopilot || sender == hook.CopilotOrVSCode {
			sender = hook.HostVSCode
		}
		h.Agent = hook.WordOf(sender)
	}
	if !empty {
		h.Session = p.session()
	}
	h.Kind = p.kind()
	h.RunEnds = h.Kind.Terminal() || h.Kind == hook.KindRequestError
	return h
}

// Decode turns a payload into events, at present always one. Hooks and members it does
// not know are no error. A payload that is not a JSON object gives an error and an event
// of KindUnknown.
func Decode(r hook.Raw) ([]hook.Event, error) {
	ev := r.NewEvent(hook.HostCopilot, r.Event)
	p, empty, err := read(r.Payload, r.Event)
	if err != nil {
		return []hook.Event{ev}, &hook.DecodeError{Agent: hook.AgentOf(hook.HostCopilot).Name, Event: r.Event, Size: len(r.Payload), Cause: err}
	}
	ev.Kind = p.kind()
	if ev.Kind == hook.KindToolStart || ev.Kind == hook.KindToolEnd {
		ev.Tool = p.tool()
	}
	if empty {
		return []hook.Event{ev}, nil
	}
	ev.Dialect, ev.Session, ev.Time = Dialect, p.session(), rawjson.Instant(p.Get("timestamp"))
	if cwd := p.Text("cwd"); cwd != "" {
		ev.Cwd = cwd
	}
	ev.Transcript = p.Text("transcriptPath")
	if ev.Agent = p.agent(); ev.Agent != "" {
		ev.ParentAgent, ev.AgentType = hook.ParentUnknown, p.Text("agentType")
		if parent := p.Text("parentAgentId"); parent != "" && parent != ev.Session {
			ev.ParentAgent = parent
		}
	}
	p.body(&ev)
	return []hook.Event{ev}, nil
}

// body reads the members that only this kind of hook has.
func (p payload) body(ev *hook.Event) {
	attr := func(key, member string) {
		if s := p.Text(member); s != "" {
			ev.Attrs = append(ev.Attrs, hook.Attr{Key: key, Value: s})
		}
	}
	switch p.name {
	case sessionStart:
		attr("hookspan.session.source", "source")
	case sessionEnd:
		attr("hookspan.session_end.reason", "reason")
	case userPromptSubmitted:
		ev.Prompt = p.Text("prompt")
	case agentStop:
		if p.Is("stop_hook_active") {
			ev.Attrs = append(ev.Attrs, hook.Attr{Key: "hookspan.stop_hook_active", Value: true})
		}
	case subagentStop:
		ev.Result = p.Text("response")
	case errorOccurred:
		failure := p.Members("error")
		ev.ErrorType, ev.Message = p.Text("errorContext"), failure.Text("message")
		// A provider's answer is the message.
		if o := rawjson.Members([]byte(ev.Message)); o.Text("message") != "" {
			ev.Message = o.Text("message")
		}
	case notification:
		ev.Message = p.Text("message")
		attr("hookspan.notification.event", "notification_type")
		attr("hookspan.notification.title", "title")
	case preCompact:
		attr("hookspan.compaction.trigger", "trigger")
	}
}

// tool reads a call.
func (p payload) tool() *hook.Tool {
	t := &hook.Tool{Name: p.Text("toolName"), Input: rawjson.Canonical(p.Get("toolArgs")), Duration: hook.UnknownDuration}
	switch p.name {
	case postToolUse:
		var code string
		t.Output, code = Output(p.Members("toolResult").Text("textResultForLlm"))
		if code != "" && code != "0" {
			t.Status, t.Error = hook.ToolFailed, t.Output
		}
	case postToolUseFailure:
		t.Status, t.Error = hook.ToolFailed, p.Text("error")
	}
	return t
}

// Output returns what a tool gave the model without the line that Copilot writes behind
// the output of a command, "<shellId: 0 completed with exit code 3>", and the command's
// exit code, empty if there is none. Codes but 0 stay in the text. Until 1.0.18 the line
// was "<exited with exit code 3>", or had "command with id: 0 exited".
func Output(answer string) (text, code string) {
	at := strings.LastIndexByte(answer, '<')
	if at < 0 {
		return answer, ""
	}
	line, rest, _ := strings.Cut(answer[at:], " with exit code ")
	code, ended := strings.CutSuffix(rest, ">")
	shell := strings.HasPrefix(line, "<shellId: ") && strings.HasSuffix(line, " completed")
	command := strings.HasPrefix(line, "<command with id: ") && strings.HasSuffix(line, " exited")
	if !ended || strings.Trim(code, "-0123456789") != "" || !shell && !command && line != "<exited" {
		return answer, ""
	}
	if text = strings.TrimSuffix(answer[:at], "\n"); code != "0" {
		text = hook.Lines(text, "Exit Code: "+code)
	}
	return text, code
}
