// Package pi reads what hookspan's extension hands on of Pi's events, one JSON object for
// each.
//
// Pi runs no commands for its events. The extension adds what a single event does not say:
// the session, its file, the row of the message that began the task, and the text and outcome
// of the task's last message. Texts are those of content parts, joined by line breaks.
//
// The package promises what hook/claude promises. The members are those of events recorded
// from version 1.6.
package pi

import (
	"cmp"
	"strings"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/hook/opencode"
	"github.com/hookspan/hookspan/internal/rawjson"
)

// Dialect is the form of its events and of its files.
const Dialect = "pi"

// The events, by Pi's names. The hook program itself adds streamEnded.
const (
	sessionStart    = "session_start"
	sessionShutdown = "session_shutdown"
	messageEnd      = "message_end"
	turnEnd         = "turn_end"
	toolStart       = "tool_execution_start"
	toolEnd         = "tool_execution_end"
	sessionCompact  = "session_compact"
	sessionTree     = "session_tree"
	modelSelect     = "model_select"
	promptStart     = "ui_prompt_start"
	promptEnd       = "ui_prompt_end"
	agentSettled    = "agent_settled"
	streamEnded     = "hookspan.stream_ended"
)

var kinds = map[string]hook.Kind{
	sessionStart: hook.KindSessionStart, sessionShutdown: hook.KindSessionEnd, messageEnd: hook.KindPrompt, turnEnd: hook.KindAside,
	toolStart: hook.KindToolStart, toolEnd: hook.KindToolEnd, sessionCompact: hook.KindCompact, sessionTree: hook.KindNote, modelSelect: hook.KindNote,
	promptStart: hook.KindNotification, promptEnd: hook.KindNote, streamEnded: hook.KindSessionEnd,
}

// Protocol reads the events of Pi.
var Protocol = opencode.Protocol{Host: hook.HostPi, Dialect: Dialect, Kind: kindOf, Body: body}

// repeatWithin is how far apart two extensions of hookspan's, the user's and a project's, hand
// on one event. A model may number its calls anew in each answer, so that the input of a call
// counts, too, and when the answer was asked for.
const repeatWithin = time.Second

func kindOf(o rawjson.Object, name string) hook.Kind {
	if name != agentSettled {
		return kinds[name]
	}
	kind, _ := End(o.Text("outcome"))
	return kind
}

// End reads why the last message of a task stopped: how the task ended and the class of its
// error.
func End(stopReason string) (kind hook.Kind, class string) {
	switch stopReason {
	case "aborted":
		return hook.KindRunCancel, stopReason
	case "error":
		return hook.KindRunError, stopReason
	}
	return hook.KindRunComplete, ""
}

// body reads the members that only this kind of event has.
func body(o rawjson.Object, ev *hook.Event) {
	key := func(what, id string) {
		if id != "" {
			ev.Key = what + "/" + id
		}
	}
	mark := func(name string, value any) { ev.Attrs = append(ev.Attrs, hook.Attr{Key: name, Value: value}) }
	model := o.Members("model")
	switch ev.Name {
	case sessionStart:
		if reason := o.Text("reason"); reason != "" {
			mark("hookspan.session.source", reason)
		}
	case messageEnd:
		ev.Prompt, ev.Provider, ev.Model = o.Text("text"), model.Text("provider"), model.Text("id")
		if o.Is("queued") {
			mark(hook.AttrPromptQueued, true)
		}
		if o.Text("role") != "user" {
			mark(hook.AttrPromptInjected, true) // by an extension
		}
		key("prompt", o.Text("messageId"))
	case toolStart, toolEnd:
		ev.Tool = tool(o, ev)
		key(ev.Name, ev.Tool.ID+"/"+ev.Tool.Input+string(o.Get("asked")))
		ev.KeyWithin = repeatWithin
	case turnEnd:
		ev.Request = request(o.Members("message"), o.Text("messageEntryId"))
		if ev.Request != nil {
			ev.Time = ev.Request.End
		}
	case modelSelect:
		ev.Provider, ev.Model = model.Text("provider"), model.Text("id")
		ev.Message = "model: " + ev.Model
		key(ev.Name, ev.Model)
		ev.KeyWithin = repeatWithin
	case sessionTree, promptEnd:
		key(ev.Name, o.Text("messageId"))
	case sessionCompact:
		key("compact", o.Text("messageId"))
	case promptStart:
		ev.Message = cmp.Or(o.Text("title"), o.Text("kind"))
		mark("hookspan.notification.waiting_for_user_input", true)
		key(ev.Name, o.Text("messageId"))
	case agentSettled:
		_, ev.ErrorType = End(o.Text("outcome"))
		if ev.Kind == hook.KindRunComplete {
			ev.Result = o.Text("text")
		} else {
			ev.Message = o.Text("errorMessage")
		}
		key("end", ev.Turn)
	}
}

