// Package vscode reads what VS Code's Local agent writes to hooks that were installed for
// Claude Code or Copilot. The payloads have the form of Claude Code's, which package
// hook/claude reads, in an older one with common members in camel case. If both agents have
// hooks, each event comes twice. The transcript is in Copilot's form.
//
// The package promises what hook/claude promises. VS Code has not been run: the members are
// those of its sources and its documentation of 2026.
package vscode

import (
	"strconv"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/hook/claude"
	"github.com/hookspan/hookspan/internal/rawjson"
)

// Protocol reads the payloads of VS Code.
var Protocol = claude.Protocol{Host: hook.HostVSCode, Rename: rename, Adapt: adapt}

// Decode turns a payload into events, at present always one. Its errors are those of
// hook/claude.
func Decode(r hook.Raw) ([]hook.Event, error) { return Protocol.Decode(r) }

// rename returns Claude Code's name of a hook that may have been installed for Copilot, whose
// name counts where the payload has none.
func rename(name string) string {
	switch name {
	case "userPromptSubmitted":
		return "UserPromptSubmit"
	case "agentStop":
		return "Stop"
	}
	return claude.Capital(name)
}

// repeatWithin is how far apart the hooks of one event may be stored: they run one after
// another.
const repeatWithin = 5 * time.Second

func adapt(p rawjson.Object, ev hook.Event) []hook.Event {
	ev.Time, ev.Model = rawjson.Instant(p.Get("timestamp")), p.Text("model")
	if p.Text("cwd") == "" {
		ev.Cwd = "" // hooks run in the home folder; the transcript has the project's
	}
	// The second hook of an event may have another time, so that its payload is another.
	about := hook.Hash([]byte(p.Text("tool_use_id") + ev.Agent + ev.Prompt + string(p.Get("tool_input"))))
	ev.Key, ev.KeyWithin = ev.Name+"/"+strconv.FormatUint(about, 16), repeatWithin
	return []hook.Event{ev}
}
