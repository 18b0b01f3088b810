package config

import (
	"strconv"
	"strings"
)

// Terms are the settings of a process that travel with each event it records: what may
// be kept of the texts, and where they may go. They hold whichever process delivers.
type Terms struct {
	// Capture, MaxInput and MaxOutput are those of Config; zero means no limit of the
	// environment.
	Capture             string
	MaxInput, MaxOutput int
	// Redact reports that the environment asks for redaction.
	Redact bool
	// Rules names the redaction rules of the environment, if there are any.
	Rules string
	// Fingerprint is that of Config.
	Fingerprint string
}

// UnreadRules is the name of rules that could not be read.
const UnreadRules = "-"

// Terms returns the terms without the rules' name. rules is the file of the
// environment's rules, if any: it is named, so it must exist.
func (c *Config) Terms() (t Terms, rules string) {
	t = Terms{Capture: c.Capture, Fingerprint: c.Fingerprint()}
	size := func(name string) int {
		n, _ := strconv.Atoi(c.value(name).by[ofEnvironment])
		return n
	}
	t.MaxInput, t.MaxOutput = size("CONNECTOR_MAX_INPUT_PREVIEW"), size("CONNECTOR_MAX_OUTPUT_PREVIEW")
	t.Redact = c.value("HOOKSPAN_REDACT").by[ofEnvironment] == "true"
	if v := c.value(redactFile); v.unusable != "" {
		t.Rules = UnreadRules
	} else if c.Redact {
		rules = v.by[ofEnvironment]
	}
	return t, rules
}

// String is the form of the terms in a record: "preview/" or
// "preview:200:300:r:RULES/FINGERPRINT", where empty parts before the slash may be missing.
func (t Terms) String() string {
	size := func(n int) string {
		if n == 0 {
			return ""
		}
		return strconv.Itoa(n)
	}
	redact := ""
	if t.Redact {
		redact = "r"
	}
	return strings.TrimRight(strings.Join([]string{t.Capture, size(t.MaxInput), size(t.MaxOutput), redact, t.Rules}, ":"), ":") + "/" + t.Fingerprint
}

// ParseTerms reads the form of String, and reports false for anything else.
func ParseTerms(s string) (t Terms, ok bool) {
	texts, fingerprint, ok := strings.Cut(s, "/")
	parts := append(strings.Split(texts, ":"), "", "", "", "")
	t = Terms{Capture: parts[0], Redact: parts[3] != "", Rules: parts[4], Fingerprint: fingerprint}
	t.MaxInput, _ = strconv.Atoi(parts[1])
	t.MaxOutput, _ = strconv.Atoi(parts[2])
	return t, ok
}
