package view

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/internal/testkit/golden"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/otelmap"
)

func sampleList() []store.Summary {
	row := func(i int, ago, took time.Duration, outcome, title string) store.Summary {
		s := store.Summary{
			TraceID: fmt.Sprintf("%08x%024d", 0xabcdef00+i, i), Host: "cline", Title: title, Outcome: outcome,
			Started: t0.Add(-ago), Ended: t0.Add(took - ago), Runs: 1,
		}
		return s
	}
	out := []store.Summary{
		row(1, 20*time.Second, 15*time.Second, otelmap.OutcomeCompleted, "Add a health endpoint to the API server. It must answer within 50 ms."),
		row(2, 5*time.Minute, 134*time.Second, otelmap.OutcomeFailed, "日本語のタスク 👩‍💻 を直す"),
		row(3, 3*time.Hour, time.Hour, otelmap.OutcomeCancelled, "Fix it"),
		row(4, 50*time.Hour, 0, otelmap.OutcomeAbandoned, ""),
		row(5, 300*time.Hour, 25*time.Hour, "", "invoke_agent cline"),
		row(6, -time.Hour, time.Second, otelmap.OutcomeInterrupted, "Out of the future"),
		{TraceID: "00000000000000000000000000000007", Title: "execute_tool read_file"},
	}
	out[0].Tools, out[0].ToolFailures = 12, 3
	out[0].Usage = &store.Usage{Input: 81_234, Output: 3_456, CostUSD: new(0.4321)}
	out[1].Tools = 8
	out[1].Usage = &store.Usage{Input: 900, Output: 12}
	out[2].Usage = &store.Usage{Input: 12_000_000, Output: 340_000, CostUSD: new(38.5)}
	out[0].Outcome = otelmap.OutcomeRunning
	out[3].Host = "claude-code"
	out[0].Directory, out[1].Directory, out[2].Directory = "/home/me/work/shop-api", "/home/me/日本", `C:\src\web`
	return out
}

// running counts the traces of running tasks.
func running(s []store.Summary) (n int) {
	for _, t := range s {
		if t.Outcome == otelmap.OutcomeRunning {
			n++
		}
	}
	return n
}

// sampleNotes are below the traces of sampleList.
func sampleNotes() map[string][]Note {
	list := sampleList()
	return map[string][]Note{
		list[0].TraceID: {
			{Status: otelmap.EndFailed, Where: "Bash", Text: "…ok shop-api/server 0.2s, then the linter complained for a while, and at last: dial tcp: connection refused", Word: "Connection"},
			{Status: otelmap.EndOK, Where: "mcp__a_server_with_a_long_name__and_a_tool", Text: "connection pool\x1b[2J of 20"},
		},
		list[1].TraceID: {
			{Status: otelmap.EndDenied, Where: "Bash", Text: "日本語のタスクを消さないでください (~/guard.sh)"},
			{Status: otelmap.EndUnfinished, Where: "Bash"},
			{Status: otelmap.EndUnknown, Where: "Read", Text: "?"},
			{Where: "Write", Text: "4"},
			{Where: "Write", Text: "5"},
		},
	}
}

func listing(t *testing.T, s []store.Summary, o Options) string {
	t.Helper()
	return listingWith(t, s, nil, o)
}

