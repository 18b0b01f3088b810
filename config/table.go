package config

import (
	"maps"
	"slices"
)

// The variables that the code treats specially.
const (
	configFile = "HOOKSPAN_CONFIG_FILE"
	redactFile = "HOOKSPAN_REDACT_FILE"
	otlpPrefix = "OTEL_EXPORTER_OTLP_"

	disabledProjects = "HOOKSPAN_DISABLED_PROJECTS"

	stabilityOptIn = "OTEL_SEMCONV_STABILITY_OPT_IN"
	tracesExporter = "OTEL_TRACES_EXPORTER"

	// serviceName is the resource's attribute.
	serviceName = "service.name"
)

// variable is one row of the table of all variables.
type variable struct {
	name string
	// general is the variable that this one replaces for traces, or empty.
	general string
	// group is the heading above the row on the reference page, empty for the
	// following rows.
	group string
	// kind names the check (see check.go); allowed describes the valid values
	// and doc explains the variable.
	kind, allowed, doc string
	// byDefault and whenWrong replace a value that is not set or is wrong. An
	// empty whenWrong means byDefault.
	byDefault, whenWrong string
	// lowest and highest are the bounds of a number.
	lowest, highest string
	// secret keeps the value out of all output. texts and guards mark the variables about
	// texts and about the user's hooks that the environment may only tighten, fileOnly those that
	// count in the user's env file and the machine-wide file alone.
	secret, texts, guards, fileOnly bool
}

// withoutEffect are standard variables that have no meaning here: every run is sent, from
// the event log and not from a queue in memory, and no context is received or passed on by
// them.
var withoutEffect = [...]string{
	"OTEL_TRACES_SAMPLER", "OTEL_TRACES_SAMPLER_ARG", "OTEL_PROPAGATORS", "OTEL_BSP_SCHEDULE_DELAY",
	"OTEL_BSP_EXPORT_TIMEOUT", "OTEL_BSP_MAX_QUEUE_SIZE", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE",
}

// Ineffective lists the standard variables that are set and have no effect, sorted: those
// without a meaning here, and limits of the environment.
func (c *Config) Ineffective() []string { return slices.Sorted(maps.Keys(c.ineffective)) }

// value is what the environment and the files give a variable.
type value struct {
	*variable
	// source is File, Machine or Environment, empty if no valid value is in force; from
	// and shown are of the value in force.
	source, shown string
	from          side
	// by has the valid value of each side, or else empty.
	by [3]string
	// unusable is the value of the environment's side if it is wrong.
	unusable string
	// wrong marks a value that was replaced by its default, inFile a valid one
	// in a file. problem is that of the last wrong value.
	wrong, inFile bool
	problem       *Problem
}

// value returns the state of a variable, also in a Config that Load did not make.
func (c *Config) value(name string) *value {
	if v := c.values[name]; v != nil {
		return v
	}
	return &value{variable: &variable{name: name}}
}
