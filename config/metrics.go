package config

import (
	"cmp"
	"net/url"
	"slices"
	"strings"
	"time"
)

// DestinationMetrics names where metrics go, beside the exporters of traces.
const DestinationMetrics = "metrics"

const (
	metricsPrefix  = otlpPrefix + "METRICS_"
	metricInterval = "OTEL_METRIC_EXPORT_INTERVAL"
)

// metricsVariable is the variable that counts for metrics: theirs, or else the general one. What
// metrics count is of all projects, so that none may say where they go: the user's and the machine-wide
// file count alone.
func (c *Config) metricsVariable(key string) *value {
	if v := c.value(metricsPrefix + key); v.users() != "" || v.wrong {
		return v
	}
	return c.value(otlpPrefix + key)
}

// MetricsOTLP is the export of metrics. Its endpoint is empty if none is set or if it is refused.
func (c *Config) MetricsOTLP() (o OTLP) {
	of := func(key string) string { return c.metricsVariable(key).users() }
	o = OTLP{
		Compression: of("COMPRESSION"), Protocol: of("PROTOCOL"), Certificate: of("CERTIFICATE"),
		ClientCertificate: of("CLIENT_CERTIFICATE"), ClientKey: of("CLIENT_KEY"),
	}
	o.Headers, _ = parseHeaders(of("HEADERS")) // Load has checked both.
	o.Timeout, _ = time.ParseDuration(of("TIMEOUT"))
	address := c.metricsVariable("ENDPOINT")
	if u, err := url.Parse(address.users()); err == nil && address.users() != "" && !address.wrong && !c.metricsVariable("PROTOCOL").wrong {
		if address.name == otlpPrefix+"ENDPOINT" {
			u = u.JoinPath("v1", "metrics")
		} else if u.Path == "" {
			u.Path = "/"
		}
		o.Endpoint = u.String()
	}
	allow := c.value("HOOKSPAN_ALLOW_INSECURE")
	o.AllowInsecure = allow.users() == "true"
	for _, key := range []string{"HEADERS", "CLIENT_KEY"} {
		if v := c.metricsVariable(key); v.users() != "" && v.side() == ofMachine {
			if !mayTake(address.side(), ofMachine) {
				o.Endpoint = ""
			}
			o.AllowInsecure = allow.by[ofMachine] == "true"
		}
	}
	return o
}

// side is the one that users is of.
func (v *value) side() side {
	if v.by[ofUser] != "" {
		return ofUser
	}
	return ofMachine
}

// MetricsHeadersCommand is HeadersCommand for metrics.
func (c *Config) MetricsHeadersCommand() string { return c.value(headersCommand).users() }

// MetricsDelta reports that metrics are sent as what was added since the last report, not as totals.
// All of them are counters and histograms, which lowmemory means as well.
func (c *Config) MetricsDelta() bool {
	t := c.value(metricsPrefix + "TEMPORALITY_PREFERENCE").users()
	return t == "delta" || t == "lowmemory"
}

// MetricsInterval is the least time between two reports of metrics by deliveries. A wrong one, which is a
// problem already, is the default.
func (c *Config) MetricsInterval() time.Duration {
	d, _ := time.ParseDuration(c.value(metricInterval).users())
	return cmp.Or(d, time.Minute)
}

// MetricsRepository reports that metrics are by repository.
func (c *Config) MetricsRepository() bool {
	return c.value("HOOKSPAN_METRICS_REPOSITORY").users() == "true"
}

func (c *Config) metricsAsked() bool { return c.value("HOOKSPAN_METRICS").users() == "true" }

// MetricsOn reports whether metrics are counted and sent: the store keeps what was counted.
func (c *Config) MetricsOn() bool {
	return c.metricsAsked() && c.wanted(ExporterStore) && c.MetricsOTLP().Endpoint != ""
}

// metricsFault is why metrics are asked for and not sent, or nil.
func (c *Config) metricsFault() *Problem {
	p := &Problem{Variable: "HOOKSPAN_METRICS", Source: c.where(c.value("HOOKSPAN_METRICS"))}
	address := c.metricsVariable("ENDPOINT")
	switch {
	case !c.metricsAsked() || c.MetricsOn():
		return nil
	case !c.wanted(ExporterStore):
		p.Reason, p.Allowed = "true has no effect, because HOOKSPAN_EXPORTERS leaves out store, which keeps the sums", "store among HOOKSPAN_EXPORTERS"
	case address.users() == "":
		p.Reason, p.Allowed = "true has no effect, because no endpoint is set in an env file", metricsPrefix+"ENDPOINT or "+otlpPrefix+"ENDPOINT there"
	case address.wrong || c.metricsVariable("PROTOCOL").wrong:
		return nil // It is a problem already.
	default:
		p.Variable, p.Reason = address.name, "may not get the credential of the machine-wide file, so metrics are off"
		p.Allowed = "address and credential from one file"
	}
	return p
}

// MetricsResource are the attributes of the metrics' resource, by the files alone: an environment's
// would make other series of the same sums.
func (c *Config) MetricsResource() []Pair {
	pairs, _ := ParseAttributes(c.value("OTEL_RESOURCE_ATTRIBUTES").users())
	return slices.DeleteFunc(pairs, func(p Pair) bool { return p.Key == serviceName || strings.HasPrefix(p.Key, "service.instance.") })
}
