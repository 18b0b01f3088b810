// Package budget compares what agents used with what their user wants to use at most, and keeps which messages about
// that are sent. See FORMAT.md.
//
// It promises that its sums are those of hookspan stats --by day and --by week: a task counts when it has ended, on the
// day and in the week in which it began. Costs are list prices, not a bill. It stops no agent.
package budget

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hookspan/hookspan/config"
	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/internal/traces/view"
)

// Figure is what was used of a budget in a period. Its JSON is stable: members may be added.
type Figure struct {
	// ID is that of a message: one that comes twice has the same.
	ID string `json:"id,omitempty"`
	// Budget is day_usd, week_usd, day_tokens, week_tokens, or plan_percent of a Plan, such as "codex 5h".
	Budget string `json:"budget"`
	Plan   string `json:"plan,omitempty"`
	// Level is warn, reached, or empty. Sent is that of the last message that was taken.
	Level string  `json:"level"`
	Sent  string  `json:"sent,omitempty"`
	Used  float64 `json:"used"`
	Limit float64 `json:"limit"`
	// From and Until are the bounds of the period.
	From  time.Time `json:"from"`
	Until time.Time `json:"until"`
	// Unpriced are the models whose cost is not known: Used lacks it.
	Unpriced []string `json:"unpriced_models,omitempty"`
	// Text is the figure for people.
	Text string `json:"text"`
}

// Look returns the figures, the fullest first, of the periods that last and of the ones before: a task that ends later
// counts where it began. limits is what agents said of their plans. Without budgets nothing is read.
func Look(ctx context.Context, s *store.Store, cfg *config.Config, limits view.Limits, now time.Time) (out []Figure, err error) {
	most, warn := cfg.Budgets()
	for name, limit := range most {
		if name == "plan_percent" {
			out = append(out, plans(limits(), limit, now.Location())...)
			continue
		}
		day, days := store.Date(now), 1
		period, unit, _ := strings.Cut(name, "_")
		if period == "week" {
			day, days = day.AddDate(0, 0, -int(day.Weekday()+6)%7), 7
		}
		for range 2 {
			f := Figure{Budget: name, Limit: limit, From: store.FirstInstant(day, now.Location()), Until: store.FirstInstant(day.AddDate(0, 0, days), now.Location())}
			sum, failed := s.Totals(ctx, store.Filter{Since: f.From, Until: f.Until})
			f.Used, f.Unpriced = sum.Usage.Cost(), sum.Unpriced
			f.Text = fmt.Sprintf("%s $%.2f of $%.2f", period, f.Used, limit)
			if unit == "tokens" {
				f.Used, f.Unpriced = float64(sum.Usage.Tokens()), nil
				f.Text = fmt.Sprintf("%s %s of %s tokens", period, view.Tokens(sum.Usage.Tokens()), view.Tokens(int64(limit)))
			}
			out, err, day = append(out, f), errors.Join(err, failed), day.AddDate(0, 0, -days)
		}
	}
	for i := range out {
		out[i].judge(warn)
	}
	slices.SortFunc(out, func(x, y Figure) int {
		return cmp.Or(cmp.Compare(y.Used/y.Limit, x.Used/x.Limit), cmp.Compare(x.Text, y.Text))
	})
	return out, err
}

// judge sets the level and completes the text.
func (f *Figure) judge(warn float64) {
	share := 100*f.Used/f.Limit + 1e-9 // A sum of cents may be a little less than they are.
	switch {
	case share >= 100:
		f.Level = "reached"
	case share >= warn:
		f.Level = "warn"
	}
	f.Text += fmt.Sprintf(" (%d %%)", int(share))
	if len(f.Unpriced) > 0 {
		f.Text += ", no price for " + strings.Join(f.Unpriced, ", ")
	}
}

// plans are the figures of the newest windows of plans.
func plans(said map[string][]hook.Limit, most float64, zone *time.Location) (out []Figure) {
	newest := make(map[string]hook.Limit)
	for agent, all := range said {
		for _, l := range all {
			hours := int(l.Window.Round(time.Hour).Hours())
			name := fmt.Sprintf("%s %dh", agent, hours)
			if hours%24 == 0 {
				name = fmt.Sprintf("%s %dd", agent, hours/24)
			}
			if l.Newer(newest[name]) {
				newest[name] = l
			}
		}
	}
	for name, l := range newest {
		text := fmt.Sprintf("%s %.0f %% of %.0f %%", name, l.Used, most)
		out = append(out, Figure{Budget: "plan_percent", Plan: name, Used: l.Used, Limit: most, From: l.Resets.Add(-l.Window).In(zone), Until: l.Resets.In(zone), Text: text})
	}
	return out
}
