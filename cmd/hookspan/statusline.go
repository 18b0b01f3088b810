package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hookspan/hookspan/hook/claude"
	"github.com/hookspan/hookspan/internal/traces/view"
)

// statusTime is how long the input, the store and another status line may take, each.
const statusTime = 2 * time.Second

func statuslineCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "statusline", Short: "Print what this task, today and the five hours cost, for Claude Code's status line",
		Long: `Read what Claude Code gives the command of its status line and print one line: the cost
of this task, of today, and of the window of five hours with the time left, and the share
of the limit where Claude Code reports one. The costs are of Claude Code's tasks in the
local store. hookspan never installs it: put it into ~/.claude/settings.json,

  "statusLine": {"type": "command", "command": "hookspan statusline"}

or, to keep another status line in front, hookspan statusline --after 'OTHER COMMAND'.
The exit code is always 0.`,
	}
	after := cmd.Flags().String("after", "", "print the first line of this `COMMAND`, which gets the same input, in front")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		// There is no place for failures in the line.
		note := func(err error) {
			if err != nil {
				a.log.Line("status line: " + err.Error())
			}
		}
		raw, err := inTime(func() ([]byte, error) { return io.ReadAll(io.LimitReader(a.stdin, 1<<20)) })
		note(err)
		other, err := otherLine(cmd.Context(), *after, raw)
		note(err)
		var in view.StatusInput
		note(json.Unmarshal(raw, &in)) // what can be read is
		spent, err := inTime(func() (view.Spent, error) { return spentOf(cmd.Context(), a, in.Session) })
		note(err)
		parts := append([]string{other}, view.StatusLine(&in, &spent, a.now())...)
		parts = slices.DeleteFunc(parts, func(p string) bool { return p == "" })
		_, _ = io.WriteString(a.stdout, strings.Join(parts, " · ")+"\n")
		return nil
	}
	return cmd
}

// inTime returns what f returns, or an error after statusTime. f then keeps running until
// the process ends: reading an endless input and waiting for a locked store cannot be
// stopped.
func inTime[T any](f func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		var r result
		defer func() {
			if e := recover(); e != nil {
				r.err = fmt.Errorf("internal error: %v", e)
			}
			done <- r
		}()
		r.value, r.err = f()
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-time.After(statusTime):
		var none T
		return none, fmt.Errorf("not done after %s", statusTime)
	}
}

// otherLine is the first line that another command prints, with its colours: it is the
// command that the user had.
func otherLine(ctx context.Context, command string, input []byte) (string, error) {
	if command == "" {
		return "", nil
	}
	ctx, cancel := context.WithTimeout(ctx, statusTime)
	defer cancel()
	other := exec.CommandContext(ctx, "sh", "-c", command) //nolint:gosec // The user's own command.
	var out begins
	other.Stdin, other.Stdout, other.WaitDelay = bytes.NewReader(input), &out, statusTime
	endAll(other)
	err := other.Run()
	first, _, _ := strings.Cut(strings.TrimSpace(out.String()), "\n")
	return strings.TrimRight(first, "\r"), err
}

// begins keeps the beginning of what another command prints, and refuses the rest.
type begins struct{ strings.Builder }

func (b *begins) Write(p []byte) (int, error) {
	if b.Len() > 1<<16 {
		return 0, io.ErrShortWrite
	}
	return b.Builder.Write(p)
}

// spentOf reads the store as it is, if it is there: nothing is delivered to it first.
func spentOf(ctx context.Context, a *app, session string) (spent view.Spent, err error) {
	if _, err := os.Stat(a.cfg.StorePath()); errors.Is(err, fs.ErrNotExist) {
		return spent, nil // nothing was stored yet
	}
	s, done, err := a.setup().LocalStore(ctx)
	if err != nil {
		return spent, err
	}
	defer func() { _ = done() }()
	return view.SpentOf(ctx, s, claude.Host, session, a.now())
}
