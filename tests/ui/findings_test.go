package ui

import (
	"fmt"
	"testing"

	"github.com/hookspan/hookspan/internal/traces/view"
)

// TestFindingsLeadToTheirCalls has each finding of a task at the top of its page: it selects the
// call that it is about.
func TestFindingsLeadToTheirCalls(t *testing.T) {
	m := newMachine(t)
	all := reads[struct{ Findings []view.Finding }](m, "findings", "--json", "--all").Findings
	if len(all) == 0 {
		t.Fatal("the sample has no finding")
	}
	s, b := m.page(), open(t)
	b.enter(s)
	b.screen("light", 1440, 900)
	for _, f := range all[:min(3, len(all))] {
		b.goTo(s, "/t/"+f.Trace)
		line := fmt.Sprintf(`[...document.querySelectorAll("p.money button")].find((e) => e.innerText.startsWith(%s))`, quoted(f.What))
		b.wait(line)
		b.click(line)
		b.wait(fmt.Sprintf(`location.search.includes(%s)`, quoted(f.Spans[0])))
	}
	b.faultless(s)
}
