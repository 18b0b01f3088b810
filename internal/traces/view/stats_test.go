package view

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/internal/testkit/golden"
	"github.com/hookspan/hookspan/internal/traces/store"
)

func sampleUsage(in, cached, out int64, usd float64) *store.Usage {
	u := &store.Usage{Input: in, CacheRead: cached, Output: out}
	if usd > 0 {
		u.CostUSD = &usd
	}
	return u
}

func sampleTotals() store.Totals {
	return store.Totals{
		Traces: 40, Runs: 42, Calls: 913, Failures: 37, Denials: 4, Took: 5 * time.Hour,
		Usage: sampleUsage(8_200_000, 6_900_000, 214_000, 14.21), Unpriced: []string{"local/llama\x1b[2J"},
	}
}

func sampleGroups(by store.By) []store.Group {
	switch by {
	case store.ByTool:
		return []store.Group{
			{Key: "Bash", Totals: store.Totals{Traces: 30, Calls: 600, Failures: 36, Denials: 4}, P50: 300 * time.Millisecond, P95: 14 * time.Second},
			{Key: "mcp__a_server_with_a_long_name__and_a_tool_with_another", Totals: store.Totals{Traces: 12, Calls: 100}, P50: time.Second, P95: 2 * time.Second},
			{Key: "", Totals: store.Totals{Traces: 1, Calls: 1, Failures: 1}},
		}
	case store.ByHook:
		return []store.Group{{Key: "~/guard.sh", Totals: store.Totals{Traces: 9, Calls: 20, Denials: 3}, P50: 12 * time.Millisecond, P95: 80 * time.Millisecond}}
	case store.ByProject:
		return []store.Group{
			{Key: "/home/me/work/shop-api", Totals: store.Totals{Traces: 30, Calls: 700, Failures: 30, Usage: sampleUsage(8_000_000, 6_800_000, 200_000, 14)}, P50: 3 * time.Minute, P95: 20 * time.Minute},
			{Key: `C:\src\日本`, Totals: store.Totals{Traces: 10, Calls: 200, Failures: 7, Usage: sampleUsage(200_000, 0, 14_000, 0.21)}, P50: time.Minute, P95: 2 * time.Minute},
			{Key: "", Totals: store.Totals{Traces: 2, Calls: 13}},
		}
	}
	return []store.Group{
		{Key: "2026-03-02", Totals: store.Totals{Traces: 12, Calls: 300, Failures: 12, Usage: sampleUsage(3_000_000, 2_500_000, 80_000, 5.5)}, P50: time.Minute, P95: 9 * time.Minute},
		{Key: "2026-03-03", Totals: store.Totals{Traces: 0, Usage: sampleUsage(1000, 0, 200, 0)}, P50: time.Second, P95: time.Second},
		{Key: "2026-03-04", Totals: store.Totals{Traces: 30, Calls: 613, Failures: 25, Denials: 4, Usage: sampleUsage(5_199_000, 4_400_000, 133_800, 8.71)}, P50: 2 * time.Minute, P95: 30 * time.Minute},
	}
}

func grouped(t *testing.T, by store.By, o Options) string {
	t.Helper()
	var b bytes.Buffer
	if err := Groups(&b, by, sampleGroups(by), sampleTotals(), o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func overview(t *testing.T, o Options) string {
	t.Helper()
	grouped := make(map[store.By][]store.Group)
	for _, by := range []store.By{store.ByDay, store.ByProject, store.ByTool} {
		grouped[by] = slices.Repeat(sampleGroups(by), 2)
	}
	var b bytes.Buffer
	if err := Stats(&b, sampleTotals(), grouped, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestStatsGolden(t *testing.T) {
	for name, o := range map[string]Options{"40": {Width: 40}, "80": {Width: 80}, "120": {Width: 120}, "piped": {}, "ascii": {Width: 120, ASCII: true}, "color": {Width: 100, Color: true}} {
		for _, by := range []store.By{store.ByDay, store.ByProject, store.ByTool, store.ByHook} {
			t.Run(string(by)+" "+name, func(t *testing.T) { golden.Check(t, "stats-"+string(by)+"-"+name+".txt", grouped(t, by, o)) })
		}
		t.Run("overview "+name, func(t *testing.T) { golden.Check(t, "stats-"+name+".txt", overview(t, o)) })
	}
}

func TestStatsKeepToTheirWidth(t *testing.T) {
	for w := 40; w <= 160; w++ {
		text := overview(t, Options{Width: w})
		for _, by := range []store.By{store.ByDay, store.ByProject, store.ByTool, store.ByHook} {
			text += grouped(t, by, Options{Width: w})
		}
		for _, l := range strings.Split(text, "\n") {
			if got := termtext.Width(l); got > w {
				t.Errorf("width %d: a line takes %d columns: %q", w, got, l)
			}
		}
		if strings.Contains(text, "\x1b") {
			t.Fatal("a name of a model controls the terminal")
		}
	}
}

func TestModelsWithoutAPriceAreNamed(t *testing.T) {
	if text := grouped(t, store.ByDay, Options{}); !strings.Contains(text, "no price is known for local/llama") {
		t.Errorf("no word about the price:\n%s", text)
	}
}

// TestCSVLeavesBlankWhatIsNotKnown has windows, whose tasks begin and end in others, and a
// model of which no task is.
func TestCSVLeavesBlankWhatIsNotKnown(t *testing.T) {
	for by, g := range map[store.By]store.Group{ByBlock: {Key: "k", Totals: store.Totals{Traces: 1}}, store.ByModel: {Key: "k"}} {
		var b strings.Builder
		if err := CSV(&b, by, []store.Group{g}); err != nil || !strings.Contains(b.String(), ",0,0,0,,,,,,,,,,") {
			t.Errorf("%v\n%s", err, b.String())
		}
	}
	var b strings.Builder
	if err := CallsCSV(&b, []store.Call{{Trace: "t", Tool: "Bash"}}); err != nil || !strings.Contains(b.String(), "\nt,,,,,,,,,Bash") {
		t.Errorf("%v\n%s", err, b.String())
	}
}

// TestSumsOfWholeTasksNameTheModelsPart has tasks that a filter by a model selects, and that
// used another one as well.
func TestSumsOfWholeTasksNameTheModelsPart(t *testing.T) {
	all := sampleTotals()
	all.OfModel = sampleUsage(1000, 0, 10, 0.72)
	var list, sides bytes.Buffer
	if err := List(&list, []store.Summary{{Title: "x"}}, 0, nil, all, Options{Width: 120}); err != nil {
		t.Fatal(err)
	}
	one, other := store.Group{Key: "model=haiku", Totals: all}, store.Group{Key: "model=opus", Totals: store.Totals{Traces: 1, Usage: sampleUsage(5, 0, 1, 2)}}
	if err := Sides(&sides, []store.Group{one, other}, Options{}); err != nil {
		t.Fatal(err)
	}
	for got, want := range map[string]string{
		list.String(): "$14.21 ($0.7200 of the model)", strings.Join(strings.Fields(sides.String()), " "): "OUT COST OF MODEL COST/TASK TIME/TASK FAILED/TASK model=haiku 40 913 37 4% 4 0ms 0ms 8.2M 84% 214k $14.21 $0.72 $0.36 7m30s 0.9 model=opus 1 - - - 0ms 0ms 5 0% 1 $2.00 $2.00 $2.00 ",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q has no %q", got, want)
		}
	}
}
