package claude

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/hook"
)

// What Claude Code notes of a session beside its messages.
func TestClaudeNotes(t *testing.T) {
	tr := readLines(t, userRow("p1", 0, "go"),
		crow("pr-link", 1, `"prNumber":7,"prUrl":"https://github.com/o/r/pull/7","prRepository":"o/r"`), crow("pr-link", 2, `"prUrl":"x"`),
		crow("cost-state", 3, `"totalCostUSD":0.5,"hasUnknownModelCost":false`), crow("cost-state", 4, `"totalCostUSD":0.1,"hasUnknownModelCost":true`))
	if diff := cmp.Diff([]hook.PullRequest{{At: sec(1), Number: 7, URL: "https://github.com/o/r/pull/7", Repository: "o/r"}}, tr.PullRequests); diff != "" {
		t.Errorf("pull requests (-want +got):\n%s", diff)
	}
	if tr.HostCostUSD == nil || *tr.HostCostUSD != 0.5 {
		t.Errorf("cost %v, want the newest that Claude Code knows as a whole", tr.HostCostUSD)
	}
}
