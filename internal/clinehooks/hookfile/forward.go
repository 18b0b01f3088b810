package hookfile

import (
	"slices"
	"strings"
	"time"
)

// AgentHooks is the package that wrote forwarding entries before; npm has it no
// more. Its entries are the user's.
const AgentHooks = "@principal-ai/agent-hooks"

// forwardTimeout is the time limit of a forwarding entry.
const forwardTimeout = 30 * time.Second

// Forwarding describes the entries of a file that forward events to a bridge.
type Forwarding struct {
	// Count is the number of hookspan's entries, Events what they are for.
	Count  int
	Events []string
	// Foreign is the number of entries of AgentHooks.
	Foreign int
}

// Forwarding counts the entries that forward events.
func (f *File) Forwarding() Forwarding {
	out := Forwarding{Events: []string{}}
	for _, h := range f.Handlers {
		switch {
		case namesAgentHooks(h):
			out.Foreign++
		case forwards(h):
			out.Count++
			if !slices.Contains(out.Events, h.Event) {
				out.Events = append(out.Events, h.Event)
			}
		}
	}
	return out
}

// AddForwarding gives each event one entry that runs the command, and leaves
// everything else as it is. The agent-hooks family lists PermissionRequest as
// well, which never comes, and leaves out the ends of calls and turns that fail.
func AddForwarding(text []byte, f *File, command string) ([]byte, error) {
	for _, event := range Events() {
		found := slices.DeleteFunc(slices.Clone(f.Handlers), func(h Handler) bool { return h.Event != event || !forwards(h) })
		if len(found) == 1 && found[0].Command == command && found[0].Args == nil && matchesAll(found[0].Matcher) {
			continue
		}
		var err error
		if len(found) > 0 {
			if text, _, err = Remove(text, func(h Handler) bool { return h.Event == event && forwards(h) }); err != nil {
				return nil, err
			}
		}
		want := Handler{Event: event, Type: TypeCommand, Command: command, Timeout: forwardTimeout}
		if text, _, err = Add(text, want); err != nil {
			return nil, err
		}
	}
	return text, nil
}

// RemoveForwarding removes hookspan's forwarding entries.
func RemoveForwarding(text []byte) ([]byte, error) {
	text, _, err := Remove(text, forwards)
	return text, err
}

// forwards reports an entry that starts hookspan's cline-hook with a port or a
// folder.
func forwards(h Handler) bool {
	if h.Type != TypeCommand || namesAgentHooks(h) {
		return false
	}
	words := append(strings.Fields(h.Command), h.Args...)
	program := slices.IndexFunc(words, func(w string) bool {
		w = strings.Trim(w, `'"`)
		w = w[strings.LastIndexAny(w, `/\`)+1:]
		return w == "cline-hook" || w == "cline-hook.exe"
	})
	return program >= 0 && slices.ContainsFunc(words[program+1:], func(w string) bool {
		name, _, _ := strings.Cut(w, "=")
		return name == "--port" || name == "--dir"
	})
}

func namesAgentHooks(h Handler) bool {
	return strings.Contains(h.Command+" "+strings.Join(h.Args, " "), AgentHooks)
}
