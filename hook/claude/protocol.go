package claude

import (
	"cmp"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/rawjson"
)

// Protocol is an agent that gives its hooks what Claude Code gives its own, with
// the differences that the functions make up for. They may be nil.
type Protocol struct {
	// Host is one of the constants of the package hook. The Dialect of its events is its word.
	Host string
	// Rename returns Claude Code's name of a hook.
	Rename func(name string) string
	// Kind returns what a hook means, given what Claude Code means by it. The
	// payload's members are nil if it is empty.
	Kind func(p rawjson.Object, name string, kind hook.Kind) hook.Kind
	// Ends reports that a run ends with the hook although its kind does not.
	Ends func(p rawjson.Object, name string) bool
	// Adapt corrects an event, or replaces it by several, of which the first has
	// the kind of the hook.
	Adapt func(p rawjson.Object, ev hook.Event) []hook.Event
}

// itself is Claude Code.
var itself = Protocol{Host: hook.HostClaude}

// Decode is Decode for the protocol's agent.
func (c *Protocol) Decode(r Raw) ([]hook.Event, error) { return c.decode(r) }

// PeekIn is PeekIn for the protocol's agent.
func (c *Protocol) PeekIn(getenv func(string) string) func(payload []byte, event string) hook.Head {
	return func(payload []byte, event string) hook.Head { return c.peek(payload, event, getenv) }
}

// name returns the name of the hook in Claude Code's words. event is the one it was
// started with, which may be another agent's.
func (c *Protocol) name(p members, event string) string {
	name := cmp.Or(p.Text("hook_event_name", "hookEventName", "hookName"), event)
	if c.Rename != nil {
		return c.Rename(name)
	}
	return name
}

// Capital returns Claude Code's name of a hook that another program spells with a small
// letter, or the name if Claude Code has no such hook.
func Capital(name string) string {
	if name != "" && 'a' <= name[0] && name[0] <= 'z' {
		if own := string(name[0]-'a'+'A') + name[1:]; kindOf(own, true) != hook.KindUnknown {
			return own
		}
	}
	return name
}

// session returns the session's id, which VS Code and Cursor may have under other names.
func (p members) session() string { return p.Text("session_id", "sessionId", "conversation_id") }

// kind returns what a hook means.
func (c *Protocol) kind(p members, name string) hook.Kind {
	kind := kindOf(name, p.Text("agent_id") != "")
	if c.Kind != nil {
		kind = c.Kind(p.Object, name, kind)
	}
	return kind
}
