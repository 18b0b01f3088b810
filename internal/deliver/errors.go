package deliver

import (
	"errors"
	"math/rand/v2"
	"strings"
	"time"
)

// The back-off between tries: doubling from minBackoff to maxBackoff.
const (
	minBackoff = 5 * time.Second
	maxBackoff = 15 * time.Minute
)

// Error is what an exporter of this package reports of a failed export.
type Error struct {
	// Err says what happened, in one line.
	Err error
	// Permanent reports that sending the same again cannot help.
	Permanent bool
	// After is how long the destination asked to be left alone.
	After time.Duration
	// Partial reports that the destination took what it wanted and refused
	// Rejected spans for good: sending again would double the others.
	Partial  bool
	Rejected int64
	// TooLarge reports that fewer spans at a time may be taken.
	TooLarge bool
	// RunOnly reports a failure that may lie in what was sent.
	RunOnly bool
}

func (e *Error) Error() string             { return e.Err.Error() }
func (e *Error) Unwrap() error             { return e.Err }
func (e *Error) Retryable() bool           { return !e.Permanent }
func (e *Error) RetryAfter() time.Duration { return e.After }

// Answered reports that the destination itself answered, and with a failure
// that may be of these spans alone: others may be tried at once.
func (e *Error) Answered() bool { return e.RunOnly }

// classified is what the loop asks of an exporter's error. An error that does
// not say is retried: losing is worse than repeating.
type classified interface {
	Retryable() bool
	RetryAfter() time.Duration
}

func classify(err error) (retry bool, after time.Duration) {
	var c classified
	if errors.As(err, &c) {
		return c.Retryable(), c.RetryAfter()
	}
	return true, 0
}

// answerer is an error that tells trouble with one run from a destination that
// is down. Of an error that does not say, the destination is: without an answer
// every further run would only time out too.
type answerer interface {
	Answered() bool
}

func answered(err error) bool {
	var a answerer
	return errors.As(err, &a) && a.Answered()
}

// ofTheRun reports a status that may come of what was sent, such as a handler
// that breaks on one trace. 502 and 504 are a gateway's word that it had no
// answer from behind it, 503 says of itself that it is overloaded.
func ofTheRun(status int) bool {
	return status == 500 || status == 501 || status >= 505 && status <= 599
}

// backoff is the wait before the try after attempts failures: doubled each
// time, spread by a fifth either way so that a fleet does not return at once,
// and never shorter than the destination asked for.
func backoff(attempts int, asked time.Duration) time.Duration {
	d := maxBackoff
	if attempts < 10 {
		d = min(maxBackoff, minBackoff<<max(0, attempts-1))
	}
	d = time.Duration(float64(d) * (0.8 + 0.4*rand.Float64())) //nolint:gosec // Spreading load needs no secrecy.
	return min(max(d, asked), max(maxBackoff, asked))
}

// WithoutName returns the text of a destination's error without the name of the
// destination before it.
func WithoutName(text, name string) string {
	for _, prefix := range []string{name + " destination: ", name + ": ", name + " "} {
		text = strings.TrimPrefix(text, prefix)
	}
	return text
}
