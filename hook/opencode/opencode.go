// Package opencode reads what hookspan's plugin hands on of the events of opencode and
// its forks, one JSON object for each.
//
// opencode runs no commands for its events. The plugin takes them from its bus and adds
// what a single event does not say: the session at the root, the message of the user
// that it answers, and for a subagent, which is a session of its own, its agent. The
// parts of a message have the form that opencode also keeps in its database, so the
// reader of that database uses the same functions.
//
// The package promises what hook/claude promises. The members are those of events
// recorded from version 1.18.
package opencode

import (
	"cmp"
	"strings"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/rawjson"
)

// Dialect is the form of its events and of its database.
const Dialect = "opencode"

// The events, by opencode's names. The hook program itself adds streamEnded.
const (
	messagePart       = "message.part.updated"
	sessionCreated    = "session.created"
	sessionIdle       = "session.idle"
	sessionCompacted  = "session.compacted"
	permissionAsked   = "permission.asked"
	permissionReplied = "permission.replied"
	streamEnded       = "hookspan.stream_ended"
)

// repeatWithin is how far apart the user's plugin and a project's hand on one compaction, which
// has no id.
const repeatWithin = time.Second

// StreamEnded returns the payload for a session whose events have ended in the middle
// of a turn: opencode was stopped, which it reports to no plugin.
func StreamEnded(session string) []byte {
	data, _ := rawjson.Marshal(rawjson.Ordered{ // which cannot fail for texts
		{Name: "session", Value: session}, {Name: "type", Value: streamEnded},
	})
	return data
}

// Protocol is an agent of whose events a plugin of hookspan's hands on a JSON object each, with
// the session, the type, the time and the folder.
type Protocol struct {
	// Host is the agent's name in events, Dialect the form of these.
	Host, Dialect string
	// Kind returns what an event means.
	Kind func(p rawjson.Object, name string) hook.Kind
	// Body reads the members that only this kind of event has.
	Body func(p rawjson.Object, ev *hook.Event)
}

// Peek finds the session and the kind of an event.
func (c *Protocol) Peek(payload []byte, event string) hook.Head {
	p, err := rawjson.Open(rawjson.Trim(payload))
	h := hook.Head{Name: event}
	if err != nil {
		return h
	}
	h.Session, h.Name = p.Text("session"), cmp.Or(p.Text("type"), event)
	h.Kind = c.Kind(p, h.Name)
	h.RunEnds = h.Kind.Terminal() && p.Text("agent") == ""
	return h
}

// itself is the protocol of opencode or a fork, by its name in events.
func itself(host string) *Protocol {
	return &Protocol{
		Host: host, Dialect: Dialect,
		Kind: func(p rawjson.Object, name string) hook.Kind { return members{p}.kind(name) },
		Body: func(p rawjson.Object, ev *hook.Event) { members{p}.body(ev) },
	}
}

// Peek is Protocol.Peek of opencode and its forks.
func Peek(payload []byte, event string) hook.Head { return itself("").Peek(payload, event) }

// Decoder returns Protocol.Decode of opencode or a fork, by its name in events.
func Decoder(host string) func(hook.Raw) ([]hook.Event, error) { return itself(host).Decode }

// Decode turns a payload into events, at present always one. Its errors are those of hook/claude.
func (c *Protocol) Decode(r hook.Raw) ([]hook.Event, error) {
	ev := r.NewEvent(c.Host, r.Event)
	p, err := rawjson.Open(rawjson.Trim(r.Payload))
	if err != nil {
		return []hook.Event{ev}, &hook.DecodeError{Agent: c.Host, Event: r.Event, Size: len(r.Payload), Cause: err}
	}
	ev.Name, ev.Dialect = cmp.Or(p.Text("type"), ev.Name), c.Dialect
	ev.Session, ev.Cwd, ev.Transcript = p.Text("session"), cmp.Or(p.Text("cwd"), ev.Cwd), p.Text("transcript_path")
	ev.HostVersion, ev.Time = p.Text("version"), rawjson.Instant(p.Get("at"))
	if ev.Agent = p.Text("agent"); ev.Agent == "" {
		ev.Turn = p.Text("turn") // that of a subagent is not the run's
	} else {
		ev.ParentAgent, ev.AgentType = cmp.Or(p.Text("parent"), hook.ParentUnknown), p.Text("agent_type")
	}
	ev.Kind = c.Kind(p, ev.Name)
	c.Body(p, &ev)
	return []hook.Event{ev}, nil
}

// members are the members of one payload.
type members struct{ rawjson.Object }

func (p members) kind(name string) hook.Kind {
	agent := p.Text("agent") != ""
	switch name {
	case messagePart:
		part := p.Members("part")
		switch {
		case part.Text("type") == "text" && agent:
			return hook.KindRunStart
		case part.Text("type") == "text":
			return hook.KindPrompt
		case part.Text("type") != "tool":
			return hook.KindAside
		}
		if status := part.Members("state").Text("status"); status == "completed" || status == "error" {
			return hook.KindToolEnd
		}
		return hook.KindToolStart
	case sessionIdle:
		kind, _, _ := End(p.Members("error"))
		return kind
	case sessionCreated:
		return hook.KindSessionStart
	case sessionCompacted:
		return hook.KindCompact
	case permissionAsked:
		return hook.KindPermission
	case permissionReplied:
		return hook.KindNote
	case streamEnded:
		return hook.KindSessionEnd
	}
	return hook.KindUnknown
}

