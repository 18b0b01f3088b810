package main

import (
	"path/filepath"
	"strings"

	"github.com/hookspan/hookspan/internal/clinehooks"
	"github.com/hookspan/hookspan/internal/clinehooks/hookcheck"
	"github.com/hookspan/hookspan/internal/clinehooks/hookfile"
	"github.com/hookspan/hookspan/internal/clinehooks/translate"
)

// checkHooks lists what in a file with hooks will not work, without secrets.
// project is the folder of the project that the hooks belong to, empty for the
// user's own. others are the other files that apply.
func (a *app) checkHooks(f *hookfile.File, project string, others clinehooks.Sources) []hookfile.Problem {
	place := hookcheck.Place{
		Project: project, Home: a.home, GOOS: a.goos, Path: a.getenv("PATH"), Tools: translate.ToolNames(),
	}
	if sh, err := filepath.EvalSymlinks("/bin/sh"); err == nil {
		place.Shell = filepath.Base(sh)
	}
	if a.goos == "darwin" {
		place.Shell = "bash" // which macOS installs as sh
	}
	for _, kv := range others.Environ(nil) {
		name, value, _ := strings.Cut(kv, "=")
		place.Env = append([]hookfile.Variable{{Name: name, Value: value}}, place.Env...)
	}
	list := hookcheck.Check(f, place)
	for i := range list {
		list[i].Text = a.clean(list[i].Text)
	}
	return list
}

// checkSource is checkHooks for one of the files that apply.
func (a *app) checkSource(s clinehooks.Source, all clinehooks.Sources) []listedProblem {
	project := ""
	if s.Project {
		project = projectOf(s.Path)
	}
	var out []listedProblem
	for _, p := range a.checkHooks(s.File, project, all) {
		out = append(out, listedProblem{Path: p.Path, Line: p.Line, Column: p.Column, Text: p.Text, Dropped: p.Dropped, Mistake: p.Mistake})
	}
	return out
}
