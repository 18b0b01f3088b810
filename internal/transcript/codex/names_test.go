package codex

import "testing"

// TestHookNameIsThatOfTheHooks has what rows call a tool, and what hooks do.
func TestHookNameIsThatOfTheHooks(t *testing.T) {
	for _, c := range []struct{ namespace, name, want string }{
		{"mcp__linear", "get_issue", "mcp__linear__get_issue"},
		{"mcp__linear__", "get_issue", "mcp__linear__get_issue"},
		{"collaboration", "wait_agent", "collaborationwait_agent"},
	} {
		if got := hookName(c.namespace, c.name); got != c.want {
			t.Errorf("%q %q: %q, want %q", c.namespace, c.name, got, c.want)
		}
	}
}
