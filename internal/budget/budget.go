// Package budget compares what agents used with what their user wants to use at most, and keeps which messages about
// that are sent. See FORMAT.md.
//
// It promises that its sums are those of hookspan stats --by day and --by week: a task counts when it has ended, on the
// day and in the week in which it began. Costs are list prices, not a bill. It stops no agent.
package budget

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hookspan/hookspan/config"
	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/termtext"
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
		f := &out[i]
		share := 100*f.Used/f.Limit + 1e-9 // A sum of cents may be a little less than they are.
		if share >= warn {
			f.Level = "warn"
		}
		if share >= 100 {
			f.Level = "reached"
		}
		f.Text += fmt.Sprintf(" (%d %%)", int(share))
		if len(f.Unpriced) > 0 {
			f.Text += ", no price for " + termtext.Line(strings.Join(f.Unpriced, ", "))
		}
	}
	slices.SortFunc(out, func(x, y Figure) int {
		return cmp.Or(cmp.Compare(y.Used/y.Limit, x.Used/x.Limit), cmp.Compare(x.Text, y.Text))
	})
	return out, err
}

// plans are the figures of the newest windows of plans.
func plans(said map[string][]hook.Limit, most float64, zone *time.Location) (out []Figure) {
	newest := make(map[string]hook.Limit)
	for agent, all := range said {
		for _, l := range all {
			name := agent + " " + strings.NewReplacer("168h0m0s", "7d", "h0m0s", "h").Replace(l.Window.Round(time.Hour).String())
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

// Sent has the figures of periods in which the budgets were looked at, each with its highest level so far.
type Sent struct {
	Version int      `json:"v"`
	Figures []Figure `json:"figures"`
}

// keep is how long a figure is kept after its period. Agents compute the end of a plan's window, with a jitter.
const keep, jitter = 40 * 24 * time.Hour, time.Minute

// Note adds what is used. A level never falls, as a sum does by a correction. What had ended before it was looked at is
// left out.
func (s *Sent) Note(used []Figure, now time.Time) {
	s.Figures = slices.DeleteFunc(s.Figures, func(f Figure) bool { return now.Sub(f.Until) > keep })
	for _, u := range used {
		i := slices.IndexFunc(s.Figures, func(f Figure) bool { return f.of(u) && f.Plan == u.Plan && f.Until.Sub(u.Until).Abs() <= jitter })
		u.ID = rand.Text()
		switch {
		case i < 0 && u.Until.After(now):
			s.Figures = append(s.Figures, u)
		case i >= 0 && rank(u.Level) > rank(s.Figures[i].Level):
			u.Sent, s.Figures[i] = s.Figures[i].Sent, u
		}
	}
}

// Due returns the figures whose message is to be sent, of the budgets that are used.
func (s *Sent) Due(used []Figure) (due []*Figure) {
	for i := range s.Figures {
		if f := &s.Figures[i]; rank(f.Level) > rank(f.Sent) && slices.ContainsFunc(used, f.of) {
			due = append(due, f)
		}
	}
	return due
}

func (f *Figure) of(g Figure) bool { return f.Budget == g.Budget && f.Limit == g.Limit }

func rank(level string) int { return slices.Index([]string{"", "warn", "reached"}, level) }
