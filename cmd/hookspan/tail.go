package main

import (
	"context"
	"errors"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/deliver"
	"github.com/hookspan/hookspan/internal/rawjson"
	"github.com/hookspan/hookspan/internal/redact/configured"
	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/internal/traces/live"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/internal/traces/view"
	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/spool"
)

type tailFlags struct {
	agent, project, session  string
	last                     int
	failed, noFollow, asJSON bool
	notify                   bool
}

func tailCmd(a *app) *cobra.Command {
	var f tailFlags
	cmd := &cobra.Command{
		Use: "tail", Short: "Follow what the agents on this machine do now",
		Long: `Print a line for each event as the agents' hooks report it: prompts, tool calls with
their results, failures, what your hooks denied, answers, and where an agent waits for
you. The last events come first, then what is used of your budgets. Ctrl-C ends it. The
log holds what is not delivered yet: finished tasks are in hookspan list.`,
	}
	flags := cmd.Flags()
	flags.StringVar(&f.agent, "agent", "", "only this agent: "+strings.Join(a.agents.WithGuests().Words(), ", "))
	flags.StringVar(&f.project, "project", "", "only this `FOLDER` and those below it, or folders of this name; . is this one")
	flags.StringVar(&f.session, "session", "", "only sessions whose id begins or ends so")
	flags.BoolVar(&f.failed, "failed", false, "only what failed or was denied")
	flags.IntVarP(&f.last, "last", "n", 10, "how many of the last events to begin with")
	flags.BoolVar(&f.noFollow, "no-follow", false, "end after the last events")
	flags.BoolVar(&f.asJSON, "json", false, "one JSON object per line")
	flags.BoolVar(&f.notify, "notify", false, "show a notification on the desktop when an agent waits for you")
	oneOf(cmd, "agent", a.agents.WithGuests().Words()...)
	_ = cmd.MarkFlagDirname("project")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		want, err := f.selection(a, cmd)
		if err != nil {
			return err
		}
		return tail(cmd.Context(), a, f, want)
	}
	return cmd
}

// selection returns the lines that the flags want.
func (f *tailFlags) selection(a *app, cmd *cobra.Command) (want view.EventFilter, err error) {
	switch {
	case f.last < 0:
		return want, wrongUsage(cmd, "--last %d: want 0 or more", f.last)
	case f.notify && f.noFollow:
		return want, wrongUsage(cmd, "--notify and --no-follow: want one of them: notifications are for what happens from now on")
	}
	want.Session, want.Failed = f.session, f.failed
	if f.agent != "" {
		if want.Host, err = hostOf(a, cmd, f.agent); err != nil {
			return want, err
		}
	}
	if !cmd.Flags().Changed("project") {
		return want, nil
	}
	want.In.Directory, want.In.Resolved, err = projectPath(a, cmd, f.project)
	if !view.IsPath(f.project) {
		want.In, want.Folder = store.Filter{}, f.project
	}
	return want, err
}

// pollSessions is how often sessions are looked at that the system cannot watch.
const pollSessions = 2 * time.Second

func tail(ctx context.Context, a *app, f tailFlags, want view.EventFilter) error {
	a.configProblems()
	if err := a.cfg.Protected(); err != nil {
		return err
	}
	clean, err := configured.New(a.cfg)
	if err != nil {
		return err
	}
	sp, err := spool.Open(a.cfg.SpoolDir(), spool.Options{})
	if err != nil {
		return err
	}
	defer func() { _ = sp.Close() }()
	setup := a.setup()
	sources := setup.Sources()
	tasks := &live.Tasks{Idle: a.cfg.IdleTimeout, End: func(e *live.Event) (hook.Kind, time.Time, bool) {
		end := sources[e.Key.Host].End
		if end == nil {
			return hook.KindUnknown, time.Time{}, false
		}
		// What cannot be read now may be later.
		kind, at, _ := end(ctx, e.Session, deliver.Facts{Dialect: e.Dialect, Cwd: e.Cwd, Transcript: e.Transcript})
		return kind, at, true
	}}
	options := a.viewOptions()
	lines := &view.EventTail{Filter: want, Last: f.last, Show: func(l view.EventLine) error {
		if clean != nil {
			l.Clean(clean.String)
		}
		text := []byte(view.Event(&l, options) + "\n")
		if f.asJSON {
			b, err := rawjson.Marshal(l)
			if err != nil {
				return err
			}
			text = append(termtext.JSON(b), '\n')
		}
		_, err := a.stdout.Write(text)
		return err
	}}
	if f.notify {
		notify, err := a.notifier()
		if err != nil {
			return err
		}
		lines.Asks = func(l *view.EventLine) {
			if err := notify(ctx, l); err != nil && ctx.Err() == nil {
				a.warnf("the notification was not shown: %v", err)
			}
		}
	}
	visit := func(e live.Event) error {
		return lines.Add(&e.Event, setup.Capture(e.Settings) != otelmap.CaptureNone)
	}
	follower := &live.Follower{
		Spool: sp, Dir: a.cfg.SpoolDir(), Poll: pollSessions, Recent: f.last > 0,
		Polling: func(reason error) {
			a.warnf("the system cannot watch every session (%v): reading them every %s", reason, pollSessions)
			if errors.Is(reason, syscall.ENOSPC) || errors.Is(reason, syscall.EMFILE) {
				a.hint("raise fs.inotify.max_user_watches or fs.inotify.max_user_instances with sysctl")
			}
		},
		Decode: func(r *spool.Record) (events []hook.Event, err error) {
			src, ok := sources[r.Host]
			if !ok {
				return nil, nil // of an agent that this hookspan does not know
			}
			return src.Decode(r)
		},
		Skipped: func(err error) { a.warnf("%v", err) },
		Visit: func(e live.Event) error {
			tasks.Note(e)
			return visit(e)
		},
		Look: func() (bool, error) { return tasks.Look(time.Now(), visit) },
		CaughtUp: func() error {
			err := lines.CaughtUp()
			used, _ := setup.Budgets(ctx) // Events need no store.
			for i := 0; i < len(used) && err == nil; i++ {
				err = lines.Show(view.EventLine{Time: setup.Now(), Kind: "budget", Event: "budget", Status: used[i].Level, Text: used[i].Text})
			}
			return err
		},
	}
	return follower.Run(ctx, !f.noFollow)
}
