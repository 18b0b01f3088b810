package main

import (
	"cmp"
	"context"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hookspan/hookspan/internal/pipeline"
	"github.com/hookspan/hookspan/internal/redact/configured"
	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/internal/traces/export"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/internal/traces/view"
)

// reportFormats are the values of --format.
var reportFormats = []string{"md", "html", "json"}

func reportCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "report", Short: "Report on a week or another period, on at most two pages",
		Long: `Report what the agents did in a period, a week without --since: tasks, time and cost by
project and model, the dearest tasks, failures that repeat, how long agents waited for
you, and the most edited files. The report is printed or written to a file, without the
secrets that hookspan recognizes, and never sent.

  hookspan report
  hookspan report --since 4w --project . --format html -o month.html`,
	}
	ff := addFilterFlags(a, cmd)
	var format, file string
	cmd.Flags().StringVar(&format, "format", "", "md, html or json; without it by the name of FILE, else md")
	cmd.Flags().StringVarP(&file, "output", "o", "", "write to this `FILE`, which only you can read")
	_ = cmd.MarkFlagFilename("output", reportFormats...)
	oneOf(cmd, "format", reportFormats...)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if at := strings.LastIndexByte(file, '.'); format == "" && at >= 0 {
			format = file[at+1:]
		}
		if format = cmp.Or(format, "md"); !slices.Contains(reportFormats, format) {
			return wrongUsage(cmd, "--format %q: want one of %s", format, strings.Join(reportFormats, ", "))
		}
		if ff.since == "" {
			ff.since = "1w"
		}
		return ff.runAll(func(ctx context.Context, p *pipeline.Pipeline, f store.Filter) error {
			if err := ff.ended(f); err != nil {
				return err
			}
			r, err := reportOf(ctx, a, p.Store, f)
			if err != nil {
				return err
			}
			return writeReport(a, r, format, file)
		})
	}
	return cmd
}

func reportOf(ctx context.Context, a *app, s *store.Store, f store.Filter) (view.Report, error) {
	zone := a.now().Location()
	all, groups, err := s.Groups(ctx, f, zone, store.ByProject, store.ByModel)
	if err != nil {
		return view.Report{}, err
	}
	var r view.Reporter
	if err := s.EachWork(ctx, f, nil, func(w *store.Work) error { r.Add(w); return nil }); err != nil {
		return view.Report{}, err
	}
	until := a.now()
	if !f.Until.IsZero() && f.Until.Before(until) {
		until = f.Until.Add(-time.Nanosecond)
	}
	return r.Report("Coding agents, "+view.PeriodOf(f.Since, until, zone), all, groups, view.Options{Location: zone}), nil
}

func writeReport(a *app, r view.Report, format, file string) error {
	clean, err := configured.New(a.cfg)
	if err != nil {
		return err
	}
	write := func(w io.Writer) error { return export.Report(w, export.Format(format), r, clean) }
	if format == "json" {
		write = func(w io.Writer) error {
			return (&app{stdout: &output{Writer: w}}).printJSON(export.Cleaned(r, clean))
		}
	}
	if file == "" {
		return write(a.stdout)
	}
	if err := writeFile(file, write); err != nil {
		return err
	}
	a.printf("wrote %s: %s\n", termtext.Value(file), termtext.Plural(r.Totals.Traces, "task"))
	return nil
}
