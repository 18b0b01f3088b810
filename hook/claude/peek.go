package claude

import (
	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/hook/internal/wire"
)

// Peek finds what a hook process must know of a payload before it can store
// it. event is the name the hook was started with; it stands in where the
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
		payload = wire.Trim(payload)
		if len(payload) == 0 {
			return head("", event, false)
		}
		var from sender
		var agent []byte
		err := wire.EachMember(payload, func(key, value []byte) {
			if string(key) == "agent_id" {
				agent = wire.Present(value)
			}
			from.note(key, value)
		})
		if err != nil {
			return hook.Head{Name: event}
		}
		if said := wire.Text(from.event); said != "" {
			event = said
		}
		h := head(wire.Text(from.session), event, wire.Text(agent) != "")
		if h.Agent = from.agent(); h.Agent == "" {
			h.Agent = from.startedBy(getenv)
		}
		if h.Agent == Host {
			h.Agent = ""
		}
		return h
	}
}

func head(session, name string, inAgent bool) hook.Head {
	kind := kindOf(name, inAgent)
	return hook.Head{Session: session, Name: name, Kind: kind, RunEnds: kind.Terminal()}
}
