package hook

import (
	"slices"
	"testing"
)

func TestAgents(t *testing.T) {
	var names []string
	for _, a := range Agents() {
		if a.Host == "" || a.Word == "" || a.Name == "" || a.Program == "" || a.ToolError == "" || a.MaxInput == 0 || a.MaxOutput == 0 || len(a.Folders) == 0 || a.Scopes[0] != "user" {
			t.Errorf("%+v lacks a fact", a)
		}
		if of := AgentOf(a.Host); of.Word != a.Word || of.Program != a.Program || of.MaxInput != a.MaxInput {
			t.Errorf("%s: %+v, want %+v", a.Host, of, a)
		}
		if slices.Contains(names, a.Host) || slices.Contains(names, a.Word) {
			t.Errorf("two agents are called %s or %s", a.Host, a.Word)
		}
		names = append(names, a.Host, a.Word)
	}
	if a := AgentOf("droid"); a.Word != "" || a.Program != "" {
		t.Errorf("an agent that is not supported: %+v", a)
	}
}

// TestArgument: the agent after which a program is named starts it without a word.
func TestArgument(t *testing.T) {
	for host, want := range map[string]string{HostClaude: "", HostCline: "", HostCodex: "codex", HostOpencode: "opencode"} {
		if got := AgentOf(host).Argument(); got != want {
			t.Errorf("%s: %q, want %q", host, got, want)
		}
	}
}
