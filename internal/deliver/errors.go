package deliver

import (
	"errors"
	"math/rand/v2"
	"strings"
	"time"
)

// Error is the error of a failed export by a client of this package.
type Error struct {
	// Err says what happened, in one line.
	Err error
	// Permanent reports that sending the same again cannot help.
	Permanent bool
	// After is how long the destination asks to wait.
	After time.Duration
	// Rejected is not zero if the destination took the request and refused this
	// number of its spans for good: sending it again would double the others.
	Rejected int64
	// TooLarge reports that the destination may take fewer spans at a time.
	TooLarge bool
	// Denied reports that the destination refused the sender and not these spans: its
	// credential, account or address. The same may be taken when that is right.
	Denied bool
	// RunOnly reports a failure that may be caused by these spans.
	RunOnly bool
	// status is that of the answer, zero if there is none.
	status int
}

func (e *Error) Error() string { return e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

// Retryable reports whether sending the same again can help.
func (e *Error) Retryable() bool { return !e.Permanent }

// RetryAfter returns how long the destination asks to wait.
func (e *Error) RetryAfter() time.Duration { return e.After }

// OfSender reports that the destination refused the sender and not these spans.
func (e *Error) OfSender() bool { return e.Denied }

// Answered reports that the destination answered with a failure that may be caused
// by these spans: others may be sent at once.
func (e *Error) Answered() bool { return e.RunOnly }

// Retryable reports whether sending the same again can help. An error that does not
// say is retried, since losing a run is worse than repeating it.
func Retryable(err error) bool { return classify(err).retry }

// Wait returns how long the destination asks all senders to wait. What it asks for one
// run does not count.
func Wait(err error) time.Duration {
	if f := classify(err); err != nil && f.retry && !f.answered {
		return f.after
	}
	return 0
}

// Denied reports that the destination refused the sender and not what was sent.
func Denied(err error) bool { return err != nil && classify(err).denied }

// failure is what an error of a client means for the delivery.
type failure struct {
	retry    bool
	after    time.Duration
	answered bool
	// denied reports that the sender was refused.
	denied bool
}

// classify asks the error for its methods Retryable, RetryAfter and Answered. If it
// does not say that the destination answered, the destination is down: every
// further run would only time out too.
func classify(err error) failure {
	f := failure{retry: true}
	var r interface{ Retryable() bool }
	if errors.As(err, &r) {
		f.retry = r.Retryable()
	}
	var after interface{ RetryAfter() time.Duration }
	if errors.As(err, &after) {
		f.after = after.RetryAfter()
	}
	var denied interface{ OfSender() bool }
	f.denied = errors.As(err, &denied) && denied.OfSender()
	var a interface{ Answered() bool }
	f.answered = errors.As(err, &a) && a.Answered()
	return f
}

// The back-off between tries: doubling from minBackoff to maxBackoff.
const (
	minBackoff = 5 * time.Second
	maxBackoff = 15 * time.Minute
)

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
