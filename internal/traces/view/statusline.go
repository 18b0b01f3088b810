package view

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/traces/store"
)

// StatusInput is what Claude Code gives the command of its status line. Figures are nil if it
// does not report them.
type StatusInput struct {
	Session string `json:"session_id"`
	Cost    struct {
		Total any `json:"total_cost_usd"`
	} `json:"cost"`
	Limits struct {
		FiveHour statusLimit `json:"five_hour"`
		SevenDay statusLimit `json:"seven_day"`
	} `json:"rate_limits"`
}

type statusLimit struct {
	Used   any `json:"used_percentage"`
	Resets any `json:"resets_at"` // in seconds since 1970
}

// weekTime is how long the longer window of a subscription's limits is.
const weekTime = 7 * 24 * time.Hour

// Reported are the limits that the agent reports.
func (in *StatusInput) Reported(now time.Time) (all []hook.Limit) {
	for i, l := range [...]statusLimit{in.Limits.FiveHour, in.Limits.SevenDay} {
		used, known := l.Used.(float64)
		resets, _ := l.Resets.(float64)
		window := [...]time.Duration{BlockTime, weekTime}[i]
		if limit, ok := hook.NewLimit(now, window, used, resets); known && ok {
			all = append(all, limit)
		}
	}
	return all
}

// Spent is what the store has for a status line.
type Spent struct {
	// Known reports that the store could be read.
	Known bool
	// Session are the tasks of the input's session, Recent those of the agent since
	// statusPast, the newest first.
	Session, Recent []store.Summary
	// Blocks are sums ByBlock over the tasks since BlocksFrom.
	Blocks Sums
	// Budget is what is used of the user's fullest budget, empty for none.
	Budget []string
}

// statusPast is how far back windows are counted at most.
const statusPast = 48 * time.Hour

// SpentOf reads what a status line says of an agent's tasks and one of its sessions.
func SpentOf(ctx context.Context, s *store.Store, host, session string, now time.Time) (spent Spent, err error) {
	f := store.Filter{Host: host, Since: now.Add(-statusPast), Limit: -1}
	if spent.Recent, err = s.List(ctx, f); err != nil {
		return spent, err
	}
	if session != "" {
		if spent.Session, err = s.List(ctx, store.Filter{Host: host, Session: session, Whole: true, Limit: -1}); err != nil {
			return spent, err
		}
	}
	f.Since = BlocksFrom(spent.Recent, now)
	spent.Blocks.By = ByBlock
	err = s.EachRequest(ctx, f, func(w *store.Work) error { spent.Blocks.Add(w); return nil })
	spent.Known = err == nil
	return spent, err
}

// BlocksFrom is the start of the first task since which no window's time passed without one:
// the windows since then do not depend on what was before.
func BlocksFrom(recent []store.Summary, now time.Time) time.Time {
	from := now
	for _, s := range slices.SortedFunc(slices.Values(recent), func(x, y store.Summary) int { return y.Ended.Compare(x.Ended) }) {
		if from.Sub(s.Ended) > BlockTime {
			break
		}
		if s.Started.Before(from) {
			from = s.Started
		}
	}
	return from
}

// StatusLine returns the costs of the task, of today and of the window, without those that
// are not known. The store has what has ended; what the agent reports for its session beyond
// that is the task that runs.
func StatusLine(in *StatusInput, s *Spent, now time.Time) (parts []string) {
	add := func(name string, u *store.Usage) {
		if u != nil && u.CostUSD != nil {
			text, _ := cost(u, true)
			parts = append(parts, name+" "+text)
		}
	}
	var session, today, runs, task *store.Usage
	for i := range s.Session {
		session = session.Add(s.Session[i].Usage)
		task = cmp.Or(task, s.Session[i].Usage)
	}
	// The agent's prices may differ a little from those of the store.
	if t, ok := in.Cost.Total.(float64); ok && t >= 0 && (session == nil || t-session.Cost() > max(0.01, session.Cost()/100)) {
		runs = &store.Usage{CostUSD: new(t - session.Cost())}
	}
	add("task", cmp.Or(runs, task))
	if s.Known {
		begun := false
		for i := range s.Recent {
			if r := &s.Recent[i]; r.Started.In(now.Location()).Format(time.DateOnly) == now.Format(time.DateOnly) {
				today, begun = today.Add(r.Usage), true
			}
		}
		if today = today.Add(runs); today == nil && !begun {
			today = &store.Usage{CostUSD: new(0.0)}
		}
		add("today", today)
	}
	return append(append(parts, window(in, s, runs, now)...), s.Budget...)
}

// window says what the window of five hours cost, what is used of it and of that of seven days, and
// what is left of them.
func window(in *StatusInput, s *Spent, runs *store.Usage, now time.Time) []string {
	text, until := "5h", time.Time{}
	if groups := s.Blocks.Groups(); len(groups) > 0 && groups[len(groups)-1].Until.After(now) {
		last := groups[len(groups)-1]
		until = last.Until
		if spent := last.Usage.Add(runs); spent.CostUSD != nil {
			price, _ := cost(spent, true)
			text += " " + price
		}
	}
	return append(windowPart(text, until, in.Limits.FiveHour, BlockTime, now), windowPart("7d", time.Time{}, in.Limits.SevenDay, weekTime, now)...)
}

// windowPart says what is used and left of a window, nothing if only its name is known.
func windowPart(text string, until time.Time, l statusLimit, window time.Duration, now time.Time) []string {
	if used, ok := l.Used.(float64); ok && used >= 0 && used < 1000 {
		text += fmt.Sprintf(" %.0f %%", used)
		if at, ok := l.Resets.(float64); ok {
			until = time.Unix(int64(max(0, min(at, 1e11))), 0)
		}
	}
	if len(text) == 2 {
		return nil
	}
	if left := until.Sub(now); left > 0 && left <= window {
		text += ", " + duration(left) + " left"
	}
	return []string{text}
}
