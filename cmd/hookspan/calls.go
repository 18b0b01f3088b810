package main

import (
	"context"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hookspan/hookspan/internal/pipeline"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/internal/traces/view"
	"github.com/hookspan/hookspan/internal/userhooks/shelltext"
)

type callsFlags struct {
	*filterFlags
	calls view.CallFilter
	full  bool
}

// wantPattern says what is wrong with a --file.
const wantPattern = "--file %q: %w: want a [ to have its ]"

func callsCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "calls [ID]", Short: "List calls of tools over all tasks, newest first",
		Long: `List calls of tools over all tasks, or in one, one line each, the newest task first. --tool takes a
tool, an MCP server or a part of a name, --command a command or its beginning, --file a
name, a folder such as auth/ or a part of a path. --project, --failed and --denied select
calls, not tasks. COST is a call's share of the request that asked for it, and what the
subagent cost that it started.

  hookspan calls --file auth/ --edits --since 1w --full   what was changed there
  hookspan calls --denied                                 which calls were denied, and why
  hookspan calls --command "npm test" --slower 1m
  hookspan calls --csv --all > calls.csv

--edits selects calls that change files; with --full the changes are printed as diffs of
the whole texts, from the agent's own files or the spool. hookspan show TASK --span CALL,
by the first two columns, shows one call.`,
		Args: takes(1, "one trace id"), ValidArgsFunction: completeTraces(a),
	}
	f := &callsFlags{filterFlags: addFilterFlags(a, cmd)}
	f.addListing()
	f.addSums()
	flags := cmd.Flags()
	flags.Lookup("failed").Usage, flags.Lookup("denied").Usage = "only calls that failed", "only calls that were denied or cancelled"
	flags.StringVar(&f.calls.Command, "command", "", "only calls that run this `COMMAND`, or one that begins so")
	flags.StringVar(&f.calls.File, "file", "", "only calls with this file, folder/ or *.pattern")
	flags.StringVar(&f.calls.Subagent, "subagent", "", "only calls of this kind of subagent")
	flags.DurationVar(&f.calls.MinTook, "slower", 0, "only calls that took at least so long: 30s, 5m")
	flags.Float64Var(&f.calls.MinCost, "dearer", 0, "only calls that cost at least so many `DOLLARS`")
	flags.BoolVar(&f.calls.Edits, "edits", false, "only calls that change files")
	flags.BoolVar(&f.full, "full", false, "with --edits: the whole changes, as diffs")
	flags.BoolVar(&f.asCSV, "csv", false, "print as CSV, with times in milliseconds")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		f.f.Trace = strings.Join(args, "")
		switch _, badPattern := path.Match(f.calls.File, ""); {
		case flags.Changed("slower") && f.calls.MinTook <= 0:
			return wrongUsage(cmd, "--slower %s: want a time above 0", f.calls.MinTook)
		case flags.Changed("dearer") && !aCost(f.calls.MinCost):
			return wrongUsage(cmd, "--dearer %g: want a number of dollars above 0", f.calls.MinCost)
		case badPattern != nil:
			return wrongUsage(cmd, wantPattern, f.calls.File, badPattern)
		case f.asCSV && f.asJSON:
			return wrongUsage(cmd, "--csv and --json: want one of them")
		case f.full && (!f.calls.Edits || f.asCSV):
			return wrongUsage(cmd, "--full: want --edits, and no --csv")
		}
		return f.run(f.print)
	}
	return cmd
}

// callsJSON is what --json --sums prints: the calls and the sums over all that are selected, listed
// or not.
type callsJSON struct {
	Calls  []store.Call `json:"calls"`
	Totals store.Totals `json:"totals"`
}

// print finds the calls.
func (f *callsFlags) print(ctx context.Context, p *pipeline.Pipeline, filter store.Filter) error {
	a := f.app
	if filter.Trace != "" {
		t, err := p.Trace(ctx, filter.Trace)
		if err != nil {
			return noSuchTrace(ctx, a, p, filter.Trace, err)
		}
		filter.Trace = t.TraceID
	}
	f.calls.Tool, f.calls.Failed, f.calls.Denied = filter.Tool, filter.Failed, filter.Denied
	f.calls.Directory, f.calls.Resolved = filter.Directory, filter.Resolved
	filter.Tool, filter.Failed, filter.Denied = "", false, false // they are of the calls
	running := a.running(ctx, p)
	found, all, err := f.calls.Find(ctx, p.Store, filter, running, nil)
	if err != nil {
		return err
	}
	if all.Calls > len(found) && (f.asJSON || f.asCSV || a.terminal() == 0) {
		defer a.hint(fmt.Sprintf("%d of %d calls; --all lists every one", len(found), all.Calls))
	}
	if f.full {
		err = a.finder(p).Calls(ctx, func(id string) (*store.Trace, error) { return stored(ctx, p.Store, running, id) }, found)
	}
	switch {
	case err != nil:
		return err
	case f.sums:
		return a.printJSON(callsJSON{found, all})
	case f.asJSON:
		return a.printJSON(found)
	case f.asCSV:
		return view.CallsCSV(a.stdout, found)
	case len(found) == 0 && f.full && f.calls.File != "":
		defer a.hint("hookspan calls --file " + shelltext.PromptWord(a.goos, f.calls.File) + " lists the calls of all tasks with it, --edits those that changed it")
		fallthrough
	case len(found) == 0:
		a.printf("no calls match\n")
		a.hintNames(filter.Model, f.calls.Tool)
		return nil
	case f.full:
		return paged(a, showFlags{}, func(w io.Writer) error { return view.WriteEdits(w, found, a.viewOptions()) })
	}
	return view.Calls(a.stdout, found, all, a.viewOptions())
}
