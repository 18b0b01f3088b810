package cline

import (
	"time"

	"github.com/hookspan/hookspan/hook/internal/wire"
)

// known is a text without the word the host writes where it does not know.
func known(raw []byte) string {
	if s := wire.Text(raw); s != "unknown" {
		return s
	}
	return ""
}

// millis reads a number of milliseconds; absent gives zero, because proto3
// leaves zero out, and nonsense gives wire.UnknownDuration.
func millis(raw []byte) time.Duration {
	if raw == nil {
		return 0
	}
	return wire.Millis(raw)
}
