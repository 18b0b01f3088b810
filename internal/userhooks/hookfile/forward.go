package hookfile

import (
	"bytes"
	"errors"
	"fmt"
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
	// Backup is where the old text is kept, empty where none was replaced.
	Backup string
}

// UnreadableError reports a hooks file that cannot be understood.
type UnreadableError struct{ error }

// Unwrap returns the cause.
func (e *UnreadableError) Unwrap() error { return e.error }

// Forward gives each event in the user's hooks file one entry that runs the command,
// if action is "enable", or removes these entries, if it is "disable", and reports
// what is there then. A file that cannot be understood is an *[UnreadableError].
func Forward(path, action, command string) (Forwarding, error) {
	d, err := Open(path, false)
	if errors.As(err, new(*SyntaxError)) {
		err = &UnreadableError{err}
	}
	if err != nil {
		return Forwarding{}, err
	}
	after, file := d.Data, d.File
	switch {
	case action == "enable":
		after, err = addForwarding(d.Data, d.File, command)
	case action == "disable" && d.Exists:
		after, _, err = Remove(d.Data, forwards)
	}
	if changed := !bytes.Equal(after, d.Data); err == nil && changed {
		file, err = Parse(path, after)
	}
	if err != nil {
		return Forwarding{}, &UnreadableError{fmt.Errorf("hooks %q: %w", path, err)}
	}
	out := file.forwarding()
	if file != d.File {
		err = d.Write(after)
		if d.Exists {
			out.Backup = d.Backup()
		}
	}
	return out, err
}

// forwarding counts the entries that forward events.
func (f *File) forwarding() (out Forwarding) {
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

// addForwarding gives each event one entry. The agent-hooks family lists
// PermissionRequest as well, which never comes, and leaves out the ends of calls
// and turns that fail.
func addForwarding(text []byte, f *File, command string) ([]byte, error) {
	for _, event := range Events() {
		old := func(h Handler) bool { return h.Event == event && forwards(h) }
		found := slices.DeleteFunc(slices.Clone(f.Handlers), func(h Handler) bool { return !old(h) })
		if len(found) == 1 && found[0].Command == command && found[0].Args == nil && matchesAll(found[0].Matcher) {
			continue
		}
		var err error
		if len(found) > 0 {
			if text, _, err = Remove(text, old); err != nil {
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
