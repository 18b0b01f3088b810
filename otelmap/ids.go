package otelmap

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"

	"go.opentelemetry.io/otel/trace"

	"github.com/hookspan/hookspan/hook"
)

// RunID identifies a run: 16 bytes derived from the host, the session and the
// host's own identity of the run's first event. An import of the same session
// from the host's files derives the same id.
type RunID [16]byte

// String returns the id as 32 hex digits; without an inherited trace context it
// is the run's trace id.
func (id RunID) String() string { return hex.EncodeToString(id[:]) }

// runID derives the id of a run from its first event.
func runID(host, session string, first *item) RunID {
	if first.Turn != "" {
		return turnRunID(host, session, first.Turn)
	}
	identity := "stored:" + strconv.FormatInt(first.StoredAt().UnixNano(), 10)
	if first.time != never {
		identity = strconv.FormatInt(first.Time().UnixMilli(), 10)
		switch first.Kind {
		case hook.KindRunStart, hook.KindRunResume, hook.KindPrompt:
		default:
			// The run's beginning is missing, and the next run may begin in the same
			// millisecond.
			identity += "/" + first.Name
		}
	}
	if first.ParentAgent != "" {
		// The lead agent's own run may begin in the same millisecond.
		identity += "/" + first.Agent
	}
	return RunID(digest("run", host, session, identity))
}

// turnRunID derives the id of a turn's run from the host's own id of the turn.
func turnRunID(host, session, turn string) RunID {
	return RunID(digest("turn", host, session, turn))
}

// continuedRunID derives the id of a later part of a turn that was split. Only
// the time its first event was stored distinguishes the parts.
func continuedRunID(host, session string, first *item) RunID {
	return RunID(digest("turn", host, session, first.Turn, strconv.FormatInt(first.StoredAt().UnixNano(), 10)))
}

// spanID derives a span's id from its run, its kind and its key within the run.
// The trace id takes no part, so that ids survive a change of the parent context.
func (id RunID) spanID(kind, key string) trace.SpanID {
	d := digest("span", string(id[:]), kind, key)
	return trace.SpanID(d[:8])
}

// digest hashes parts unambiguously: each is preceded by its length.
func digest(parts ...string) [16]byte {
	text := make([]byte, 0, 256)
	for _, p := range parts {
		text = append(strconv.AppendInt(text, int64(len(p)), 10), ':')
		text = append(text, p...)
	}
	sum := sha256.Sum256(text)
	return [16]byte(sum[:16])
}

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
