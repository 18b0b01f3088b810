package view

import (
	"slices"
	"testing"

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
