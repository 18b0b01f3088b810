package export

import (
	"cmp"
	"slices"
	"time"

	"github.com/hookspan/hookspan/internal/store"
	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/internal/view"
)

// titleOf names a trace on one line.
func titleOf(s *store.Summary) string { return cmp.Or(termtext.Line(s.Title), "untitled") }

// headOf describes a trace: how it ended, when, by which model, and its totals.
func headOf(s *store.Summary, zone *time.Location) []string {
	var started, runs string
	if !s.Started.IsZero() {
		started = s.Started.In(zone).Format("2006-01-02 15:04:05 MST")
	}
	if s.Runs > 1 {
		runs = termtext.Plural(s.Runs, "run")
	}
	return slices.DeleteFunc(append([]string{
		cmp.Or(termtext.Line(s.Outcome), "no root span"), view.Duration(s.Duration()), started,
		termtext.Line(s.Model), termtext.Line(s.Host), runs,
	}, view.Counts(s)...), func(s string) bool { return s == "" })
}

// totalOf adds summaries up.
func totalOf(all []store.Summary) []string {
	var sum store.Summary
	var took time.Duration
	unpriced := 0
	for i := range all {
		s := &all[i]
		took += s.Duration()
		sum.Tools += s.Tools
		sum.ToolFailures += s.ToolFailures
		sum.ToolDenials += s.ToolDenials
		sum.ToolsUnknown += s.ToolsUnknown
		if s.Usage == nil {
			continue
		}
		if sum.Usage == nil {
			sum.Usage = new(store.Usage)
		}
		u := sum.Usage
		u.Input += s.Usage.Input
		u.Output += s.Usage.Output
		u.CacheRead += s.Usage.CacheRead
		u.CacheWrite += s.Usage.CacheWrite
		switch {
		case s.Usage.CostUSD == nil:
			unpriced++
		case u.CostUSD == nil:
			u.CostUSD = new(*s.Usage.CostUSD)
		default:
			*u.CostUSD += *s.Usage.CostUSD
		}
	}
	out := append([]string{termtext.Plural(len(all), "trace"), view.Duration(took)}, view.Counts(&sum)...)
	if unpriced > 0 {
		out = append(out, termtext.Plural(unpriced, "trace")+" without a price")
	}
	return out
}

// offset formats how long after the trace's start a row began.
func offset(r *view.Row, start time.Time) string {
	if r.Start.IsZero() || start.IsZero() {
		return ""
	}
	d := view.Duration(r.Start.Sub(start))
	if !r.Start.Before(start) {
		d = "+" + d
	}
	return d
}

// withoutText returns the parts but those whose text is shown elsewhere.
func withoutText(parts []view.Part, text string) []view.Part {
	return slices.DeleteFunc(parts, func(p view.Part) bool { return p.Text == text })
}
