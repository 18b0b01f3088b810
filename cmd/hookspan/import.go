package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"

	"github.com/hookspan/hookspan/config"
	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/deliver"
	"github.com/hookspan/hookspan/internal/hookproc"
	"github.com/hookspan/hookspan/internal/importer"
	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/internal/transcript"
	claudefiles "github.com/hookspan/hookspan/internal/transcript/claude"
	clinefiles "github.com/hookspan/hookspan/internal/transcript/cline"
)

// importAgents are the agents whose files can be imported.
var importAgents = []string{"claude", "cline"}

type importFlags struct {
	since         string
	sessions, to  []string
	dryRun, again bool
	asJSON        bool
}

func (a *app) importCmd() *cobra.Command {
	var f importFlags
	cmd := &cobra.Command{
		Use:   "import AGENT",
		Short: "Build traces of past sessions from the agent's own files",
		Long: `Build the traces of sessions from before hookspan was installed, from what the
agent keeps in its own files, and send them to the configured destinations. AGENT
is ` + strings.Join(importAgents, " or ") + `.

A run that is on this machine already is left out, whether an earlier import or
hooks told of it, and so is one that is not over yet. An import that was cut off
is taken up by the next.

The local store keeps what was imported for HOOKSPAN_RETENTION, counted from the
import. For a year after it has removed a run, an import leaves the run out, so
that no destination gets it twice; --again imports it all the same.

The exit code is 1 when a session could not be read or a destination did not take
everything.`,
		ValidArgs: importAgents,
		Args:      takes(1, "one agent"),
		RunE: func(cmd *cobra.Command, args []string) error {
			allowed := "want one of " + strings.Join(importAgents, ", ")
			switch {
			case len(args) == 0:
				return wrongUsage(cmd, "import: no agent named: %s", allowed)
			case !slices.Contains(importAgents, args[0]):
				return wrongUsage(cmd, "import: agent %q: %s", args[0], allowed)
			}
			return a.importFrom(cmd, args[0], f)
		},
	}
	cmd.Flags().StringVar(&f.since, "since", "", "only what ended since then: 30d, 12h, or a day such as 2026-01-31")
	cmd.Flags().StringArrayVar(&f.sessions, "session", nil, "only this session, by the agent's own id (may be repeated)")
	cmd.Flags().StringSliceVar(&f.to, "to", nil, "only to these of the configured destinations, separated by commas")
	cmd.Flags().BoolVar(&f.again, "again", false, "also import what the local store removed after HOOKSPAN_RETENTION")
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "send nothing, say what would be sent")
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "print as JSON")
	return cmd
}

func (a *app) importFrom(cmd *cobra.Command, agent string, f importFlags) error {
	ctx := cmd.Context()
	since, err := sinceWhen(f.since, a.now())
	if err != nil {
		return usageError{err, cmd}
	}
	names := a.setup().Destinations()
	for _, to := range f.to {
		if !slices.Contains(names, to) {
			return wrongUsage(cmd, "--to %q: it is not configured: want one of %s", to, strings.Join(names, ", "))
		}
	}
	a.configProblems()
	a.byHand = true
	p, err := a.setup().Open(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = p.Close() }()
	if len(p.Destinations) == 0 {
		return noDestination()
	}
	im := &importer.Importer{
		Deliverer: p.Deliverer, Since: since, DryRun: f.dryRun, Again: f.again, Retention: a.cfg.Retention,
		Off: func(dir string) bool { return config.ProjectDisabled(hookproc.ReadSettings, dir) },
	}
	switch known, err := p.Ledger(); {
	case err != nil:
		return err
	case known != nil:
		im.Known = known
	}
	p.Destinations = importOrder(p.Destinations, f.to)
	sessions, err := a.importSessions(ctx, agent, im)
	if err != nil {
		return err
	}
	if sessions, err = onlySessions(sessions, f.sessions); err != nil {
		return err
	}
	bar := a.importBar(len(sessions))
	if bar != nil {
		im.Progress = func() { _ = bar.Add(1) }
	}
	rep, err := im.Run(ctx, sessions)
	if bar != nil {
		_ = bar.Finish()
	}
	if im.Known == nil && !f.dryRun && rep.Runs > 0 {
		a.hint("without the local store nobody knows what was sent: another import sends all of it again, under the same ids")
	}
	if rerr := a.importReport(rep, f.asJSON); err == nil {
		err = rerr
	}
	return err
}

// sinceWhen reads --since: a number of days, a time that Go understands, or a
// day in the local time zone.
func sinceWhen(word string, now time.Time) (time.Time, error) {
	if word == "" {
		return time.Time{}, nil
	}
	wrong := fmt.Errorf("--since %q: want a time such as 30d or 12h, or a day in the past such as 2026-01-31", word)
	if day, err := time.ParseInLocation(time.DateOnly, word, now.Location()); err == nil {
		if day.After(now) {
			return time.Time{}, wrong
		}
		return day, nil
	}
	if days, ok := strings.CutSuffix(word, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 16)
		if err != nil || n == 0 {
			return time.Time{}, wrong
		}
		return now.AddDate(0, 0, -int(n)), nil
	}
	d, err := time.ParseDuration(word)
	if err != nil || d <= 0 {
		return time.Time{}, wrong
	}
	return now.Add(-d), nil
}

// importOrder are the destinations asked for, the local store last: what is in
// it has reached the others.
func importOrder(all []deliver.Destination, to []string) []deliver.Destination {
	var out, last []deliver.Destination
	for _, d := range all {
		switch {
		case len(to) > 0 && !slices.Contains(to, d.Name):
		case d.Name == config.ExporterStore:
			last = append(last, d)
		default:
			out = append(out, d)
		}
	}
	return append(out, last...)
}

