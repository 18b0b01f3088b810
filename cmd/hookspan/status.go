package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hookspan/hookspan/config"
	"github.com/hookspan/hookspan/internal/deliver"
	"github.com/hookspan/hookspan/internal/hookproc"
	"github.com/hookspan/hookspan/internal/install"
	"github.com/hookspan/hookspan/internal/store"
	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/spool"
)

// status is what `hookspan status` tells.
type status struct {
	Recording string     `json:"recording"`
	Hooks     []hookFile `json:"hooks"`
	// Claude are the settings files of Claude Code that exist or were installed
	// into.
	Claude []claudeFile `json:"claude,omitempty"`
	// HooksHealthy reports that an agent has hooks of hookspan's, and that those
	// of each agent that has any are as they should be.
	HooksHealthy bool          `json:"hooks_healthy"`
	Sessions     int           `json:"sessions"`
	SpoolBytes   int64         `json:"spool_bytes"`
	LastEvent    time.Time     `json:"last_event,omitzero"`
	Destinations []destination `json:"destinations"`
	// OwnHooks are the files with hooks of the user's own.
	OwnHooks []ownHooks `json:"own_hooks,omitempty"`
	StateDir string     `json:"state_dir"`
	EnvFile  string     `json:"env_file"`
	report   *install.Report
	claude   *install.Report
}

// claudeFile is how the events stand in one settings file of Claude Code.
type claudeFile struct {
	Scope     string `json:"scope"`
	Path      string `json:"path"`
	Installed int    `json:"installed"`
	Outdated  int    `json:"outdated"`
	Edited    int    `json:"edited"`
	Missing   int    `json:"missing"`
	// Error says why the file cannot be read as settings.
	Error string `json:"error,omitempty"`
}

// hookFile is one hook in one folder that Cline reads.
type hookFile struct {
	Event string `json:"event"`
	Path  string `json:"path"`
	// State is one of install's states; Reason says what is wrong with it.
	State   install.State `json:"state"`
	Reason  string        `json:"reason,omitempty"`
	Chained string        `json:"chained,omitempty"`
}

// recordingOn is status.Recording when events are stored.
const recordingOn = "on"

// destination is how delivery stands, over all sessions in the spool.
type destination struct {
	Name string `json:"name"`
	// Off says why the destination gets nothing, Fault why it cannot be set up.
	Off   string `json:"off,omitempty"`
	Fault string `json:"fault,omitempty"`
	// Target is its address. Tried and Taken are the times of the last try there and
	// of the last successful one, Error is the error of the last try.
	Target string    `json:"target,omitempty"`
	Tried  time.Time `json:"tried,omitzero"`
	Taken  time.Time `json:"taken,omitzero"`
	Error  string    `json:"error,omitempty"`
	// Stored counts what is in the local store, imported traces included.
	Stored *store.Stats `json:"stored,omitempty"`
	// Runs and Spans were delivered, out of the sessions still in the spool.
	Runs     int64 `json:"runs"`
	Spans    int64 `json:"spans"`
	Rejected int64 `json:"rejected"`
	// Behind counts the sessions with events that are not delivered, such as
	// tasks under way; Failing those whose last try failed.
	Behind    int              `json:"behind"`
	Failing   int              `json:"failing"`
	Parked    []deliver.Parked `json:"parked,omitempty"`
	NextTry   time.Time        `json:"next_try,omitzero"`
	LastError string           `json:"last_error,omitempty"`
	// elsewhere is the address that was tried last, where it is not Target.
	elsewhere string
}

func (a *app) statusCmd() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "status", Short: "Show what is installed, recorded and delivered",
		Args: takes(0, "no argument"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			st, err := a.status(cmd.Context())
			if err != nil {
				return err
			}
			if asJSON {
				return a.printJSON(st)
			}
			a.configProblems()
			a.printStatus(st)
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}

