package claude

import (
	"time"

	"github.com/hookspan/hookspan/hook"
)

// turnEnds finds the ends of turns in the order of the rows. What looks like an
// end is kept back until a row confirms it: one of the user's hooks can make the
// model continue, and a failed request can be tried again.
type turnEnds struct {
	found []hook.TurnEnd
	// last is the end kept back if waiting, message the answer it came with.
	last    hook.TurnEnd
	message string
	waiting bool
	// recorded reports that Claude Code recorded the end that is kept back, likely that
	// only the answer's form shows it.
	recorded, likely bool
	// answered is the newest answer's message, empty if none came since the prompt or since a
	// hook blocked the end.
	answered string
	// fresh reports that nothing has happened since the turn's prompt.
	fresh bool
	// open reports that the current turn has not ended.
	open bool
	// barred reports that a hook has just blocked the end of the turn, and that
	// Claude Code has yet to record the stop.
	barred bool
}

// answer adds a row of a model's answer. Each row of one answer repeats why it
// stopped, and text grows with them. Until about 2.1.56 most rows do not say why:
// then an answer that asks for no call is the last, if said reports that the row
// has text.
func (e *turnEnds) answer(turn, message, stop, text string, said, calls bool, at time.Time) {
	e.other(turn)
	if e.waiting && e.last.Kind == hook.KindSessionEnd && e.message == message {
		return // the rest of the answer that was interrupted
	}
	e.open, e.barred, e.fresh = true, false, false
	e.resume(message)
	e.answered = message
	switch {
	case stop == "" && said && !calls, stop != "" && stop != "tool_use" && stop != "pause_turn":
		e.hold(message, hook.TurnEnd{Turn: turn, At: at, Kind: hook.KindRunComplete, Result: text})
		e.likely = stop == ""
	case calls:
		e.waiting = false
	}
}

// failure adds a request that failed for good. No hook can make the model
// continue after it, and no hook is recorded as having run.
func (e *turnEnds) failure(message string, end hook.TurnEnd) {
	e.other(end.Turn)
	e.resume(message)
	e.hold(message, end)
	e.open = false
}

// other counts the end of another turn that was kept back: another terminal works on this
// one.
func (e *turnEnds) other(turn string) {
	if turn != "" && e.last.Turn != "" && e.last.Turn != turn {
		e.flush()
	}
}

func (e *turnEnds) hold(message string, end hook.TurnEnd) {
	e.last, e.message, e.waiting, e.recorded, e.likely = end, message, true, false, false
}

// resume notes that another answer continues the turn, also after an interruption. If
// Claude Code had recorded the turn's end, something woke it again.
func (e *turnEnds) resume(message string) {
	if !e.waiting || e.message == message {
		return
	}
	if e.recorded && e.message != "" {
		e.found = append(e.found, hook.TurnEnd{Turn: e.last.Turn, At: e.last.At, Kind: hook.KindRunResume})
	}
	e.waiting = false
}

// blocked adds that a hook did not let the turn end.
func (e *turnEnds) blocked(turn, why string, at time.Time) {
	e.barred = !(e.waiting && e.recorded)
	e.waiting, e.open, e.answered, e.fresh = false, true, "", false
	e.found = append(e.found, hook.TurnEnd{Turn: turn, At: at, Kind: hook.KindRunResume, Message: why})
}

// stopped adds that Claude Code recorded the turn's end, which it also does for
// one that a hook has blocked. It does so when all hooks have answered, and the
// blocking one may have been among the first: only then has every hook seen the
// turn stop. A turn may end without an answer.
func (e *turnEnds) stopped(turn string, at time.Time) {
	if !e.waiting && e.open && !e.barred && (e.answered != "" || e.fresh) {
		e.hold(e.answered, hook.TurnEnd{Turn: turn, At: at, Kind: hook.KindRunComplete})
	}
	if e.waiting && e.last.Kind != hook.KindSessionEnd {
		e.recorded, e.open = true, false
	}
	if n := len(e.found); e.barred && n > 0 && at.After(e.found[n-1].At) {
		e.found[n-1].At = at
	}
	e.barred = false
}

// interrupted adds that the user interrupted the turn.
func (e *turnEnds) interrupted(turn, text string, at time.Time) {
	again := e.waiting && e.last.Kind == hook.KindSessionEnd
	if e.recorded || e.last.Turn != turn {
		e.flush()
		again = false
	}
	e.open, e.barred = false, false
	if !again {
		e.hold(e.answered, hook.TurnEnd{Turn: turn, At: at, Kind: hook.KindSessionEnd, Message: text})
	}
}

// prompt adds a text that opens a turn, or is added to the current one. One that the agent
// wrote, as injected says, wakes the turn of its id.
func (e *turnEnds) prompt(turn string, injected bool) {
	switch {
	case turn == "" || e.last.Turn != turn || !e.open && !injected:
		e.flush()
	case injected:
		e.resume("")
	}
	e.waiting, e.open, e.barred, e.answered, e.fresh = false, true, false, "", true
}

// finish counts the end that was kept back at the end of the file. What only looks like
// an end counts if settled is set: nothing more is expected.
func (e *turnEnds) finish(settled bool) {
	e.waiting = e.waiting && (settled || e.recorded || !e.likely)
	e.flush()
}

// flush counts the end that was kept back.
func (e *turnEnds) flush() {
	if e.waiting {
		e.found = append(e.found, e.last)
		e.waiting = false
	}
}
