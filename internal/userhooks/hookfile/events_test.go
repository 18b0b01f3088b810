package hookfile

import (
	"slices"
	"testing"

	"github.com/hookspan/hookspan/hook/claude"
)

func TestEventsHaveClaudeNames(t *testing.T) {
	for _, event := range Events() {
		if !slices.Contains(claude.EventNames(), event) {
			t.Errorf("%s is not one of Claude's events", event)
		}
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
