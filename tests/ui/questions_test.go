package ui

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/internal/traces/view"
)

// tableOf are the lines of a table of the page: the whole name of each, then its cells.
func (b *browser) tableOf(title string) [][]string {
	b.t.Helper()
	return eval[[][]string](b, fmt.Sprintf(`[...document.querySelectorAll('[aria-label=%q] tbody tr')].map((e) => [e.querySelector("[title]")?.title ?? e.querySelector("th").innerText, ...[...e.querySelectorAll("td")].map((x) => x.innerText.trim())])`, title))
}

// TestTablesAreThoseOfStats compares the tables that answer questions about all tasks with
// what hookspan stats prints about the same tasks.
func TestTablesAreThoseOfStats(t *testing.T) {
	m := newMachine(t)
	s, b := m.page(), open(t)
	b.enter(s)
	b.screen("light", 1440, 900)
	some := func(n int) string { return strings.TrimPrefix(fmt.Sprint(n), "0") }
	cost := func(g store.Group) string {
		if g.Usage == nil || g.Usage.CostUSD == nil {
			return ""
		}
		return view.Dollars(*g.Usage.CostUSD)
	}
	spent := func(g store.Group) []string { return strings.Split(cells("", g), " | ") }
	added := func(g store.Group) string {
		if g.AddedTokens == nil {
			return "-"
		}
		return view.Tokens(*g.AddedTokens)
	}
	last := func(g store.Group) string { return "The last task: " + g.Key }
	seen := make(map[string]int)
	for _, f := range []struct {
		query string
		flags []string
	}{{"", nil}, {"tool=Bash", []string{"--tool", "Bash"}}, {"failed=1", []string{"--failed"}}} {
		for _, v := range []struct {
			by, path, title string
			name            func(store.Group) string
			cells           func(store.Group) []string
		}{
			{"subagent", "/cost", "Subagents", nil, func(g store.Group) []string { return slices.Insert(spent(g), 1, added(g)) }},
			{"mcp", "/cost", "MCP servers", nil, func(g store.Group) []string {
				return []string{some(g.Traces), fmt.Sprint(g.Calls), some(g.Failures), added(g), cost(g)}
			}},
			{"block", "/cost", "Five-hour windows", nil, spent},
			{"hook", "/cost", "Your hooks", nil, func(g store.Group) []string { return strings.Split(cells("Tools", g), " | ") }},
			{"model", "/cost", "For a task", nil, func(g store.Group) []string {
				n := max(1, g.Traces)
				per := ""
				if g.Traces > 0 && cost(g) != "" {
					per = view.Dollars(*g.Usage.CostUSD / float64(n))
				}
				median, share := "", ""
				if g.MedianUSD != nil {
					median = view.Dollars(*g.MedianUSD)
				}
				if g.DearestUSD != nil && cost(g) != "" {
					share = fmt.Sprintf("%.0f %%", 100*min(1, *g.DearestUSD / *g.Usage.CostUSD))
				}
				if g.Traces == 0 {
					return []string{per, median, share, "", "", some(g.EditsDenied)}
				}
				return []string{per, median, share, view.Duration(g.Took / time.Duration(n)), fmt.Sprintf("%.1f", float64(g.Failures)/float64(n)), some(g.EditsDenied)}
			}},
			{"failure", "/calls", "Failures", last, func(g store.Group) []string { return []string{fmt.Sprint(g.Traces), fmt.Sprint(g.Calls)} }},
			{"denial", "/calls", "Denied", last, func(g store.Group) []string { return []string{fmt.Sprint(g.Traces), fmt.Sprint(g.Calls)} }},
		} {
			if f.query == "failed=1" && (v.by == "failure" || v.by == "denial") {
				continue // These are of such calls alone, and the command refuses the flag.
			}
			groups := reads[struct{ Groups []store.Group }](m, append([]string{"stats", "--json", "--by", v.by}, f.flags...)...).Groups
			if at := s.base + v.path + "?" + f.query; eval[string](b, "location.href") != at {
				b.run(chromedp.Navigate(at))
				b.wait(`document.querySelector(".sum") && (location.pathname === "/calls" || document.querySelector('[aria-label="For a task"]'))`)
			}
			// The kinds of failure come after the first rows; a closed one has no texts.
			b.wait(fmt.Sprintf(`(document.querySelectorAll(".kinds").forEach((e) => e.open = true), document.querySelectorAll(".sums > .more").forEach((e) => e.click()), document.querySelectorAll('[aria-label=%q] tbody tr').length === %d)`, v.title, len(groups)))
			got := make(map[string]string)
			for _, line := range b.tableOf(v.title) {
				got[line[0]] = strings.Join(line[1:], " | ")
			}
			for _, g := range groups {
				name := g.Key
				if v.name != nil {
					name = v.name(g)
				}
				want := strings.Join(v.cells(g), " | ")
				if v.by == "model" { // the denied edits come with the other sums over all work
					b.wait(fmt.Sprintf(`[...document.querySelectorAll('[aria-label="For a task"] tbody tr')].some((e) => e.querySelector("[title]").title === %s && [...e.querySelectorAll("td")].map((x) => x.innerText.trim()).join(" | ") === %s)`, quoted(name), quoted(want)))
					seen[v.by]++
					continue
				}
				if seen[v.by]++; got[name] != want {
					t.Errorf("%s?%s: %s %q: %q, want %q", v.path, f.query, v.title, name, got[name], want)
				}
			}
		}
	}
	for _, by := range []string{"subagent", "mcp", "block", "model", "failure", "denial"} {
		if seen[by] == 0 {
			t.Errorf("no sum by %s was compared", by)
		}
	}
	b.faultless(s)
}

