package config

import (
	"cmp"
	"slices"
	"strings"
)

// The variables of the machine-wide file, and of files alone.
const (
	managedName    = "HOOKSPAN_MANAGED"
	headersCommand = ownOTLP + "HEADERS_COMMAND"
	// allowOtherUsers would let a project's files choose who gets the user's traces.
	allowOtherUsers = "HOOKSPAN_ALLOW_OTHER_USERS"
	otlpAccount     = ownOTLP + "ACCOUNT"
	ownOTLP         = "HOOKSPAN_OTLP_"
)

// bound are the variables that count in some sources only.
var bound = [...]struct {
	name, where string
	in          func(*source) bool
}{
	{configFile, "the process environment", func(s *source) bool { return s.name == Environment }},
	{managedName, "the machine-wide file", func(s *source) bool { return s.from == ofMachine }},
	// A project's files and the program that started this one set the environment.
	{headersCommand, "your env file or the machine-wide file", func(s *source) bool { return s.from != ofEnvironment }},
	{allowOtherUsers, "your env file or the machine-wide file", func(s *source) bool { return s.from != ofEnvironment }},
}

// counts reports whether a variable has an effect in a source.
func (s *source) counts(name string) bool {
	for _, only := range bound {
		if only.name == name {
			return only.in(s)
		}
	}
	return true
}

// has reports that the source gives a variable a value, valid or not.
func (s *source) has(name string) bool { return s.vars[name] != "" || s.unclear[name] }

// names reports a destination: whoever names one in a managed file decides about all.
func (s *source) names() bool {
	return slices.ContainsFunc([]string{
		"HOOKSPAN_EXPORTERS", "HOOKSPAN_FILE_PATH", "INFINIUM_AGENT_ID", otlpPrefix + "ENDPOINT", otlpPrefix + "TRACES_ENDPOINT",
	}, s.has)
}

// hold takes what a managed machine-wide file decides from the other sources. Of texts
// and guards they may still ask for more protection: see Config.refusedBy.
func (c *Config) hold(machine *source, others []source) (errs []error) {
	managed, valid := checkBool(strings.TrimSpace(machine.vars[managedName]))
	if !machine.has(managedName) || managed == "false" && valid && !machine.unclear[managedName] {
		return nil
	}
	c.held = true
	errs = machine.holdTogether(others)
	for i := range table {
		row := &table[i]
		if row.texts || row.guards || !machine.holds(row) {
			continue
		}
		for _, s := range others {
			raw := s.vars[row.name]
			if !s.has(row.name) || row.name == configFile || row.fileOnly && s.from == ofEnvironment || machine.permits(row, &s) {
				continue
			}
			delete(s.vars, row.name)
			delete(s.unclear, row.name)
			if raw != machine.vars[row.name] {
				errs = append(errs, &Problem{Variable: row.name, Source: s.name, Reason: "has no effect: " + machine.name + " decides about it on this machine"})
			}
		}
	}
	return errs
}

// together are settings that decide together: a managed file that sets one of held decides
// about with as well, and a user's value that is loose has no effect. Without loose, none
// has. It is not so for what only leaves more out: HOOKSPAN_HOOKS_SOFT_DENY lets Cline
// continue after a call that stays denied, OTEL_TRACES_EXPORTER=none sends less.
var together = [...]struct {
	held  []string
	with  string
	loose func(raw string) bool
}{
	{[]string{redactFile}, "HOOKSPAN_REDACT", isFalse},
	{[]string{"CONNECTOR_MAX_INPUT_PREVIEW", "CONNECTOR_MAX_OUTPUT_PREVIEW"}, "HOOKSPAN_CAPTURE", func(raw string) bool { return strings.EqualFold(raw, "full") }},
	{[]string{"HOOKSPAN_HOOKS_ON_ERROR", "HOOKSPAN_HOOKS_STRICT_EXIT", "HOOKSPAN_HOOKS_ASK"}, "HOOKSPAN_HOOKS", isFalse},
	{[]string{"HOOKSPAN_HOOKS", "HOOKSPAN_HOOKS_STRICT_EXIT", "HOOKSPAN_HOOKS_ASK"}, "HOOKSPAN_HOOKS_ON_ERROR", func(raw string) bool { return strings.EqualFold(raw, "allow") }},
	{[]string{"HOOKSPAN_BUDGET_DAY_USD", "HOOKSPAN_BUDGET_WEEK_USD", "HOOKSPAN_BUDGET_DAY_TOKENS", "HOOKSPAN_BUDGET_WEEK_TOKENS", "HOOKSPAN_BUDGET_PLAN_PERCENT"}, "HOOKSPAN_BUDGET_WARN", nil},
	{[]string{"HTTPS_PROXY", "HTTP_PROXY"}, "NO_PROXY", nil},
	{[]string{"HTTP_PROXY", "NO_PROXY"}, "HTTPS_PROXY", nil},
	{[]string{"HTTPS_PROXY", "NO_PROXY"}, "HTTP_PROXY", nil},
}

