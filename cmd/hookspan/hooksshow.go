package main

import (
	"maps"
	"slices"
	"strings"

	"github.com/hookspan/hookspan/internal/clinehooks"
	"github.com/hookspan/hookspan/internal/clinehooks/hookfile"
	"github.com/hookspan/hookspan/internal/termtext"
)

// showHooks prints everything that a file with hooks starts and sets, so that the
// user can decide whether to trust it. Only secrets are left out.
func (a *app) showHooks(f *hookfile.File, problems []hookfile.Problem) {
	if f.Disabled {
		a.printf("  disableAllHooks is set: none of these runs as long as it is\n")
	}
	if len(f.Env) > 0 {
		a.printf("  variables that all hooks get, your own too\n")
	}
	for _, v := range f.Env {
		a.showText("    ", v.Name+"="+v.Value)
	}
	for _, h := range f.Handlers {
		a.showHook(h)
	}
	for _, p := range problems {
		a.printf("  note: line %d: %s\n", p.Line, termtext.Value(p.Text))
	}
}

// showHook prints all members of one hook.
func (a *app) showHook(h hookfile.Handler) {
	a.printf("  line %d: %s, matcher %s, type %s\n", h.Line, termtext.Value(h.Event), termtext.Value(matcherText(h.Matcher)), termtext.Value(h.Type))
	member := func(name, text string) {
		if text != "" {
			a.showText("    "+name+strings.Repeat(" ", max(1, 10-len(name))), text)
		}
	}
	switch {
	case h.Type == hookfile.TypeHTTP:
		member("url", h.URL)
		for _, name := range slices.Sorted(maps.Keys(h.Headers)) {
			member("header", name+": "+h.Headers[name])
		}
		member("sends", strings.Join(h.AllowedEnvVars, ", "))
	case h.Args != nil:
		member("program", h.Text())
	default:
		member("command", h.Command)
		member("shell", h.Shell)
	}
	member("if", h.If)
	if h.Timeout > 0 {
		member("timeout", clinehooks.Duration(h.Timeout))
	}
	if h.Async || h.AsyncRewake {
		member("async", "is not waited for and decides nothing")
	}
	if h.Once {
		member("once", "once per session")
	}
	if h.BlockOnFailure {
		member("onFailure", "block")
	}
}

// showText prints a text after a head, its further lines indented below the first.
func (a *app) showText(head, text string) {
	for line := range strings.Lines(a.clean(text)) {
		a.printf("%s%s\n", head, termtext.Value(strings.TrimSuffix(line, "\n")))
		head = strings.Repeat(" ", len(head))
	}
}
