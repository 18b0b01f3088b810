package hook

import "time"

// Raw is one stored payload with what was stored beside it.
type Raw struct {
	// Payload is what the agent wrote to the hook's standard input.
	Payload []byte
	// Event is the name the hook was started with.
	Event string
	// StoredAt is when the payload was stored.
	StoredAt time.Time
	// Offset is the payload's place in the session's log, in bytes.
	Offset int64
	// Cwd is the directory the hook ran in; it counts where the payload names
	// none.
	Cwd string
	// TraceParent is the W3C traceparent of the hook's environment.
	TraceParent string
}
