package otelmap

import (
	"fmt"
	"testing"
	"time"

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
		j := b.join(r, nil, time.Time{})
		seen[j.files] = true
		if j.evidence != EvidenceUnknown {
			t.Errorf("the evidence of a run whose files are not there is %s", j.evidence)
		}
	}
	if len(seen) != 1 {
		t.Errorf("%d times looked for, want once", len(seen))
	}
}

// TestResultsAreVisitedOnce has calls under one id: what was taken is not visited again.
func TestResultsAreVisitedOnce(t *testing.T) {
	const n = 1000
	k := resultKey{"", hook.CallKey{ID: "call_0"}}
	r := results{by: make(map[resultKey][]*hook.ToolResult), taken: make(map[*hook.ToolResult]bool)}
	for range n {
		r.by[k] = append(r.by[k], &hook.ToolResult{ID: "call_0"})
	}
	for i := range n {
		free := r.free(k)
		if len(free) != n-i || len(r.by[k]) != n-i {
			t.Fatalf("after call %d the list has %d results, of which %d are free", i, len(r.by[k]), len(free))
		}
		r.take(&call{}, free[0])
	}
	if len(r.free(k)) != 0 {
		t.Error("a result was taken twice")
	}
}