func listingWith(t *testing.T, s []store.Summary, notes map[string][]Note, o Options) string {
	t.Helper()
	o.Location = time.UTC
	var b bytes.Buffer
	if err := List(&b, s, running(s), notes, store.Totals{Traces: 163, Runs: 170, Calls: 1204, Failures: 63, Denials: 4, Usage: &store.Usage{Input: 12_000_000, CacheRead: 9_600_000, Output: 340_000, CostUSD: new(38.5)}}, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestListGolden(t *testing.T) {
	for _, c := range []struct {
		file   string
		traces []store.Summary
		o      Options
	}{
		{"list.txt", sampleList(), Options{Now: t0, Width: 100}},
		{"list-absolute.txt", sampleList(), Options{Width: 100}},
		{"list-piped.txt", sampleList(), Options{Now: t0}},
		{"list-wide.txt", sampleList(), Options{Now: t0, Width: 160}},
		{"list-120.txt", sampleList(), Options{Now: t0, Width: 120}},
		{"list-80.txt", sampleList(), Options{Now: t0, Width: 80}},
		{"list-narrow.txt", sampleList(), Options{Now: t0, Width: 60}},
		{"list-40.txt", sampleList(), Options{Now: t0, Width: 40}},
		{"list-ascii.txt", sampleList(), Options{Now: t0, Width: 100, ASCII: true}},
		{"list-color.txt", sampleList(), Options{Now: t0, Width: 100, Color: true}},
		{"list-onehost.txt", sampleList()[:3], Options{Now: t0, Width: 100}},
	} {
		t.Run(c.file, func(t *testing.T) { golden.Check(t, c.file, listing(t, c.traces, c.o)) })
	}
}

func TestListWithNotesGolden(t *testing.T) {
	for name, o := range map[string]Options{
		"40": {Width: 40}, "80": {Width: 80}, "120": {Width: 120}, "piped": {}, "ascii": {Width: 80, ASCII: true}, "color": {Width: 80, Color: true},
	} {
		o.Now = t0
		t.Run(name, func(t *testing.T) {
			golden.Check(t, "list-notes-"+name+".txt", listingWith(t, sampleList()[:3], sampleNotes(), o))
		})
	}
}

func TestModelsWithoutPriceAreNamedAtEveryWidth(t *testing.T) {
	all := store.Totals{Traces: 3, Calls: 4, Usage: &store.Usage{Input: 12_000_000, Output: 340_000, CostUSD: new(38.5)}, Unpriced: []string{"local/llama"}}
	for w := 40; w <= 200; w++ {
		var b bytes.Buffer
		if err := List(&b, sampleList()[:3], 1, nil, all, Options{Now: t0, Width: w, Location: time.UTC}); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(b.String(), "no price for local/llama") {
			t.Fatalf("width %d:\n%s", w, &b)
		}
		for l := range strings.Lines(b.String()) {
			if got := termtext.Width(strings.TrimSpace(l)); got > w {
				t.Errorf("width %d: %d columns: %q", w, got, l)
			}
		}
	}
}

func TestCostsOfAColumnHaveTheSameDecimals(t *testing.T) {
	tasks := sampleList()[:3]
	for _, c := range []struct {
		costs [3]float64
		want  []string
	}{
		{[3]float64{0.0332, 1.3, 0.0004}, []string{" $0.03 ", " $1.30 ", " <$0.01 "}},
		{[3]float64{0.0332, 0.5, 0}, []string{" $0.0332 ", " $0.5000 ", " $0.0000 "}},
	} {
		for i := range tasks {
			tasks[i].Usage = &store.Usage{CostUSD: &c.costs[i]}
		}
		text := listing(t, tasks, Options{Now: t0, Width: 120})
		for _, want := range c.want {
			if !strings.Contains(text, want) {
				t.Errorf("%q is missing:\n%s", want, text)
			}
		}
	}
}

func TestWordOfNoteStaysVisible(t *testing.T) {
	for w := 40; w <= 200; w++ {
		if text := listingWith(t, sampleList()[:1], sampleNotes(), Options{Now: t0, Width: w}); !strings.Contains(text, "connection") {
			t.Errorf("width %d:\n%s", w, text)
		}
	}
}

func TestListKeepsToItsWidth(t *testing.T) {
	for w := 40; w <= 200; w++ {
		for i, l := range strings.Split(listingWith(t, sampleList(), sampleNotes(), Options{Now: t0, Width: w}), "\n") {
			if got := termtext.Width(l); got > w {
				t.Errorf("width %d: line %d takes %d columns: %q", w, i+1, got, l)
			}
		}
	}
}

func TestListHasTitleTokensAndCostAt80Columns(t *testing.T) {
	text := listing(t, sampleList(), Options{Now: t0, Width: 80})
	for _, want := range []string{"TOKENS", "COST", "TITLE", "81.2k/3.5k", "$0.43", "Add a health endpoint"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing:\n%s", want, text)
		}
	}
}

func TestListIsCompleteWithoutWidth(t *testing.T) {
	long := sampleList()
	long[0].Title = strings.Repeat("a long title ", 15) + "and its end"
	text := listing(t, long, Options{Now: t0})
	for _, want := range []string{long[0].Title, "AGENT", "PROJECT", "CALLS", "TOKENS", "COST"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing:\n%s", want, text)
		}
	}
}

func TestEmptyListPrintsNothing(t *testing.T) {
	if got := listing(t, nil, Options{}); got != "" {
		t.Errorf("got %q", got)
	}
}

func TestColorsAreOptional(t *testing.T) {
	tr := stored(t, clineTrace().Messages())
	for name, text := range map[string]string{
		"list": listing(t, sampleList(), Options{}), "tree": draw(t, tr, Options{Verbose: true}),
	} {
		if strings.Contains(text, "\x1b") {
			t.Errorf("%s has escapes", name)
		}
	}
	// Colours must not move anything.
	strip := strings.NewReplacer(sgrReset, "", sgrBold, "", sgrDim, "", sgrRed, "", sgrGreen, "", sgrYellow, "", sgrCyan, "")
	if got, want := strip.Replace(draw(t, tr, Options{Color: true})), draw(t, tr, Options{}); got != want {
		t.Error("the tree with colours is another one")
	}
	if got, want := strip.Replace(listing(t, sampleList(), Options{Color: true})), listing(t, sampleList(), Options{}); got != want {
		t.Error("the list with colours is another one")
	}
}

func TestASCIIDrawsWithASCIIAlone(t *testing.T) {
	b := newBuild("ascii")
	root := b.Root(strings.Repeat("long ", 50), otelmap.OutcomeCompleted, time.Second)
	for range collapseAfter + 10 {
		b.Tool(root, "x", `{"command":"`+strings.Repeat("y", 200)+`"}`, 0, time.Second)
	}
	tr := stored(t, b.Messages())
	tr.Title = strings.ReplaceAll(tr.Title, "…", "")
	for name, text := range map[string]string{
		"tree": draw(t, tr, Options{ASCII: true}), "list": listing(t, []store.Summary{tr.Summary}, Options{ASCII: true}),
	} {
		for _, r := range text {
			if r > '~' {
				t.Errorf("%s draws %q", name, r)
				break
			}
		}
	}
}

// TestTraceWithoutARootHasOneWord has the word of the page in the list, above the trace and
// in the conversation.
func TestTraceWithoutARootHasOneWord(t *testing.T) {
	b := newBuild("cline")
	b.Tool(-1, "read_file", `{"path":"a"}`, 0, time.Second)
	tr := store.NewTrace(b.Messages())
	var list, tree, said strings.Builder
	if err := errors.Join(List(&list, []store.Summary{tr.Summary}, 0, nil, store.Totals{}, Options{}), Tree(&tree, tr, Options{}),
		Conversation(&said, []store.Summary{tr.Summary}, &store.Totals{}, func(string) (*store.Trace, error) { return tr, nil }, Options{})); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"list": list.String(), "tree": tree.String(), "conversation": said.String()} {
		if !strings.Contains(text, "… no root span") {
			t.Errorf("%s:\n%s", name, text)
		}
	}
}
