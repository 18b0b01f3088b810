package config

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// side says who gave a value. The process environment is set not only by the user,
// but also by a project's files and by the program that started this one. So it may
// neither send a credential of the user's elsewhere, nor record more of the texts
// than the user allows.
type side int

const (
	// mine is the user's env file, the system's keyring and the defaults.
	mine side = iota
	// outer is the environment, and the file that HOOKSPAN_CONFIG_FILE names.
	outer
)

// sides are the valid values that each side gives a variable, empty where it gives
// none.
type sides map[string]*[2]string

func (s sides) add(name string, of side, value string) {
	if s[name] == nil {
		s[name] = new([2]string)
	}
	// Of the environment and a file that it names, the first counts.
	s[name][of] = cmp.Or(s[name][of], value)
}

// of is the valid value that a side gives a variable.
func (s sides) of(name string, from side) string {
	if v := s[name]; v != nil {
		return v[from]
	}
	return ""
}

// candidate is a value that one place gives a variable.
type candidate struct {
	raw, source string
	from        side
	// value is raw as checker.check returns it, right its verdict.
	value string
	right bool
}

// loosens reports that a value from outside keeps or shows more of the texts
// than the user's own settings do, and returns the user's value. Where the user
// set nothing, the environment may choose, but not switch redaction off.
func (c *Config) loosens(name, value string) (than string, loosens bool) {
	own := c.sides.of(name, mine)
	switch name {
	case "HOOKSPAN_REDACT":
		return "true", value == "false" && own != "false"
	case "HOOKSPAN_CAPTURE":
		levels := []string{"none", "preview", "full"}
		return own, own != "" && slices.Index(levels, value) > slices.Index(levels, own)
	case "CONNECTOR_MAX_INPUT_PREVIEW", "CONNECTOR_MAX_OUTPUT_PREVIEW":
		if own == "" && c.sides.of("HOOKSPAN_CAPTURE", mine) == "preview" {
			own = "0"
		}
		return own, own != "" && previewSize(value) > previewSize(own)
	}
	return "", false
}

// previewSize is a preview's limit in characters, the largest of the hosts' own
// for 0.
func previewSize(value string) int {
	n, _ := strconv.Atoi(value)
	return cmp.Or(n, 500)
}

// refusal is the problem with a value that loosens.
func (c *Config) refusal(name, than string, in candidate) *Problem {
	p := &Problem{
		Variable: name, Source: in.source, Allowed: "the same or less; more can be set in the env file alone",
		Reason: fmt.Sprintf("%q keeps more of the texts than %q in %s, which stays in force", shorten(in.raw), than, c.ownFile),
	}
	if name == "HOOKSPAN_REDACT" {
		p.Reason = fmt.Sprintf("%q counts in the env file alone, so secrets are still removed", shorten(in.raw))
		p.Allowed = "true"
	}
	return p
}

// from is the side that a variable's value in force is from.
func (c *Config) from(name string) side { return c.set[name].from }

// urlFrom is the OTLP address that one side alone would give, in the form of otlpURL.
func (c *Config) urlFrom(s side) string {
	_, u := otlpAddress(c.sides.of(otlpTracesEndpoint, s), c.sides.of(otlpEndpoint, s), slices.Contains(c.Exporters, ExporterOTLP))
	return u
}

// in names where a variable's value is, for people.
func (c *Config) in(name string) string {
	if c.Source(name) == Environment {
		return "the environment"
	}
	return c.ConfigFile
}

// otlpCredentials are the variables that give OTLP requests a credential.
func (c *Config) otlpCredentials() []string {
	var out []string
	if len(c.otlpHeaders()) > 0 {
		out = append(out, c.counting("OTEL_EXPORTER_OTLP_TRACES_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS"))
	}
	if c.otlp().ClientKey != "" {
		out = append(out, c.counting("OTEL_EXPORTER_OTLP_TRACES_CLIENT_KEY", "OTEL_EXPORTER_OTLP_CLIENT_KEY"))
	}
	name := c.counting(otlpTracesEndpoint, otlpEndpoint)
	// Hooks take this way: most addresses need no parsing.
	if raw := c.otlp().Endpoint; strings.ContainsAny(raw, "@?") {
		if u, err := url.Parse(raw); err == nil && (u.User != nil || u.RawQuery != "") {
			out = append(out, name)
		}
	}
	return out
}

