// Package codex reads what the Codex CLI writes to its hooks.
//
// Codex's payloads have the form of Claude Code's, so that package hook/claude reads
// them; this package makes up for the differences. Codex numbers its turns by a
// turn_id, where a subagent has turns of its own, and does not say how a call ended:
// its session files do. A call that failed before it ran reports no end at all.
//
// The package promises what hook/claude promises. The members are those of payloads
// recorded from versions 0.140 to 0.171.
package codex

import (
	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/hook/claude"
	"github.com/hookspan/hookspan/internal/rawjson"
)

// Dialect is the form of its hooks and files.
const Dialect = "codex"

// Protocol reads the payloads of Codex.
var Protocol = claude.Protocol{Host: hook.HostCodex, Kind: kind, Adapt: adapt}

// Decode turns a payload into events, at present always one. Its errors are those of
// hook/claude.
func Decode(r hook.Raw) ([]hook.Event, error) { return Protocol.Decode(r) }

// kind is the meaning of a hook, where it is not Claude Code's.
func kind(p rawjson.Object, name string, kind hook.Kind) hook.Kind {
	switch name {
	case "Interrupt":
		return hook.KindRunCancel
	case "PreModelRequest", "PostModelRequest":
		return hook.KindAside
	case "UserPromptSubmit":
		if p.Text("agent_id") != "" {
			return hook.KindAside // what a subagent is told by the agent that started it
		}
	}
	return kind
}

func adapt(p rawjson.Object, ev hook.Event) []hook.Event {
	ev.Model = p.Text("model")
	// A subagent's turn is not that of the run.
	if ev.Turn = p.Text("turn_id"); ev.Agent != "" {
		ev.Turn = ""
	}
	switch ev.Kind {
	case hook.KindPrompt:
		ev.Key = claude.PromptKey(ev.Turn, ev.Prompt)
	case hook.KindToolEnd:
		ev.Tool.Status, ev.Tool.Agent = hook.ToolUnknown, ""
	case hook.KindRunComplete:
		if active, said := rawjson.Bool(p.Get("stop_hook_active")); ev.Agent == "" && said && !active && ev.Turn != "" {
			ev.Key = "Stop/" + ev.Turn
		}
	case hook.KindRunCancel:
		ev.Key = ""
	case hook.KindAside:
		ev.Prompt, ev.Key, ev.Request = "", "", request(p)
	}
	return []hook.Event{ev}
}

// request reads what a hook of a request says of it, nil before 0.171: it had no ids. That of
// a compaction is a request, too. One that failed has no response.
func request(p rawjson.Object) *hook.Request {
	c := &hook.Request{RequestID: p.Text("request_id"), ID: p.Text("response_id"), Model: p.Text("model")}
	if c.RequestID == "" {
		return nil
	}
	usage := p.Members("token_usage")
	if c.ID == "" || usage == nil {
		c.ID = ""
		return c
	}
	count := func(name string) int64 {
		n, _ := rawjson.Int(usage.Get(name))
		return max(0, n)
	}
	c.Usage = &hook.Usage{
		Input: count("input_tokens"), Output: count("output_tokens"), Reasoning: count("reasoning_output_tokens"), CacheRead: count("cached_input_tokens"),
		CacheWrite: count("cache_write_input_tokens"), InputIncludesCache: true,
	}
	return c
}
