package userhooks

import (
	"testing"

	"github.com/hookspan/hookspan/hook"
)

// TestPlainRunPairsCallsWithOneID has a call that was denied, which has no end, and one with its
// id in the next reply.
func TestPlainRunPairsCallsWithOneID(t *testing.T) {
	t.Parallel()
	run := &plainRun{Made: map[string]int{}}
	call := func(kind hook.Kind, input string) string {
		run.pair(kind, &hook.Tool{ID: "call_0", Name: "run_commands", Input: input})
		return run.Call
	}
	denied, made := call(hook.KindToolStart, "rm"), call(hook.KindToolStart, "ls")
	if denied == made {
		t.Fatalf("two calls have the span %q", made)
	}
	if ended := call(hook.KindToolEnd, "ls"); ended != made {
		t.Errorf("the end of %q is of %q", made, ended)
	}
}
