package main

import (
	"cmp"
	"context"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hookspan/hookspan/internal/pipeline"
	"github.com/hookspan/hookspan/internal/redact"
	"github.com/hookspan/hookspan/internal/redact/configured"
	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/internal/traces/export"
	"github.com/hookspan/hookspan/internal/traces/findings"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/internal/traces/view"
)

// reportFormats are the values of --format.
var reportFormats = []string{"md", "html", "json"}

func reportCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "report", Short: "Report on a week or another period, on at most two pages",
		Long: `Report what the agents did in a period, the last week, or that before --until: tasks, time and cost by
project and model, the dearest tasks, failures that repeat, how long agents waited for
you, the most edited files, and the findings, as hookspan findings explains them. The report is shown, printed as Markdown into a pipe, or written
to a file, without the secrets that hookspan recognizes, and never sent.

  hookspan report
  hookspan report --since 4w --project . --format html -o month.html`,
	}
	ff := addFilterFlags(a, cmd)
	var format, file string
	cmd.Flags().StringVar(&format, "format", "", "md, html or json; without it by the name of FILE, else md, and on a terminal drawn")
	cmd.Flags().StringVarP(&file, "output", "o", "", "write to this `FILE`, which only you can read")
	_ = cmd.MarkFlagFilename("output", reportFormats...)
	oneOf(cmd, "format", reportFormats...)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		ending := strings.ToLower(strings.TrimPrefix(filepath.Ext(file), "."))
		format = cmp.Or(format, ending, "md")
		switch {
		case slices.Contains(reportFormats, format):
		case format == ending && !cmd.Flags().Changed("format"):
			return wrongUsage(cmd, "--output %q: no format ends so: want --format, or a name with .%s", file, strings.Join(reportFormats, ", ."))
		default:
			return wrongUsage(cmd, "--format %q: want one of %s", format, strings.Join(reportFormats, ", "))
		}
		if ff.since == "" && ff.until == "" {
			ff.since = "1w"
		}
		return ff.run(func(ctx context.Context, p *pipeline.Pipeline, f store.Filter) error {
			if err := ff.ended(f); err != nil {
				return err
			}
			if f.Since.IsZero() { // it is the week before --until
				f.Since, _, _ = view.Period("1w", f.Until) // which has no error
			}
			clean, err := configured.New(a.cfg)
			if err != nil {
				return err
			}
			var early func(string) string
			if clean != nil {
				early = clean.Tail
			}
			r, err := view.ReportOf(ctx, p.Store, f, a.now(), early)
			if err != nil {
				return err
			}
			found, err := findings.Compare(ctx, p.Store, f, a.now())
			if err != nil {
				return err
			}
			r.Tables = append(r.Tables, view.FindingsOf(found.Findings, found.Gone)...)
			if a.terminal() > 0 && file == "" && !cmd.Flags().Changed("format") {
				return paged(a, showFlags{}, func(w io.Writer) error { return view.DrawReport(w, export.Cleaned(r, clean), a.viewOptions()) })
			}
			return writeReport(a, r, clean, format, file)
		})
	}
	return cmd
}

func writeReport(a *app, r view.Report, clean *redact.Redactor, format, file string) error {
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
