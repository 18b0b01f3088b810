package config

import (
	"cmp"
	"slices"
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
	// Less are the captures of the destinations that get less than Capture, in the order of
	// Narrowed, "" for each other.
	Less [len(Narrowed)]string
	// Fingerprint is that of Config.
	Fingerprint string
}

// UnreadRules is the name of rules that could not be read.
const UnreadRules = "-"

// Terms returns the terms without the rules' name. rules is the file of the
// environment's rules, if any: it is named, so it must exist.
func (c *Config) Terms() (t Terms, rules string) {
	t = Terms{Capture: c.Capture, Fingerprint: c.Fingerprint()}
	for i, exporter := range Narrowed {
		if less := c.CaptureFor(exporter); less != c.Capture {
			t.Less[i] = less
		}
	}
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

// Narrowed are the destinations with a capture of their own.
var Narrowed = [...]string{ExporterOTLP, ExporterInfinium, ExporterFile}

// CaptureFor returns how much text goes to a destination: its own setting, and no more than
// Capture.
func (c *Config) CaptureFor(exporter string) string {
	own := map[string]string{ExporterOTLP: c.OTLPCapture, ExporterInfinium: c.InfiniumCapture, ExporterFile: c.FileCapture}[exporter]
	if own == "" || slices.Index(captures, own) > slices.Index(captures, c.Capture) {
		return c.Capture
	}
	return own
}

// captures are the values of HOOKSPAN_CAPTURE, the strictest first.
var captures = []string{"none", "preview", "full"}

// String is the form of the terms in a record: "preview/" or
// "preview:200:300:r:RULES:n-p/FINGERPRINT", where empty parts before the
// slash may be missing and the last one has a letter for each of Narrowed.
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
	return strings.TrimRight(strings.Join([]string{t.Capture, size(t.MaxInput), size(t.MaxOutput), redact, t.Rules, t.less()}, ":"), ":") + "/" + t.Fingerprint
}

// less is the form of Less: a letter for each destination, "-" for none, "" for none at all.
func (t Terms) less() string {
	if t.Less == [len(Narrowed)]string{} {
		return ""
	}
	var out strings.Builder
	for _, capture := range t.Less {
		out.WriteString(cmp.Or(capture, "-")[:1])
	}
	return out.String()
}

// ParseTerms reads the form of String, and reports false for anything else.
func ParseTerms(s string) (t Terms, ok bool) {
	texts, fingerprint, ok := strings.Cut(s, "/")
	parts := append(strings.Split(texts, ":"), "", "", "", "", "")
	t = Terms{Capture: parts[0], Redact: parts[3] != "", Rules: parts[4], Fingerprint: fingerprint}
	t.MaxInput, _ = strconv.Atoi(parts[1])
	t.MaxOutput, _ = strconv.Atoi(parts[2])
	for i, letter := range []byte(parts[5]) {
		if i == len(t.Less) {
			break
		}
		if n := slices.IndexFunc(captures, func(c string) bool { return c[0] == letter }); n >= 0 {
			t.Less[i] = captures[n]
		}
	}
	return t, ok
}
