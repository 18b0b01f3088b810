package view

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/internal/traces/store"
)

func TestReportTellsUnknownTokensFromNone(t *testing.T) {
	var r Reporter
	got := r.Report("", store.Totals{}, map[store.By][]store.Group{store.ByModel: {
		{Key: "some", Totals: store.Totals{Usage: &store.Usage{}}}, {Key: "unknown"},
	}}, Options{})
	for i, want := range [][]string{{"some", "0", "0ms", "0", "0", "-"}, {"unknown", "0", "0ms", "0", "-", "-"}} {
		if row := got.Tables[0].Rows[i]; !slices.Equal(row, want) {
			t.Errorf("%q, want %q", row, want)
		}
	}
}

func TestDrawReportFitsTheTerminal(t *testing.T) {
	r := Report{Title: "A week", Facts: []string{"2 tasks", "$1.00"}, Tables: []ReportSection{
		{"The dearest tasks", []string{"title", "task", "project", "cost"}, [][]string{{"Translate the page of the checkout into German\x1b[1m", "ab8f5dfb", "webapp", "$0.98"}, {"Fix", "0011aabb", "-", "$0.02"}}},
	}}
	var out strings.Builder
	if err := DrawReport(&out, r, Options{Width: 48}); err != nil {
		t.Fatal(err)
	}
	const want = `A week
2 tasks · $1.00

The dearest tasks
TITLE                                TASK   COST
Translate the page of the chec…  ab8f5dfb  $0.98
Fix                              0011aabb  $0.02
`
	if d := cmp.Diff(want, out.String()); d != "" {
		t.Error(d)
	}
}