// otlpSends reports that a request contains a credential; a client key is not sent.
func (c *Config) otlpSends() bool {
	return slices.ContainsFunc(c.otlpCredentials(), func(name string) bool { return !strings.HasSuffix(name, "_CLIENT_KEY") })
}

// counting is which of two variables is in force.
func (c *Config) counting(traces, general string) string {
	if c.Source(traces) != Default {
		return traces
	}
	return general
}

// otlpMixed is the problem with an OTLP export whose address and credential are from
// different sides, or whose certificates are from outside while the credential is
// the user's. It is nil where there is none.
func (c *Config) otlpMixed() *Problem {
	credentials := c.otlpCredentials()
	if len(credentials) == 0 {
		return nil
	}
	address, u := c.otlpURL()
	if u == "" {
		return nil
	}
	for _, credential := range credentials {
		s := c.from(credential)
		if c.Source(address) != Default && c.from(address) != s && c.urlFrom(s) != u {
			return c.mixed(ExporterOTLP, address, credential, c.in(credential))
		}
		ca := c.counting("OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE", "OTEL_EXPORTER_OTLP_CERTIFICATE")
		if s == mine && c.Source(ca) != Default && c.from(ca) == outer {
			p := c.mixed(ExporterOTLP, ca, credential, c.in(credential))
			p.Reason = fmt.Sprintf("may not decide which server gets the credential in %s of %s, so %s is off", credential, c.in(credential), ExporterOTLP)
			return p
		}
	}
	return nil
}

// infiniumSecret is the side of the agent's secret: the keyring is the user's.
func (c *Config) infiniumSecret() side { return c.from("INFINIUM_AGENT_SECRET") }

// infiniumMixed is otlpMixed for Infinium. Without a secret in the settings, the
// secret is the keyring's.
func (c *Config) infiniumMixed() *Problem {
	const address, variable = "INFINIUM_BASE_URL", "INFINIUM_AGENT_SECRET"
	if c.InfiniumAgentID == "" || c.Source(address) == Default || c.from(address) == c.infiniumSecret() {
		return nil
	}
	def := lookup(address).byDefault
	if cmp.Or(c.sides.of(address, c.infiniumSecret()), def) == c.InfiniumBaseURL {
		return nil
	}
	in := c.in(variable)
	if c.Source(variable) == Default {
		in = "the system's keyring"
	}
	return c.mixed(ExporterInfinium, address, variable, in)
}

// mixed is the problem of an address and a credential from different sides. It names
// the variable that is from outside.
func (c *Config) mixed(exporter, address, credential, in string) *Problem {
	p := &Problem{
		Variable: address, Source: c.where(address),
		Reason:  fmt.Sprintf("may not get the credential in %s of %s, so %s is off", credential, in, exporter),
		Allowed: "address and credential from one place, both in the env file or both in the environment",
	}
	if c.from(address) == mine {
		p.Variable, p.Source = credential, c.where(credential)
		p.Reason = fmt.Sprintf("may not go to the address in %s of %s, so %s is off", address, c.in(address), exporter)
	}
	return p
}

// insecure reports whether credentials may go over cleartext http. For the user's
// own only the user can allow that.
func (c *Config) insecure(credentials ...side) bool {
	const name = "HOOKSPAN_ALLOW_INSECURE"
	if !slices.Contains(credentials, mine) || c.from(name) == mine {
		return c.AllowInsecure
	}
	return c.AllowInsecure && c.sides.of(name, mine) == "true"
}

// InfiniumInsecure reports whether the agent's secret may go over cleartext http.
func (c *Config) InfiniumInsecure() bool { return c.insecure(c.infiniumSecret()) }

func (c *Config) otlpInsecure() bool {
	var from []side
	for _, name := range c.otlpCredentials() {
		from = append(from, c.from(name))
	}
	return c.insecure(from...)
}

// Refused is the *Problem for which a destination is off although its address is
// set, as Load returned it, or nil.
func (c *Config) Refused(exporter string) *Problem {
	if len(c.Exporters) > 0 && !slices.Contains(c.Exporters, exporter) {
		return nil
	}
	return c.refused[exporter]
}
