package config

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// side is who is responsible for a value: the user or the environment, which a
// project's files and the program that started this one can set too. So the
// environment may neither send a credential of the user to another address, nor
// record more of the texts than the user allows.
type side int

const (
	// ofUser is the user's env file, the system's keyring and the defaults.
	ofUser side = iota
	// ofEnvironment includes the file that HOOKSPAN_CONFIG_FILE names.
	ofEnvironment
	// ofMachine is the machine-wide file of the administrator.
	ofMachine
)

// refusedBy returns the value of the user's settings, or of a managed machine-wide file,
// than which a candidate keeps or shows more of the texts, or asks the user's hooks less,
// and the file that it is in.
func (c *Config) refusedBy(v *value, in candidate) (than, file string, refused bool) {
	if c.held && in.source.from != ofMachine {
		than, refused = c.loosens(v, in.text, func(v *value) string { return v.by[ofMachine] })
		if refused && (v.name != "HOOKSPAN_REDACT" || v.by[ofMachine] != "") {
			return than, c.MachineFile, true
		}
	}
	if in.source.from != ofEnvironment {
		return "", "", false
	}
	file = c.ownFile
	if v.by[ofUser] == "" && v.by[ofMachine] != "" {
		file = c.MachineFile
	}
	than, refused = c.loosens(v, in.text, (*value).users)
	return than, file, refused
}

// loosens reports that a value keeps or shows more of the texts than others do, or asks
// the user's hooks less, and returns the others' value. If they set nothing, any is
// right, but redaction stays on.
func (c *Config) loosens(v *value, text string, by func(*value) string) (than string, loosens bool) {
	own := by(v)
	if v.guards {
		// The values of all of them, the loosest first.
		levels := []string{"false", "allow", "host", "limits", "true", "deny"}
		return own, own != "" && slices.Index(levels, text) < slices.Index(levels, own)
	}
	switch v.name {
	case "HOOKSPAN_REDACT":
		return "true", text == "false" && own != "false"
	case "HOOKSPAN_CAPTURE", "HOOKSPAN_OTLP_CAPTURE", "HOOKSPAN_INFINIUM_CAPTURE", "HOOKSPAN_FILE_CAPTURE":
		return own, own != "" && slices.Index(captures, text) > slices.Index(captures, own)
	case "CONNECTOR_MAX_INPUT_PREVIEW", "CONNECTOR_MAX_OUTPUT_PREVIEW":
		previews := func(name string) bool { return by(c.value(name)) == "preview" }
		if own == "" && slices.ContainsFunc([]string{"HOOKSPAN_CAPTURE", "HOOKSPAN_OTLP_CAPTURE", "HOOKSPAN_INFINIUM_CAPTURE", "HOOKSPAN_FILE_CAPTURE"}, previews) {
			own = "0"
		}
		return own, own != "" && previewSize(text) > previewSize(own)
	}
	return "", false
}

// previewSize is a preview's limit in characters; for 0, the largest default of
// the hosts.
func previewSize(text string) int {
	n, _ := strconv.Atoi(text)
	return cmp.Or(n, 500)
}

// refusal is the problem with a value that loosens.
func (c *Config) refusal(name, than, file string, in candidate) *Problem {
	p := &Problem{
		Variable: name, Source: in.source.name, Allowed: "the same or less; more can be set in the env file alone",
		Reason: fmt.Sprintf("%q keeps more of the texts than %q in %s, which stays in force", shorten(in.raw), than, file),
	}
	if c.value(name).guards {
		p.Reason = fmt.Sprintf("%q asks your hooks less than %q in %s, which stays in force", shorten(in.raw), than, file)
	}
	if file == c.MachineFile && c.held {
		p.Allowed = "the same or less"
	} else if name == "HOOKSPAN_REDACT" {
		p.Reason = fmt.Sprintf("%q counts in the env file alone, so secrets are still removed", shorten(in.raw))
		p.Allowed = "true"
	}
	return p
}

// Refused is the *Problem for which a destination is off although its address is
// set, as Load returned it, or nil.
func (c *Config) Refused(exporter string) *Problem {
	if !c.wanted(exporter) {
		return nil
	}
	return c.refused[exporter]
}

