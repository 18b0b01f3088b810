package wire

import (
	"bytes"
	"crypto/sha256"
	"strconv"
	"strings"
)

// Trim removes a byte order mark and surrounding white space.
func Trim(payload []byte) []byte {
	payload = bytes.TrimPrefix(payload, []byte("\ufeff"))
	return bytes.Trim(payload, " \t\r\n")
}

// Hash is the first 8 bytes of SHA-256 over the payload, as a number.
func Hash(payload []byte) uint64 {
	sum := sha256.Sum256(payload)
	var h uint64
	for _, b := range sum[:8] {
		h = h<<8 | uint64(b)
	}
	return h
}

// Lines puts texts on lines of their own, leaving out empty ones.
func Lines(parts []string) string {
	var b strings.Builder
	ended := true
	for _, part := range parts {
		if part == "" {
			continue
		}
		if !ended {
			b.WriteByte('\n')
		}
		b.WriteString(part)
		ended = strings.HasSuffix(part, "\n")
	}
	return b.String()
}

// DecodeError says which payload could not be read, and why.
type DecodeError struct {
	// Agent is the agent's name as people write it.
	Agent string
	// Event is the name the hook was started with.
	Event string
	// Size is the payload's length in bytes.
	Size int
	// Cause is the fault itself.
	Cause error
}

// Error names the payload and the fault.
func (e *DecodeError) Error() string {
	return "decode " + e.Agent + " payload of hook " + strconv.Quote(e.Event) + " (" + strconv.Itoa(e.Size) + " bytes): " +
		e.Cause.Error() + "; the payload is kept as it came"
}

// Unwrap returns the fault itself.
func (e *DecodeError) Unwrap() error { return e.Cause }
