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
// started name alone says what happened.
func Peek(payload []byte, event string) hook.Head {
	payload = wire.Trim(payload)
	if len(payload) == 0 {
		return head("", event, false)
	}
	var name, session, agent []byte
	err := wire.EachMember(payload, func(key, value []byte) {
		switch string(key) {
		case "hook_event_name":
			name = wire.Present(value)
		case "session_id":
			session = wire.Present(value)
		case "agent_id":
			agent = wire.Present(value)
		}
	})
	if err != nil {
		return hook.Head{Name: event}
	}
	if said := wire.Text(name); said != "" {
		event = said
	}
	return head(wire.Text(session), event, wire.Text(agent) != "")
}

func head(session, name string, inAgent bool) hook.Head {
	kind := kindOf(name, inAgent)
	return hook.Head{Session: session, Name: name, Kind: kind, RunEnds: kind.Terminal()}
}
