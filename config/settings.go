package config

import (
	"cmp"
	"slices"
	"strings"
)

// Setting is one variable for display.
type Setting struct {
	// Name is the variable's name.
	Name string `json:"name"`
	// Value is the value in force, stars for a secret, empty for none.
	Value string `json:"value"`
	// Source is Default, File, Machine, Environment or Fallback.
	Source string `json:"source"`
	// Doc explains the variable in a sentence or two.
	Doc string `json:"doc"`
}

// Source returns where a variable's value in force came from: Default, File,
// Machine or Environment. It is Default for a wrong value, which is not in force.
func (c *Config) Source(name string) string { return cmp.Or(c.value(name).source, Default) }

// InFile reports whether an env file gives a variable a valid value, which is in
// force unless the environment gives another.
func (c *Config) InFile(name string) bool { return c.value(name).inFile }

// Settings lists every variable, sorted by name.
func (c *Config) Settings() []Setting {
	var out []Setting
	for _, row := range &table {
		v := c.value(row.name)
		s := Setting{Name: row.name, Value: row.byDefault, Source: cmp.Or(v.source, Default), Doc: row.doc}
		switch {
		case v.source != "":
			s.Value = v.shown
		case v.wrong && row.whenWrong != "":
			s.Value, s.Source = row.whenWrong, Fallback
		}
		switch row.name {
		case disabledProjects:
			s.Value = strings.Join(c.PrivateFolders(), ", ")
		case configFile:
			s.Value = c.ConfigFile
		case redactFile:
			var paths []string
			for _, f := range c.RedactFiles() {
				paths = append(paths, f.Path)
			}
			s.Value = strings.Join(paths, ", ")
		}
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b Setting) int { return cmp.Compare(a.Name, b.Name) })
	return out
}
