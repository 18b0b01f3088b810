package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"

	"github.com/hookspan/hookspan/internal/deliver"
	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/spool"
)

// The time limits of one flush; the next one delivers what is left. Without them,
// a destination that is slow for each of many sessions would keep processes for
// hours.
const (
	detachedLimit = 10 * time.Minute
	byHandLimit   = time.Hour
)

// endGrace is how long a flush waits, after a signal or at its limit, for work that
// does not watch its context, such as a write to a disk that hangs.
const endGrace = 2 * time.Second

type flushFlags struct {
	wait, detached, asJSON, otherSettings bool
	sessions                              []string
}

func flushCmd(a *app) *cobra.Command {
	var f flushFlags
	cmd := &cobra.Command{
		Use:   "flush",
		Short: "Deliver what is waiting, now",
		Long: `Deliver the traces that are waiting to each destination, without regard to the next
try that is scheduled, and send again what a destination rejected before. Hooks start
a delivery when a task ends; run this after an outage, after fixing a setting, or to
see what a destination answers. The exit code is 1 when something still waits or was
rejected. It ends at once on a signal, and after an hour; what is left is kept.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return flushSessions(a, cmd, f) },
	}
	cmd.Flags().BoolVar(&f.wait, "wait", false, "wait for tasks that have only just ended and for deliveries under way")
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "print as JSON")
	cmd.Flags().BoolVar(&f.detached, "detached", false, "run as hooks start it: silent, keeping to the stored next tries")
	cmd.Flags().StringArrayVar(&f.sessions, "session", nil, "deliver only this session (host/key, as the spool's folders are named)")
	cmd.Flags().BoolVar(&f.otherSettings, "other-settings", false, "deliver sessions that were recorded under other environment variables, too")
	_ = cmd.Flags().MarkHidden("detached")
	return cmd
}

func flushSessions(a *app, cmd *cobra.Command, f flushFlags) error {
	keys, err := sessionKeys(f.sessions)
	if err != nil {
		return usageError{err, cmd}
	}
	limit := byHandLimit
	a.byHand = !f.detached
	if f.detached {
		limit = detachedLimit
	}
	// A second signal ends the process immediately.
	defer context.AfterFunc(cmd.Context(), func() { signal.Reset(os.Interrupt, syscall.SIGTERM) })()
	ctx, cancel := context.WithTimeout(cmd.Context(), limit)
	defer cancel()
	err = deliver.Promptly(ctx, endGrace, func() error { return flushAll(ctx, a, f, keys) })
	switch {
	case cmd.Context().Err() != nil:
		a.log.Line("flush: ended by a signal; what is left is kept")
	case ctx.Err() != nil:
		err = hinted{fmt.Errorf("flush: stopped after %s; what is left is kept", limit), "run hookspan flush again"}
		a.log.Line(err.Error())
	}
	return err
}

func flushAll(ctx context.Context, a *app, f flushFlags, keys []spool.Key) error {
	// The limit alone decides when memory is collected, but for a small heap: none is when the store closes.
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(deliver.MemoryLimit))
	setup := a.setup()
	if f.detached && setup.SpoolGone() {
		return nil // To open it would make the folders anew.
	}
	p, err := setup.Open(ctx)
	if err != nil {
		a.log.Line("flush: " + err.Error())
		return err
	}
	defer func() { _ = p.Close() }()
	p.Deliverer.LongRun = func() { debug.SetMemoryLimit(math.MaxInt64) }
	if f.detached {
		return p.Sweep(ctx, keys)
	}
	a.configProblems()
	if len(p.Deliverer.Destinations) == 0 {
		return noDestination()
	}
	sessions := keys
	if len(sessions) == 0 {
		if sessions, err = p.Deliverer.Spool.Sessions(); err != nil {
			return err
		}
	}
	step, done := flushProgress(a, len(sessions)*len(p.Deliverer.Destinations), "delivering")
	defer done()
	p.Deliverer.Progress = step
	results, err := p.Flush(ctx, deliver.Pass{Force: true, Wait: f.wait, OtherSettings: f.otherSettings, Sessions: keys})
	if err != nil {
		return err
	}
	return reportDelivery(a, results, f.asJSON)
}

func sessionKeys(words []string) ([]spool.Key, error) {
	var keys []spool.Key
	for _, w := range words {
		host, name, ok := strings.Cut(w, "/")
		if !ok || host == "" || len(name) != 32 {
			return nil, fmt.Errorf("session %q: want host/key, such as cline/0123456789abcdef0123456789abcdef", w)
		}
		keys = append(keys, spool.Key{Host: host, Name: name})
	}
	return keys, nil
}

// flushProgress shows a bar on a terminal if there are many steps. step counts one of
// them; done removes the bar.
func flushProgress(a *app, steps int, what string) (step, done func()) {
	if a.terminal() == 0 || steps < 20 {
		return func() {}, func() {}
	}
	bar := progressbar.NewOptions(steps, progressbar.OptionSetWriter(a.stderr),
		progressbar.OptionSetDescription(what), progressbar.OptionClearOnFinish(),
		progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionShowCount())
	return func() { _ = bar.Add(1) }, func() { _ = bar.Finish() }
}

func reportDelivery(a *app, results []deliver.Result, asJSON bool) error {
	waiting, parked, elsewhere, broken := 0, 0, 0, false
	for _, r := range results {
		elsewhere += r.Elsewhere + r.OwedElsewhere
		waiting += r.Waiting
		parked += r.Parked
		broken = broken || len(r.Errors) > 0
	}
	return a.result(asJSON, results, waiting == 0 && parked == 0 && !broken, func() {
		for _, r := range results {
			a.printf("%-9s %s\n", r.Destination, r.Text())
			for _, e := range r.Errors {
				a.printf("%-9s   %s\n", "", termtext.Value(deliver.WithoutName(e, r.Destination)))
			}
		}
		if elsewhere > 0 {
			a.hint("hooks deliver them where they were recorded; --other-settings delivers them now, with the current settings")
		}
		if waiting > 0 {
			a.hint("what waits is kept, and later hooks try again; fix the cause, then run 'hookspan flush' to send it now")
		}
		if parked > 0 {
			a.hint("fix the cause, then run 'hookspan flush': rejected traces are not sent again before")
		}
	})
}
