package budget

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/config"
	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/otlp"
	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/internal/testkit/daytest"
	"github.com/hookspan/hookspan/internal/testkit/ramdir"
	"github.com/hookspan/hookspan/internal/testkit/tracetest"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/internal/traces/view"
	"github.com/hookspan/hookspan/otelmap"
)

func open(t *testing.T) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), filepath.Join(ramdir.New(t), "traces.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// task stores a task of one request: name identifies it, and usage replaces what it had.
func task(t *testing.T, s *store.Store, name string, begins time.Time, model string, usage ...*commonpb.KeyValue) {
	t.Helper()
	b, from := tracetest.New(name), begins.Sub(tracetest.T0)
	root := b.Add(-1, "invoke_agent cline", from, from+time.Hour, otlp.String(otelmap.KeyOperation, otelmap.OpInvokeAgent), otlp.String(otelmap.KeyOutcome, otelmap.OutcomeCompleted), otlp.String(otelmap.KeyHost, "cline"))
	b.Add(root, "chat", from, from+time.Minute, append(usage, otlp.String(otelmap.KeyOperation, otelmap.OpChat), otlp.String(otelmap.KeyRequestModel, model))...)
	if err := s.UploadTraces(t.Context(), b.Messages()); err != nil {
		t.Fatal(err)
	}
}

func look(t *testing.T, s *store.Store, b string, limits view.Limits, now time.Time) []Figure {
	t.Helper()
	cfg, err := config.Load(config.Input{Home: "/home/u", GOOS: "linux", ReadFile: func(string) ([]byte, error) { return []byte(b), nil }})
	if err != nil {
		t.Fatal(err)
	}
	all, err := Look(t.Context(), s, cfg, limits, now)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// texts are the levels and texts of the figures of the periods that last, in the order of their names.
func texts(all []Figure, now time.Time) (out []string) {
	for _, f := range all {
		if f.Until.After(now) {
			out = append(out, strings.TrimSpace(f.Level+" "+f.Text))
		}
	}
	slices.Sort(out)
	return out
}

func TestFiguresOfPeriods(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	at := func(text string) time.Time {
		when, err := time.ParseInLocation("2006-01-02 15:04", text, berlin)
		if err != nil {
			t.Fatal(err)
		}
		return when
	}
	usd := func(cost float64) []*commonpb.KeyValue { return tracetest.Usage(900, 100, 0, cost) }
	const dear = "HOOKSPAN_BUDGET_DAY_USD=5\n"
	const all = dear + "HOOKSPAN_BUDGET_WEEK_USD=20\nHOOKSPAN_BUDGET_DAY_TOKENS=2000\nHOOKSPAN_BUDGET_WEEK_TOKENS=1000000"
	for name, tt := range map[string]struct {
		budgets string
		now     string
		store   func(s *store.Store)
		want    []string
	}{
		"nothing": {all, "2026-03-04 12:00", func(*store.Store) {}, []string{"day $0.00 of $5.00 (0 %)", "day 0 of 2.0k tokens (0 %)", "week $0.00 of $20.00 (0 %)", "week 0 of 1.0M tokens (0 %)"}},
		"a day's and a week's": {all, "2026-03-04 12:00", func(s *store.Store) {
			task(t, s, "a", at("2026-03-04 00:00"), "m", usd(1.5)...)
			task(t, s, "b", at("2026-03-03 23:59"), "m", usd(16)...)
		}, []string{"day $1.50 of $5.00 (30 %)", "day 1.0k of 2.0k tokens (50 %)", "warn week $17.50 of $20.00 (87 %)", "week 2.0k of 1.0M tokens (0 %)"}},
		"the week begins on Monday": {all, "2026-03-08 23:59", func(s *store.Store) {
			task(t, s, "a", at("2026-03-02 00:00"), "m", usd(21)...)
			task(t, s, "b", at("2026-03-01 23:59"), "m", usd(100)...)
			task(t, s, "c", at("2026-03-09 00:00"), "m", usd(100)...) // by another clock
		}, []string{"day $0.00 of $5.00 (0 %)", "day 0 of 2.0k tokens (0 %)", "reached week $21.00 of $20.00 (105 %)", "week 1.0k of 1.0M tokens (0 %)"}},
		"cents that add up to the budget": {dear, "2026-03-04 12:00", func(s *store.Store) {
			for i := range 50 {
				task(t, s, fmt.Sprint(i), at("2026-03-04 09:00"), "m", usd(0.1)...)
			}
		}, []string{"reached day $5.00 of $5.00 (100 %)"}},
		"almost": {dear, "2026-03-04 12:00", func(s *store.Store) { task(t, s, "a", at("2026-03-04 09:00"), "m", usd(4.9999)...) }, []string{"warn day $5.00 of $5.00 (99 %)"}},
		"a correction to less": {dear, "2026-03-04 12:00", func(s *store.Store) {
			task(t, s, "a", at("2026-03-04 09:00"), "m", usd(9)...)
			task(t, s, "a", at("2026-03-04 09:00"), "m", usd(1)...)
		}, []string{"day $1.00 of $5.00 (20 %)"}},
		"a model without a price": {all, "2026-03-04 12:00", func(s *store.Store) {
			task(t, s, "a", at("2026-03-04 09:00"), "m", usd(4)...)
			task(t, s, "b", at("2026-03-04 09:00"), "new-9", usd(0)[:4]...)
		}, []string{"warn day $4.00 of $5.00 (80 %), no price for new-9", "reached day 2.0k of 2.0k tokens (100 %)", "week $4.00 of $20.00 (20 %), no price for new-9", "week 2.0k of 1.0M tokens (0 %)"}},
		"a model that is named by its agent's files": {dear, "2026-03-04 12:00", func(s *store.Store) {
			task(t, s, "a", at("2026-03-04 09:00"), "new\x1b]0;x\a\n9", usd(0)[:4]...)
		}, []string{"day $0.00 of $5.00 (0 %), no price for " + termtext.Line("new\x1b]0;x\a\n9")}},
		"an import counts by its own day": {dear, "2026-03-04 12:00", func(s *store.Store) { task(t, s, "a", at("2026-02-27 09:00"), "m", usd(100)...) }, []string{"day $0.00 of $5.00 (0 %)"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			tt.store(s)
			now := at(tt.now)
			slices.Sort(tt.want)
			if d := cmp.Diff(tt.want, texts(look(t, s, tt.budgets, nil, now), now)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			for _, f := range look(t, s, tt.budgets, nil, now) {
				day := strings.HasPrefix(f.Budget, "day")
				by := map[bool]store.By{true: store.ByDay, false: store.ByWeek}[day]
				groups, err := s.Group(t.Context(), store.Filter{}, by, berlin)
				var sum store.Group
				for _, g := range groups {
					if g.Key == f.From.Format(time.DateOnly) {
						sum = g
					}
				}
				if want := map[bool]float64{true: sum.Usage.Cost(), false: float64(sum.Usage.Tokens())}[strings.HasSuffix(f.Budget, "usd")]; err != nil || f.Used != want {
					t.Errorf("%s from %s: %v, %v, hookspan stats has %v", f.Budget, f.From, f.Used, err, want)
				}
			}
		})
	}
}

func TestPeriodsAreDaysAndWeeksOfTheCalendar(t *testing.T) {
	s := open(t)
	daytest.EachChange(t, func(t *testing.T, change time.Time) {
		for _, ago := range []time.Duration{-25 * time.Hour, -time.Minute, 0, time.Hour, 23 * time.Hour, 6 * 24 * time.Hour} {
			now := change.Add(ago)
			for _, f := range look(t, s, "HOOKSPAN_BUDGET_DAY_USD=1\nHOOKSPAN_BUDGET_WEEK_TOKENS=1", nil, now) {
				if f.From.Equal(f.Until) {
					continue // a day that was not
				}
				day := f.From.Format(time.DateOnly)
				from, until, err := view.Period(day, now)
				if f.Budget != "day_usd" {
					monday := daytest.Date(f.From)
					_, until, err = view.Period(monday.AddDate(0, 0, 6).Format(time.DateOnly), now)
					if monday.Weekday() != time.Monday {
						t.Errorf("a week begins on %s", monday)
					}
				}
				if err != nil || !f.From.Equal(from) || !f.Until.Equal(until) {
					t.Errorf("at %s %s is %s to %s, want %s to %s, %v", now, f.Budget, f.From, f.Until, from, until, err)
				}
			}
		}
	})
}

func TestPlansAreTheNewestWindows(t *testing.T) {
	now := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	said := func(window time.Duration, resets time.Duration, used float64) hook.Limit {
		l, ok := hook.NewLimit(now.Add(min(0, resets-time.Minute)), window, used, float64(now.Add(resets).Unix()))
		if !ok {
			t.Fatal("no limit")
		}
		return l
	}
	limits := func() map[string][]hook.Limit {
		return map[string][]hook.Limit{
			"claude-code": {said(5*time.Hour, -time.Hour, 99), said(5*time.Hour, time.Hour, 10), said(5*time.Hour, time.Hour, 71), said(7*24*time.Hour, 48*time.Hour, 90)},
			"codex":       {said(299*time.Minute, 2*time.Hour, 20), said(7*24*time.Hour, -time.Minute, 100)},
		}
	}
	s := open(t)
	got := texts(look(t, s, "HOOKSPAN_BUDGET_PLAN_PERCENT=90\nHOOKSPAN_BUDGET_WARN=75", limits, now), now)
	want := []string{"codex 5h 20 % of 90 % (22 %)", "reached claude-code 7d 90 % of 90 % (100 %)", "warn claude-code 5h 71 % of 90 % (78 %)"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if got := look(t, s, "HOOKSPAN_BUDGET_DAY_USD=1", limits, now); len(got) != 2 {
		t.Errorf("without a budget for plans: %v", got)
	}
}
