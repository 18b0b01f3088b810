// Package kimi reads what Kimi Code writes to its hooks.
//
// Kimi Code's payloads have the form of Claude Code's, so that package hook/claude reads
// them; this package makes up for the differences. Kimi Code numbers the turns of each agent
// and names the turn where it begins alone. It does not wait for that hook: the prompt's, for
// which it waits, begins the turn. A subagent runs the same hooks as the lead
// agent, also those of the end of a turn, and nothing says which of the two it is: its files
// do. It does not wait for the hook of a call's end, which it kills with the turn.
//
// The package promises what hook/claude promises. The members are those of payloads
// recorded from version 2.1.0.
package kimi

import (
	"strings"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/hook/claude"
	"github.com/hookspan/hookspan/internal/rawjson"
)

// Dialect is the form of its hooks and files.
const Dialect = "kimi"

// The names of hooks that the code refers to.
const (
	userPromptSubmit = "UserPromptSubmit"
	turnStarted      = "TurnStarted"
	subagent         = "subagent"
)

// Protocol reads the payloads of Kimi Code.
var Protocol = claude.Protocol{Host: hook.HostKimi, Kind: kind, Adapt: adapt}

// Decode turns a payload into events, at present always one. Its errors are those of
// hook/claude.
func Decode(r hook.Raw) ([]hook.Event, error) { return Protocol.Decode(r) }

// kind is the meaning of a hook, where it is not Claude Code's.
func kind(p rawjson.Object, name string, kind hook.Kind) hook.Kind {
	switch name {
	case turnStarted:
		if p.Text("origin_kind") == "user" || p.Text("origin_name") == subagent {
			return hook.KindAside
		}
		return hook.KindPrompt
	case "Interrupt":
		return hook.KindRunCancel
	case "PermissionResult", "SessionHeartbeat", "TaskStarted", "UserPromptQueued": // which are not installed
		return hook.KindAside
	}
	return kind
}

func adapt(p rawjson.Object, ev hook.Event) []hook.Event {
	ev.Agent, ev.ParentAgent = "", "" // only questions and notices name it, the lead agent too
	switch ev.Name {
	case turnStarted:
		turn(p, &ev)
	case userPromptSubmit:
		ev.Prompt = Text(p.Get("prompt"))
		if p.Is("is_steer") { // which starts no turn
			ev.Attrs = append(ev.Attrs, hook.Attr{Key: hook.AttrPromptQueued, Value: true})
		}
	case "StopFailure":
		ev.ErrorType, ev.Message = p.Text("error_type"), p.Text("error_message")
	case "SubagentStop":
		ev.Message = p.Text("response")
	case "PostToolUse":
		ev.Tool.Output = p.Text("tool_output")
	case "PostToolUseFailure":
		ev.Tool.Error = p.Members("error").Text("message")
		if Denied(ev.Tool.Error) {
			ev.Tool.Status = hook.ToolDenied
		}
	case "Notification":
		ev.Message = hook.Lines(p.Text("title"), p.Text("body"))
	}
	return []hook.Event{ev}
}

// turn reads the beginning of a turn of the lead agent. That of the user's prompt only says which
// turn the prompt has begun. No other hook reports a skill or a command of the user's, and what
// Kimi Code begins itself, such as when a task in the background has ended.
func turn(p rawjson.Object, ev *hook.Event) {
	if p.Text("origin_name") == subagent {
		return
	}
	ev.Turn, ev.Prompt = p.Text("turn_id"), p.Text("prompt")
	ev.Key = claude.PromptKey(ev.Turn, ev.Prompt)
	switch origin := p.Text("origin_kind"); {
	case origin == "task", origin == "system_trigger", strings.HasPrefix(origin, "cron_"):
		ev.Attrs = append(ev.Attrs, hook.Attr{Key: hook.AttrPromptInjected, Value: true})
	}
}

// Denied reports that what a call gave the model says that the user rejected it, or that the
// question whether it may run was cancelled. A call that a hook denied has the hook's words.
func Denied(result string) bool {
	head, _, ok := strings.Cut(result, `" was not run because `)
	return ok && strings.HasPrefix(head, `Tool "`) && !strings.Contains(head[len(`Tool "`):], `"`)
}

// Text is a text, or the texts of the parts of a message. A part without a text is named.
func Text(raw []byte) string {
	texts := []string{rawjson.Text(raw)}
	rawjson.EachElement(raw, func(value []byte) {
		part := rawjson.Members(value)
		text := part.Text("text")
		if kind, _, ok := strings.Cut(part.Text("type"), "_"); text == "" && ok {
			text = "[" + kind + "]"
		}
		texts = append(texts, text)
	})
	return hook.Lines(texts...)
}