// TestFiltersAreCompared takes the filters of two lists as the sides of a comparison, which are
// those of hookspan compare.
func TestFiltersAreCompared(t *testing.T) {
	script := axe(t)
	m := newMachine(t)
	s, b := m.page(), open(t)
	b.enter(s)
	b.screen("light", 1440, 900)
	compare := `[...document.querySelectorAll(".filters button")].find((e) => e.textContent === "Compare")`
	for _, path := range []string{"/?agent=cline", "/cost?agent=claude-code&failed=1"} {
		b.visit(path)
		b.click(compare)
	}
	b.wait(`location.pathname === "/compare" && document.querySelector(".versus")`)
	sides := reads[[]store.Group](m, "compare", "--json", "agent=cline", "agent=claude,failed")
	if len(sides) != 2 || sides[0].Traces == 0 || sides[1].Traces == 0 {
		t.Fatal(sides)
	}
	for label, value := range map[string]func(store.Group) string{
		"tasks":             func(g store.Group) string { return fmt.Sprint(g.Traces) },
		"cost":              func(g store.Group) string { return view.Dollars(*g.Usage.CostUSD) },
		"cost of a task":    func(g store.Group) string { return view.Dollars(*g.Usage.CostUSD / float64(g.Traces)) },
		"half took at most": func(g store.Group) string { return view.Duration(g.P50) },
		"failed":            func(g store.Group) string { return fmt.Sprint(g.Failures) },
		"edits denied":      func(g store.Group) string { return fmt.Sprint(g.EditsDenied) },
	} {
		got := eval[string](b, `[...document.querySelectorAll(".versus tbody tr")].find((e) => e.querySelector("th").innerText === `+quoted(label)+`)?.innerText.split("\t").slice(1, 3).join("|") ?? ""`)
		if want := value(sides[0]) + "|" + value(sides[1]); got != want {
			t.Errorf("%s: %q, want %q", label, got, want)
		}
	}
	b.looks("two filters", script)
	// A task and filters, and filters that select nothing.
	for _, path := range []string{"/compare?a=2d8b5ea5ce50f1f57d654ab503c57379&b=" + url.QueryEscape("agent=cline"), "/compare?a=" + url.QueryEscape("text=zzzqqq&model=%3Dx") + "&b=" + url.QueryEscape("cost=-1&when=never")} {
		b.goTo(s, path)
		b.shows("Two sets of tasks")
		b.shows("cost of a task")
	}
	b.faultless(s)
}
