package main

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/internal/traces/view"
)

// TestNoFigureDiffersOverAHome asks every command that sums up for the same tasks, which
// verify has compared with the agents' own files.
func TestNoFigureDiffersOverAHome(t *testing.T) {
	a, _, _ := newTestApp(t, "import")
	if err := os.CopyFS(a.home, os.DirFS(filepath.Join("testdata", "home"))); err != nil {
		t.Fatal(err)
	}
	command := func(into any, args ...string) {
		t.Helper()
		var stdout, stderr bytes.Buffer
		c := newApp(args, strings.NewReader(""), &stdout, &stderr, a.environ)
		c.home, c.goos = a.home, a.goos
		if code := run(t.Context(), c); code != 0 {
			t.Fatalf("%q: exit code %d: %s%s", args, code, &stdout, &stderr)
		}
		if into == nil {
			return
		}
		if err := json.Unmarshal(stdout.Bytes(), into); err != nil {
			t.Fatalf("%q: %v: %s", args, err, &stdout)
		}
	}
	command(nil, "import")
	command(nil, "verify", "--all", "--strict")

	var list []store.Summary
	command(&list, "list", "--json")
	var want totals
	for _, sum := range list {
		want.add(1, sum.Tools, sum.ToolFailures, sum.ToolDenials, sum.Usage)
	}
	if want.Calls == 0 || want.Failures == 0 || want.Denials == 0 || want.Cents == 0 {
		t.Fatalf("the home has too little: %+v", want)
	}
	got := make(map[string]totals)
	groups := func(name string, of []store.Group, only totals) {
		for _, g := range of {
			only.add(0, g.Calls, g.Failures, g.Denials, g.Usage)
		}
		only.Traces = want.Traces
		got[name] = only
	}
	var report view.Report
	command(&report, "report", "--since", "2000-01-01", "--format", "json")
	var sum totals
	sum.add(report.Totals.Traces, report.Totals.Calls, report.Totals.Failures, report.Totals.Denials, report.Totals.Usage)
	got["report"] = sum
	for _, by := range []store.By{store.ByDay, store.ByProject, store.ByAgent, store.ByModel, view.ByBlock} {
		var stats statsJSON
		command(&stats, "stats", "--by", string(by), "--json")
		// Cents of many sums are rounded often: the sums of the groups have them exactly.
		var cost float64
		for i := range stats.Groups {
			if u := stats.Groups[i].Usage; u != nil && u.CostUSD != nil {
				cost += *u.CostUSD
				u.CostUSD = nil
			}
		}
		groups("stats by "+string(by), stats.Groups, totals{Cents: math.Round(100 * cost)})
	}
	var calls []struct{ Status string }
	command(&calls, "calls", "--json")
	one := want
	one.Calls, one.Failures, one.Denials = len(calls), 0, 0
	for _, c := range calls {
		switch c.Status {
		case "failed", "unfinished":
			one.Failures++
		case "denied":
			one.Denials++
		}
	}
	got["calls"] = one
	for flag, of := range map[string]func(*totals) *int{"--failed": func(t *totals) *int { return &t.Failures }, "--denied": func(t *totals) *int { return &t.Denials }} {
		command(&calls, "calls", "--json", flag)
		one := want
		*of(&one) = len(calls)
		got["calls "+flag] = one
	}
	var cost float64
	var tokens int64
	for _, sum := range list {
		var c view.Costs
		command(&c, "show", sum.TraceID, "--cost", "--json")
		for _, item := range c.Items {
			if slices.Contains([]string{"requests", "subagent", "other"}, item.Kind) && item.CostUSD != nil {
				cost += *item.CostUSD
				tokens += item.Tokens
			}
		}
		tokens -= sum.Usage.Output
	}
	one = want
	one.Cents, one.Input = math.Round(100*cost), tokens
	got["show --cost"] = one

	exact := 0.0
	for _, sum := range list {
		exact += *sum.Usage.CostUSD
	}
	want.Cents = math.Round(100 * exact)
	for name, one := range got {
		if name == "report" || strings.HasPrefix(name, "calls") {
			one.Cents = want.Cents // added up otherwise
		}
		if one != want {
			t.Errorf("%s: %+v, list has %+v", name, one, want)
		}
	}
	if u := report.Totals.Usage; math.Abs(*u.CostUSD-exact) > 1e-9 {
		t.Errorf("report: $%v, list has $%v", *u.CostUSD, exact)
	}
}
