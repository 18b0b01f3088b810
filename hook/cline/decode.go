package cline

import (
	"cmp"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/rawjson"
)

// Names of the facts in Event.Attrs.
const (
	attrCancelStatus = "hookspan.cancel.status"
	attrCompletion   = "hookspan.completion.command"
	attrSessionEnd   = "hookspan.session_end.reason"
	attrCompaction   = "hookspan.compaction."
	attrNotification = "hookspan.notification."
)

// subagentType is the AgentType of a subagent without a type.
const subagentType = "subagent"

// Raw is a payload as it was stored.
type Raw = hook.Raw

// Decode is [Payload.Events] of a stored payload.
func Decode(r Raw) ([]hook.Event, error) { return Read(r).Events() }

// DecodeCalls is Decode without how a tool call ended and what it returned, which takes
// most of the time.
func DecodeCalls(r Raw) ([]hook.Event, error) {
	p := Read(r)
	p.callsOnly = true
	return p.Events()
}

// Events turns the payload into events, at present always one.
//
// Hooks and members it does not know are no error: an unknown hook gives an
// event of KindUnknown. A payload that is not a JSON object, or nests deeper
// than 10,000 levels, gives an error and an event of KindUnknown with what
// precedes the fault. That event has no session, as [Payload.Head] finds none: the
// payload was stored without one.
func (p *Payload) Events() ([]hook.Event, error) {
	ev := p.raw.NewEvent(hook.HostCline, documentedName(p.raw.Event))
	agent := "Cline"
	switch {
	case p.raw.Event == HookRunsEvent:
		agent, ev.Cwd, ev.TraceParent = "hookspan", "", ""
		if p.err == nil {
			p.hookRuns(&ev)
		}
	case p.empty:
		if ev.Kind = kindOf(ev.Name, nil); ev.Kind == hook.KindToolStart || ev.Kind == hook.KindToolEnd {
			ev.Tool = &hook.Tool{Duration: hook.UnknownDuration}
		}
	default:
		p.common(&ev)
		if p.err == nil {
			ev.Name = p.name()
			ev.Kind = kindOf(ev.Name, p.turn())
			ev.Dialect = p.dialect()
			p.identity(&ev)
			p.body(&ev)
		}
	}
	if p.err != nil {
		return []hook.Event{ev}, &hook.DecodeError{Agent: agent, Event: p.raw.Event, Size: len(p.raw.Payload), Cause: p.err}
	}
	return []hook.Event{ev}, nil
}

// common reads the members that every hook has.
func (p *Payload) common(ev *hook.Event) {
	ev.Time = rawjson.Instant(p.Get("timestamp"))
	ev.HostVersion = p.Text("clineVersion")
	if model := p.Get("model"); rawjson.IsString(model) {
		ev.Model = known(model)
	} else {
		ev.Provider, ev.Model = known(rawjson.Member(model, "provider")), known(rawjson.Member(model, "slug"))
	}
	if roots := p.Roots(); len(roots) > 0 {
		if ev.Cwd = roots[0]; len(roots) > 1 {
			ev.Folders = roots
		}
	}
}

// identity reads the session and the agents.
func (p *Payload) identity(ev *hook.Event) {
	ev.Session = p.session()
	ev.Agent = p.Text("agent_id")
	ev.ParentAgent = p.Text("parent_agent_id")
	if ev.Dialect != dialectSDK { // there it is the name of the login, a person's
		ev.User = known(p.Get("userId"))
	}
	if ev.ParentAgent != "" {
		ev.AgentType = cmp.Or(known(p.Get("agent_type")), subagentType)
	}
}