// otlpMixed is the problem with an OTLP export whose address and credential are from
// different sides, or whose certificates are of the environment while the credential
// is the user's. It is nil if there is none.
func (c *Config) otlpMixed() *Problem {
	address, u := c.otlpURL()
	if u == "" {
		return nil
	}
	for _, credential := range c.otlpCredentials() {
		s := credential.from
		if address.source != "" && !mayTake(address.from, s) && c.sideURL(s) != u {
			return c.mixed(ExporterOTLP, address, credential)
		}
		if ca := c.otlpVariable("CERTIFICATE"); s != ofEnvironment && ca.source != "" && ca.from == ofEnvironment {
			p := c.mixed(ExporterOTLP, ca, credential)
			p.Reason = "may not decide which server gets" + strings.TrimPrefix(p.Reason, "may not get")
			return p
		}
	}
	return nil
}

// otlpCredentials are the variables that give OTLP requests a credential.
func (c *Config) otlpCredentials() (out []*value) {
	if len(c.Export.Headers) > 0 {
		out = append(out, c.otlpVariable("HEADERS"))
	}
	if c.HeadersCommand != "" {
		out = append(out, c.value(headersCommand))
	}
	if c.Export.ClientKey != "" {
		out = append(out, c.otlpVariable("CLIENT_KEY"))
	}
	// Hooks run this code: most addresses need no parsing.
	if raw := c.Export.Endpoint; strings.ContainsAny(raw, "@?") {
		if u, err := url.Parse(raw); err == nil && (u.User != nil || u.RawQuery != "") {
			out = append(out, c.otlpVariable("ENDPOINT"))
		}
	}
	return out
}

// infiniumMixed is otlpMixed for Infinium. Without a secret in the settings, the
// secret is the keyring's.
func (c *Config) infiniumMixed() *Problem {
	address, secret := c.value("INFINIUM_BASE_URL"), c.value("INFINIUM_AGENT_SECRET")
	if c.InfiniumAgentID == "" || address.source == "" || mayTake(address.from, secret.from) ||
		cmp.Or(address.given(secret.from), address.byDefault) == c.InfiniumBaseURL {
		return nil
	}
	return c.mixed(ExporterInfinium, address, secret)
}

// mixed is the problem of an address and a credential from different sides. It names
// the variable of the environment.
func (c *Config) mixed(exporter string, address, credential *value) *Problem {
	in := place(c.where(credential))
	if credential.source == "" {
		in = "the system's keyring"
	}
	p := &Problem{
		Variable: address.name, Source: c.where(address),
		Reason:  fmt.Sprintf("may not get the credential in %s of %s, so %s is off", credential.name, in, exporter),
		Allowed: "address and credential from one place, both in the env file or both in the environment",
	}
	if credential.from == ofEnvironment {
		p.Variable, p.Source = credential.name, c.where(credential)
		p.Reason = fmt.Sprintf("may not go to the address in %s of %s, so %s is off", address.name, place(c.where(address)), exporter)
	}
	return p
}

// where is the source of a variable for a problem's text.
func (c *Config) where(v *value) string {
	switch v.source {
	case File:
		return c.ConfigFile
	case Machine:
		return c.MachineFile
	}
	return Environment
}

// otlpSends reports that a request contains a credential; a client key is not sent.
func (c *Config) otlpSends() bool {
	return slices.ContainsFunc(c.otlpCredentials(), func(v *value) bool { return !strings.HasSuffix(v.name, "_CLIENT_KEY") })
}

func (c *Config) otlpInsecure() bool { return c.insecure(c.otlpCredentials()...) }

// InfiniumInsecure reports whether the agent's secret may go over cleartext http.
func (c *Config) InfiniumInsecure() bool { return c.insecure(c.value("INFINIUM_AGENT_SECRET")) }

// insecure reports whether credentials may go over cleartext http. For the user's own
// only the user can allow that, for the machine's only the administrator.
func (c *Config) insecure(credentials ...*value) bool {
	allow := c.value("HOOKSPAN_ALLOW_INSECURE")
	for _, v := range credentials {
		if allow.from == ofEnvironment && v.from == ofUser && allow.users() != "true" || v.from == ofMachine && allow.by[ofMachine] != "true" {
			return false
		}
	}
	return c.AllowInsecure
}
