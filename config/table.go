package config

import (
	"reflect"
	"sync"
)

// The variables that the code treats specially.
const (
	configFile = "HOOKSPAN_CONFIG_FILE"
	redactFile = "HOOKSPAN_REDACT_FILE"
	otlpPrefix = "OTEL_EXPORTER_OTLP_"
)

// variable is one row of the table of all variables, as the tags of Config give
// it.
type variable struct {
	name string
	// general is the variable that this one replaces for traces, or empty.
	general string
	// group is the heading above the row on the reference page, empty for the
	// following rows.
	group           string
	kind            string
	allowed, doc    string
	byDefault       string
	whenWrong       string
	lowest, highest string
	secret, texts   bool
}

// table returns all variables in the order of the reference page.
var table = sync.OnceValue(func() (rows []*variable) {
	t := reflect.TypeFor[Config]()
	for i := range t.NumField() {
		switch tag := t.Field(i).Tag; {
		case tag.Get("env") != "":
			rows = append(rows, row(tag))
		case tag.Get("group") != "":
			rows = append(rows, otlpRows(tag.Get("group"))...)
		}
	}
	return rows
})

// otlpRows are the rows of OTLP, each for all signals and for traces.
func otlpRows(group string) (rows []*variable) {
	t := reflect.TypeFor[OTLP]()
	for i := range t.NumField() {
		tag := t.Field(i).Tag
		if tag.Get("env") == "" {
			continue
		}
		general, traces := row(tag), row(tag)
		general.name, traces.name = otlpPrefix+general.name, otlpPrefix+"TRACES_"+general.name
		general.group, group = group, ""
		traces.general, traces.byDefault, traces.doc = general.name, "", "As "+general.name+", which it replaces."
		if doc := tag.Get("tracesDoc"); doc != "" {
			traces.doc, traces.allowed = doc, tag.Get("tracesAllowed")
		}
		rows = append(rows, general, traces)
	}
	return rows
}

func row(tag reflect.StructTag) *variable {
	return &variable{
		name: tag.Get("env"), group: tag.Get("group"), kind: tag.Get("kind"), allowed: tag.Get("allowed"), doc: tag.Get("doc"),
		byDefault: tag.Get("default"), whenWrong: tag.Get("whenWrong"), lowest: tag.Get("min"), highest: tag.Get("max"),
		secret: tag.Get("secret") == "true", texts: tag.Get("texts") == "true",
	}
}

// value is what the environment and the files give a variable.
type value struct {
	*variable
	// source is File or Environment, empty if no valid value is in force; from
	// and shown are of the value in force.
	source, shown string
	from          side
	// by has the valid value of each side, or else empty.
	by [2]string
	// wrong marks a value that was replaced by its default, inFile a valid one
	// in a file.
	wrong, inFile bool
}

// value returns the state of a variable, also in a Config that Load did not make.
func (c *Config) value(name string) *value {
	if v := c.values[name]; v != nil {
		return v
	}
	return &value{variable: &variable{name: name}}
}