func isFalse(raw string) bool {
	value, valid := checkBool(raw)
	return valid && value == "false"
}

// holdTogether takes from the other sources what would undo what the file sets.
func (s *source) holdTogether(others []source) (errs []error) {
	for _, t := range &together {
		i := slices.IndexFunc(t.held, s.has)
		if i < 0 || s.has(t.with) {
			continue
		}
		for _, other := range others {
			raw := strings.TrimSpace(other.vars[t.with])
			if raw == "" || t.loose != nil && !t.loose(raw) {
				continue
			}
			delete(other.vars, t.with)
			errs = append(errs, &Problem{Variable: t.with, Source: other.name, Reason: "has no effect: " + s.name + " decides about it on this machine, by " + t.held[i]})
		}
	}
	return errs
}

// holds reports that a managed file decides about a variable: it sets it, or the one that it is
// for traces, or the one for traces, which may be wrong, or names a destination.
func (s *source) holds(row *variable) bool {
	key, ofOTLP := strings.CutPrefix(row.name, otlpPrefix)
	switch {
	case s.has(row.name), row.general != "" && s.has(row.general), ofOTLP && s.has(otlpPrefix+"TRACES_"+key):
		return true
	case row.name == "OTEL_SERVICE_NAME":
		pairs, _ := ParseAttributes(s.vars["OTEL_RESOURCE_ATTRIBUTES"])
		return slices.ContainsFunc(pairs, func(p Pair) bool { return p.Key == serviceName })
	case row.name == "INFINIUM_AGENT_SECRET" && s.has("INFINIUM_AGENT_ID"):
		return false // each user's own, for the agent that the file names
	}
	return s.names() && slices.ContainsFunc([]string{
		otlpPrefix, ownOTLP, "INFINIUM_", "HOOKSPAN_EXPORTERS", "HOOKSPAN_FILE_PATH", "HOOKSPAN_ALLOW_",
	}, func(begins string) bool { return strings.HasPrefix(row.name, begins) })
}

// permits reports that another source's value of a held variable is not less strict: it
// records or sends less, or adds attributes, which it completes with the file's.
func (s *source) permits(row *variable, other *source) bool {
	raw := strings.TrimSpace(other.vars[row.name])
	switch row.name {
	case "HOOKSPAN_DISABLED", "OTEL_SDK_DISABLED":
		on, valid := checkBool(raw)
		return on == "true" || row.whenWrong == "true" && !valid
	case "HOOKSPAN_EXPORTERS":
		asked, valid := checkExporters(raw)
		return valid && !slices.ContainsFunc(strings.Split(asked, ","), func(e string) bool { return !s.exports(e) })
	case "OTEL_RESOURCE_ATTRIBUTES":
		if _, valid := ParseAttributes(raw); valid && raw != "" && s.vars[row.name] != "" {
			other.vars[row.name] = raw + "," + s.vars[row.name] // the last of a key counts
			return true
		}
	}
	return false
}

// exports reports that the file lets runs go to a destination.
func (s *source) exports(name string) bool {
	if raw := s.vars["HOOKSPAN_EXPORTERS"]; raw != "" {
		named, valid := checkExporters(raw)
		return valid && slices.Contains(strings.Split(named, ","), name)
	}
	switch name {
	case ExporterOTLP:
		return s.has(otlpPrefix+"ENDPOINT") || s.has(otlpPrefix+"TRACES_ENDPOINT")
	case ExporterInfinium:
		return s.has("INFINIUM_AGENT_ID")
	case ExporterFile:
		return s.has("HOOKSPAN_FILE_PATH")
	}
	return true
}

// Textless reports that the event log keeps no texts either: HOOKSPAN_CAPTURE is none on a
// machine whose administrator decides about settings.
func (c *Config) Textless() bool {
	return c.Capture == "none" && (c.held || c.value("HOOKSPAN_CAPTURE").by[ofMachine] == "none")
}

// users is the value of the user's settings, or else of the machine's.
func (v *value) users() string { return cmp.Or(v.by[ofUser], v.by[ofMachine]) }

// given is the value that one side alone gives. What the machine-wide file says is the
// user's, too, unless it says otherwise.
func (v *value) given(s side) string {
	if s == ofUser {
		return v.users()
	}
	return v.by[s]
}

// mayTake reports whether a credential of one side may go to an address of another: to
// its own side's, and a user's to the administrator's.
func mayTake(address, credential side) bool {
	return address == credential || address == ofMachine && credential == ofUser
}