// importSessions lists an agent's sessions, the oldest first.
func (a *app) importSessions(ctx context.Context, agent string, im *importer.Importer) ([]importer.Session, error) {
	files := &transcript.Files{Home: a.home, Getenv: a.getenv, GOOS: a.goos, Now: a.now, Sleep: a.sleep}
	im.Agent = clinefiles.Agent
	if agent == "claude" {
		im.Agent = claudefiles.Agent
	}
	found, err := files.Sessions(ctx, im.Agent)
	out := make([]importer.Session, len(found))
	for i, s := range found {
		q := transcript.Query{Session: s.ID, Dialect: s.Dialect, Path: s.Path, Full: true}
		out[i] = importer.Session{
			Session: s,
			Read:    func(ctx context.Context) (*hook.Transcript, error) { return files.Read(ctx, im.Agent, q) },
		}
	}
	return out, err
}

// onlySessions are those that were asked for; one that is not there is an error.
func onlySessions(all []importer.Session, ids []string) ([]importer.Session, error) {
	if len(ids) == 0 {
		return all, nil
	}
	for _, id := range ids {
		if !slices.ContainsFunc(all, func(s importer.Session) bool { return s.ID == id }) {
			return nil, hinted{
				fmt.Errorf("--session %q: no such session among the %d found", id, len(all)),
				"a session's id is the name of its folder or file, without the ending",
			}
		}
	}
	return slices.DeleteFunc(all, func(s importer.Session) bool { return !slices.Contains(ids, s.ID) }), nil
}

// importBar shows a bar on a terminal when there is much to go through.
func (a *app) importBar(n int) *progressbar.ProgressBar {
	if a.terminal() == 0 || n < 20 {
		return nil
	}
	return progressbar.NewOptions(n, progressbar.OptionSetWriter(a.stderr),
		progressbar.OptionSetDescription("importing"), progressbar.OptionClearOnFinish(),
		progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionShowCount())
}

func (a *app) importReport(rep *importer.Report, asJSON bool) error {
	if asJSON {
		if err := a.printJSON(rep); err != nil {
			return err
		}
	} else {
		a.importSummary(rep)
	}
	if !rep.Complete() {
		return exitError(1)
	}
	return nil
}

func (a *app) importSummary(rep *importer.Report) {
	a.printf("%-9s %s read\n", "sessions", termtext.Plural(rep.Sessions, "session"))
	what := "nothing to import"
	if rep.Runs > 0 {
		what = fmt.Sprintf("%s of %s, %s, %s to %s", termtext.Plural(rep.Runs, "trace"), termtext.Plural(rep.NewSessions, "session"),
			termtext.Plural(rep.Spans, "span"), rep.First.Local().Format(time.DateOnly), rep.Last.Local().Format(time.DateOnly))
	}
	if rep.DryRun && rep.Runs > 0 {
		what += " (nothing was sent)"
	}
	a.printf("%-9s %s\n", "new", what)
	var left []string
	for _, s := range []struct {
		n   int
		why string
	}{
		{rep.Skipped.AlreadyThere, "already there"},
		{rep.Skipped.Captured, "captured by hooks"},
		{rep.Skipped.Removed, "removed after HOOKSPAN_RETENTION (--again imports them)"},
		{rep.Skipped.Open, "still open"},
		{rep.Skipped.TooOld, "ended before --since"},
	} {
		if s.n > 0 {
			left = append(left, fmt.Sprintf("%s %s", termtext.Plural(s.n, "trace"), s.why))
		}
	}
	if n := rep.Skipped.SwitchedOff; n > 0 {
		left = append(left, termtext.Plural(n, "session")+" of projects that switched recording off")
	}
	if len(left) > 0 {
		a.printf("%-9s %s\n", "skipped", strings.Join(left, "; "))
	}
	waiting := 0
	for _, d := range rep.Destinations {
		if rep.Runs == 0 {
			break
		}
		waiting += d.Waiting
		a.printf("%-9s %s\n", d.Destination, importSent(d))
		for _, e := range d.Errors {
			a.printf("%-9s   %s\n", "", termtext.Value(deliver.WithoutName(e, d.Destination)))
		}
	}
	if !rep.KeptUntil.IsZero() {
		a.printf("%-9s until %s on this machine: HOOKSPAN_RETENTION is %s, counted from the import\n", "kept",
			rep.KeptUntil.Local().Format(time.DateOnly), days(a.cfg.Retention))
	}
	for _, u := range rep.Unreadable {
		a.warnf("session %s was not imported: %s", termtext.Value(filepath.Base(u.Session)), termtext.Value(u.Error))
	}
	if waiting > 0 {
		a.hint("fix the cause, then run the same import again: it sends what is left")
	}
}

// days is a duration, in days where they are whole.
func days(d time.Duration) string {
	if d%(24*time.Hour) == 0 {
		return termtext.Plural(int(d/(24*time.Hour)), "day")
	}
	return d.String()
}

func importSent(d importer.Delivered) string {
	var parts []string
	if d.Runs > 0 || d.Waiting == 0 && d.Refused == 0 {
		parts = append(parts, fmt.Sprintf("%s, %s sent", termtext.Plural(d.Runs, "trace"), termtext.Plural(d.Spans, "span")))
	}
	if d.Waiting > 0 {
		parts = append(parts, termtext.Plural(d.Waiting, "trace")+" waiting")
	}
	if d.Refused > 0 {
		parts = append(parts, termtext.Plural(d.Refused, "trace")+" rejected")
	}
	return strings.Join(parts, "; ")
}
