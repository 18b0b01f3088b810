package otelmap

import "github.com/hookspan/hookspan/hook"

// End is how a run, a call or a request ended, or that it has not. As text it is a word.
// The store keeps the numbers.
type End uint8

// The ends.
const (
	// EndNone is that of what has no end, such as a prompt.
	EndNone End = iota
	EndOK
	EndFailed
	// EndDenied is what the user or a rule denied, cancelled or interrupted.
	EndDenied
	// EndUnfinished is what never reported an end.
	EndUnfinished
	// EndUnknown is a call that ended with an unknown outcome.
	EndUnknown
	// EndRunning is a run, or a call, that has not ended. It is never stored.
	EndRunning
)

// Ends are all ends, by their numbers.
var Ends = [...]End{EndNone, EndOK, EndFailed, EndDenied, EndUnfinished, EndUnknown, EndRunning}

// ends are the words and the marks.
var ends = [...]struct{ word, mark, ascii string }{
	EndNone: {"", "·", "*"}, EndOK: {"ok", "✓", "+"}, EndFailed: {"failed", "✗", "x"}, EndDenied: {"denied", "⊘", "-"},
	EndUnfinished: {"unfinished", "…", "?"}, EndUnknown: {"unknown", "?", "~"}, EndRunning: {"running", "▶", ">"},
}

// String returns the word, "" for EndNone.
func (e End) String() string { return ends[e].word }

// MarshalText implements encoding.TextMarshaler.
func (e End) MarshalText() ([]byte, error) { return []byte(ends[e].word), nil }

// Mark returns the character that stands for the end, ASCII the one where only ASCII is
// drawn.
func (e End) Mark() string { return ends[e].mark }

// ASCII returns Mark's counterpart in ASCII.
func (e End) ASCII() string { return ends[e].ascii }

// Bad reports what failed, was denied or never ended.
func (e End) Bad() bool { return e.Failed() || e == EndDenied }

// Failed reports what counts as a failure: what failed or never ended.
func (e End) Failed() bool { return e == EndFailed || e == EndUnfinished }

// Done reports what was done, as far as is known.
func (e End) Done() bool { return e == EndOK || e == EndUnknown }

// OutcomeEnd returns how a run with an outcome ended. Without an outcome it never did.
func OutcomeEnd(outcome string) End {
	switch outcome {
	case OutcomeCompleted:
		return EndOK
	case OutcomeFailed:
		return EndFailed
	case OutcomeCancelled, OutcomeInterrupted:
		return EndDenied
	case OutcomeRunning:
		return EndRunning
	}
	return EndUnfinished
}

// HookEnd returns how one of the user's hooks with a status and a decision ended: denied
// if it denied or blocked what it ran for.
func HookEnd(status, decision string) End {
	switch decision {
	case "deny", "block":
		return EndDenied
	}
	switch status {
	case hook.HookError, hook.HookTimeout, hook.HookNotStarted:
		return EndFailed
	}
	return EndOK
}
