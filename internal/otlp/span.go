package otlp

import (
	"encoding/hex"
	"iter"
	"math"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
)

// Spans yields the spans of all messages in their order.
func Spans(messages []*tracepb.ResourceSpans) iter.Seq[*tracepb.Span] {
	return func(yield func(*tracepb.Span) bool) {
		for _, resource := range messages {
			for _, scope := range resource.GetScopeSpans() {
				for _, span := range scope.GetSpans() {
					if !yield(span) {
						return
					}
				}
			}
		}
	}
}

// Count returns the number of spans in all messages.
func Count(messages []*tracepb.ResourceSpans) int {
	n := 0
	for range Spans(messages) {
		n++
	}
	return n
}

// Start returns the span's start in UTC. It returns the zero time if the span
// has none.
func Start(s *tracepb.Span) time.Time { return Time(s.GetStartTimeUnixNano()) }

// End returns the span's end in UTC. It returns the zero time if the span has
// none.
func End(s *tracepb.Span) time.Time { return Time(s.GetEndTimeUnixNano()) }

// Time converts nanoseconds since the Unix epoch into a time in UTC. It converts
// 0, which means "not set" in OTLP, into the zero time.
func Time(nano uint64) time.Time {
	if nano == 0 {
		return time.Time{}
	}
	return time.Unix(int64(nano/1e9), int64(nano%1e9)).UTC() //nolint:gosec // far smaller
}

// First and Last are the earliest and the latest time that UnixNano tells from others:
// the first nanosecond of 1970, and one in April 2262, which is the latest that fits
// into an int64.
var (
	First = time.Unix(0, 1).UTC()
	Last  = time.Unix(0, math.MaxInt64).UTC()
)

// UnixNano converts a time into nanoseconds since the Unix epoch. It converts a
// time before the epoch into 0, and one after Last into that of Last.
func UnixNano(t time.Time) uint64 {
	switch {
	case t.Before(First):
		return 0
	case t.After(Last):
		t = Last
	}
	return uint64(t.UnixNano()) //nolint:gosec // not negative
}

// TraceID returns the span's trace id as 32 hexadecimal digits.
func TraceID(s *tracepb.Span) string { return hex.EncodeToString(s.GetTraceId()) }

// TaskID returns the id of a session's task in a trace whose id came from outside, where other
// sessions may have theirs: the trace's, and eight digits of the session's folder in the spool.
func TaskID(trace, folder string) string { return trace + "-" + folder[:8] }

// SpanID returns the span's id as 16 hexadecimal digits.
func SpanID(s *tracepb.Span) string { return hex.EncodeToString(s.GetSpanId()) }

// ParentID returns the parent's id as 16 hexadecimal digits, or "" if the span
// has no parent.
func ParentID(s *tracepb.Span) string { return hex.EncodeToString(s.GetParentSpanId()) }
