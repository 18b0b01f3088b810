package otelmap

import (
	"encoding/hex"
	"strconv"

	"go.opentelemetry.io/otel/trace"

	"github.com/hookspan/hookspan/otelmap/spanid"
)

// RunID identifies a run: 16 bytes derived from the host, the session and the
// host's own identity of the run's first event. An import of the same session
// from the host's files derives the same id.
type RunID [16]byte

// String returns the id as 32 hex digits; without an inherited trace context it
// is the run's trace id.
func (id RunID) String() string { return hex.EncodeToString(id[:]) }

// Root returns the id of the run's root span as 16 hex digits.
func (id RunID) Root() string { return id.spanID("root", "").String() }

// runID derives the id of a run from its first event.
func runID(host, session string, first *item) RunID {
	if first.Turn != "" {
		return turnRunID(host, session, first.Turn)
	}
	subagent := ""
	if first.ParentAgent != "" {
		subagent = first.Agent
	}
	return spanid.Run(host, session, first.Kind, first.Name, first.Time(), first.StoredAt(), subagent)
}

// turnRunID derives the id of a turn's run from the host's own id of the turn.
func turnRunID(host, session, turn string) RunID {
	return RunID(spanid.Digest("turn", host, session, turn))
}

// continuedRunID derives the id of a later part of a turn that was split. Only
// the time its first event was stored distinguishes the parts.
func continuedRunID(host, session string, first *item) RunID {
	return RunID(spanid.Digest("turn", host, session, first.Turn, strconv.FormatInt(first.StoredAt().UnixNano(), 10)))
}

func (id RunID) spanID(kind, key string) trace.SpanID { return spanid.Span(id, kind, key) }

// parseTraceparent reads a W3C traceparent header (version 00 or a later one
// of the same shape). ok is false for anything invalid, all-zero ids included.
func parseTraceparent(s string) (sc trace.SpanContext, ok bool) {
	if len(s) < 55 || s[2] != '-' || s[35] != '-' || s[52] != '-' || s[:2] == "ff" {
		return sc, false
	}
	if len(s) > 55 && (s[:2] == "00" || s[55] != '-') {
		return sc, false
	}
	tid, err1 := trace.TraceIDFromHex(s[3:35])
	sid, err2 := trace.SpanIDFromHex(s[36:52])
	_, err3 := hex.DecodeString(s[:2] + s[53:55])
	if err1 != nil || err2 != nil || err3 != nil {
		return sc, false
	}
	return trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: tid, SpanID: sid, TraceFlags: trace.FlagsSampled, Remote: true,
	}), true
}
