package config

import (
	"reflect"
	"sync"
)

// variable is one row of the table of all variables, as the tags of Config give
// it.
type variable struct {
	name string
	// group is the heading above the row on the reference page, empty where it
	// continues.
	group           string
	kind            string
	allowed, doc    string
	byDefault       string
	whenWrong       string
	lowest, highest string
	secret          bool
}

// table returns all variables in the order of the reference page.
var table = sync.OnceValue(func() (rows []*variable) {
	t := reflect.TypeFor[Config]()
	for i := range t.NumField() {
		switch tag := t.Field(i).Tag; {
		case tag.Get("env") != "":
			rows = append(rows, row(tag))
		case tag.Get("group") != "":
			rows = append(rows, otlpRows(tag)...)
		}
	}
	return rows
})

// otlpRows are the rows of OTLPVariables, each twice.
func otlpRows(outer reflect.StructTag) (rows []*variable) {
	group := outer.Get("group")
	t := reflect.TypeFor[OTLPVariables]()
	for i := range t.NumField() {
		tag := t.Field(i).Tag
		general, traces := row(tag), row(tag)
		general.name, traces.name = "OTEL_EXPORTER_OTLP_"+general.name, "OTEL_EXPORTER_OTLP_TRACES_"+general.name
		general.group, group = group, ""
		traces.byDefault, traces.doc = "", "As "+general.name+", which it replaces."
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
		secret: tag.Get("secret") == "true",
	}
}

// lookup returns the variable with a name that the table has.
func lookup(name string) *variable {
	for _, v := range table() {
		if v.name == name {
			return v
		}
	}
	return nil
}
