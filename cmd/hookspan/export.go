package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"

	"github.com/hookspan/hookspan/config"
	"github.com/hookspan/hookspan/internal/deliver"
	"github.com/hookspan/hookspan/internal/files/atomicfile"
	"github.com/hookspan/hookspan/internal/importer"
	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/pipeline"
	"github.com/hookspan/hookspan/internal/redact/configured"
	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/internal/traces/export"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/spool"
)

type exportFlags struct {
	format, output, to string
	yes                bool
	// resource replaces attributes of the resource, as OTEL_RESOURCE_ATTRIBUTES does.
	resource string
}

func exportCmd(a *app) *cobra.Command {
	var f exportFlags
	cmd := &cobra.Command{
		Use:   "export [ID]",
		Short: "Write traces to a file to share, or send them to a destination",
		Long: `Write a trace, or all traces that the filters select, without the secrets that
hookspan recognizes:

  html   one file to share, with a tree of each trace; it holds no script
  md     the conversation as Markdown
  otlp   OTLP/JSON, which every OTLP/HTTP receiver accepts

Without -o the text goes to standard output. ID is the beginning of a trace id, as
hookspan list prints it. Without an ID and a filter, it is the newest trace.

With --to, the traces go to one of the configured destinations, such as one that you
have added since: under the same ids, the oldest first. A trace that hookspan flush
will send there is left out. A destination that already has a trace gets it again. Every span
is marked with hookspan.imported=true: what is counted when it arrives is of today. The
resource has the attributes of when the trace was recorded, unless --resource sets them
anew.`,
		Args: takes(1, "one trace id"),
	}
	flags := cmd.Flags()
	flags.StringVar(&f.format, "format", "", "html, md or otlp; without it by the name of FILE, else md")
	flags.StringVarP(&f.output, "output", "o", "", "write to this `FILE`, which only you can read, instead of standard output")
	flags.StringVar(&f.to, "to", "", "send to this destination: otlp, infinium or file")
	flags.BoolVar(&f.yes, "yes", false, "do not ask")
	flags.StringVar(&f.resource, "resource", "", "with --to: set these resource attributes anew, as key=value,... or now for those that the settings name now")
	_ = cmd.MarkFlagFilename("output", "html", "md", "json")
	oneOf(cmd, "format", "html", "md", "otlp")
	oneOf(cmd, "to", exportTo...)
	ff := addFilterFlags(a, cmd)
	flags.IntVarP(&ff.f.Limit, "limit", "n", 0, "the newest of them, this many at most")
	flags.BoolVar(&ff.all, "all", false, "all traces")
	cmd.ValidArgsFunction = completeTraces(a)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		id := strings.Join(args, "")
		chosen := ff.any() || ff.all || flags.Changed("limit")
		switch err := f.check(cmd); {
		case err != nil:
			return err
		case id != "" && chosen:
			return wrongUsage(cmd, "export: found a trace id and filters: want one of them")
		case id == "" && !chosen && f.to != "":
			return wrongUsage(cmd, "--to: name a trace or filters such as --since 1w, or use --all")
		case !chosen:
			ff.f.Limit = 1
		}
		if f.to != "" {
			if err := f.reachable(cmd, a); err != nil {
				return err
			}
		}
		return ff.run(func(ctx context.Context, p *pipeline.Pipeline, filter store.Filter) error {
			s := p.Store
			traces, err := selected(ctx, ff, p, id, filter)
			switch {
			case err != nil:
				return err
			case len(traces) == 0 && !chosen:
				return hinted{errors.New("no tasks yet"), noTraces}
			case len(traces) == 0:
				return errors.New("no tasks match: nothing was written")
			case f.to != "":
				return exportToDestination(ctx, a, s, traces, f)
			}
			return exportFile(ctx, a, s, traces, f)
		})
	}
	return cmd
}

// exportTo are the destinations that --to can name.
var exportTo = []string{"otlp", "infinium", "file"}

// check completes the flags.
func (f *exportFlags) check(cmd *cobra.Command) error {
	changed := cmd.Flags().Changed
	switch {
	case changed("to") && (changed("format") || changed("output")):
		return wrongUsage(cmd, "--to: it does not go with --format and -o")
	case changed("to") && !slices.Contains(exportTo, f.to):
		return wrongUsage(cmd, "--to %q: want one of %s", f.to, strings.Join(exportTo, ", "))
	case changed("resource") && !changed("to"):
		return wrongUsage(cmd, "--resource: it goes with --to alone")
	case !changed("format"):
		byName, _ := export.FormatOf(f.output)
		f.format = string(byName)
		if f.output != "" && f.format == "" && f.to == "" {
			return wrongUsage(cmd, "--output %q: its ending names no format: want .html, .md or .json, or --format", f.output)
		}
		if f.format == "" {
			f.format = string(export.Markdown)
		}
	case !slices.Contains(export.Formats, export.Format(f.format)):
		return wrongUsage(cmd, "--format %q: want one of html, md, otlp", f.format)
	}
	return nil
}

