package config

import (
	"reflect"
	"strings"
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
var table = sync.OnceValue(func() (rows []variable) {
	t := reflect.TypeFor[Config]()
	rows = make([]variable, 0, 64)
	for i := range t.NumField() {
		switch v := row(t.Field(i).Tag); {
		case v.name != "":
			rows = append(rows, v)
		case v.group != "":
			rows = append(rows, otlpRows(v.group)...)
		}
	}
	return rows
})

// otlpRows are the rows of OTLP, each for all signals and for traces.
func otlpRows(group string) (rows []variable) {
	t := reflect.TypeFor[OTLP]()
	for i := range t.NumField() {
		tag := t.Field(i).Tag
		general := row(tag)
		if general.name == "" {
			continue
		}
		traces := general
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

// row reads a field's tag in one pass: the hook process reads all of them in each
// call, and [reflect.StructTag.Get] would scan the long ones for every key. The
// doc comes last in a tag and is not scanned. A test compares the two readers.
func row(tag reflect.StructTag) (v variable) {
	for rest := string(tag); ; {
		key, after, ok := strings.Cut(rest, `:"`)
		if !ok {
			return v
		}
		if key == "doc" {
			v.doc = after[:len(after)-1]
			return v
		}
		value, more, _ := strings.Cut(after, `"`) // no value contains a quote
		rest = strings.TrimPrefix(more, " ")
		switch key {
		case "env":
			v.name = value
		case "group":
			v.group = value
		case "kind":
			v.kind = value
		case "allowed":
			v.allowed = value
		case "default":
			v.byDefault = value
		case "whenWrong":
			v.whenWrong = value
		case "min":
			v.lowest = value
		case "max":
			v.highest = value
		case "secret":
			v.secret = value == "true"
		case "texts":
			v.texts = value == "true"
		}
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
