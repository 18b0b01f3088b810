package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hookspan/hookspan/hook/claude"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/internal/traces/view"
)

// statusInput is what Claude Code gives the command of its status line.
type statusInput struct {
	Session string `json:"session_id"`
	Cost    struct {
		Total float64 `json:"total_cost_usd"`
	} `json:"cost"`
	Limits struct {
		FiveHour struct {
			Used   *float64 `json:"used_percentage"`
			Resets int64    `json:"resets_at"`
		} `json:"five_hour"`
	} `json:"rate_limits"`
}

// statusTime is how long another status line may take, statusPast how far back windows are
// counted.
const (
	statusTime = 2 * time.Second
	statusPast = 48 * time.Hour
)

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
		raw, err := io.ReadAll(io.LimitReader(a.stdin, 1<<20))
		parts := []string{otherLine(cmd.Context(), *after, raw)}
		var in statusInput
		if err == nil {
			err = json.Unmarshal(raw, &in)
		}
		if err == nil {
			err = a.withStore(cmd.Context(), func(ctx context.Context, s *store.Store) error {
				costs, err := statusCosts(ctx, s, &in, a.now())
				parts = append(parts, costs...)
				return err
			})
		}
		if err != nil {
			a.log.Line("status line: " + err.Error()) // there is no place for it in the line
		}
		parts = slices.DeleteFunc(parts, func(p string) bool { return p == "" })
		_, _ = io.WriteString(a.stdout, strings.Join(parts, " · ")+"\n")
		return nil
	}
	return cmd
}

// otherLine is the first line that another command prints, with its colours: it is the
// command that the user had.
func otherLine(ctx context.Context, command string, input []byte) string {
	if command == "" {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, statusTime)
	defer cancel()
	other := exec.CommandContext(ctx, "sh", "-c", command) //nolint:gosec // The user's own command.
	other.Stdin, other.WaitDelay = bytes.NewReader(input), statusTime
	out, _ := other.Output()
	first, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	return first
}

// statusCosts are the costs of the task, of today and of the window. The store has what has
// ended; what the agent reports for the session beyond that is the task that runs.
func statusCosts(ctx context.Context, s *store.Store, in *statusInput, now time.Time) ([]string, error) {
	blocks := view.Sums{By: view.ByBlock}
	var task, session, today float64
	err := s.EachWork(ctx, store.Filter{Host: claude.Host, Since: now.Add(-statusPast)}, nil, func(w *store.Work) error {
		cost := w.Summary.Usage.Cost()
		if w.Summary.Session == in.Session {
			if session += cost; session == cost {
				task = cost // the newest is first
			}
		}
		if w.Summary.Started.In(now.Location()).Format(time.DateOnly) == now.Format(time.DateOnly) {
			today += cost
		}
		blocks.Add(w)
		return nil
	})
	runs := max(0, in.Cost.Total-session)
	if runs > 0 {
		task = runs
	}
	window, until := "", time.Unix(in.Limits.FiveHour.Resets, 0)
	if groups := blocks.Groups(); len(groups) > 0 && groups[len(groups)-1].Until.After(now) {
		last := groups[len(groups)-1]
		window, until = " "+view.Dollars(last.Usage.Cost()+runs), last.Until
	}
	if used := in.Limits.FiveHour.Used; used != nil {
		window, until = window+fmt.Sprintf(" %.0f %%", *used), time.Unix(in.Limits.FiveHour.Resets, 0)
	}
	if window != "" && until.After(now) {
		window += ", " + view.Duration(until.Sub(now)) + " left"
	}
	out := []string{"task " + view.Dollars(task), "today " + view.Dollars(today+runs), "5h" + window}
	if window == "" {
		out = out[:2]
	}
	return out, err
}