func (a *app) status(ctx context.Context) (*status, error) {
	st := &status{StateDir: a.cfg.StateDir, EnvFile: a.envFile(), Recording: recordingOn}
	switch {
	case a.cfg.Off():
		st.Recording = "off (HOOKSPAN_DISABLED or OTEL_SDK_DISABLED)"
	case a.paused():
		st.Recording = "paused"
	case hookproc.ProjectOff(here()):
		st.Recording = "off in this project (HOOKSPAN_DISABLED in " + filepath.Join(here(), ".hookspan.env") + ")"
	}
	r, err := a.hooks(ctx)
	if err != nil {
		return nil, err
	}
	st.report = r
	if st.claude, err = a.claudeHooks(ctx); err != nil {
		return nil, err
	}
	st.HooksHealthy = (r.Present() || st.claude.Present()) &&
		(!r.Present() || r.Healthy()) && (!st.claude.Present() || st.claude.Healthy())
	for _, s := range st.claude.Sites {
		f := claudeFile{
			Scope: s.Kind, Path: s.Path, Installed: s.Count(install.StateInstalled), Outdated: s.Count(install.StateOutdated),
			Edited: s.Count(install.StateEdited), Missing: s.Count(install.StateMissing),
		}
		if s.Err != nil {
			f.Error = s.Err.Error()
		}
		st.Claude = append(st.Claude, f)
	}
	for _, s := range r.Sites {
		for _, h := range s.Hooks {
			if h.State != install.StateMissing || r.Present() {
				st.Hooks = append(st.Hooks, hookFile{h.Event, h.Path, h.State, h.Reason, h.Chained})
			}
		}
	}
	st.OwnHooks = a.ownHooks()
	for _, name := range a.setup().Destinations() {
		st.Destinations = append(st.Destinations, a.destination(ctx, name))
	}
	for _, name := range []string{config.ExporterOTLP, config.ExporterInfinium} {
		if p := a.cfg.Refused(name); p != nil {
			st.Destinations = append(st.Destinations, destination{Name: name, Off: p.Variable + ": " + p.Reason})
		}
	}
	return st, a.spoolStatus(st)
}

// destination describes a destination, without the sessions in the spool.
func (a *app) destination(ctx context.Context, name string) destination {
	d := destination{Name: name, Target: a.setup().Target(name)}
	if name == config.ExporterStore {
		d.Stored = a.storeCounts(ctx)
		return d
	}
	if err := a.setup().Fault(ctx, name); err != nil {
		d.Fault = termtext.Message(err)
		return d
	}
	last, other := a.setup().LastAnswer(name)
	if d.elsewhere = other; last != nil {
		d.Tried, d.Taken, d.Error = last.Tried, last.Taken, last.Error
	}
	return d
}

// storeCounts counts what is in the local store. It is nil where the store cannot be
// read; examineState says why.
func (a *app) storeCounts(ctx context.Context) *store.Stats {
	if _, err := os.Stat(a.cfg.StorePath()); errors.Is(err, fs.ErrNotExist) {
		return &store.Stats{}
	}
	s, err := store.Open(ctx, a.cfg.StorePath())
	if err != nil {
		return nil
	}
	defer func() { _ = s.Close() }()
	got, err := s.Stats(ctx)
	if err != nil {
		return nil
	}
	return &got
}

