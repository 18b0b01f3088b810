package cline

import (
	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/hook/internal/wire"
)

// Names of the facts in Event.Attrs.
const (
	attrPromptInjected = "hookspan.prompt.injected"
	attrCancelStatus   = "hookspan.cancel.status"
	attrSessionEnd     = "hookspan.session_end.reason"
	attrCompaction     = "hookspan.compaction."
	attrNotification   = "hookspan.notification."
)

// subagentType is the AgentType of an agent of which only its parent is known.
const subagentType = "subagent"

// Raw is a payload as it was stored.
type Raw = hook.Raw

// Decode turns a payload into events, at present always one.
//
// Hooks and members it does not know are no error: an unknown hook gives an
// event of KindUnknown. A payload that is not a JSON object, or nests deeper
// than 10,000 levels, gives an error and an event of KindUnknown with what
// stands before the fault. That event has no session, as Peek gave none: the
// log the payload lies in was chosen without it.
func Decode(r Raw) ([]hook.Event, error) {
	if r.Event == HookRunsEvent {
		return decodeHookRuns(r)
	}
	ev := hook.Event{
		Host:        Host,
		StoredAt:    r.StoredAt,
		Offset:      r.Offset,
		Hash:        wire.Hash(r.Payload),
		Name:        documentedName(r.Event),
		Cwd:         r.Cwd,
		TraceParent: r.TraceParent,
	}
	payload := wire.Trim(r.Payload)
	if len(payload) == 0 {
		ev.Kind = kindOf(ev.Name, nil)
		if ev.Kind == hook.KindToolStart || ev.Kind == hook.KindToolEnd {
			ev.Tool = &hook.Tool{Duration: wire.UnknownDuration}
		}
		return []hook.Event{ev}, nil
	}
	var e envelope
	err := e.open(payload)
	e.common(&ev)
	if err != nil {
		return []hook.Event{ev}, &wire.DecodeError{Agent: "Cline", Event: r.Event, Size: len(r.Payload), Cause: err}
	}
	turn := wire.Members(e.turn)
	ev.Name = e.name(r.Event)
	ev.Kind = kindOf(ev.Name, turn)
	ev.Dialect = e.dialect()
	e.identity(&ev)
	e.body(&ev, turn)
	return []hook.Event{ev}, nil
}

// common reads the members that every hook has.
func (e *envelope) common(ev *hook.Event) {
	ev.Time = wire.Instant(e.timestamp)
	ev.HostVersion = wire.Text(e.clineVersion)
	ev.User = known(e.userID)
	if wire.IsString(e.model) {
		ev.Model = known(e.model)
	} else {
		model := wire.Members(e.model)
		ev.Provider, ev.Model = known(model.Get("provider")), known(model.Get("slug"))
	}
	if roots := e.roots(); len(roots) > 0 {
		ev.Cwd = roots[0]
	}
}

// identity reads who acts in which session.
func (e *envelope) identity(ev *hook.Event) {
	ev.Session = e.session()
	ev.Agent = wire.Text(e.agentID)
	ev.ParentAgent = wire.Text(e.parentAgentID)
	if ev.Dialect == dialectSDK {
		ev.Conversation = wire.Text(e.taskID)
	}
	if ev.ParentAgent == "" {
		return
	}
	ev.AgentType = subagentType
	if kind := known(e.agentType); kind != "" {
		ev.AgentType = kind
	}
}

