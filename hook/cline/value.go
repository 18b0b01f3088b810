package cline

import (
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/rawjson"
)

// known is a text without the word the host writes where it does not know.
func known(raw []byte) string {
	if s := rawjson.Text(raw); s != "unknown" {
		return s
	}
	return ""
}

// millis reads a number of milliseconds; absent gives zero, because proto3
// leaves zero out, and nonsense gives hook.UnknownDuration.
func millis(raw []byte) time.Duration {
	if raw == nil {
		return 0
	}
	if d, ok := rawjson.Millis(raw); ok {
		return d
	}
	return hook.UnknownDuration
}
