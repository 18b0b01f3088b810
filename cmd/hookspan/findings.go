package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hookspan/hookspan/internal/pipeline"
	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/internal/traces/findings"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/internal/traces/view"
)

func findingsCmd(a *app) *cobra.Command {
	var kinds []string
	for _, k := range findings.Kinds {
		kinds = append(kinds, k.Name)
	}
	cmd := &cobra.Command{
		Use: "findings", Short: "Find what cost time or tokens and could have been left out",
		Long: `Find what the recorded spans prove to have cost time or tokens without need: calls that failed
again in the same way, files that were read again, caches that expired, and edits that the
project's check did not follow. What is in doubt is not shown. TOKENS and COST are those of
the requests that were made for the finding alone, "-" if there are none.

  hookspan findings --since 1w --project .
  hookspan findings --explain read-again

With --since, "new" is what the period before, of the same length, did not have; the last
line counts what it had and this one does not.`,
	}
	f := addFilterFlags(a, cmd)
	f.addListing()
	flags := cmd.Flags()
	flags.Lookup("limit").Usage = "how many of a kind at most; 0 for all, as without it for programs"
	explain := flags.String("explain", "", "print the rule of a `KIND`: "+strings.Join(kinds, ", "))
	oneOf(cmd, "explain", kinds...)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if !flags.Changed("explain") {
			return f.run(f.findings)
		}
		at := slices.Index(kinds, *explain)
		switch {
		case at < 0:
			return wrongUsage(cmd, "--explain %q: want one of %s", *explain, strings.Join(kinds, ", "))
		case f.any() || f.all || flags.Changed("limit"):
			return wrongUsage(cmd, "--explain: it is of no tasks: want it alone or with --json")
		case f.asJSON:
			return a.printJSON(findings.Kinds[at])
		}
		k := findings.Kinds[at]
		for _, text := range []string{k.Rule, k.Do} {
			a.printf("%s\n", strings.Join(termtext.Wrap(text, 80), "\n"))
		}
		return nil
	}
	return cmd
}

// findingsJSON is what --json prints.
type findingsJSON struct {
	Tasks    int            `json:"tasks"`
	Findings []view.Finding `json:"findings"`
	// Gone are those of the period before of which this one has none.
	Gone []view.Finding `json:"gone,omitempty"`
}

func (ff *filterFlags) findings(ctx context.Context, p *pipeline.Pipeline, filter store.Filter) error {
	a := ff.app
	if err := ff.ended(filter); err != nil {
		return err
	}
	limit := filter.Limit
	found, err := findings.Compare(ctx, p.Store, filter, a.now())
	if err != nil {
		return err
	}
	shown, tasks, of := []view.Finding{}, make(map[string]bool), make(map[string]int)
	for _, one := range found.Findings {
		tasks[one.Trace] = true
		of[one.Kind]++
		if limit < 0 || of[one.Kind] <= limit {
			shown = append(shown, one)
		}
	}
	if ff.asJSON {
		return a.printJSON(findingsJSON{found.Tasks, shown, found.Gone})
	}
	if len(shown) < len(found.Findings) {
		defer a.hint(fmt.Sprintf("%d of %d; --all lists every one", len(shown), len(found.Findings)))
	}
	last := fmt.Sprintf("%s in %d of %s", termtext.Plural(len(found.Findings), "finding"), len(tasks), termtext.Plural(found.Tasks, "task"))
	if len(found.Gone) > 0 {
		last += fmt.Sprintf("; %d of the period before are gone", len(found.Gone))
	}
	return paged(a, showFlags{}, func(w io.Writer) error {
		if err := view.DrawFindings(w, shown, a.viewOptions()); err != nil {
			return err
		}
		_, err := fmt.Fprintf(w, "%s%s\n", map[bool]string{true: "\n"}[len(shown) > 0], last)
		return err
	})
}
