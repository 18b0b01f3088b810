package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/deliver"
	"github.com/hookspan/hookspan/internal/pipeline"
	"github.com/hookspan/hookspan/internal/record"
	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/internal/traces/view"
)

func runCmd(a *app) *cobra.Command {
	var wait time.Duration
	var quiet bool
	cmd := &cobra.Command{
		Use:   "run [--wait 30s] [--quiet] -- COMMAND ARG...",
		Short: "Run a command, then wait until its agents' tasks are delivered",
		Long: `Run a command with the same input, output and signals, and end with its exit code. When
it has ended, the sessions of the agents that it started are delivered, for as long as
--wait allows, and one line on standard error says what they cost. A failed delivery
does not change the exit code. It is for jobs of a CI, whose machine is gone afterwards.`,
		Example: "  hookspan run -- claude -p 'fix the failing test'\n  hookspan run --wait 2m --quiet -- make agent-review",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 || wait < 0 {
				return wrongUsage(cmd, "run: want a command behind --, and --wait 0s or longer")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return runCommand(cmd.Context(), a, args, wait, quiet) },
	}
	cmd.Flags().SetInterspersed(false)
	cmd.Flags().DurationVar(&wait, "wait", 30*time.Second, "how long to wait for the delivery")
	cmd.Flags().BoolVar(&quiet, "quiet", false, "print nothing about the tasks and their delivery")
	return cmd
}

// runCommand never returns another error than that of the command's start, or its exit code.
func runCommand(ctx context.Context, a *app, args []string, wait time.Duration, quiet bool) error {
	outer, environ := record.Variable(a.environ, record.RunVariable)
	dir, _ := os.Getwd()
	run := pipeline.CommandRun{ID: hook.RunWithin(outer, newID()), Began: a.now(), Dir: dir}
	cmd := exec.Command(args[0], args[1:]...) //nolint:gosec,noctx // The user's command, which ends by itself.
	cmd.Stdin, cmd.Stdout, cmd.Stderr = a.stdin, a.stdout.Writer, a.stderr
	cmd.Env = append(environ, record.RunVariable+"="+run.ID)
	end, err := a.setup().StartRun(ctx, run.ID)
	if err != nil {
		a.log.Line("run: " + err.Error())
	} else {
		defer end()
	}
	code, err := waitFor(cmd)
	if err != nil {
		a.warnf("run: %v", err)
		return exitError(code)
	}
	// A reader of the output that is gone must not end this process instead.
	signal.Ignore(syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.WithoutCancel(ctx), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	text := "not waited for: hookspan flush delivers what waits"
	if wait > 0 {
		err = deliver.Promptly(ctx, endGrace, func() (err error) {
			text, err = a.deliverRun(ctx, run)
			return err
		})
		if err != nil {
			text = fmt.Sprintf("not all is delivered: %v; hookspan flush sends the rest", err)
			a.log.Line("run: " + text)
		}
	}
	if !quiet {
		a.warnf("run: %s", text)
	}
	if code != 0 {
		return exitError(code)
	}
	return nil
}

func newID() string {
	b := make([]byte, 8)
	_, _ = rand.Read(b)
	return hex.EncodeToString(b)
}

// waitFor runs a command, passes signals on to it and returns its exit code, as a shell does: 127 and
// 126 with an error if it could not be started, and 128 and more after a signal.
func waitFor(cmd *exec.Cmd) (code int, err error) {
	signals := make(chan os.Signal, 8)
	// A signal that is ignored, as by nohup, stays so for the command.
	for _, s := range slices.DeleteFunc(slices.Clone(passedOn), signal.Ignored) {
		signal.Notify(signals, s)
	}
	defer signal.Stop(signals)
	if err := cmd.Start(); err != nil {
		if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
			return 127, err
		}
		return 126, err
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(ended)
	}()
	for {
		select {
		case s := <-signals:
			if !fromTerminal(s) {
				_ = cmd.Process.Signal(s)
			}
		case <-ended:
			return exitCodeOf(cmd.ProcessState), nil
		}
	}
}

// deliverRun delivers what the command's agents did and returns what to say of it.
func (a *app) deliverRun(ctx context.Context, run pipeline.CommandRun) (string, error) {
	a.byHand = true
	p, err := a.setup().Open(ctx)
	if err != nil {
		return "", err
	}
	defer func() { _ = p.Close() }()
	done, err := p.DeliverRun(ctx, run)
	if err != nil {
		return "", err
	}
	var sum store.Totals
	for i := range done.Tasks {
		sum.Add(&done.Tasks[i])
	}
	parts := []string{termtext.Plural(sum.Traces, "task")}
	switch {
	case p.Store == nil:
		parts = []string{"what it cost is not known without the local store"}
	case sum.Traces == 0 && done.Results == nil:
		parts = []string{"no task was recorded: hookspan doctor says why"}
	}
	parts = append(parts, view.Counts(&store.Summary{Usage: sum.Usage, Tools: sum.Calls, ToolFailures: sum.Failures, ToolDenials: sum.Denials})...)
	for _, r := range done.Results {
		if r.Waiting+r.Parked+r.Busy+r.Elsewhere > 0 || len(r.Errors) > 0 {
			parts = append(parts, fmt.Sprintf("not delivered to %s: %s", r.Destination, strings.Join(append([]string{r.Text()}, r.Errors...), ": ")))
			continue
		}
		parts = append(parts, "delivered to "+r.Destination)
	}
	for _, first := range done.Others {
		parts = append(parts, fmt.Sprintf("not waited for %s session %s, begun by a program that is not of the command", first.Host, first.Session))
	}
	return strings.Join(parts, " · "), nil
}
