package config

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"
)

// OTLP is the effective OTLP export, the variables for traces put over the
// general ones as the OTLP exporter specification says.
type OTLP struct {
	// Endpoint is the whole URL to POST to; empty when nothing is to be sent.
	Endpoint string
	// Headers go with each request; they may hold credentials.
	Headers map[string]string
	// Timeout bounds one request.
	Timeout time.Duration
	// Compression is "none" or "gzip".
	Compression string
	// Protocol is "http/protobuf" or "http/json".
	Protocol string
	// Certificate, ClientCertificate and ClientKey are PEM files, or empty.
	Certificate, ClientCertificate, ClientKey string
	// AllowInsecure lets credentials go over cleartext http.
	AllowInsecure bool
}

// OTLP returns the effective OTLP export. Endpoint is empty when none is set
// (unless HOOKSPAN_EXPORTERS names otlp: then it is the specification's
// default, port 4318 of this machine), when endpoint or protocol are wrong, and
// when the destination is refused (see Refused).
func (c *Config) OTLP() OTLP {
	_, endpoint := c.otlpURL()
	if c.otlpWrong() || c.refused[ExporterOTLP] != nil {
		endpoint = ""
	}
	v := c.otlp()
	return OTLP{
		Endpoint: endpoint, Headers: c.otlpHeaders(), Timeout: v.Timeout, Compression: v.Compression, Protocol: v.Protocol,
		Certificate: v.Certificate, ClientCertificate: v.ClientCertificate, ClientKey: v.ClientKey, AllowInsecure: c.otlpInsecure(),
	}
}

// otlp are the variables that count: those for traces, or else the general ones.
func (c *Config) otlp() OTLPVariables {
	t, g := c.OTLPTraces, c.OTLPGeneral
	return OTLPVariables{
		Endpoint: cmp.Or(t.Endpoint, g.Endpoint), Headers: cmp.Or(t.Headers, g.Headers), Timeout: cmp.Or(t.Timeout, g.Timeout),
		Compression: cmp.Or(t.Compression, g.Compression), Protocol: cmp.Or(t.Protocol, g.Protocol),
		Certificate:       cmp.Or(t.Certificate, g.Certificate),
		ClientCertificate: cmp.Or(t.ClientCertificate, g.ClientCertificate), ClientKey: cmp.Or(t.ClientKey, g.ClientKey),
	}
}

// The variables with the OTLP address.
const (
	otlpEndpoint       = "OTEL_EXPORTER_OTLP_ENDPOINT"
	otlpTracesEndpoint = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
)

// otlpURL returns the effective URL and the variable it came from.
func (c *Config) otlpURL() (variable, endpoint string) {
	return otlpAddress(c.OTLPTraces.Endpoint, c.OTLPGeneral.Endpoint, slices.Contains(c.Exporters, ExporterOTLP))
}

// otlpAddress is the URL that the two variables give, and which of them counts.
// If asked, there is one without them.
func otlpAddress(traces, general string, asked bool) (variable, endpoint string) {
	raw, variable := traces, otlpTracesEndpoint
	if raw == "" {
		raw, variable = general, otlpEndpoint
	}
	if raw == "" && asked {
		raw = "http://localhost:4318"
	}
	u, err := url.Parse(raw)
	if raw == "" || err != nil {
		return variable, ""
	}
	if variable == otlpEndpoint {
		return variable, u.JoinPath("v1", "traces").String()
	}
	if u.Path == "" {
		u.Path = "/"
	}
	return variable, u.String()
}

// otlpWrong tells whether a wrong value leaves the place or the manner of
// sending unknown. Only the variables that count are looked at.
func (c *Config) otlpWrong() bool {
	counts := func(traces, general string) bool {
		return c.wrong[traces] || c.wrong[general] && c.Source(traces) == Default
	}
	return counts(otlpTracesEndpoint, otlpEndpoint) ||
		counts("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
}

func (c *Config) otlpHeaders() map[string]string {
	h, err := parseHeaders(string(c.otlp().Headers))
	if err != nil {
		return nil
	}
	return h
}

// Destinations lists where traces go, in a fixed order: store, otlp, infinium,
// file. It reads the fields as they are now, so that a secret from the keyring
// counts once it is put in. A destination that lacks its address, whose address is
// wrong, or that is refused (see Refused) is left out.
func (c *Config) Destinations() []string {
	wanted := func(name string, automatic bool) bool {
		if len(c.Exporters) == 0 {
			return automatic
		}
		return slices.Contains(c.Exporters, name)
	}
	var out []string
	if wanted(ExporterStore, true) {
		out = append(out, ExporterStore)
	}
	if endpoint := c.OTLP().Endpoint; endpoint != "" && wanted(ExporterOTLP, true) {
		out = append(out, ExporterOTLP)
	}
	if c.InfiniumAgentID != "" && c.InfiniumAgentSecret != "" && !c.wrong["INFINIUM_BASE_URL"] && c.refused[ExporterInfinium] == nil && wanted(ExporterInfinium, true) {
		out = append(out, ExporterInfinium)
	}
	if c.FilePath != "" && wanted(ExporterFile, true) {
		out = append(out, ExporterFile)
	}
	return out
}

// Pair is a decoded key and value.
type Pair struct{ Key, Value string }

// ResourceAttributes is OTEL_RESOURCE_ATTRIBUTES decoded, each key once, the
// last value of a key in the place of its first.
func (c *Config) ResourceAttributes() []Pair {
	pairs, err := parsePairs(c.Resource)
	if err != nil {
		return nil
	}
	var out []Pair
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
	if c.ServiceName != "" {
		return c.ServiceName
	}
	for _, p := range c.ResourceAttributes() {
		if p.Key == "service.name" {
			return p.Value
		}
	}
	return ""
}

// parsePairs reads key=value,key=value with percent-encoded parts, the form of
// W3C Baggage without properties. Empty members are skipped.
func parsePairs(s string) ([]Pair, error) {
	var out []Pair
	for member := range strings.SplitSeq(s, ",") {
		if strings.TrimSpace(member) == "" {
			continue
		}
		k, v, ok := strings.Cut(member, "=")
		if !ok {
			return nil, errors.New("a pair without =")
		}
		key, kerr := url.PathUnescape(strings.TrimSpace(k))
		value, verr := url.PathUnescape(strings.TrimSpace(v))
		if err := errors.Join(kerr, verr); err != nil {
			return nil, fmt.Errorf("decode a pair: %w", err)
		}
		if key == "" {
			return nil, errors.New("a pair without a name")
		}
		out = append(out, Pair{Key: key, Value: value})
	}
	return out, nil
}

// parseHeaders reads pairs that must be fit for an HTTP header.
func parseHeaders(s string) (map[string]string, error) {
	pairs, err := parsePairs(s)
	if err != nil || len(pairs) == 0 {
		return nil, err
	}
	h := make(map[string]string, len(pairs))
	for _, p := range pairs {
		if strings.ContainsFunc(p.Key, notToken) {
			return nil, errors.New("a header's name with a character that is not allowed")
		}
		if hasControl(p.Value) {
			return nil, errors.New("a header's value with a control character")
		}
		h[p.Key] = p.Value
	}
	return h, nil
}

// notToken tells the characters that RFC 9110, section 5.6.2, keeps out of a
// header's name.
func notToken(r rune) bool {
	return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("!#$%&'*+-.^_`|~", r))
}
