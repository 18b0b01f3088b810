package cline

import (
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/hook/internal/wire"
)

// sdkPatience is how long Cline's SDK waits for a hook. The other cores wait as
// long as Head.Patience says by default.
const sdkPatience = 120 * time.Second

// Peek finds what a hook process must know of a payload before it can store
// it. event is the name the hook was started with; it stands in where the
// payload has none.
//
// Peek reads the payload once and never fails: of a payload that is not a JSON
// object it says the started name and what that tells, but never that a run ends.
// An empty payload is what a hook gets whose host dies while it starts; there the
// started name alone says that, too.
func Peek(payload []byte, event string) hook.Head {
	if event == HookRunsEvent {
		return peekHookRuns(payload)
	}
	payload = wire.Trim(payload)
	if len(payload) == 0 {
		name := documentedName(event)
		kind := kindOf(name, nil)
		return hook.Head{Name: name, Kind: kind, RunEnds: kind.Terminal()}
	}
	var e envelope
	err := e.open(payload)
	var patience time.Duration
	if e.sdk() {
		patience = sdkPatience
	}
	if err != nil {
		name := documentedName(event)
		return hook.Head{Name: name, Kind: kindOf(name, nil), Patience: patience}
	}
	name := e.name(event)
	kind := kindOf(name, wire.Members(e.turn))
	return hook.Head{
		Session: e.session(),
		Name:    name,
		Kind:    kind,
		RunEnds: kind.Terminal() && wire.Text(e.parentAgentID) == "",
		Dirs:    e.roots(),

		Patience: patience,
	}
}