// body reads the members that only this kind of event has.
func (p members) body(ev *hook.Event) {
	switch ev.Kind {
	case hook.KindPrompt, hook.KindRunStart:
		message := p.Members("message")
		ev.Prompt = p.Members("part").Text("text")
		ev.Time = cmp.Or(rawjson.Instant(message.Members("time").Get("created")), ev.Time)
		model := message.Members("model")
		ev.Provider, ev.Model = model.Text("providerID"), model.Text("modelID")
		ev.Key = Key("prompt", message.Text("id"))
	case hook.KindToolStart, hook.KindToolEnd:
		part := p.Members("part")
		ev.Tool = Tool(part)
		if ev.Kind == hook.KindToolStart {
			ev.Key = Key("tool_start", part.Text("id"))
			ev.Time = cmp.Or(ev.Tool.Started, ev.Time)
			break
		}
		ev.Key = Key("tool_end", part.Text("id"))
		ev.Time = cmp.Or(ev.Tool.Ended, ev.Time)
	case hook.KindRunComplete, hook.KindRunError, hook.KindRunCancel:
		_, ev.ErrorType, ev.Message = End(p.Members("error"))
		ev.Result = p.Text("text")
		if ev.Kind != hook.KindRunComplete {
			ev.Result = ""
		}
		ev.Key = Key("end", p.Text("answer", "turn"))
	case hook.KindPermission:
		ev.Tool = p.asked()
		ev.Key = Key("permission", p.Text("id"))
	case hook.KindNote:
		reply := p.Text("reply")
		ev.Message = "permission: " + reply
		if tool := p.asked(); tool.ID != "" && (reply == "once" || reply == "always") {
			ev.Tool = tool
		}
		ev.Key = Key("reply", p.Text("id"))
	case hook.KindCompact:
		ev.Key, ev.KeyWithin = Key("compact", p.Text("agent", "turn")), repeatWithin
	}
}

// asked is the call that a request for permission is about.
func (p members) asked() *hook.Tool {
	return &hook.Tool{
		ID: p.Members("tool").Text("callID"), Name: p.Text("permission"), Input: rawjson.Canonical(p.Get("patterns")),
		Duration: hook.UnknownDuration,
	}
}

// Key is the key of an event about a message or a part, or empty without an id.
func Key(what, id string) string {
	if id == "" {
		return ""
	}
	return what + "/" + id
}

// End reads the error of a turn's last message: how the turn ended, and the error's
// class and text.
func End(err rawjson.Object) (kind hook.Kind, class, message string) {
	class = err.Text("name")
	data := err.Members("data")
	message = cmp.Or(data.Text("message"), class)
	switch {
	case len(err) == 0:
		return hook.KindRunComplete, "", ""
	case class == "MessageAbortedError":
		return hook.KindRunCancel, class, message
	}
	return hook.KindRunError, cmp.Or(class, "error"), message
}

// What opencode writes in place of a tool's error if the tool did not run, or not to
// its end. A plugin that denies a call gives a text of its own.
var (
	deniedErrors    = [...]string{"The user rejected permission to use this", "The user has specified a rule which prevents"}
	cancelledErrors = [...]string{"Tool execution aborted", "Tool call aborted"}
)

// Tool reads a part of a message that is a tool call. One that has not ended has neither
// Ended nor a status.
func Tool(part rawjson.Object) *hook.Tool {
	state := part.Members("state")
	t := &hook.Tool{
		ID: part.Text("callID"), Name: part.Text("tool"), Input: rawjson.Canonical(state.Get("input")),
		Duration: hook.UnknownDuration,
	}
	metadata := state.Members("metadata")
	if t.Name == "task" || t.Name == "subagent" { // the latter since version 2
		t.Agent = metadata.Text("sessionId")
	}
	unknown := t.Name == "invalid"
	if unknown {
		t.Name = cmp.Or(state.Members("input").Text("tool"), t.Name) // what the model called
	}
	t.Started, t.Ended = rawjson.Instant(state.Members("time").Get("start")), rawjson.Instant(state.Members("time").Get("end"))
	if !t.Started.IsZero() && !t.Ended.IsZero() {
		t.Duration = max(0, t.Ended.Sub(t.Started))
	}
	switch state.Text("status") {
	case "completed":
		t.Output = state.Text("output")
		if exit, ok := rawjson.Int(metadata.Get("exit")); ok && exit != 0 || unknown {
			t.Status, t.Error = hook.ToolFailed, strings.TrimSpace(t.Output)
		}
	case "error":
		t.Error = state.Text("error")
		t.Status = hook.ToolFailed
		if begins(t.Error, deniedErrors[:]) {
			t.Status = hook.ToolDenied
		} else if begins(t.Error, cancelledErrors[:]) {
			t.Status = hook.ToolCancelled
		}
	default:
		t.Duration, t.Ended = hook.UnknownDuration, time.Time{}
	}
	return t
}

func begins(text string, with []string) bool {
	for _, w := range with {
		if strings.HasPrefix(text, w) {
			return true
		}
	}
	return false
}