func (a *app) spoolStatus(st *status) error {
	if _, err := os.Lstat(a.cfg.SpoolDir()); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	sp, err := spool.Open(a.cfg.SpoolDir(), spool.Options{})
	if err != nil {
		return err
	}
	defer func() { _ = sp.Close() }()
	keys, err := sp.Sessions()
	if err != nil {
		return err
	}
	for _, k := range keys {
		if err := a.sessionStatus(sp, k, st); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

func (a *app) sessionStatus(sp *spool.Spool, k spool.Key, st *status) error {
	s, err := sp.Session(k)
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	size, err := s.Size()
	if err != nil {
		return err
	}
	st.Sessions++
	st.SpoolBytes += size
	if at, err := s.ModTime(); err == nil && at.After(st.LastEvent) {
		st.LastEvent = at
	}
	for i := range st.Destinations {
		d := &st.Destinations[i]
		ds, err := deliver.ReadState(s, d.Name)
		if err != nil {
			return err
		}
		d.Runs += ds.Runs
		d.Spans += ds.Spans
		d.Rejected += ds.Rejected
		d.Parked = append(d.Parked, ds.Parked...)
		if ds.Offset < size {
			d.Behind++
		}
		if ds.Attempts > 0 {
			d.Failing++
			d.LastError = ds.LastError
			if d.NextTry.IsZero() || ds.NextTry.Before(d.NextTry) {
				d.NextTry = ds.NextTry
			}
		}
	}
	return nil
}

func (a *app) printStatus(st *status) {
	recording := st.Recording
	if a.paused() {
		recording += "; hookspan resume continues it"
	}
	a.printf("recording    %s\n", recording)
	if st.LastEvent.IsZero() {
		a.printf("events       none yet\n")
	} else {
		a.printf("events       last %s; %s, %s in the spool\n", st.LastEvent.Local().Format("2006-01-02 15:04:05"),
			termtext.Plural(st.Sessions, "session"), bytesText(st.SpoolBytes))
	}
	a.printf("state        %s\nenv file     %s\n\n", st.StateDir, st.EnvFile)
	a.printOwnHooks(st.OwnHooks)
	switch {
	case st.report.Present():
		a.printf("%s\n", st.report.Text())
	case !st.claude.Present():
		a.printf("no agent has hookspan's hooks: hookspan install cline, or hookspan install claude\n\n")
	}
	if text := st.claude.Text(); text != "" {
		a.printf("%s\n", text)
	}
	for i := range st.Destinations {
		a.printDestination(&st.Destinations[i])
	}
	if len(st.Destinations) == 0 {
		a.printf("no destination is set up; hookspan config shows the settings\n")
	}
}

func (a *app) printDestination(d *destination) {
	line := func(name, format string, args ...any) {
		a.printf("%-12s %s\n", name, termtext.Value(fmt.Sprintf(format, args...)))
	}
	if why := cmp.Or(d.Off, d.Fault); why != "" {
		line(d.Name, "off: %s", why)
	} else {
		line(d.Name, "%s", strings.Join(append([]string{a.standing(d)}, d.counts()...), "; "))
	}
	if d.Failing > 0 {
		if d.Error == "" && d.Fault == "" && d.elsewhere == "" {
			line("", "failing: %s", d.LastError)
		}
		line("", "next try %s, or now with: hookspan flush", d.NextTry.Local().Format(time.DateTime))
	}
	if n := len(d.Parked); n > 0 {
		line("", "rejected %s: %s", a.ago(d.Parked[n-1].At), d.Parked[n-1].Error)
	}
}

// standing is the result of the last try.
func (a *app) standing(d *destination) string {
	switch {
	case d.Name == config.ExporterStore && d.Stored == nil:
		return "cannot be read: hookspan doctor"
	case d.Stored != nil && d.Stored.Traces == 0:
		return "no traces yet"
	case d.Stored != nil:
		return fmt.Sprintf("%s, %s on this machine, imported ones included; the newest began %s",
			termtext.Plural(d.Stored.Traces, "trace"), termtext.Plural(d.Stored.Spans, "span"), a.ago(d.Stored.Newest))
	case d.Error != "":
		return fmt.Sprintf("failing: tried %s: %s", a.ago(d.Tried), d.said())
	case !d.Tried.IsZero():
		return fmt.Sprintf("taken %s at %s", a.ago(d.Taken), d.Target)
	case d.elsewhere != "":
		return fmt.Sprintf("not tried yet at %s (last at %s): hookspan test", d.Target, d.elsewhere)
	case d.Runs > 0 || d.Failing > 0:
		return d.Target
	}
	return fmt.Sprintf("not tried yet at %s: hookspan test", d.Target)
}

// said is the error of the last try, with the address.
func (d *destination) said() string {
	text := deliver.WithoutName(d.Error, d.Name)
	if !strings.Contains(text, d.Target) {
		text += " (" + d.Target + ")"
	}
	return text
}

// counts are the sessions, traces and spans of the spool.
func (d *destination) counts() []string {
	var out []string
	if d.Runs > 0 && d.Stored == nil {
		out = append(out, fmt.Sprintf("%s, %s of the sessions in the spool delivered", termtext.Plural(d.Runs, "trace"), termtext.Plural(d.Spans, "span")))
	}
	if d.Behind > 0 {
		out = append(out, termtext.Plural(d.Behind, "session")+" under way or waiting")
	}
	if d.Rejected > 0 {
		out = append(out, termtext.Plural(int(d.Rejected), "span")+" rejected")
	}
	if n := len(d.Parked); n > 0 {
		out = append(out, termtext.Plural(n, "trace")+" rejected, kept here")
	}
	return out
}

func bytesText(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%d bytes", n)
}

// ago is how long ago t was, in its largest unit.
func (a *app) ago(t time.Time) string {
	switch d := a.now().Sub(t); {
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return termtext.Plural(int(d/time.Minute), "minute") + " ago"
	case d < 48*time.Hour:
		return termtext.Plural(int(d/time.Hour), "hour") + " ago"
	default:
		return termtext.Plural(int(d/(24*time.Hour)), "day") + " ago"
	}
}
