package view

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/otelmap"
)

func TestRowsAreTheTreeInDepthFirstOrder(t *testing.T) {
	const s = time.Second
	b := newBuild("rows")
	root := b.Root("task", otelmap.OutcomeCompleted, 9*s)
	b.Event(root, otelmap.EventPrompt, 0, str(otelmap.KeyText, "go"))
	call := b.Tool(root, "read_file", `{"path":"a"}`, s, 2*s)
	b.Fail(otelmap.ErrorTool, "no such file")
	agent := b.Add(call, "invoke_agent subagent", s, 2*s, str(otelmap.KeyOperation, otelmap.OpInvokeAgent))
	b.Chat(agent, s, 2*s, usageAttrs(1000, 2, 0, 0.5)...)
	b.Add(99, "GET /", 3*s, 4*s)
	b.Last().EndTimeUnixNano = 0
	var got []string
	for _, r := range Rows(stored(t, b.Messages())) {
		kind, message := r.Problem()
		got = append(got, fmt.Sprintf("%d %s %q %s detached=%v %v %q %s %s",
			r.Depth, r.Kind, r.Status, r.Label, r.Detached, r.Took(), r.Details(), kind, message))
	}
	want := []string{
		`0 run "ok" invoke_agent cline detached=false 9s []  `,
		`1 event "" prompt detached=false 0s ["go"]  `,
		`1 tool "failed" read_file detached=false 1s ["a"] ToolError no such file`,
		`2 agent "ok" invoke_agent subagent detached=false 1s []  `,
		`3 chat "ok" chat detached=false 1s ["1.0k in" "2 out" "$0.5000" "I will look at the tests first. Then the handler."]  `,
		`1 span "unfinished" GET / detached=true 0s []  `,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("rows (-want +got):\n%s", d)
	}
}

// TestProblemHasNoClassThatSaysNothing has failures whose class only says that the agent
// named none.
func TestProblemHasNoClassThatSaysNothing(t *testing.T) {
	for class, want := range map[string][2]string{
		"rate_limit":             {"rate_limit it broke", "rate_limit "},
		otelmap.ErrorOther:       {" it broke", "_OTHER "},
		otelmap.ErrorRun:         {" it broke", "RunError "},
		otelmap.ErrorTool:        {"ToolError it broke", "ToolError "},
		otelmap.ErrorToolFailure: {"ToolFailure it broke", "ToolFailure "},
	} {
		for i, message := range []string{"it broke", ""} {
			b := newBuild("problem")
			b.Root("task", otelmap.OutcomeFailed, time.Second)
			b.Fail(class, message)
			kind, message := Rows(stored(t, b.Messages()))[0].Problem()
			if got := kind + " " + message; got != want[i] {
				t.Errorf("%s: %q, want %q", class, got, want[i])
			}
		}
	}
}

func TestUnknownOutcomesAreMarked(t *testing.T) {
	const s = time.Second
	b := newBuild("unknown")
	root := b.Root("task", otelmap.OutcomeCompleted, 9*s,
		num(otelmap.KeyToolCalls, 3), num(otelmap.KeyToolFailures, 1), num(otelmap.KeyToolUnknown, 1))
	b.Tool(root, "execute_command", `{"command":"npm test"}`, 3*s, 4*s)
	b.Last().Attributes = append(b.Last().Attributes, str(otelmap.KeyToolOutcome, otelmap.ToolOutcomeUnknown))
	tr := stored(t, b.Messages())
	for want, text := range map[string]string{
		"? execute_command  npm test":   draw(t, tr, Options{}),
		"~ execute_command  npm test":   draw(t, tr, Options{ASCII: true}),
		"3 calls (1 failed, 1 unknown)": draw(t, tr, Options{}),
		"3 (1✗ 1?)":                     listing(t, []store.Summary{tr.Summary}, Options{}),
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in:\n%s", want, text)
		}
	}
}
