package claude

import (
	"cmp"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/rawjson"
)

// Peek finds what a hook process must know of a payload before it can store
// it. event is the name the hook was started with, which counts where the
// payload has none.
//
// A run ends with the end of a turn, of the session and of a subagent: where
// that one worked in the background, its end may be what completes a turn.
//
// Peek reads the payload once and never fails: of a payload that is not a JSON
// object it says the started name and nothing else. Of an empty payload the
// started name alone says what happened. Where the payload is another agent's,
// it names that one.
func Peek(payload []byte, event string) hook.Head {
	return PeekIn(func(string) string { return "" })(payload, event)
}

// PeekIn is Peek for a hook process with an environment, which names the agent
// where the payload leaves it open.
func PeekIn(getenv func(string) string) func(payload []byte, event string) hook.Head {
	return func(payload []byte, event string) hook.Head {
		h := hook.Head{Name: event}
		payload = rawjson.Trim(payload)
		var p members
		if len(payload) > 0 {
			o, err := rawjson.Open(payload)
			if err != nil {
				return h
			}
			p = members{o}
			h.Session = p.Text("session_id")
			h.Name = cmp.Or(p.Text("hook_event_name"), event)
			if h.Agent = cmp.Or(p.sender(), p.startedBy(getenv)); h.Agent == Host {
				h.Agent = ""
			}
		}
		h.Kind = kindOf(h.Name, p.Text("agent_id") != "")
		h.RunEnds = h.Kind.Terminal()
		return h
	}
}
