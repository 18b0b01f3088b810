package view_test

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/internal/traces/view"
)

func TestStatusLineLeavesOutWhatIsNotKnown(t *testing.T) {
	now := time.Date(2026, 11, 25, 18, 0, 0, 0, time.UTC)
	task := func(ago time.Duration, usd float64) store.Summary {
		s := store.Summary{Started: now.Add(-ago), Ended: now.Add(time.Minute - ago), Usage: &store.Usage{Input: 1}}
		if usd >= 0 {
			s.Usage.CostUSD = &usd
		}
		return s
	}
	for name, tt := range map[string]struct {
		input           string
		session, recent []store.Summary
		known           bool
		want            string
	}{
		"nothing":                            {`{}`, nil, nil, false, ""},
		"an empty store":                     {`{}`, nil, nil, true, "today $0.00"},
		"a task that runs":                   {`{"cost":{"total_cost_usd":1.5}}`, []store.Summary{task(time.Hour, 0.3), task(72*time.Hour, 0.7)}, []store.Summary{task(time.Hour, 0.3)}, true, "task $0.50 · today $0.80"},
		"a task that has just ended":         {`{"cost":{"total_cost_usd":1.001}}`, []store.Summary{task(time.Hour, 0.3), task(72*time.Hour, 0.7)}, []store.Summary{task(time.Hour, 0.3)}, true, "task $0.30 · today $0.30"},
		"a model without a price":            {`{}`, []store.Summary{task(time.Hour, -1)}, []store.Summary{task(time.Hour, -1)}, true, ""},
		"yesterday":                          {`{}`, nil, []store.Summary{task(20*time.Hour, 3)}, true, "today $0.00"},
		"less than a cent":                   {`{"cost":{"total_cost_usd":0.001}}`, nil, nil, true, "task <$0.01 · today <$0.01"},
		"a limit":                            {`{"rate_limits":{"five_hour":{"used_percentage":34.4,"resets_at":1795634100.5}}}`, nil, nil, false, "5h 34 %, 1h15m left"},
		"two limits":                         {`{"rate_limits":{"five_hour":{"used_percentage":34,"resets_at":1795634100},"seven_day":{"used_percentage":9,"resets_at":1795899600}}}`, nil, nil, false, "5h 34 %, 1h15m left · 7d 9 %, 3d03h left"},
		"seven days alone":                   {`{"rate_limits":{"seven_day":{"used_percentage":9,"resets_at":"soon"}}}`, nil, nil, false, "7d 9 %"},
		"a limit of seven days that is none": {`{"rate_limits":{"seven_day":{"used_percentage":-9,"resets_at":1795899600}}}`, nil, nil, false, ""},
		"a limit that is past":               {`{"rate_limits":{"five_hour":{"used_percentage":34.4,"resets_at":1}}}`, nil, nil, false, "5h 34 %"},
		"figures that cannot be":             {`{"cost":{"total_cost_usd":-1e300},"rate_limits":{"five_hour":{"used_percentage":3,"resets_at":1e300}}}`, nil, nil, false, "5h 3 %"},
		"figures of other types":             {`{"cost":{"total_cost_usd":"1"},"rate_limits":{"five_hour":{"used_percentage":"3"}}}`, nil, nil, true, "today $0.00"},
		"a window without the input's limit": {`{"rate_limits":{"five_hour":null}}`, nil, nil, true, "today $0.00"},
	} {
		var in view.StatusInput
		if err := json.Unmarshal([]byte(tt.input), &in); err != nil {
			t.Fatal(err)
		}
		spent := view.Spent{Known: tt.known, Session: tt.session, Recent: tt.recent, Blocks: view.Sums{By: view.ByBlock}}
		if got := strings.Join(view.StatusLine(&in, &spent, now), " · "); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

// TestBlocksFromChangesNoWindow compares the last window of all tasks with that of those
// since BlocksFrom.
func TestBlocksFromChangesNoWindow(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // not for secrets
	now := time.Date(2026, 11, 25, 18, 0, 0, 0, time.UTC)
	left := 0
	for range 300 {
		var works []*store.Work
		var sums []store.Summary
		for range 1 + r.IntN(8) {
			start := now.Add(-time.Duration(r.IntN(48*60)) * time.Minute)
			s := store.Summary{Started: start, Ended: start.Add(time.Duration(r.IntN(180)) * time.Minute)}
			w := &store.Work{Summary: s}
			for at := start; !at.After(s.Ended); at = at.Add(time.Duration(1+r.IntN(90)) * time.Minute) {
				w.Requests = append(w.Requests, store.Request{Started: at, Usage: &store.Usage{Input: int64(r.IntN(100))}})
			}
			works, sums = append(works, w), append(sums, s)
		}
		from := view.BlocksFrom(sums, now)
		all, some := view.Sums{By: view.ByBlock}, view.Sums{By: view.ByBlock}
		for _, w := range works {
			if all.Add(w); !w.Summary.Started.Before(from) {
				some.Add(w)
			} else {
				left++
			}
		}
		a, b := all.Groups(), some.Groups()
		if len(b) == 0 {
			if last := a[len(a)-1]; last.Until.After(now) && len(a) > 0 {
				t.Fatalf("no window, want %+v", last)
			}
			continue
		}
		if x, y := a[len(a)-1], b[len(b)-1]; x.Key != y.Key || *x.Usage != *y.Usage {
			t.Fatalf("%s %+v, of all tasks %s %+v", y.Key, *y.Usage, x.Key, *x.Usage)
		}
	}
	if left == 0 {
		t.Error("no task was left out")
	}
}

// TestALimitWithoutItsTimeKeepsTheWindows has a window of which one hour is left.
func TestALimitWithoutItsTimeKeepsTheWindows(t *testing.T) {
	now := time.Date(2026, 11, 25, 18, 0, 0, 0, time.UTC)
	spent := view.Spent{Known: true, Blocks: view.Sums{By: view.ByBlock}}
	spent.Blocks.Add(&store.Work{Requests: []store.Request{{Started: now.Add(-4 * time.Hour), Usage: &store.Usage{Input: 1, CostUSD: new(1.0)}}}})
	for limit, want := range map[string]string{`{"used_percentage":34}`: "1h00m left", `{"used_percentage":34,"resets_at":"soon"}`: "1h00m left", `{"used_percentage":34,"resets_at":1795630500}`: "15m00s left"} {
		var in view.StatusInput
		if err := json.Unmarshal([]byte(`{"rate_limits":{"five_hour":`+limit+`}}`), &in); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(view.StatusLine(&in, &spent, now), " · "); !strings.HasSuffix(got, "5h $1.00 34 %, "+want) {
			t.Errorf("%s: %q, want %s", limit, got, want)
		}
	}
}

// TestReportedLimitsAreThoseOfAPlan reads what Claude Code 2.1.332 gave its status line, logged in
// with a plan and with a key of the API, and what it never would.
func TestReportedLimitsAreThoseOfAPlan(t *testing.T) {
	now := time.Date(2026, 11, 29, 15, 15, 20, 0, time.UTC)
	limit := func(window time.Duration, used float64, resets time.Time) hook.Limit {
		return hook.Limit{At: now, Window: window, Used: used, Resets: resets}
	}
	five, seven := time.Date(2026, 11, 29, 17, 10, 0, 0, time.UTC), time.Date(2026, 12, 2, 15, 0, 0, 0, time.UTC)
	for name, want := range map[string][][]hook.Limit{
		"subscription": {
			nil, // before the first answer
			{limit(5*time.Hour, 34, five), limit(168*time.Hour, 9, seven)},
			{limit(5*time.Hour, 35, five), limit(168*time.Hour, 9, seven)},
		},
		"key": make([][]hook.Limit, 3),
	} {
		text, err := os.ReadFile("testdata/statusline/" + name + ".jsonl")
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSpace(string(text)), "\n")
		if len(lines) != len(want) {
			t.Fatalf("%s has %d lines, want %d", name, len(lines), len(want))
		}
		for i, line := range lines {
			var in view.StatusInput
			if err := json.Unmarshal([]byte(line), &in); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(want[i], in.Reported(now)); d != "" {
				t.Errorf("%s, line %d (-want +got):\n%s", name, i, d)
			}
		}
	}
	for _, hostile := range []string{
		`{"used_percentage":34}`, `{"resets_at":1795972200}`, `{"used_percentage":"34","resets_at":1795972200}`, `{"used_percentage":34,"resets_at":"1795972200"}`,
		`{"used_percentage":34,"resets_at":1}`, `{"used_percentage":-1,"resets_at":1795972200}`, `{"used_percentage":1e300,"resets_at":1795972200}`, `{"used_percentage":34,"resets_at":1e300}`, `null`, `{}`,
	} {
		var in view.StatusInput
		if err := json.Unmarshal([]byte(`{"rate_limits":{"five_hour":`+hostile+`,"seven_day":`+hostile+`}}`), &in); err != nil {
			t.Fatal(err)
		}
		if got := in.Reported(now); len(got) > 0 {
			t.Errorf("%s: %+v", hostile, got)
		}
	}
}
