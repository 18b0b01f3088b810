package config

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// OTLP is the effective OTLP export. The OTLP exporter specification has each
// variable twice: for all signals, and with TRACES_ in the name for traces, which
// replaces the other.
type OTLP struct {
	// Endpoint is the whole URL to POST to; empty if nothing is to be sent.
	Endpoint string `env:"ENDPOINT"`
	// Headers are part of each request; they may hold credentials.
	Headers Headers `env:"HEADERS"`
	// Timeout bounds one request.
	Timeout time.Duration `env:"TIMEOUT"`
	// Compression is "none" or "gzip".
	Compression string `env:"COMPRESSION"`
	// Protocol is "http/protobuf" or "http/json".
	Protocol string `env:"PROTOCOL"`
	// Certificate, ClientCertificate and ClientKey are PEM files, or empty.
	Certificate       string `env:"CERTIFICATE"`
	ClientCertificate string `env:"CLIENT_CERTIFICATE"`
	ClientKey         string `env:"CLIENT_KEY"`
	// AllowInsecure lets credentials go over cleartext http.
	AllowInsecure bool
}

// Limits are the standard's limits of spans; a negative number is no limit.
type Limits struct {
	// Attributes and Length are of all attributes, unless a limit below is set.
	Attributes, Length int

	SpanAttributes, SpanLength, Events, Links, EventAttributes, LinkAttributes int
}

// Limits returns what bounds the otlp destination, and whether there is a limit. It reads
// them when it is called: hooks need none.
func (c *Config) Limits() (l Limits, set bool) {
	of := func(name string) int {
		n, err := strconv.Atoi(c.value("OTEL_" + name + "_LIMIT").users())
		if err != nil {
			return -1
		}
		set = true
		return n
	}
	return Limits{
		of("ATTRIBUTE_COUNT"), of("ATTRIBUTE_VALUE_LENGTH"), of("SPAN_ATTRIBUTE_COUNT"), of("SPAN_ATTRIBUTE_VALUE_LENGTH"),
		of("SPAN_EVENT_COUNT"), of("SPAN_LINK_COUNT"), of("EVENT_ATTRIBUTE_COUNT"), of("LINK_ATTRIBUTE_COUNT"),
	}, set
}

// Headers are HTTP headers by name. They print as stars.
type Headers map[string]string

// String returns stars, or nothing for no headers.
func (h Headers) String() string {
	if len(h) == 0 {
		return ""
	}
	return masked
}

// GoString keeps the values out of %#v too.
func (h Headers) GoString() string { return fmt.Sprintf("config.Headers(%q)", h.String()) }

// UnmarshalText reads the value of the variable, which Load has checked.
func (h *Headers) UnmarshalText(text []byte) error {
	*h, _ = parseHeaders(string(text))
	return nil
}

// OTLP returns the effective OTLP export. Endpoint is empty if none is set
// (unless HOOKSPAN_EXPORTERS names otlp: then it is the specification's
// default, port 4318 of this machine), if endpoint or protocol are wrong, and
// if the destination is refused (see Refused).
func (c *Config) OTLP() OTLP {
	o := c.Export
	_, o.Endpoint = c.otlpURL()
	wrong := func(key string) bool { return c.value(otlpPrefix+"TRACES_"+key).wrong || c.otlpVariable(key).wrong }
	if wrong("ENDPOINT") || wrong("PROTOCOL") || c.refused[ExporterOTLP] != nil {
		o.Endpoint = ""
	}
	o.AllowInsecure = c.otlpInsecure()
	return o
}

// otlpVariable is the variable that counts: the one for traces if it is in force,
// or else the general one.
func (c *Config) otlpVariable(key string) *value {
	if v := c.value(otlpPrefix + "TRACES_" + key); v.source != "" {
		return v
	}
	return c.value(otlpPrefix + key)
}

// otlpURL returns the effective URL and the variable it came from.
func (c *Config) otlpURL() (*value, string) {
	v := c.otlpVariable("ENDPOINT")
	return v, c.tracesURL(v.name, c.Export.Endpoint)
}

// sideURL is the OTLP address that one side alone would give, in the form of otlpURL.
func (c *Config) sideURL(s side) string {
	for _, key := range []string{"TRACES_ENDPOINT", "ENDPOINT"} {
		if raw := c.value(otlpPrefix + key).given(s); raw != "" {
			return c.tracesURL(otlpPrefix+key, raw)
		}
	}
	return c.tracesURL(otlpPrefix+"ENDPOINT", "")
}

// tracesURL is the URL that an endpoint variable's value means, empty for none.
func (c *Config) tracesURL(variable, raw string) string {
	if raw == "" && slices.Contains(c.Exporters, ExporterOTLP) {
		raw = "http://localhost:4318"
	}
	u, err := url.Parse(raw)
	if raw == "" || err != nil {
		return ""
	}
	if variable == otlpPrefix+"ENDPOINT" {
		return u.JoinPath("v1", "traces").String()
	}
	u.Path = cmp.Or(u.Path, "/")
	return u.String()
}