// ended refuses to select running tasks where only stored ones count.
func (ff *filterFlags) ended(f store.Filter) error {
	if f.Outcome == otelmap.OutcomeRunning {
		return wrongUsage(ff.cmd, "--outcome running: a task is stored when it has ended: want another outcome; hookspan list shows what runs")
	}
	return nil
}

// selected returns the trace that an id names, or those that a filter selects. Tasks
// that run are not stored yet.
func selected(ctx context.Context, ff *filterFlags, p *pipeline.Pipeline, id string, f store.Filter) ([]store.Summary, error) {
	if err := ff.ended(f); err != nil {
		return nil, err
	}
	if id == "" {
		return p.Store.List(ctx, f)
	}
	t, err := p.Store.Trace(ctx, id)
	if err == nil {
		return []store.Summary{t.Summary}, nil
	}
	return nil, noSuchTrace(ctx, ff.app, p, id, err)
}

// exportFile writes traces to a file or to standard output.
func exportFile(ctx context.Context, a *app, s *store.Store, traces []store.Summary, f exportFlags) error {
	clean, err := configured.New(a.cfg)
	if err != nil {
		return err
	}
	step := func() {}
	var gone []string
	write := func(w io.Writer) (err error) {
		get := func(id string) (*store.Trace, error) {
			defer step()
			return s.Trace(ctx, id)
		}
		gone, err = export.Write(w, export.Format(f.format), traces, get, export.Options{Redact: clean})
		return err
	}
	if f.output == "" {
		if err := consentToExport(ctx, a, traces, f, "Write "+them(traces)); err != nil {
			return err
		}
		err := write(a.stdout)
		a.leftOut(len(gone))
		return err
	}
	if err := replaceable(f.output); err != nil {
		return err
	}
	if err := consentToExport(ctx, a, traces, f, "Write "+f.output); err != nil {
		return err
	}
	var done func()
	step, done = flushProgress(a, len(traces), "writing")
	left := 0
	for again := true; again && err == nil; again = len(gone) > 0 {
		err = writeFile(f.output, write)
		// The beginning of the file has the numbers and titles of all of them.
		traces = slices.DeleteFunc(traces, func(t store.Summary) bool { return slices.Contains(gone, t.TraceID) })
		left += len(gone)
	}
	done()
	a.leftOut(left)
	if err != nil {
		return err
	}
	a.printf("wrote %s: %s\n", termtext.Value(f.output), termtext.Plural(len(traces), "trace"))
	return nil
}

// replaceable refuses the name of what is no regular file.
func replaceable(path string) error {
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("--output %q: it is there already and no regular file: want another name", path)
	}
	return nil
}

// writeFile writes a file that only the user can read, or none. Its errors do not
// have the name of the temporary file.
func writeFile(path string, write func(io.Writer) error) error {
	if err := replaceable(path); err != nil {
		return err
	}
	err := atomicfile.WriteFunc(path, atomicfile.Options{}, write)
	var failed *fs.PathError
	if errors.As(err, &failed) {
		err = failed.Err
	}
	if err != nil {
		return fmt.Errorf("write %q: %w", path, err)
	}
	return nil
}

// leftOut reports the traces that were deleted while others were exported.
func (a *app) leftOut(n int) {
	if n > 0 {
		a.hint(termtext.Plural(n, "trace") + " left out: deleted meanwhile")
	}
}

// consentToExport says what the traces hold and asks whether they may leave, if there
// is a person to ask. What goes to a terminal leaves nothing, and a pipe's reader may
// need the terminal.
func consentToExport(ctx context.Context, a *app, traces []store.Summary, f exportFlags, question string) error {
	if f.yes || !canAsk(a) || f.output == "" && f.to == "" && a.terminal() > 0 {
		return nil
	}
	_, _ = fmt.Fprintln(a.stderr, export.Holds(traces))
	if out, ok := a.stdout.Writer.(*os.File); ok && f.output == "" && f.to == "" {
		if info, err := out.Stat(); err == nil && !info.Mode().IsRegular() {
			return nil
		}
	}
	if ok, err := confirm(ctx, a, question+"?"); err != nil || ok {
		return err
	}
	return errors.New("nothing was written")
}

// missing says what sets a destination up.
var missing = map[string]string{
	config.ExporterOTLP:     "set OTEL_EXPORTER_OTLP_ENDPOINT",
	config.ExporterInfinium: "set INFINIUM_AGENT_ID, then run hookspan credentials set",
	config.ExporterFile:     "set HOOKSPAN_FILE_PATH",
}

