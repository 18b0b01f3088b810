// Package runner is what the programs that run every hook of the user's link besides
// what cline-hook does: regular expressions, a shell's parser and the mapping to spans.
package runner

import (
	"flag"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/userhooks"
	"github.com/hookspan/hookspan/internal/userhooks/hookcheck"
	"github.com/hookspan/hookspan/internal/userhooks/hookmatch"
	"github.com/hookspan/hookspan/internal/userhooks/hookrun"
	"github.com/hookspan/hookspan/internal/userhooks/place"
)

// Parts are all but those for http hooks.
func Parts() userhooks.Parts {
	return userhooks.Parts{Conditions: Conditions(), Faults: hookcheck.Check, Find: place.Find, Spellings: spellings}
}

// Conditions are those of hookrun.Runner.
func Conditions() hookrun.Conditions {
	return hookrun.Conditions{Matcher: hookmatch.Compile, Rule: hookmatch.Fits}
}

// Flags are the flags by which a program takes a request.
func Flags(r *userhooks.Request) *flag.FlagSet {
	f := flag.NewFlagSet("run-hooks", flag.ContinueOnError)
	f.StringVar(&r.Host, "host", hook.HostCline, "the agent")
	f.StringVar(&r.Event, "event", "", "the name the hook was started with")
	f.Int64Var(&r.Began, "began", 0, "when the agent started the hook, in ms since 1970; without it, now")
	f.StringVar(&r.About, "about", "", "the stored event's hash; without it no record is stored")
	f.BoolVar(&r.Report, "report", false, "write what is on standard input, which hooks have left, into the log")
	return f
}
