package ui

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/planlimits"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/internal/traces/view"
)

// TestPlanIsALineOverTheWindows has what agents said of their plans in all windows but the last: the
// page has the shares that hookspan stats prints, and a piece of the line for each.
func TestPlanIsALineOverTheWindows(t *testing.T) {
	m := newMachine(t)
	blocks := func() []store.Group {
		return reads[struct{ Groups []store.Group }](m, "stats", "--json", "--by", "block", "--all").Groups
	}
	before := blocks()
	file := planlimits.File{Path: filepath.Join(m.home, ".local", "state", "hookspan", "limits.jsonl"), Now: time.Now}
	for i, g := range before[:len(before)-1] {
		l, ok := hook.NewLimit(g.Until.Add(-1e9), view.BlockTime, float64(i), float64(g.Until.Unix()))
		for _, host := range []string{hook.HostClaude, hook.HostCodex, hook.HostCline} {
			if err := file.Note(host, []hook.Limit{l}); err != nil || !ok {
				t.Fatal(err, ok)
			}
		}
	}
	var want []string
	said := 0
	for _, g := range blocks() {
		text := "-"
		if g.UsedPercent != nil {
			text = fmt.Sprintf("%.0f %%", *g.UsedPercent)
			said++
		}
		want = append([]string{text}, want...)
	}
	if said == 0 || said == len(want) {
		text, _ := os.ReadFile(file.Path)
		t.Fatalf("%d of %d windows have a share, of\n%s", said, len(want), text)
	}
	s, b := m.page(), open(t)
	b.enter(s)
	b.screen("light", 1440, 900)
	b.run(chromedp.Navigate(s.base + "/cost"))
	b.wait(`document.querySelector(".plan path")`)
	b.wait(fmt.Sprintf(`(document.querySelectorAll(".sums > .more").forEach((e) => e.click()), document.querySelectorAll('[aria-label="Five-hour windows"] tbody tr').length === %d)`, len(want)))
	var got []string
	for _, line := range b.tableOf("Five-hour windows") {
		got = append(got, line[len(line)-1])
	}
	if strings.Join(got, ", ") != strings.Join(want, ", ") {
		t.Errorf("the page has %q, want %q", got, want)
	}
	if n := eval[int](b, `document.querySelector(".plan path").getAttribute("d").split("h").length - 1`); n != said {
		t.Errorf("the line has %d pieces, want %d", n, said)
	}
	if n := eval[int](b, `document.querySelectorAll(".plan rect").length`); n != len(want) {
		t.Errorf("there are %d windows, want %d", n, len(want))
	}
	b.faultless(s)
}

// TestBudgetsAreAboveTheCosts has the lines that hookspan status prints on the page, too.
func TestBudgetsAreAboveTheCosts(t *testing.T) {
	m := newMachine(t)
	file := filepath.Join(m.home, ".config", "hookspan", "hookspan.env")
	err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte("HOOKSPAN_BUDGET_DAY_USD=1\nHOOKSPAN_BUDGET_WEEK_TOKENS=1000\n"), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	s, b := m.page(), open(t)
	b.enter(s)
	b.run(chromedp.Navigate(s.base + "/cost"))
	b.wait(`document.querySelector(".sum")`)
	for _, want := range []string{"day $", "week "} {
		if n := eval[int](b, fmt.Sprintf(`[...document.querySelectorAll("p.note")].filter((e) => e.innerText.includes(" of ") && e.innerText.includes(%q)).length`, want)); n != 1 {
			t.Errorf("%d lines have %q, want one", n, want)
		}
	}
	b.faultless(s)
}
