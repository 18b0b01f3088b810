package hooks

import (
	"encoding/json"
	"fmt"

	"github.com/hookspan/hookspan/internal/userhooks/hookfile"
	"github.com/hookspan/hookspan/internal/userhooks/hookrun"
	"github.com/hookspan/hookspan/internal/userhooks/sample"
)

// Fit marks the hooks that a call of a tool starts, and says why. Without arguments,
// an "if" is not tried.
func (c *Catalog) Fit(l *Listing, tool, arguments string) error {
	var input json.RawMessage
	if arguments != "" {
		var object map[string]json.RawMessage
		if json.Unmarshal([]byte(arguments), &object) != nil || object == nil {
			return Refused("arguments: want a JSON object, such as {\"command\": \"ls\"}")
		}
		input = json.RawMessage(arguments)
	}
	for i := range l.Files {
		f := &l.Files[i]
		events := claudeCalls(tool, input)
		if f.Agent == agentCline {
			var err error
			if events, err = c.Process.Setup().CallsOf(tool, input, c.root(f), c.Process.Now()); err != nil {
				return refusedField(err)
			}
		}
		r := &hookrun.Runner{Dir: c.root(f), ProjectDir: c.root(f), Home: c.Process.Home, GOOS: c.Process.GOOS, Conditions: c.Process.Conditions, Host: c.Process.Host}
		for j := range f.Hooks {
			h := &f.Hooks[j]
			fits, why := fit(r, f.entries[j].Handler, events, input == nil)
			h.Fits, h.Why = &fits, c.Process.Clean(why)
		}
	}
	return nil
}

// Known reports whether a tool has the name.
func Known(tool string) bool { return sample.KnownTool(tool) }

// root is the folder in which the hooks of a file run here.
func (c *Catalog) root(f *File) string {
	switch {
	case f != nil && f.Project != "":
		return f.Project
	case c.Dir != "":
		return c.Dir
	}
	return c.Process.Home
}

// toolEvents are the events that belong to a tool call.
var toolEvents = []string{"PreToolUse", "PermissionRequest", "PermissionDenied", "PostToolUse", "PostToolUseFailure"}

// claudeCalls are the events of a call in Claude Code.
func claudeCalls(tool string, input json.RawMessage) (out []hookrun.Event) {
	if input == nil {
		input = json.RawMessage("{}")
	}
	for _, name := range toolEvents {
		out = append(out, hookrun.Event{Name: name, Subjects: []string{tool}, Tool: tool, Input: input})
	}
	return out
}

// fit says whether one of the events starts a hook, and why.
func fit(r *hookrun.Runner, h hookfile.Handler, events []hookrun.Event, anyInput bool) (bool, string) {
	rule := h.If
	if anyInput {
		h.If = ""
	}
	matches := r.Select([]hookfile.Handler{h}, events)
	for _, m := range matches {
		if m.Matched {
			why := m.Why
			if anyInput && rule != "" {
				why += fmt.Sprintf("; \"if\" %q depends on the arguments", rule)
			}
			return true, why
		}
	}
	if len(matches) == 0 {
		return false, "it runs at " + h.Event + ", which is no call of a tool"
	}
	return false, matches[0].Why
}
