package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestQuantile(t *testing.T) {
	hundred := make([]time.Duration, 100)
	for i := range hundred {
		hundred[i] = time.Duration(100 - i)
	}
	for _, tc := range []struct {
		all  []time.Duration
		q    float64
		want time.Duration
	}{
		{nil, 0.5, 0},
		{[]time.Duration{7}, 0.5, 7},
		{[]time.Duration{7}, 0.99, 7},
		{[]time.Duration{3, 1, 2}, 0.5, 2},
		{[]time.Duration{4, 3, 1, 2}, 0.5, 2},
		{hundred, 0.5, 50},
		{hundred, 0.95, 95},
		{hundred, 0.99, 99},
		{hundred, 1, 100},
	} {
		if got := quantile(tc.all, tc.q); got != tc.want {
			t.Errorf("quantile %v of %d values: %d, want %d", tc.q, len(tc.all), got, tc.want)
		}
	}
}

func TestTable(t *testing.T) {
	noop := &contestant{name: "nothing", took: []time.Duration{time.Millisecond}, peak: 2048}
	hook := &contestant{name: "hook", took: []time.Duration{1500 * time.Microsecond}, base: noop}
	gone := &contestant{name: "gone", missing: true}
	want := strings.Join([]string{
		"| what runs | p50 ms | p95 ms | p99 ms | p50 to a no-op | peak MiB |",
		"|---|--:|--:|--:|--:|--:|",
		"| nothing | 1.00 | 1.00 | 1.00 | 1.00 | 2.0 |",
		"| hook | 1.50 | 1.50 | 1.50 | 1.50 | - |",
		"| gone | not on this machine | | | | |",
		"",
	}, "\n")
	if d := cmp.Diff(want, table([]*contestant{noop, hook, gone})); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestBudgets breaks one promise at a time.
func TestBudgets(t *testing.T) {
	type results struct {
		first, few, many, up, end, crowd time.Duration
		tail, noopTail                   time.Duration
		peak                             int
		large                            largeResult
		size                             int64
	}
	const us = time.Microsecond
	for name, tc := range map[string]struct {
		change func(*results)
		broken string
	}{
		"all kept":                        {change: func(*results) {}},
		"the first and the last are slow": {change: func(r *results) { r.first, r.up, r.end = 3*time.Millisecond, 1600*us, 2100*us }},
		"a crowd is slow":                 {change: func(r *results) { r.crowd = time.Second }},
		"slow to a no-op":                 {func(r *results) { r.up, r.end = 2100*us, 2100*us }, "a hook call costs at most 2 times a Go program that does nothing, at p50"},
		"slow at times":                   {func(r *results) { r.tail = 11 * time.Millisecond }, "and at most 10 ms at p99"},
		"slow at times, like a no-op":     {change: func(r *results) { r.tail, r.noopTail = 11*time.Millisecond, 6*time.Millisecond }},
		"large":                           {func(r *results) { r.peak = 17 << 10 }, "and at most 16 MiB of memory"},
		"slow on 100 MB":                  {func(r *results) { r.large.took = 2 * time.Second }, "a payload of 100 MB takes at most 1 s and 32 MiB"},
		"large on 100 MB":                 {func(r *results) { r.large.peak = 33 << 10 }, "a payload of 100 MB takes at most 1 s and 32 MiB"},
		"a large program":                 {func(r *results) { r.size = 6e6 }, "the hook program has at most 5 MB"},
		"slow with many":                  {func(r *results) { r.few, r.many = 1300*us, 1550*us }, "a hook call does not grow with the number of stored events"},
		"slow at the end":                 {func(r *results) { r.end = 2200 * us }, "at the end of a task it costs at most 0.5 ms more"},
	} {
		t.Run(name, func(t *testing.T) {
			r := results{
				first: 1600 * us, few: 1600 * us, many: 1600 * us, up: 1600 * us, end: 2000 * us, crowd: 1600 * us, tail: 3 * time.Millisecond,
				noopTail: 2 * time.Millisecond, peak: 4 << 10, large: largeResult{took: time.Second / 5, peak: 10 << 10}, size: 3e6,
			}
			tc.change(&r)
			noop := &contestant{name: "nothing"}
			call := func(name string, p50, p99 time.Duration, base *contestant) *contestant {
				return &contestant{name: name, took: []time.Duration{p50, p50, p50, p99}, peak: r.peak, base: base}
			}
			noop.took = []time.Duration{time.Millisecond, time.Millisecond, time.Millisecond, r.noopTail}
			end := call("cline-hook, end of a run", r.end, r.tail, noop)
			end.ends, end.apart = true, true
			first := call("cline-hook, first event of a session", r.first, r.tail, noop)
			first.apart = true
			all := []*contestant{
				noop, first, call("cline-hook, 10^3 events stored", r.few, r.tail, noop),
				call("cline-hook, 10^6 events stored", r.many, r.tail, noop),
				call("cline-hook, OTLP endpoint up", r.up, r.tail, noop), end,
				call("cline-hook, 64 at once", r.crowd, r.crowd, noop),
			}
			var broken []string
			for _, b := range budgets(all, r.large, r.size) {
				if !b.kept && !b.busy {
					broken = append(broken, b.what)
				}
			}
			if got := strings.Join(broken, ", "); got != tc.broken {
				t.Errorf("broken: %q, want %q", got, tc.broken)
			}
		})
	}
}
