package view_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/internal/traces/view"
	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/otelmap/step"
)

// steering are texts that act on a terminal, a table or a spreadsheet.
var steering = []string{
	"\x1b[2J\x1b]0;x\x07\u202eabc\u2066", "=1+1|cmd", "+1", "@SUM(A1)", "\t=1", "a\r\n\nb\u2028c\u0085", "\xff\xfe bad\xc3", "日本語の長い題名がここにある日本語の長い題名がここにある",
	"", " ", strings.Repeat("long ", 400), "e\u0301\u200b\u200d\U0001f469\u200d\U0001f4bb", "<script>alert(1)</script>&amp;`|*_[x](y)",
}

// steeringWork has the text wherever there is one.
func steeringWork(n int, s string, now time.Time) *store.Work {
	start := now.Add(-time.Duration(n) * time.Hour)
	w := &store.Work{Summary: store.Summary{
		TraceID: fmt.Sprintf("%032x", n+1), Host: s, Session: s, Title: s, Model: s, Directory: s, Branch: s, Outcome: s, Runs: 1, Tools: 3,
		ToolFailures: 1, ToolDenials: 1, Started: start, Ended: start.Add(time.Minute), Usage: &store.Usage{Input: 1e6, Output: 5, CostUSD: new(1.5)},
	}}
	if n%3 == 0 {
		w.Summary.Usage.CostUSD = nil
	}
	args, _ := json.Marshal(map[string]string{"command": s, "file_path": s, "old_string": s, "new_string": s + "x", "content": s})
	for i, end := range []otelmap.End{otelmap.EndOK, otelmap.EndFailed, otelmap.EndDenied} {
		w.Calls = append(w.Calls, store.Call{
			Trace: w.Summary.TraceID, Span: fmt.Sprintf("%016x", i+1), Session: s, Host: s, Directory: s, Tool: []string{s, "Edit", "Bash"}[i], Command: s, Server: s,
			Subagent: s, AgentSpan: "a", Status: end, Started: start, Took: time.Second, Waited: time.Second, CostUSD: w.Summary.Usage.CostUSD,
			Arguments: string(args), ErrorType: s, Error: s + "\n" + s, DeniedBy: s,
		})
	}
	w.Waits = []step.Wait{{From: start, To: start.Add(30 * time.Second)}}
	w.Requests = []store.Request{{Span: "b", Model: s, Started: start, Usage: w.Summary.Usage}, {Span: "c", Model: s, Subagent: s, AgentSpan: "a", Started: start.Add(time.Second), Usage: w.Summary.Usage}}
	w.Subagents = []store.Subagent{{Span: "a", Name: s, Started: start, Took: time.Second, Usage: w.Summary.Usage, Calls: 1}}
	return w
}

// TestUnknownIsNoZero has a request without a price and a task without times.
func TestUnknownIsNoZero(t *testing.T) {
	now := time.Date(2026, 11, 25, 18, 0, 0, 0, time.UTC)
	w := steeringWork(1, "x", now)
	w.Requests[0].Usage = &store.Usage{Input: 5}
	if got := view.CostsOf(w, nil).Sentence; !strings.HasPrefix(got, "$1.50: no price is known for 1 request of the agent, 100 % for subagent x") {
		t.Errorf("cost: %q", got)
	}
	var b bytes.Buffer
	untimed := &store.Work{Summary: store.Summary{Title: "untimed"}}
	if err := view.Timeline(&b, []*store.Work{untimed, w}, view.Options{Location: time.UTC}); err != nil || !strings.Contains(b.String(), "17:00") || strings.Contains(b.String(), "untimed") {
		t.Errorf("timeline: %v: %s", err, &b)
	}
}

