package view

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/internal/testkit/ramdir"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/otelmap"
)

// TestOwnCallsAreNoFailures has a task whose only bad calls are of hookspan's own MCP server, and one
// that has others, too: lists, sums and reports of failures and denials have these alone.
func TestOwnCallsAreNoFailures(t *testing.T) {
	b := newBuild("own")
	const s = time.Second
	root := b.Root("Ask", otelmap.OutcomeCompleted, 9*s, num(otelmap.KeyToolCalls, 4), num(otelmap.KeyToolFailures, 3))
	b.Tool(root, "mcp__hookspan__list", `{"file":"auth/login.go"}`, 0, s)
	b.Fail(otelmap.ErrorToolFailure, "damaged trace store")
	b.Tool(root, "search", "{}", s, 2*s)
	b.Last().Attributes = append(b.Last().Attributes, str(otelmap.KeyMCPServer, "hookspan"))
	b.Fail(otelmap.ErrorToolFailure, "damaged trace store")
	b.Tool(root, "hookspan-open", "{}", 2*s, 3*s)
	b.Fail(otelmap.ErrorToolDenied, "The user rejected it")
	b.Tool(root, "Read", `{"path":"auth/login.go"}`, 3*s, 4*s)
	o := newBuild("other")
	other := o.Root("Work", otelmap.OutcomeCompleted, 9*s)
	o.Tool(other, "hookspan_stats", "{}", 0, s)
	o.Fail(otelmap.ErrorToolFailure, "damaged trace store")
	o.Tool(other, "Bash", `{"command":"make"}`, s, 2*s)
	o.Fail(otelmap.ErrorToolFailure, "make: *** [all] Error 2")
	o.Tool(other, "Write", "{}", 2*s, 3*s)
	o.Fail(otelmap.ErrorToolDenied, "The user rejected it")

	ctx := t.Context()
	st, err := store.Open(ctx, filepath.Join(ramdir.New(t), "traces.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	for _, one := range []*build{b, o} {
		if err := st.UploadTraces(ctx, one.Messages()); err != nil {
			t.Fatal(err)
		}
	}
	type seen struct {
		Tasks, Calls []string
		Groups       map[string]int
		All          [3]int // calls, failures, denials
	}
	of := func(f store.Filter, by store.By) (out seen) {
		t.Helper()
		page, err := st.Page(ctx, f)
		if err != nil {
			t.Fatal(err)
		}
		for _, sum := range page.Traces {
			out.Tasks = append(out.Tasks, sum.Title)
		}
		out.All = [3]int{page.Totals.Calls, page.Totals.Failures, page.Totals.Denials}
		calls, _, err := CallFilter{Failed: f.Failed, Denied: f.Denied}.Find(ctx, st, store.Filter{Limit: -1}, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range calls {
			out.Calls = append(out.Calls, c.Tool)
		}
		sums, err := SumBy(ctx, st, f, time.UTC, by, nil)
		if err != nil {
			t.Fatal(err)
		}
		out.Groups = make(map[string]int)
		for _, g := range sums.Groups {
			out.Groups[g.Key] = g.Calls
		}
		return out
	}
	for name, tt := range map[string]struct {
		got, want seen
	}{
		"failed": {of(store.Filter{Failed: true}, ByFailure), seen{[]string{"Work"}, []string{"Bash"}, map[string]int{"Bash: make: *** [all] Error #": 1}, [3]int{3, 1, 1}}},
		"denied": {of(store.Filter{Denied: true}, ByDenial), seen{[]string{"Work"}, []string{"Write"}, map[string]int{"you": 1}, [3]int{3, 1, 1}}},
		"all": {of(store.Filter{}, ByFailure), seen{
			[]string{"Work", "Ask"},
			[]string{"Write", "Bash", "hookspan_stats", "Read", "hookspan-open", "search", "mcp__hookspan__list"},
			map[string]int{"Bash: make: *** [all] Error #": 1},
			[3]int{7, 1, 1},
		}},
		"denials": {of(store.Filter{}, ByDenial), seen{
			[]string{"Work", "Ask"},
			[]string{"Write", "Bash", "hookspan_stats", "Read", "hookspan-open", "search", "mcp__hookspan__list"},
			map[string]int{"you": 1},
			[3]int{7, 1, 1},
		}},
	} {
		if diff := cmp.Diff(tt.want, tt.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	list, err := st.List(ctx, store.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	for _, sum := range list {
		want := map[string][3]int{"Ask": {4, 0, 0}, "Work": {3, 1, 1}}[sum.Title]
		if got := [3]int{sum.Tools, sum.ToolFailures, sum.ToolDenials}; got != want {
			t.Errorf("%s: calls, failures and denials are %d, want %d", sum.Title, got, want)
		}
	}
	if running := store.NewTrace(b.Messages()); running.ToolFailures+running.ToolDenials != 0 || len(DeniedOf(running)) != 0 {
		t.Errorf("running: %+v", running.Summary)
	}
	if denied, err := st.DeniedCalls(ctx, store.Filter{}, list); err != nil || len(denied) != 1 {
		t.Errorf("denied calls of %d tasks, %v", len(denied), err)
	}
	if named, _, err := (CallFilter{File: "auth/login.go"}).Find(ctx, st, store.Filter{Limit: -1}, nil, nil); err != nil || len(named) != 1 || named[0].Tool != "Read" {
		t.Errorf("calls of the file: %+v, %v", named, err)
	}
	report, err := ReportOf(ctx, st, store.Filter{}, t0.Add(time.Hour), nil)
	if err != nil {
		t.Fatal(err)
	}
	if report.Totals.Failures != 1 {
		t.Errorf("report: %+v", report)
	}
}
