package otelmap

import (
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/hookspan/hookspan/internal/otlp"
)


// Wait is a period in which an agent waited for its user. To is zero while it waits.
type Wait struct{ From, To time.Time }

// Waited is the wait for the approval of a call: from the question to the call's end, less
// the time that the agent says it ran, which is negative if it does not say.
func Waited(asked, end time.Time, ran time.Duration) Wait {
	if end = end.Add(-max(0, ran)); end.Before(asked) {
		end = asked
	}
	return Wait{asked, end}
}

// Waits returns the periods in which a span waited for the user, as far as its events
// report them: those of a call for its approval, and on a root those of notifications.
func Waits(s *tracepb.Span) (out []Wait) {
	last := len(s.GetEvents()) - 1
	for i, e := range s.GetEvents() {
		at := otlp.Time(e.GetTimeUnixNano())
		switch e.GetName() {
		case EventPermission:
			ran, ok := otlp.Integer(s.GetAttributes(), KeyHostDuration)
			if EndOf(s) == EndRunning {
				out = append(out, Wait{From: at})
			} else if end := otlp.End(s); !end.IsZero() {
				if !ok {
					ran = -1
				}
				out = append(out, Waited(at, end, time.Duration(ran)*time.Millisecond))
			}
		case EventNotification:
			if ms, ok := otlp.Integer(e.GetAttributes(), KeyWaited); ok {
				out = append(out, Wait{at, at.Add(time.Duration(ms) * time.Millisecond)})
			} else if i == last && otlp.Find(e.GetAttributes(), KeyAwaitsUser).GetBoolValue() && EndOf(s) == EndRunning {
				out = append(out, Wait{From: at})
			}
		}
	}
	return out
}