// TestNoTextSteersAnAnswer draws hostile texts in every width.
func TestNoTextSteersAnAnswer(t *testing.T) {
	now := time.Date(2026, 11, 25, 18, 0, 0, 0, time.UTC)
	var works []*store.Work
	var calls []store.Call
	var all store.Totals
	for n, s := range steering {
		w := steeringWork(n, s, now)
		works = append(works, w)
		view.CallFilter{}.Each(w, &all, func(c *store.Call) { calls = append(calls, *c) })
	}
	all.Usage, all.Unpriced = &store.Usage{Input: 3, CostUSD: new(3.0)}, steering
	var r view.Reporter
	sums := make([]view.Sums, len(view.WorkKeys))
	for i, w := range works {
		r.Add(w)
		for j, by := range view.WorkKeys {
			sums[j].By = by
			sums[j].Add(works[i])
		}
	}
	var groups []store.Group
	for _, s := range steering {
		groups = append(groups, store.Group{Key: s, Title: s, Branches: []string{s, s}, Totals: store.Totals{Traces: 1, Calls: 1, Usage: &store.Usage{Input: 1}}})
	}
	for _, width := range []int{0, 40, 60, 79, 80, 120, 200} {
		for _, ascii := range []bool{false, true} {
			o := view.Options{Width: width, ASCII: ascii, Now: now, Location: time.UTC}
			var b bytes.Buffer
			answers := map[string]func() error{
				"calls":    func() error { return view.Calls(&b, calls, all, o) },
				"edits":    func() error { return view.WriteEdits(&b, calls, o) },
				"timeline": func() error { return view.Timeline(&b, works, o) },
				"cost":     func() error { return view.Cost(&b, works[0].Summary.Title, view.CostsOf(works[1], nil), o) },
				"sides":    func() error { return view.Sides(&b, groups, o) },
				"overview": func() error {
					return view.Stats(&b, all, map[store.By][]store.Group{store.ByProject: slices.Repeat(groups, 9)}, o)
				},
				"list": func() error {
					var tasks []store.Summary
					for _, w := range works {
						tasks = append(tasks, w.Summary)
					}
					return view.List(&b, tasks, 1, nil, all, o)
				},
			}
			for i, by := range view.WorkKeys {
				answers["stats by "+string(by)] = func() error { return view.Groups(&b, by, sums[i].Groups(), all, o) }
			}
			for _, by := range store.Keys {
				answers["stats by "+string(by)] = func() error { return view.Groups(&b, by, groups, all, o) }
			}
			for name, draw := range answers {
				b.Reset()
				if err := draw(); err != nil {
					t.Fatal(err)
				}
				if strings.TrimSpace(b.String()) == "" {
					t.Errorf("%s: nothing", name)
				}
				for line := range strings.Lines(b.String()) {
					line = strings.TrimSuffix(line, "\n")
					if bad := unsafe(line); bad != "" {
						t.Errorf("%s, width %d: %s in %q", name, width, bad, line)
					} else if at := max(width, 40); width > 0 && termtext.Width(line) > at {
						t.Errorf("%s: %d columns, want %d at most: %q", name, termtext.Width(line), at, line)
					}
				}
			}
		}
	}
	report := r.Report("x", all, map[store.By][]store.Group{store.ByProject: groups, store.ByModel: groups}, view.Options{Location: time.UTC})
	for _, table := range report.Tables {
		for _, row := range table.Rows {
			for _, c := range row {
				if bad := unsafe(c); bad != "" {
					t.Errorf("report, %s: %s in %q", table.Title, bad, c)
				}
			}
		}
	}
	var b bytes.Buffer
	if err := view.CallsCSV(&b, calls); err != nil {
		t.Fatal(err)
	}
	if err := view.CSV(&b, store.ByProject, nil); err != nil {
		t.Fatal(err)
	}
	rows := csv.NewReader(&b)
	rows.FieldsPerRecord = -1
	for {
		row, err := rows.Read()
		if err != nil {
			break
		}
		for _, c := range row {
			if bad := unsafe(c); bad != "" || c != "" && strings.ContainsRune("=+-@", rune(c[0])) {
				t.Errorf("CSV: %q %s", c, bad)
			}
		}
	}
}

// unsafe names what a line must not have.
func unsafe(line string) string {
	if !utf8.ValidString(line) {
		return "invalid UTF-8"
	}
	for _, r := range line {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' || unicode.Is(unicode.Bidi_Control, r) {
			return fmt.Sprintf("%U", r)
		}
	}
	return ""
}
