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
	command := asking(t, a)
	command(nil, "import")
	command(nil, "verify", "--all", "--strict")

	var answer listJSON
	command(&answer, "list", "--json", "--sums")
	list := answer.Tasks
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
	var calls struct {
		Calls  []struct{ Status string }
		Totals store.Totals
	}
	command(&calls, "calls", "--json", "--sums")
	one := want
	one.Calls, one.Failures, one.Denials = calls.Totals.Calls, calls.Totals.Failures, calls.Totals.Denials
	got["calls' sums"] = one
	one.Calls, one.Failures, one.Denials = len(calls.Calls), 0, 0
	for _, c := range calls.Calls {
		switch c.Status {
		case "failed", "unfinished":
			one.Failures++
		case "denied":
			one.Denials++
		}
	}
	got["calls"] = one
	for flag, of := range map[string]func(*totals) *int{"--failed": func(t *totals) *int { return &t.Failures }, "--denied": func(t *totals) *int { return &t.Denials }} {
		command(&calls, "calls", "--json", "--sums", flag)
		one := want
		*of(&one) = len(calls.Calls)
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

	ask := page(t, a)
	answered := func(path string, into any) {
		if err := json.Unmarshal(ask("/api/v1/"+path), into); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
	}
	for _, path := range []string{"sessions", "usage", "calls"} {
		var shown struct{ Totals store.Totals }
		answered(path, &shown)
		sum = totals{}
		if sum.add(shown.Totals.Traces, shown.Totals.Calls, shown.Totals.Failures, shown.Totals.Denials, shown.Totals.Usage); path == "calls" {
			sum.Traces, sum.Input = want.Traces, want.Input
		}
		got["page/"+path] = sum
	}
	one, cost = want, 0
	for _, sum := range list {
		var c view.Costs
		answered("traces/"+sum.TraceID+"/cost", &c)
		cost += c.Usage.Cost()
	}
	one.Cents = math.Round(100 * cost)
	got["page/cost"] = one
	one = want
	one.Calls, one.Input = inFiles(t, a.home)
	got["the agents' files"] = one

	exact := 0.0
	for _, sum := range list {
		exact += *sum.Usage.CostUSD
	}
	want.Cents = math.Round(100 * exact)
	for name, one := range got {
		if name == "report" || strings.HasPrefix(name, "page/") && name != "page/cost" || strings.HasPrefix(name, "calls") || name == "the agents' files" {
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

// inFiles counts the calls and the input tokens in the agents' files, as plainly as can be:
// each id once.
func inFiles(t *testing.T, home string) (calls int, input int64) {
	t.Helper()
	type part struct{ ID, Type string }
	type tokens struct {
		Input   int64 `json:"input_tokens"`
		Written int64 `json:"cache_creation_input_tokens"`
		Read    int64 `json:"cache_read_input_tokens"`
	}
	ids, requests := make(map[string]bool), make(map[string]int64)
	err := filepath.WalkDir(home, func(path string, d os.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".jsonl" {
			return err
		}
		content, err := os.ReadFile(path) //nolint:gosec // The test wrote it.
		for line := range bytes.Lines(content) {
			var l struct {
				Message struct {
					ID      string
					Content json.RawMessage
					Usage   *tokens
				} // Claude Code
				Payload struct {
					Type   string
					CallID string `json:"call_id"`
					Info   struct {
						Total tokens `json:"total_token_usage"`
					}
				} // Codex
				ID        string // Gemini CLI
				Tokens    *struct{ Input int64 }
				ToolCalls []part
			}
			if err := json.Unmarshal(line, &l); err != nil {
				t.Fatal(err)
			}
			var parts []part
			_ = json.Unmarshal(l.Message.Content, &parts) // A prompt is a string.
			for _, p := range append(parts, l.ToolCalls...) {
				ids[p.ID] = ids[p.ID] || p.Type == "tool_use" || p.Type == "" && p.ID != ""
			}
			if p := l.Payload; p.CallID != "" {
				ids[p.CallID] = true
			} else if p.Type == "token_count" {
				requests[path] = p.Info.Total.Input
			}
			if u := l.Message.Usage; u != nil {
				requests[l.Message.ID] = u.Input + u.Written + u.Read
			} else if l.Tokens != nil {
				requests[l.ID] = l.Tokens.Input
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, call := range ids {
		if call {
			calls++
		}
	}
	for _, n := range requests {
		input += n
	}
	return calls, input
}
