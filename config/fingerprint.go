package config

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
)

// fingerprinted are the prefixes of the variables that may change what becomes
// of an event.
var fingerprinted = [...]string{"HOOKSPAN_", "OTEL_", "INFINIUM_", "CONNECTOR_"}

// Fingerprint tells apart the process environments that settings come from: 16
// hex digits of SHA-256 over the variables whose names begin with HOOKSPAN_,
// OTEL_, INFINIUM_ or CONNECTOR_, or nothing where none is set. It says nothing
// of the env file. HOOKSPAN_CHAIN and HOOKSPAN_TRACEPARENT do not count: one
// belongs to the hook, the other to the single event. Nor do those about the
// user's own hooks, which change nothing in a trace's delivery.
func (c *Config) Fingerprint() string {
	if len(c.own) == 0 {
		return ""
	}
	h := sha256.New()
	for _, kv := range slices.Sorted(slices.Values(c.own)) {
		// The length in front keeps two sets of variables from being one text.
		h.Write([]byte(strconv.Itoa(len(kv)) + ":" + kv))
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// countsForFingerprint tells the variables that Fingerprint is made of. One that
// is set to nothing counts as not set.
func countsForFingerprint(name, value string) bool {
	if value == "" || name == "HOOKSPAN_CHAIN" || name == "HOOKSPAN_TRACEPARENT" || strings.HasPrefix(name, "HOOKSPAN_HOOKS") {
		return false
	}
	for _, prefix := range fingerprinted {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}
