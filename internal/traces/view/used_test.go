package view

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/traces/store"
)

// TestUsedIsOfTheWindowsEnd has what two agents said of their plans over four windows: one of
// Claude Code's, one of both agents', one of Codex's and one in which nothing was said.
func TestUsedIsOfTheWindowsEnd(t *testing.T) {
	day := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	said := func(at float64, used float64, resets float64, window time.Duration) hook.Limit {
		hours := func(h float64) time.Time { return day.Add(time.Duration(h * float64(time.Hour))) }
		l, ok := hook.NewLimit(hours(at), window, used, float64(hours(resets).Unix()))
		if !ok {
			t.Fatalf("no limit at %v", at)
		}
		return l
	}
	limits := map[string][]hook.Limit{
		hook.HostClaude: {
			said(7.9, 88, 8, BlockTime),                             // in no window
			said(9, 10, 11, BlockTime), said(10, 31, 11, BlockTime), // the plan's window ends in this one
			said(12, 5, 16, BlockTime), said(13.5, 7.26, 16, BlockTime), //
			said(13.6, 6, 16, BlockTime), // of a program that idled
			said(13, 60, 100, weekTime),
			said(14, 9, 16, BlockTime), // when the window has ended
			said(15, 50, 19, BlockTime),
		},
		hook.HostCodex: {said(15, 40, 19, BlockTime), said(24.5, 12, 29, 299*time.Minute)},
	}
	work := func(host string, at ...int) *store.Work {
		w := &store.Work{Summary: store.Summary{TraceID: host, Host: host}}
		for _, h := range at {
			w.Requests = append(w.Requests, store.Request{Started: day.Add(time.Duration(h) * time.Hour), Usage: &store.Usage{Input: 1}})
		}
		return w
	}
	s := Sums{By: ByBlock, Limits: func() map[string][]hook.Limit { return limits }}
	s.Add(work(hook.HostClaude, 9, 15, 40))
	s.Add(work(hook.HostCodex, 16, 24))
	groups := s.Groups()
	var csv, table bytes.Buffer
	if err := CSV(&csv, ByBlock, groups); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, line := range strings.Split(strings.TrimSpace(csv.String()), "\n") {
		got = append(got, line[strings.LastIndex(line, ",")+1:])
	}
	if want := "used_percent 7.3  12 "; strings.Join(got, " ") != want {
		t.Errorf("%q, want %q", strings.Join(got, " "), want)
	}
	if err := Groups(&table, ByBlock, groups, store.Totals{Traces: 2}, Options{Width: 100}); err != nil {
		t.Fatal(err)
	}
	got = nil
	for _, line := range strings.Split(strings.TrimSpace(table.String()), "\n") {
		fields := strings.Fields(strings.TrimRight(line, "█▏▎▍▌▋▊▉ "))
		got = append(got, fields[len(fields)-1])
	}
	if want := "USED 7% - 12% - -"; strings.Join(got, " ") != want {
		t.Errorf("%q, want %q:\n%s", strings.Join(got, " "), want, &table)
	}
	s.Limits = nil
	if g := s.Groups()[0]; g.UsedPercent != nil {
		t.Errorf("%v without limits", *g.UsedPercent)
	}
}
