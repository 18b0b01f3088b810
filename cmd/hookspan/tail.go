package main

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/deliver"
	"github.com/hookspan/hookspan/internal/live"
	"github.com/hookspan/hookspan/internal/rawjson"
	"github.com/hookspan/hookspan/internal/redactor"
	"github.com/hookspan/hookspan/internal/store"
	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/internal/view"
	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/spool"
)

type tailFlags struct {
	agent, project, session  string
	last                     int
	failed, noFollow, asJSON bool
}

func tailCmd(a *app) *cobra.Command {
	var f tailFlags
	cmd := &cobra.Command{
		Use: "tail", Short: "Follow what the agents on this machine do now",
		Long: `Print a line for each event as the agents' hooks report it: prompts, tool calls with
their results, failures, what your hooks denied, answers. The last events come first.
Ctrl-C ends it. The log holds what is not delivered yet: finished tasks are in hookspan
list.`,
	}
	flags := cmd.Flags()
	flags.StringVar(&f.agent, "agent", "", "only this agent: "+strings.Join(a.agents.Words(), ", "))
	flags.StringVar(&f.project, "project", "", "only this `FOLDER` and those below it, or folders of this name; . is this one")
	flags.StringVar(&f.session, "session", "", "only sessions whose id begins or ends so")
	flags.BoolVar(&f.failed, "failed", false, "only what failed or was denied")
	flags.IntVarP(&f.last, "last", "n", 10, "how many of the last events to begin with")
	flags.BoolVar(&f.noFollow, "no-follow", false, "end after the last events")
	flags.BoolVar(&f.asJSON, "json", false, "one JSON object per line")
	oneOf(cmd, "agent", a.agents.Words()...)
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

// selection returns what reports whether a line is wanted.
func (f *tailFlags) selection(a *app, cmd *cobra.Command) (func(*view.EventLine) bool, error) {
	if f.last < 0 {
		return nil, wrongUsage(cmd, "--last %d: want 0 or more", f.last)
	}
	host, name := "", ""
	var in store.Filter
	if f.agent != "" {
		var err error
		if host, err = hostOf(a, cmd, f.agent); err != nil {
			return nil, err
		}
	}
	if cmd.Flags().Changed("project") {
		var err error
		if in.Directory, in.Resolved, err = projectPath(a, cmd, f.project); err != nil {
			return nil, err
		}
		if !view.IsPath(f.project) {
			in, name = store.Filter{}, f.project
		}
	}
	return func(l *view.EventLine) bool {
		return (host == "" || l.Agent == host) && (strings.HasPrefix(l.Session, f.session) || strings.HasSuffix(l.Session, f.session)) &&
			(name == "" || slices.Contains(strings.FieldsFunc(l.Directory, func(r rune) bool { return r == '/' || r == '\\' }), name)) &&
			in.In(l.Directory) &&
			(!f.failed || l.End().Bad())
	}, nil
}

// tailed is a task at work: its prompt, its last event, and what is known of its files.
type tailed struct {
	live.Event
	last, looked time.Time
	facts        deliver.Facts
}

// pollSessions is how often sessions are looked at that the system cannot watch.
const pollSessions = 2 * time.Second

func tail(ctx context.Context, a *app, f tailFlags, want func(*view.EventLine) bool) error {
	a.configProblems()
	if err := a.cfg.Protected(); err != nil {
		return err
	}
	clean, err := redactor.New(a.cfg)
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
	var lines view.EventLines
	var recent []view.EventLine
	caughtUp := false
	atWork := make(map[spool.Key]*tailed)
	options := a.viewOptions()
	show := func(l view.EventLine) error {
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
	}
	visit := func(e live.Event) error {
		l, ok := lines.Of(&e.Event)
		if !ok || !want(&l) {
			return nil
		}
		if setup.Capture(e.Settings) == otelmap.CaptureNone {
			l.Blank()
		}
		if !caughtUp {
			recent = append(recent, l)
			return nil
		}
		return show(l)
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
		Visit: func(e live.Event) error {
			switch t := atWork[e.Key]; {
			case e.ParentAgent != "" || e.Session == "":
			case e.Kind == hook.KindPrompt:
				atWork[e.Key] = &tailed{Event: e, last: e.At(), facts: deliver.Facts{Dialect: e.Dialect, Cwd: e.Cwd, Transcript: e.Transcript}}
			case e.Kind.Terminal():
				delete(atWork, e.Key)
			case t != nil:
				t.last = e.At()
			}
			return visit(e)
		},
		// Some agents report no interruption: their files have it.
		Look: func() (again bool, err error) {
			for k, t := range atWork {
				src := sources[k.Host]
				if src.End == nil || hook.Elapsed(time.Now(), t.last, a.cfg.IdleTimeout) {
					delete(atWork, k)
					continue
				}
				again = true
				if fi, err := os.Stat(t.facts.Transcript); err == nil && fi.ModTime().Equal(t.looked) {
					continue
				} else if err == nil {
					t.looked = fi.ModTime()
				}
				kind, at, _ := src.End(ctx, t.Session, t.facts) // what cannot be read now may be later
				if kind == hook.KindUnknown || at.Before(t.At()) {
					continue
				}
				delete(atWork, k)
				t.Event.Event = hook.Event{Host: t.Host, Session: t.Session, Cwd: t.Cwd, Kind: kind, Name: "interrupt", StoredAt: at}
				if err := visit(t.Event); err != nil {
					return false, err
				}
			}
			return again, nil
		},
		CaughtUp: func() error {
			for _, l := range recent[max(0, len(recent)-f.last):] {
				if err := show(l); err != nil {
					return err
				}
			}
			caughtUp, recent = true, nil
			return nil
		},
	}
	return follower.Run(ctx, !f.noFollow)
}
