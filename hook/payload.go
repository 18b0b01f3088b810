package hook

import (
	"crypto/sha256"
	"encoding/binary"
	"strconv"
	"strings"
	"time"
)

// Raw is one stored payload with the other members of its record.
type Raw struct {
	// Payload is what the agent wrote to the hook's standard input.
	Payload []byte
	// Event is the name the hook was started with.
	Event string
	// StoredAt is when the payload was stored.
	StoredAt time.Time
	// Offset is the payload's position in the session's log, in bytes.
	Offset int64
	// Cwd is the directory the hook ran in. It counts if the payload names none.
	Cwd string
	// TraceParent is the W3C traceparent of the hook's environment.
	TraceParent string
	// Resource are attributes of the hook's process, as spool.Record has them.
	Resource string
}

// NewEvent returns an event with the fields that are known without reading the
// payload.
func (r *Raw) NewEvent(host, name string) Event {
	return Event{
		Host: host, Name: name, StoredAt: r.StoredAt, Offset: r.Offset, Hash: Hash(r.Payload), Cwd: r.Cwd, TraceParent: r.TraceParent, Resource: r.Resource,
	}
}

// DecodeError reports a payload that could not be read.
type DecodeError struct {
	// Agent is the agent's name for people.
	Agent string
	// Event is the name the hook was started with.
	Event string
	// Size is the payload's length in bytes.
	Size int
	// Cause is why.
	Cause error
}

// Error names the payload and the cause.
func (e *DecodeError) Error() string {
	return "decode " + e.Agent + " payload of hook " + strconv.Quote(e.Event) + " (" + strconv.Itoa(e.Size) + " bytes): " +
		e.Cause.Error() + "; the payload is kept as it came"
}

// Unwrap returns the cause.
func (e *DecodeError) Unwrap() error { return e.Cause }

// Hash returns the first 8 bytes of SHA-256 over a payload, as a number.
func Hash(payload []byte) uint64 {
	sum := sha256.Sum256(payload)
	return binary.BigEndian.Uint64(sum[:])
}

// Lines joins texts so that each begins a line, and leaves out empty ones.
func Lines(parts ...string) string {
	var b strings.Builder
	for _, part := range parts {
		if s := b.String(); part != "" && s != "" && !strings.HasSuffix(s, "\n") {
			b.WriteByte('\n')
		}
		b.WriteString(part)
	}
	return b.String()
}
