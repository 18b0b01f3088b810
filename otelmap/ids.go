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
// from the host's files meets the same one.
type RunID [16]byte

// String returns the id as 32 hex digits; without an inherited trace context it
// is the run's trace id.
func (id RunID) String() string { return hex.EncodeToString(id[:]) }

// runID derives the id of the run that first begins.
func runID(host, session string, first *hook.Event) RunID {
	if first.Turn != "" {
		return turnRunID(host, session, first.Turn)
	}
	identity := "stored:" + strconv.FormatInt(first.StoredAt.UnixNano(), 10)
	if !first.Time.IsZero() {
		identity = strconv.FormatInt(first.Time.UnixMilli(), 10)
		if !opening(first.Kind) {
			// Its beginning was not heard, and the next run may begin in the same
			// millisecond.
			identity += "/" + first.Name
		}
	}
	if first.ParentAgent != "" {
		// Of this run only a subagent was heard; the lead's own may begin in the
		// same millisecond.
		identity += "/" + first.Agent
	}
	return RunID(digest("run", host, session, identity))
}

// opening reports that a host's run begins with such an event.
func opening(k hook.Kind) bool {
	return k == hook.KindRunStart || k == hook.KindRunResume || k == hook.KindPrompt
}

// turnRunID derives the id of a turn's run from the host's own id of the turn.
func turnRunID(host, session, turn string) RunID {
	return RunID(digest("turn", host, session, turn))
}

// continuedRunID derives the id of a later part of a turn that was split. Its
// first event's stored time is all that tells the parts apart.
func continuedRunID(host, session string, first *hook.Event) RunID {
	return RunID(digest("turn", host, session, first.Turn, strconv.FormatInt(first.StoredAt.UnixNano(), 10)))
}

// spanID derives a span's id from its run, what it is and its key within the
// run. Ids must survive a change of the parent context, so the trace id takes
// no part.
func (id RunID) spanID(kind, key string) trace.SpanID {
	d := digest("span", string(id[:]), kind, key)
	return trace.SpanID(d[:8])
}

// digest hashes parts unambiguously: each is preceded by its length.
func digest(parts ...string) [16]byte {
	h := sha256.New()
	var n []byte
	for _, p := range parts {
		n = strconv.AppendInt(n[:0], int64(len(p)), 10)
		n = append(n, ':')
		h.Write(n)
		h.Write([]byte(p))
	}
	var out [16]byte
	copy(out[:], h.Sum(nil))
	return out
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
	tid, err := trace.TraceIDFromHex(s[3:35])
	if err != nil {
		return sc, false
	}
	sid, err := trace.SpanIDFromHex(s[36:52])
	if err != nil {
		return sc, false
	}
	if _, err := hex.DecodeString(s[:2] + s[53:55]); err != nil {
		return sc, false
	}
	return trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: tid, SpanID: sid, TraceFlags: trace.FlagsSampled, Remote: true,
	}), true
}