// LatestNames reports whether the otlp or the file destination gets the names of the latest
// GenAI conventions. The side that gives the address decides: in an environment the variable
// may be meant for the project's program.
func (c *Config) LatestNames(exporter string) bool {
	address, of := c.FilePath, c.value("HOOKSPAN_FILE_PATH").given
	if exporter == ExporterOTLP {
		_, address = c.otlpURL()
		of = c.sideURL
	}
	for s, opted := range c.value(stabilityOptIn).by {
		for name := range strings.SplitSeq(opted, ",") {
			if strings.TrimSpace(name) == "gen_ai_latest_experimental" && address != "" && of(side(s)) == address {
				return true
			}
		}
	}
	return false
}

// Destinations lists where traces go, in a fixed order: store, otlp, infinium,
// file. It reads the fields as they are now, so that a secret from the keyring
// counts once it is set. A destination is left out if it lacks its address, if the
// address is wrong, or if it is refused (see Refused).
func (c *Config) Destinations() (out []string) {
	for _, d := range []struct {
		name  string
		ready bool
	}{
		{ExporterStore, true},
		{ExporterOTLP, c.OTLP().Endpoint != ""},
		{ExporterInfinium, c.InfiniumAgentID != "" && c.InfiniumAgentSecret != "" && !c.value("INFINIUM_BASE_URL").wrong && c.refused[ExporterInfinium] == nil},
		{ExporterFile, c.FilePath != ""},
	} {
		if d.ready && c.wanted(d.name) {
			out = append(out, d.name)
		}
	}
	return out
}

// Meant lists the destinations besides the store that the settings are for, with commas
// between them: those of Destinations, and those that are left out because a setting is
// wrong or refused.
func (c *Config) Meant() string {
	given := func(names ...string) bool {
		return slices.ContainsFunc(names, func(name string) bool { v := c.value(name); return v.wrong || v.source != "" })
	}
	var out []string
	for _, d := range []struct {
		name  string
		meant bool
	}{
		{ExporterOTLP, given(otlpPrefix+"ENDPOINT", otlpPrefix+"TRACES_ENDPOINT") || slices.Contains(c.Exporters, ExporterOTLP)},
		{ExporterInfinium, given("INFINIUM_AGENT_ID")},
		{ExporterFile, given("HOOKSPAN_FILE_PATH")},
	} {
		if d.meant && c.wanted(d.name) {
			out = append(out, d.name)
		}
	}
	return strings.Join(out, ",")
}

// wanted reports whether HOOKSPAN_EXPORTERS, or for otlp the standard's variable, permits a
// destination.
func (c *Config) wanted(exporter string) bool {
	if len(c.Exporters) == 0 {
		return exporter != ExporterOTLP || !strings.EqualFold(c.TracesExporter, "none")
	}
	return slices.Contains(c.Exporters, exporter)
}

// OTLPOff reports that the otlp destination is off although it has an address, because
// OTEL_TRACES_EXPORTER is none.
func (c *Config) OTLPOff() bool {
	return !c.wanted(ExporterOTLP) && len(c.Exporters) == 0 && c.OTLP().Endpoint != ""
}

// Pair is a decoded key and value.
type Pair struct{ Key, Value string }

// ResourceAttributes is OTEL_RESOURCE_ATTRIBUTES decoded, each key once, the
// last value of a key in the place of its first.
func (c *Config) ResourceAttributes() (out []Pair) {
	pairs, _ := ParseAttributes(c.Resource) // valid, or else empty
	for _, p := range pairs {
		if i := slices.IndexFunc(out, func(o Pair) bool { return o.Key == p.Key }); i >= 0 {
			out[i] = p
			continue
		}
		out = append(out, p)
	}
	return out
}

// Service is the service.name that the user asks for: OTEL_SERVICE_NAME, else
// service.name in OTEL_RESOURCE_ATTRIBUTES, else nothing.
func (c *Config) Service() string {
	service := c.ServiceName
	for _, p := range c.ResourceAttributes() {
		if p.Key == serviceName {
			service = cmp.Or(service, p.Value)
		}
	}
	return service
}

// ParseAttributes reads the form of OTEL_RESOURCE_ATTRIBUTES: key=value,key=value with
// percent-encoded parts, that of W3C Baggage without properties. Empty members are skipped.
func ParseAttributes(s string) (out []Pair, ok bool) {
	for member := range strings.SplitSeq(s, ",") {
		if strings.TrimSpace(member) == "" {
			continue
		}
		k, v, found := strings.Cut(member, "=")
		key, err := url.PathUnescape(strings.TrimSpace(k))
		value, err2 := url.PathUnescape(strings.TrimSpace(v))
		if !found || key == "" || err != nil || err2 != nil {
			return nil, false
		}
		out = append(out, Pair{Key: key, Value: value})
	}
	return out, true
}

// parseHeaders reads pairs that must be valid HTTP headers.
func parseHeaders(s string) (headers map[string]string, ok bool) {
	pairs, ok := ParseAttributes(s)
	if !ok || len(pairs) == 0 {
		return nil, ok
	}
	headers = make(map[string]string, len(pairs))
	for _, p := range pairs {
		if strings.ContainsFunc(p.Key, notToken) || hasControl(p.Value) {
			return nil, false
		}
		headers[p.Key] = p.Value
	}
	return headers, true
}

// notToken reports the characters that RFC 9110, section 5.6.2, does not allow in
// a header's name.
func notToken(r rune) bool { return !alphanumeric(r) && !strings.ContainsRune("!#$%&'*+-.^_`|~", r) }
