package claude

import (
	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/rawjson"
)

// Protocol is an agent that gives its hooks what Claude Code gives its own, with
// the differences that the functions make up for. They may be nil.
type Protocol struct {
	// Host is one of the constants of the package hook. The Dialect of its events is its word.
	Host string
	// Kind returns what a hook means, given what Claude Code means by it. The
	// payload's members are nil if it is empty.
	Kind func(p rawjson.Object, name string, kind hook.Kind) hook.Kind
	// Ends reports that a run ends with the hook although its kind does not.
	Ends func(p rawjson.Object, name string) bool
	// Adapt corrects an event, or replaces it by several, of which the first has
	// the kind of the hook.
	Adapt func(p rawjson.Object, ev hook.Event) []hook.Event
}

// own is Claude Code itself.
var own = Protocol{Host: hook.HostClaude}

// Decode is Decode for the protocol's agent.
func (c *Protocol) Decode(r Raw) ([]hook.Event, error) { return c.decode(r) }

// PeekIn is PeekIn for the protocol's agent.
func (c *Protocol) PeekIn(getenv func(string) string) func(payload []byte, event string) hook.Head {
	return func(payload []byte, event string) hook.Head { return c.peek(payload, event, getenv) }
}

// kind returns what a hook means.
func (c *Protocol) kind(p members, name string) hook.Kind {
	kind := kindOf(name, p.Text("agent_id") != "")
	if c.Kind != nil {
		kind = c.Kind(p.Object, name, kind)
	}
	return kind
}
