package hookfile

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/hook/claude"
)

func TestEventsHaveClaudeNames(t *testing.T) {
	ours := append(Events(), otherEvents()...)
	slices.Sort(ours)
	want := claude.EventNames()
	slices.Sort(want)
	if diff := cmp.Diff(want, ours); diff != "" {
		t.Errorf("events (-claude +hookfile):\n%s", diff)
	}
}

func TestNearest(t *testing.T) {
	tests := map[string]string{
		"pretooluse":             "PreToolUse",
		"PreTool":                "PreToolUse",
		"PostToolUseFailed":      "PostToolUseFailure",
		"SubAgentStop":           "SubagentStop",
		"onStop":                 "Stop",
		"UserPrompt":             "",
		"TaskStart":              "SessionStart",
		"TaskResume":             "SessionStart",
		"TaskCancel":             "SessionEnd",
		"TaskError":              "StopFailure",
		"x":                      "",
		"":                       "",
		"BeforeTool":             "",
		string(make([]byte, 41)): "",
	}
	for name, want := range tests {
		if got := nearest(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}
