package otelmap

import (
	"fmt"
	"testing"

	"github.com/hookspan/hookspan/hook"
)

// TestRunsWithoutFilesShareWhatTheyHold maps the runs of a session whose files are not there:
// what there is of them is looked for once, not for each run.
func TestRunsWithoutFilesShareWhatTheyHold(t *testing.T) {
	var events []hook.Event
	for i := range 3 {
		turn := fmt.Sprint("p", i)
		events = append(events, turnPrompt(float64(10*i), turn), turnStop(float64(10*i+5), turn))
	}
	b := buildTurns(Carry{}, logged(events...))
	seen := make(map[*files]bool)
	for _, r := range b.Runs(far) {
		m := b.mapping(r, nil, far)
		seen[m.files] = true
		if !m.lacking {
			t.Error("a run whose files are not there has some")
		}
	}
	if len(seen) != 1 {
		t.Errorf("%d times looked for, want once", len(seen))
	}
}

// TestClaimsVisitAResultOnce has calls under one id: what one of them took is not visited for
// the next.
func TestClaimsVisitAResultOnce(t *testing.T) {
	const n = 1000
	c := claims{lists: make(map[resultKey][]*hook.ToolResult), taken: make(map[*hook.ToolResult]bool)}
	for range n {
		c.add(&hook.ToolResult{ID: "call_0"}, toolKey{id: "call_0"}, toolKey{id: "call_0", name: "Bash"})
	}
	for i := range n {
		k := toolKey{id: "call_0"}
		if i%2 == 0 {
			k.name = "Bash"
		}
		if c.claim("", k) == nil {
			t.Fatalf("call %d has no result", i)
		}
		if left := len(c.lists[resultKey{"", k}]); left > n-i/2 {
			t.Fatalf("after call %d the list has %d results", i, left)
		}
	}
	if c.claim("", toolKey{id: "call_0"}) != nil {
		t.Error("a result was taken twice")
	}
}