// body reads the members that only this kind of hook has.
func (p *Payload) body(ev *hook.Event) {
	switch ev.Name {
	case taskStart:
		ev.Prompt = prompt(ev.Dialect, p.metadata("taskStart", "initialTask"))
	case userPromptSubmit:
		ev.Prompt = prompt(ev.Dialect, p.Members("userPromptSubmit").Get("prompt"))
		// The SDK does not run this hook for what the user typed, only for
		// texts it puts into the conversation itself.
		if ev.Dialect == dialectSDK {
			ev.Attrs = append(ev.Attrs, hook.Attr{Key: hook.AttrPromptInjected, Value: true})
		}
	case preToolUse:
		ev.Tool = p.toolStart(ev.Dialect)
	case postToolUse:
		ev.Tool = p.toolEnd(ev.Dialect, ev.Time)
	case preCompact:
		ev.Attrs = compactionAttrs(p.Members("preCompact"))
	case notification:
		body := p.Members("notification")
		ev.Message = body.Text("message")
		ev.Attrs = notificationAttrs(body)
	case taskComplete:
		ev.Result = cmp.Or(rawjson.Text(p.metadata("taskComplete", "result")), p.turn().Text("outputText"))
		if ev.Kind == hook.KindRunCancel {
			ev.Attrs = textAttr(ev.Attrs, attrCancelStatus, p.turn().Get("status"))
		}
		// attempt_completion has run it, and asked no hook before.
		ev.Attrs = textAttr(ev.Attrs, attrCompletion, p.metadata("taskComplete", "command"))
	case taskCancel:
		ev.Attrs = textAttr(ev.Attrs, attrCancelStatus, p.metadata("taskCancel", "completionStatus"))
		ev.Message = p.Text("reason")
	case sessionShutdown:
		ev.Attrs = textAttr(ev.Attrs, attrSessionEnd, p.Get("reason"))
	}
	if ev.Kind == hook.KindRunError {
		p.runError(ev)
	}
}

// metadata is a member of the taskMetadata in a task hook's body.
func (p *Payload) metadata(body, name string) []byte {
	return p.Members(body).Members("taskMetadata").Get(name)
}

// prompt reads a prompt as it was typed. Classic Cline sends just that, and the
// SDK's own hooks get none that was typed.
func prompt(dialect string, raw []byte) string {
	text := rawjson.Text(raw)
	if dialect == dialectNext {
		text, _ = PromptText(text)
	}
	return text
}

// runError reads the error a run failed with.
func (p *Payload) runError(ev *hook.Event) {
	failure := p.Get("error")
	if failure == nil {
		failure = p.Members("taskError").Get("error")
	}
	if !rawjson.IsString(failure) {
		o := rawjson.Members(failure)
		ev.ErrorType = o.Text("name")
		failure = o.Get("message")
	}
	if message := rawjson.Text(failure); !hidden(message) {
		ev.Message = message
	}
}

// compactionAttrs lists the sizes of a compaction. Absent ones are left out
// although proto3 leaves zero out: on the path where Cline compacts after an
// error it does not know its token counts, and zero would be a false statement.
func compactionAttrs(body rawjson.Object) []hook.Attr {
	attrs := textAttr(nil, attrCompaction+"strategy", body.Get("compactionStrategy"))
	for _, field := range [...]struct{ sent, key string }{
		{"contextSize", "context_size"},
		{"messagesToCompact", "messages_to_compact"},
		{"conversationLength", "conversation_length"},
		{"estimatedTokens", "estimated_tokens"},
		{"previousApiReqIndex", "previous_api_req_index"},
		{"tokensIn", "tokens_in"},
		{"tokensOut", "tokens_out"},
		// Cline's names for these two hide that they count the prompt cache.
		{"tokensInCache", "cache_write_tokens"},
		{"tokensOutCache", "cache_read_tokens"},
		{"deletedRangeStart", "deleted_range_start"},
		{"deletedRangeEnd", "deleted_range_end"},
	} {
		if n, ok := rawjson.Int(body.Get(field.sent)); ok {
			attrs = append(attrs, hook.Attr{Key: attrCompaction + field.key, Value: n})
		}
	}
	return attrs
}

// notificationAttrs lists a notification's members except its text. The two booleans
// are always listed, because proto3 leaves false out.
func notificationAttrs(body rawjson.Object) []hook.Attr {
	attrs := textAttr(nil, attrNotification+"event", body.Get("event"))
	attrs = textAttr(attrs, attrNotification+"source", body.Get("source"))
	attrs = textAttr(attrs, attrNotification+"source_type", body.Get("sourceType"))
	attrs = append(attrs,
		hook.Attr{Key: attrNotification + "requires_user_action", Value: body.Is("requiresUserAction")},
		hook.Attr{Key: attrNotification + "waiting_for_user_input", Value: body.Is("waitingForUserInput")})
	return textAttr(attrs, attrNotification+"severity", body.Get("severity"))
}

// unknown reports the host's word for an unknown value.
func unknown(raw []byte) bool { return string(raw) == `"unknown"` }

// known is a text, or empty for an unknown value.
func known(raw []byte) string {
	if unknown(raw) {
		return ""
	}
	return rawjson.Text(rawjson.Present(raw))
}

// textAttr appends a text unless it is empty.
func textAttr(attrs []hook.Attr, key string, raw []byte) []hook.Attr {
	if value := rawjson.Text(raw); value != "" {
		return append(attrs, hook.Attr{Key: key, Value: value})
	}
	return attrs
}
