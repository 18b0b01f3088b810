package view

import (
	"bytes"
	"encoding/csv"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/otelmap"
)

// TestAPipeCutsNothing gives every name a length that no column has.
func TestAPipeCutsNothing(t *testing.T) {
	long := func(name string) string { return name + strings.Repeat("-0123456789", 15) + "-end" }
	at := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	sum := store.Summary{
		TraceID: "00000000000000000000000000000001", Session: "s", Host: long("host"), Directory: "/w/" + long("project"), Title: long("title"),
		Outcome: long("outcome"), Started: at, Ended: at.Add(time.Hour), Usage: sampleUsage(1, 0, 1, 1),
	}
	call := store.Call{
		Trace: sum.TraceID, Span: "0000000000000001", Directory: sum.Directory, Tool: long("tool"), Subagent: long("subagent"), Status: otelmap.EndFailed,
		Arguments: `{"path":"` + long("file") + `","new_text":"` + long("text") + `"}`, Error: long("error"), Started: at, Took: time.Second,
	}
	other := call
	other.Directory = "/"
	group := store.Group{Key: long("key"), Title: long("title"), Branches: []string{long("branch"), long("other")}, Totals: store.Totals{Traces: 1, Unpriced: []string{long("model")}}}
	event := EventLine{Agent: long("agent"), Directory: "/w/" + long("project"), Tool: long("tool"), Kind: "tool_end", Status: "failed", Text: long("error"), Took: time.Second}
	for name, c := range map[string]struct {
		draw func(io.Writer) error
		want []string
	}{
		"list": {func(w io.Writer) error {
			return List(w, []store.Summary{sum, {}}, 0, map[string][]Note{sum.TraceID: {{Where: long("where"), Text: long("note")}}}, store.Totals{}, Options{})
		}, []string{"host", "project", "title", "outcome", "where", "note"}},
		"calls": {func(w io.Writer) error { return Calls(w, []store.Call{call, other}, store.Totals{}, Options{}) }, []string{"project", "subagent", "tool", "file", "error"}},
		"edits": {func(w io.Writer) error { return WriteEdits(w, []store.Call{call}, Options{}) }, []string{"project", "tool", "file", "text"}},
		"stats": {func(w io.Writer) error {
			return Groups(w, store.ByProject, []store.Group{group}, group.Totals, Options{})
		}, []string{"key", "title", "branch", "other", "model"}},
		"sides":    {func(w io.Writer) error { return Sides(w, []store.Group{group}, Options{}) }, []string{"key"}},
		"timeline": {func(w io.Writer) error { return Timeline(w, []*store.Work{{Summary: sum}}, Options{}) }, []string{"project", "title"}},
		"cost": {func(w io.Writer) error {
			return Cost(w, long("title"), Costs{Items: []CostItem{{What: long("what")}}}, Options{})
		}, []string{"title", "what"}},
		"tail": {func(w io.Writer) error { _, err := io.WriteString(w, Event(&event, Options{})); return err }, []string{"agent", "project", "tool", "error"}},
	} {
		var b bytes.Buffer
		if err := c.draw(&b); err != nil {
			t.Fatal(err)
		}
		for _, want := range c.want {
			if !strings.Contains(b.String(), long(want)) {
				t.Errorf("%s: %s is cut:\n%s", name, want, b.String())
			}
		}
	}
	made := newBuild("pipe")
	made.Tool(made.Root(long("prompt"), "completed", 9*time.Second), long("tool"), `{"command":"`+long("detail")+`"}`, time.Second, 2*time.Second)
	tree := draw(t, store.NewTrace(made.Messages()), Options{})
	for _, want := range []string{"prompt", "tool", "detail"} {
		if !strings.Contains(tree, long(want)) {
			t.Errorf("tree: %s is cut:\n%s", want, tree)
		}
	}
}

// TestCSVHasTheModelsPart has the sums of tasks that used a further model.
func TestCSVHasTheModelsPart(t *testing.T) {
	g := store.Group{Key: "2026-11-20", Totals: store.Totals{Traces: 3, Usage: sampleUsage(9, 0, 9, 3), OfModel: sampleUsage(1, 0, 1, 0.25)}}
	g.SetCosts([]float64{2, 0.5, 0.25, 0.25})
	var b bytes.Buffer
	if err := CSV(&b, store.ByDay, []store.Group{g}); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&b).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"cost_usd": "3", "of_model_cost_usd": "0.25", "median_cost_usd": "0.375", "dearest_cost_usd": "2"} {
		if at := slices.Index(rows[0], name); at < 0 || rows[1][at] != want {
			t.Errorf("%s: want %s: %q", name, want, rows)
		}
	}
}

// TestCellsAreNoFormulas has the signs that spreadsheets read as those of ASCII.
func TestCellsAreNoFormulas(t *testing.T) {
	for _, sign := range strings.Split("= + - @ ＝ ＋ － ＠ ﹢ −", " ") {
		var b bytes.Buffer
		text := sign + "cmd|'/c calc'!A1"
		if err := CallsCSV(&b, []store.Call{{Tool: text, Error: text, Directory: text}}); err != nil {
			t.Fatal(err)
		}
		if err := CSV(&b, store.ByTool, []store.Group{{Key: text, Title: text, Branches: []string{text}}}); err != nil {
			t.Fatal(err)
		}
		if bare, marked := strings.Count(b.String(), text), strings.Count(b.String(), "'"+text); bare != marked || bare != 6 {
			t.Errorf("%s: %d of %d cells are marked: %s", sign, marked, bare, b.String())
		}
	}
}
