package main

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/statusline"
	"github.com/hookspan/hookspan/internal/traces/view"
)

func statuslineCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "statusline", Short: "Print what this task, today and the five hours cost, for Claude Code's status line",
		Long: `Read what Claude Code gives the command of its status line and print one line: the cost
of this task, of today, and of the window of five hours with the time left, and the shares
of the plan's five hours and seven days where Claude Code reports them, which are kept for
hookspan stats --by block, and the fullest of your budgets. The costs are of Claude Code's
tasks in the local store, budgets are for all agents. hookspan never installs it: put it into ~/.claude/settings.json,

  "statusLine": {"type": "command", "command": "hookspan statusline"}

or, to keep another status line in front, hookspan statusline --after 'OTHER COMMAND'.
The exit code is always 0.`,
	}
	after := cmd.Flags().String("after", "", "print the first line of this `COMMAND`, which gets the same input, in front")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		note := func(err error) {
			if err != nil {
				a.log.Line("status line: " + err.Error())
			}
		}
		spent := func(session string) (view.Spent, error) { return spentOf(cmd.Context(), a, session) }
		keep := func(all []hook.Limit) {
			if len(all) > 0 && !a.cfg.Off() {
				a.noteLimits(hook.HostClaude, all)
			}
		}
		_, _ = io.WriteString(a.stdout, statusline.Line(cmd.Context(), a.stdin, *after, spent, keep, a.now(), note)+"\n")
		return nil
	}
	return cmd
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
	spent, err = view.SpentOf(ctx, s, hook.HostClaude, session, a.now())
	used, failed := a.setup().Budgets(ctx)
	for _, f := range used[:min(1, len(used))] {
		spent.Budget = []string{"budget " + f.Text}
	}
	return spent, cmp.Or(err, failed)
}