// reachable checks that the destination is configured.
func (f *exportFlags) reachable(cmd *cobra.Command, a *app) error {
	if !slices.Contains(a.setup().Destinations(), f.to) {
		return hinted{fmt.Errorf("--to %s: it is not configured", f.to), missing[f.to] + "; hookspan config shows all settings"}
	}
	if err := a.setup().Fault(cmd.Context(), f.to); err != nil {
		return fmt.Errorf("--to %s: %w", f.to, err)
	}
	return nil
}

// ofThePast says, before traces of the past are sent, how backends count them.
func (a *app) ofThePast(destinations ...string) {
	if slices.Contains(destinations, config.ExporterOTLP) {
		a.hint("what is counted when it arrives is of today there, unless hookspan.imported=true is left out; a backend that keeps a limited time, such as ClickHouse with a TTL, drops what is older")
	}
}

// attributes are the resource attributes to set anew.
func (f *exportFlags) attributes(a *app) (out []*commonpb.KeyValue, err error) {
	pairs, ok := config.ParseAttributes(f.resource)
	if f.resource == "now" {
		pairs, ok = a.cfg.ResourceAttributes(), true
	}
	if !ok {
		return nil, fmt.Errorf("--resource %q: want key=value pairs with commas between them, values percent-encoded, or now", f.resource)
	}
	for _, p := range pairs {
		out = append(out, otlp.String(p.Key, p.Value))
	}
	return out, nil
}

// exportToDestination sends traces to a destination, the oldest first.
func exportToDestination(ctx context.Context, a *app, s *store.Store, traces []store.Summary, f exportFlags) error {
	a.byHand = true
	p, err := a.setup().Open(ctx, f.to)
	if err != nil {
		return err
	}
	defer func() { _ = p.Close() }()
	resource, err := f.attributes(a)
	if err != nil {
		return err
	}
	dst := &p.Deliverer.Destinations[0]
	waiting, err := p.Deliverer.Waiting(ctx, dst)
	if err != nil {
		return err
	}
	owed, err := s.Owed(ctx, f.to)
	if err != nil {
		return err
	}
	for _, o := range owed {
		waiting[o.Trace] = true
	}
	all := len(traces)
	traces = slices.DeleteFunc(traces, func(t store.Summary) bool {
		return waiting[t.TraceID] || waiting[otlp.TaskID(t.TraceID[:32], spool.SessionKey(t.Host, t.Session).Name)]
	})
	if left := all - len(traces); left > 0 {
		a.hint(fmt.Sprintf("%s left out: hookspan flush sends them to %s", termtext.Plural(left, "trace"), f.to))
	}
	if len(traces) == 0 {
		return nil
	}
	a.ofThePast(f.to)
	if err := consentToExport(ctx, a, traces, f, "Send "+them(traces)+" to "+f.to+" at "+a.setup().Target(f.to)); err != nil {
		return err
	}
	slices.Reverse(traces)
	started := make(map[string]time.Time)
	var list []deliver.StoredTrace
	for i := range traces {
		list = append(list, deliver.StoredTrace{ID: traces[i].TraceID, Session: traces[i].Session})
		started[traces[i].TraceID] = traces[i].Started
	}
	step, done := flushProgress(a, len(list), "sending")
	p.Deliverer.Progress, p.Deliverer.Less = step, s.Less
	stored := &importer.Stored{Store: s, Resource: resource}
	sent, err := p.Deliverer.Fill(ctx, dst, list, stored.Trace)
	done()
	a.leftOut(len(stored.Gone))
	a.printf("%s  %s, %s sent", f.to, termtext.Plural(sent.Traces, "trace"), termtext.Plural(sent.Spans, "span"))
	if sent.Refused > 0 {
		a.printf(", %d rejected", sent.Refused)
	}
	if sent.Left > 0 {
		a.printf(", %d not sent", sent.Left)
	}
	a.printf("\n")
	for _, e := range sent.Errors {
		a.printf("  %s\n", termtext.Value(deliver.WithoutName(e, f.to)))
	}
	if err == nil && sent.Left > 0 {
		again := "the same command again"
		if len(list) > 1 { // an id goes with no filter
			again = "the same command with --since " + started[sent.Next].UTC().Format(time.RFC3339Nano) + ": it continues there"
		}
		a.hint("fix the cause, then run " + again)
	}
	if err == nil && (sent.Left > 0 || sent.Refused > 0) {
		return exitError(1)
	}
	return err
}

// them counts traces in a question.
func them(traces []store.Summary) string {
	if len(traces) == 1 {
		return "it"
	}
	return "these " + termtext.Plural(len(traces), "trace")
}
