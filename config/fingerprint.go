package config

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
)

// Fingerprint identifies the process environment that settings come from: 16
// hex digits of SHA-256 over the variables whose names begin with HOOKSPAN_,
// OTEL_, INFINIUM_ or CONNECTOR_, or nothing if none is set. The env file has no
// part in it. HOOKSPAN_CHAIN and HOOKSPAN_TRACEPARENT do not count, because they
// belong to a single hook or event, nor do the variables of the user's own hooks,
// which change nothing in a trace's delivery.
func (c *Config) Fingerprint() string {
	if len(c.environ) == 0 {
		return ""
	}
	h := sha256.New()
	for _, kv := range slices.Sorted(slices.Values(c.environ)) {
		// The length in front keeps two sets of variables from being one text.
		h.Write([]byte(strconv.Itoa(len(kv)) + ":" + kv))
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// fingerprinted returns the variables that Fingerprint covers, as NAME=value.
func fingerprinted(vars map[string]string) (out []string) {
	for name, value := range vars {
		if value != "" && hasPrefix(name, "HOOKSPAN_", "OTEL_", "INFINIUM_", "CONNECTOR_") &&
			!hasPrefix(name, "HOOKSPAN_HOOKS") && name != "HOOKSPAN_CHAIN" && name != "HOOKSPAN_TRACEPARENT" {
			out = append(out, name+"="+value)
		}
	}
	return out
}
