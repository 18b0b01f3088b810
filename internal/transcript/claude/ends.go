package claude

import (
	"time"

	"github.com/hookspan/hookspan/hook"
)

// turnEnds finds the ends of turns in the order of the rows. What looks like an
// end is kept back until a row shows that it was one: a hook of the user's can
// send the model on, and a request that failed can be tried again.
type turnEnds struct {
	found []hook.TurnEnd
	// last is the end kept back; message is the answer it came with.
	last    hook.TurnEnd
	message string
	waiting bool
	// told says that the host wrote of the end of the turn.
	told bool
	// open says that the turn under way has not ended.
	open bool
	// barred says that a hook has just blocked the end of the turn, and that
	// the host has yet to write of the stop.
	barred bool
}

// answer takes in a row of a model's answer. Each row of one answer repeats why
// it stopped, and text grows with them.
func (e *turnEnds) answer(turn, message, stop, text string, at time.Time) {
	e.open, e.barred = true, false
	switch stop {
	case "", "tool_use", "pause_turn":
		e.goOn(message)
		return
	}
	if e.waiting && e.message != message {
		e.goOn(message)
	}
	e.hold(message, hook.TurnEnd{Turn: turn, At: at, Kind: hook.KindRunComplete, Result: text})
}

// failure takes in a request that failed for good. No hook can send the model
// on after it, and none is told of as having run.
func (e *turnEnds) failure(message string, end hook.TurnEnd) {
	e.goOn(message)
	e.hold(message, end)
	e.open = false
}

func (e *turnEnds) hold(message string, end hook.TurnEnd) {
	e.last, e.message, e.waiting, e.told = end, message, true, false
}

// goOn sees the turn continued by another answer. Where the host had written of
// the turn's end, something woke it again.
func (e *turnEnds) goOn(message string) {
	if !e.waiting || e.message == message {
		return
	}
	if e.told {
		e.found = append(e.found, hook.TurnEnd{Turn: e.last.Turn, At: e.last.At, Kind: hook.KindRunResume})
	}
	e.waiting = false
}

// blocked takes in that a hook would not let the turn end.
func (e *turnEnds) blocked(turn, why string, at time.Time) {
	e.barred = !(e.waiting && e.told)
	e.waiting, e.open = false, true
	e.found = append(e.found, hook.TurnEnd{Turn: turn, At: at, Kind: hook.KindRunResume, Message: why})
}

// stopped takes in that the host wrote of the turn's end, which it also does of
// one that a hook has blocked. It does so when all hooks have answered, the
// blocking one may have been among the first: only from then on is it true that
// every hook has seen the turn stop.
func (e *turnEnds) stopped(at time.Time) {
	if e.waiting {
		e.told, e.open = true, false
	}
	if n := len(e.found); e.barred && n > 0 && at.After(e.found[n-1].At) {
		e.found[n-1].At = at
	}
	e.barred = false
}

// interrupted takes in that the user broke the turn off.
func (e *turnEnds) interrupted(turn, text string, at time.Time) {
	if e.waiting && (e.told || e.last.Turn != turn) {
		e.flush()
	}
	e.waiting, e.open, e.barred = false, false, false
	if n := len(e.found); n > 0 && turn != "" && e.found[n-1].Turn == turn && e.found[n-1].Kind == hook.KindSessionEnd {
		return
	}
	e.found = append(e.found, hook.TurnEnd{Turn: turn, At: at, Kind: hook.KindSessionEnd, Message: text})
}

// prompt takes in a text that opens a turn, or is added to the one under way.
func (e *turnEnds) prompt(turn string) {
	if e.waiting && (e.told || turn == "" || e.last.Turn != turn) {
		e.flush()
	}
	e.waiting, e.open, e.barred = false, true, false
}

// flush counts the end that was kept back.
func (e *turnEnds) flush() {
	if e.waiting {
		e.found = append(e.found, e.last)
		e.waiting = false
	}
}
