package config

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// placing are the variables, besides those of OTLP, that say where a run goes and under
// which name it is found there.
var placing = [...]string{
	"HOOKSPAN_EXPORTERS", "HOOKSPAN_FILE_PATH", "INFINIUM_AGENT_ID", "INFINIUM_BASE_URL", "OTEL_SERVICE_NAME", "OTEL_RESOURCE_ATTRIBUTES",
}

// Fingerprint identifies where the process environment sends a run: 16 hex digits of
// SHA-256 over the values of the environment, and of an env file that it names, that
// differ from those of the user's env file. It is empty if there are none, and UnknownPlace if
// it is unknown. How the process was started has no part in it. Of credentials only what
// names the account has: see accountOf.
func (c *Config) Fingerprint() string {
	h := sha256.New()
	empty := true
	add := func(kv string) {
		empty = false
		// The length in front keeps two sets of variables from being one text.
		h.Write([]byte(strconv.Itoa(len(kv)) + ":" + kv))
	}
	for _, name := range placing {
		v := c.value(name)
		if given := cmp.Or(v.by[ofEnvironment], v.unusable); given != "" && given != v.users() {
			add(name + "=" + given)
		}
	}
	if off := c.value(tracesExporter).by; c.Export.Endpoint != "" && strings.EqualFold(off[ofEnvironment], "none") && !strings.EqualFold(off[ofUser], "none") {
		add("otlp=none")
	}
	if v, address := c.otlpURL(); v.source != "" && v.from == ofEnvironment && address != c.sideURL(ofUser) {
		add("otlp=" + withoutUser(address))
	} else if wrong := cmp.Or(c.value(otlpPrefix+"TRACES_ENDPOINT").unusable, c.value(otlpPrefix+"ENDPOINT").unusable); wrong != "" {
		add("otlp=" + wrong)
	}
	if v := c.otlpVariable("HEADERS"); v.from == ofEnvironment && v.source != "" {
		for _, name := range slices.Sorted(maps.Keys(c.Export.Headers)) {
			if !isCredential(name) {
				add(strings.ToLower(name) + ":" + c.Export.Headers[name])
			}
		}
	}
	if c.otlpAccount(add) != nil {
		return UnknownPlace
	}
	if empty {
		return ""
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// withoutUser removes user and query, which may be a credential, from a URL.
func withoutUser(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	u.User, u.RawQuery = nil, ""
	return u.String()
}
