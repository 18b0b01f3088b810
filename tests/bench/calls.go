package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// hookCalls measures what a hook call costs, as the agent that waits for it sees
// it: from the start of the process until its output is closed and it has ended.
func hookCalls(ctx context.Context, f *field, o options) (r report, err error) {
	if err := f.callHooks(ctx, o.most); err != nil {
		return r, err
	}
	f.contestants = slices.DeleteFunc(f.contestants, func(c *contestant) bool {
		return c != f.noop && !strings.Contains(c.name, o.only)
	})
	if err := f.takeTurns(ctx, o.rounds); err != nil {
		return r, err
	}
	if err := f.checkHooks(); err != nil {
		return r, err
	}
	for _, crowd := range crowds {
		if err := f.atOnce(crowd, max(3, o.rounds/crowd)); err != nil {
			return r, err
		}
	}
	how, err := f.cold()
	if err != nil {
		return r, err
	}
	if err := f.memory(ctx); err != nil {
		return r, err
	}
	large, err := f.largePayload(ctx)
	if err != nil {
		return r, err
	}
	hook, err := os.Stat(f.program("cline-hook"))
	if err != nil {
		return r, err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d calls with an event of 4 KB each\n\n%s\n", o.rounds, table(f.contestants))
	fmt.Fprintf(&b, "Cold cache: %s.\n\n", how)
	fmt.Fprintf(&b, "A payload of 100 MB: %s and %.1f MiB at most. The program: %.2f MB.\n\n",
		large.took.Round(time.Millisecond), float64(large.peak)/1024, float64(hook.Size())/1e6)
	for _, line := range hooksCost(f.contestants) {
		fmt.Fprintf(&b, "- hooks: %s\n", line)
	}
	return report{b.String(), budgets(f.contestants, large, hook.Size()), hookLines(f.contestants)}, nil
}
