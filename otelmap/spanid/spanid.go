// Package spanid derives the ids of traces and spans from what an agent reports. It is
// pure and links nothing of OpenTelemetry, so that a hook process can name the span that
// an event will have.
package spanid

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
	"time"

	"github.com/hookspan/hookspan/hook"
)

// Run is the id of a run of an agent that numbers no turns, by the kind, the name and the
// host's time of its first event; a zero time is the time at which it was stored. payload is the
// hash of what the hook got, 0 of an event of the host's files. subagent is the id of the agent
// that the event is of, empty for the lead agent.
func Run(host, session string, kind hook.Kind, name string, at, stored time.Time, payload uint64, subagent string) [16]byte {
	began := "stored:" + strconv.FormatInt(stored.UnixNano(), 10)
	identity := began
	if !at.IsZero() {
		identity = strconv.FormatInt(at.UnixMilli(), 10)
	}
	switch kind {
	case hook.KindRunStart, hook.KindRunResume, hook.KindPrompt:
	default:
		// The run's beginning is missing, and another run may begin in the same millisecond.
		// Where a clock stands still, only the payload differs.
		identity += "/" + began + "/" + strconv.FormatUint(payload, 16) + "/" + name
	}
	if subagent != "" {
		// The lead agent's own run may begin in the same millisecond.
		identity += "/" + noSlash(subagent)
	}
	return Digest("run", host, session, identity)
}

// Span is a span's id by its run, its kind and its key within the run. The trace id takes
// no part, so that ids survive a change of the parent context.
func Span(run [16]byte, kind, key string) [8]byte {
	d := Digest("span", string(run[:]), kind, key)
	return [8]byte(d[:8])
}

// Call is the key of a tool call, of which the agent made so many before with the same
// id, or with the same name where it gives no id.
func Call(agent, id, name string, before int) string {
	if id == "" {
		id = "name:" + name
	}
	return Request(agent, id, before)
}

// Request is the key of a request to the model, of which the agent made so many before with
// the same id.
func Request(agent, id string, before int) string {
	return noSlash(agent) + "/" + id + "/" + strconv.Itoa(before)
}

// noSlash returns a different text for each agent, so that nothing of an id is taken for the agent's.
func noSlash(agent string) string {
	return strings.ReplaceAll(strings.ReplaceAll(agent, "%", "%25"), "/", "%2F")
}

// Traceparent is a W3C traceparent header.
func Traceparent(trace [16]byte, span [8]byte) string {
	return "00-" + hex.EncodeToString(trace[:]) + "-" + hex.EncodeToString(span[:]) + "-01"
}

// Digest hashes parts unambiguously: each is preceded by its length.
func Digest(parts ...string) [16]byte {
	text := make([]byte, 0, 256)
	for _, p := range parts {
		text = append(strconv.AppendInt(text, int64(len(p)), 10), ':')
		text = append(text, p...)
	}
	sum := sha256.Sum256(text)
	return [16]byte(sum[:16])
}
