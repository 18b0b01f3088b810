package otelmap

import (
	"encoding/hex"
	"slices"
	"strconv"

	"go.opentelemetry.io/otel/trace"

	"github.com/hookspan/hookspan/otelmap/spanid"
)

// RunID identifies a run: 16 bytes derived from the host, the session and the
// host's own identity of the run's first event in the log. An import of the same
// session from the host's files derives the same id if a turn is named, or if the
// hook of the run's beginning was stored first.
type RunID [16]byte

// String returns the id as 32 hex digits; without an inherited trace context it
// is the run's trace id.
func (id RunID) String() string { return hex.EncodeToString(id[:]) }

// Root returns the id of the run's root span as 16 hex digits.
func (id RunID) Root() string { return id.spanID("root", "").String() }

// turnRunID derives the id of a turn's run from the host's own id of the turn.
func turnRunID(host, session, turn string) RunID {
	return RunID(spanid.Digest("turn", host, session, turn))
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

// firstCopy is what the copies of one event may differ in: when it happened, when it was stored, and the
// hash of its payload.
type firstCopy struct {
	time, stored instant
	payload      uint64
}

// identifyRun gives a run its id. Without a turn, and in a later part of one, that is of the run's
// first event in the log: what is stored later, also when the run was delivered, may have an earlier
// time.
func (b *Builder) identifyRun(r *Run) {
	first, copied := b.logged[r.first.Offset]
	if !copied {
		first = firstCopy{r.first.time, r.first.stored, r.first.Hash}
	}
	continued := func() RunID {
		return spanid.Digest("turn", b.host, b.session, r.turn, strconv.FormatInt(int64(first.stored), 10))
	}
	switch {
	case r.turn == "":
		subagent := ""
		if r.first.ParentAgent != "" {
			subagent = r.first.Agent
		}
		if b.opts.FromFiles {
			first.payload = 0 // it is the event's place
		}
		r.whole = spanid.Run(b.host, b.session, r.first.Kind, r.first.Name, first.time.Time(), first.stored.Time(), first.payload, subagent)
		r.ID = r.whole
	case r.continued:
		r.ID = continued()
	default:
		r.ID = r.whole
	}
	r.Repeated = slices.Contains(b.before(r.whole).Recent, r.ID.String())
	if r.Repeated && r.later && slices.ContainsFunc(r.items, func(it *item) bool { return it.Tool != nil }) {
		// The prompt is no copy: its hook was slower than that of an end.
		r.ID, r.Repeated = continued(), false
	}
}