// body reads what only this kind of hook has.
func (e *envelope) body(ev *hook.Event, turn wire.Object) {
	switch ev.Name {
	case taskStart:
		ev.Prompt = prompt(ev.Dialect, metadata(e.taskStart).Get("initialTask"))
	case userPromptSubmit:
		ev.Prompt = prompt(ev.Dialect, wire.Members(e.prompt).Get("prompt"))
		// The SDK does not run this hook for what the user typed, only for
		// texts it puts into the conversation itself.
		if ev.Dialect == dialectSDK {
			ev.Attrs = append(ev.Attrs, hook.Attr{Key: attrPromptInjected, Value: true})
		}
	case preToolUse:
		ev.Tool = e.toolStart(ev.Dialect)
	case postToolUse:
		ev.Tool = e.toolEnd(ev.Dialect, ev.Time)
	case preCompact:
		ev.Attrs = compactionAttrs(wire.Members(e.preCompact))
	case notification:
		body := wire.Members(e.notification)
		ev.Message = wire.Text(body.Get("message"))
		ev.Attrs = notificationAttrs(body)
	case taskComplete:
		ev.Result = wire.Text(metadata(e.taskComplete).Get("result"))
		if ev.Result == "" {
			ev.Result = wire.Text(turn.Get("outputText"))
		}
		if ev.Kind == hook.KindRunCancel {
			ev.Attrs = textAttr(ev.Attrs, attrCancelStatus, turn.Get("status"))
		}
	case taskCancel:
		ev.Attrs = textAttr(ev.Attrs, attrCancelStatus, metadata(e.taskCancel).Get("completionStatus"))
		ev.Message = wire.Text(e.reason)
	case sessionShutdown:
		ev.Attrs = textAttr(ev.Attrs, attrSessionEnd, e.reason)
	}
	if ev.Kind == hook.KindRunError {
		e.runError(ev)
	}
}

// prompt reads a prompt as it was typed. Classic Cline sends just that, and the
// SDK's own hooks get none that was typed.
func prompt(dialect string, raw []byte) string {
	text := wire.Text(raw)
	if dialect == dialectNext {
		text, _ = PromptText(text)
	}
	return text
}

// runError reads the error a run failed with.
func (e *envelope) runError(ev *hook.Event) {
	failure := e.failure
	if failure == nil {
		failure = wire.Members(e.taskError).Get("error")
	}
	if !wire.IsString(failure) {
		o := wire.Members(failure)
		ev.ErrorType = wire.Text(o.Get("name"))
		failure = o.Get("message")
	}
	if message := wire.Text(failure); !hidden(message) {
		ev.Message = message
	}
}

// metadata is the taskMetadata of a task hook's body.
func metadata(body []byte) wire.Object { return wire.Members(wire.Members(body).Get("taskMetadata")) }

// compactionAttrs lists the sizes of a compaction. Absent ones are left out
// although proto3 leaves zero out: on the path where Cline compacts after an
// error it does not know its token counts, and zero would be a false statement.
func compactionAttrs(body wire.Object) []hook.Attr {
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
		if n, ok := wire.Int(body.Get(field.sent)); ok {
			attrs = append(attrs, hook.Attr{Key: attrCompaction + field.key, Value: n})
		}
	}
	return attrs
}

// notificationAttrs lists what a notification says beside its text. The two
// booleans are always there, because proto3 leaves false out.
func notificationAttrs(body wire.Object) []hook.Attr {
	action, _ := wire.Bool(body.Get("requiresUserAction"))
	waiting, _ := wire.Bool(body.Get("waitingForUserInput"))
	attrs := textAttr(nil, attrNotification+"event", body.Get("event"))
	attrs = textAttr(attrs, attrNotification+"source", body.Get("source"))
	attrs = textAttr(attrs, attrNotification+"source_type", body.Get("sourceType"))
	attrs = append(attrs,
		hook.Attr{Key: attrNotification + "requires_user_action", Value: action},
		hook.Attr{Key: attrNotification + "waiting_for_user_input", Value: waiting})
	return textAttr(attrs, attrNotification+"severity", body.Get("severity"))
}

// textAttr appends a text unless it is empty.
func textAttr(attrs []hook.Attr, key string, raw []byte) []hook.Attr {
	if value := wire.Text(raw); value != "" {
		return append(attrs, hook.Attr{Key: key, Value: value})
	}
	return attrs
}
