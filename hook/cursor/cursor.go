// Package cursor reads what Cursor writes to hooks that were installed for Claude Code. The
// payloads have the frame of Claude Code's, which package hook/claude reads; events and some
// members have Cursor's names. The tokens are those of a whole turn, where there are any.
//
// The package promises what hook/claude promises, except that the end of a turn gives two
// events. Cursor has not been run: the members are those of published payloads of 2026.
package cursor

import (
	"cmp"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/hook/claude"
	"github.com/hookspan/hookspan/internal/rawjson"
)

// Protocol reads the payloads of Cursor.
var Protocol = claude.Protocol{Host: hook.HostCursor, Rename: rename, Kind: kind, Adapt: adapt}

// Decode turns a payload into events. Its errors are those of hook/claude.
func Decode(r hook.Raw) ([]hook.Event, error) { return Protocol.Decode(r) }

// rename returns Claude Code's name of a hook.
func rename(name string) string {
	if name == "beforeSubmitPrompt" {
		return "UserPromptSubmit"
	}
	return claude.Capital(name)
}

// kind is the meaning of a hook, where it is not Claude Code's.
func kind(p rawjson.Object, name string, kind hook.Kind) hook.Kind {
	status := p.Text("status")
	switch {
	case name == "Stop" && status == "error":
		return hook.KindRunError
	case name == "Stop" && status == "aborted":
		return hook.KindRunCancel
	case name == "SubagentStart" || name == "SubagentStop":
		return hook.KindNote // its calls do not say whose they are
	}
	return kind
}

func adapt(p rawjson.Object, ev hook.Event) []hook.Event {
	ev.Turn, ev.Model, ev.HostVersion = p.Text("generation_id"), p.Text("model"), p.Text("cursor_version")
	ev.Time = rawjson.Instant(p.Get("timestamp"))
	if roots := claude.Roots(p); p.Text("cwd") == "" && len(roots) > 0 {
		ev.Cwd = roots[0]
	}
	failure := cmp.Or(p.Text("error_message"), p.Members("error").Text("message"), p.Text("error"))
	if t := ev.Tool; t != nil {
		if d, ok := rawjson.Millis(p.Get("duration")); ok {
			t.Duration = d
		}
		switch {
		case ev.Name == "PostToolUse":
			t.Output = p.Text("tool_output")
		case p.Text("failure_type") == "permission_denied":
			t.Status, t.Error = hook.ToolDenied, failure
		case t.Status.Failed():
			t.Error = failure
		}
		return []hook.Event{ev}
	}
	switch ev.Kind {
	case hook.KindPrompt:
		ev.Key = claude.PromptKey(ev.Turn, ev.Prompt)
	case hook.KindRunError:
		ev.Message = failure
	}
	if ev.Name != "Stop" || p.Get("input_tokens", "output_tokens") == nil {
		return []hook.Event{ev}
	}
	tokens := func(name string) int64 { n, _ := rawjson.Int(p.Get(name)); return max(0, n) }
	about := ev
	about.Kind, about.Key, about.Request = hook.KindAside, "", &hook.Request{
		Kind: hook.RequestsUnlisted, ID: cmp.Or(ev.Turn, ev.Session), Model: ev.Model, Usage: &hook.Usage{
			Input: tokens("input_tokens"), Output: tokens("output_tokens"), CacheRead: tokens("cache_read_tokens"), CacheWrite: tokens("cache_write_tokens"),
			InputIncludesCache: true,
		},
	}
	return []hook.Event{ev, about}
}