// tool reads a call. One that has not ended has no status.
func tool(o rawjson.Object, ev *hook.Event) *hook.Tool {
	t := &hook.Tool{ID: o.Text("toolCallId"), Name: o.Text("toolName"), Input: rawjson.Canonical(o.Get("args")), Duration: hook.UnknownDuration}
	if ev.Kind == hook.KindToolStart {
		return t
	}
	took, ran := rawjson.Millis(o.Get("durationMs"))
	if ran {
		t.Duration, t.Started, t.Ended = took, ev.Time.Add(-took), ev.Time
	}
	t.Output = o.Text("text")
	t.Status = Status(o.Is("isError"), ran, t.Output)
	if t.Status.Failed() {
		t.Output, t.Error = "", t.Output
	}
	return t
}

// Status is how a call ended, by its result: whether it is an error, whether the tool has
// run, which has a duration, and its text.
func Status(isError, ran bool, text string) hook.ToolStatus {
	if !isError {
		return hook.ToolOK
	}
	text = strings.TrimSpace(text)
	switch {
	case strings.HasSuffix(text, "Operation aborted"), strings.HasSuffix(text, "Command aborted"):
		return hook.ToolCancelled
	case ran, strings.HasPrefix(text, "Tool ") && strings.HasSuffix(text, " not found"),
		strings.HasPrefix(text, `Tool call "`) && strings.Contains(text, "was not executed"), strings.HasPrefix(text, "Validation failed for tool "):
		return hook.ToolFailed
	}
	return hook.ToolDenied // for the reason that an extension gave, which is any text
}

// request reads an answer of the model with its tokens and cost, nil for one that broke off.
func request(m rawjson.Object, entry string) *hook.Request {
	c := Answer(m, entry)
	if c.Error != "" || c.ID == "" || c.Start.IsZero() || c.Usage == nil {
		return nil
	}
	took, _ := rawjson.Millis(m.Get("durationMs"))
	c.End = c.Start.Add(max(0, took))
	return &c
}

// Answer reads a message of the model, without its end. Its row has the id entry.
func Answer(m rawjson.Object, entry string) hook.Request {
	c := hook.Request{
		ID: cmp.Or(m.Text("responseId"), entry), Provider: m.Text("provider"), Model: m.Text("model"), ResponseModel: m.Text("responseModel"),
		FinishReason: m.Text("stopReason"), Start: rawjson.Instant(m.Get("timestamp")), Usage: Usage(m.Members("usage")),
	}
	_, c.Error = End(c.FinishReason)
	if c.FinishReason == "toolUse" {
		c.FinishReason = "tool_use"
	}
	return c
}

// Usage reads what Pi counts of a request, nil if it counts nothing. A model without a price
// costs nothing.
func Usage(u rawjson.Object) *hook.Usage {
	count := func(name string) int64 {
		n, _ := rawjson.Int(u.Get(name))
		return max(0, n)
	}
	out := &hook.Usage{
		Input: count("input"), Output: count("output"), Reasoning: count("reasoning"), CacheRead: count("cacheRead"),
		CacheWrite: count("cacheWrite"), CacheWriteHour: count("cacheWrite1h"),
	}
	if *out == (hook.Usage{}) {
		return nil
	}
	if cost, ok := rawjson.Float(u.Members("cost").Get("total")); ok && cost > 0 {
		out.CostUSD = &cost
	}
	return out
}
