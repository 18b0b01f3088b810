package agents

import (
	"os"
	"slices"
	"testing"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/record"
	"github.com/hookspan/hookspan/internal/record/claudehook"
)

// TestEachAgentHasItsEntries has the agents of package hook, of which the tables need a row each.
func TestEachAgentHasItsEntries(t *testing.T) {
	started := claudehook.Agents(os.Getenv)
	for _, facts := range hook.Agents() {
		a, ok := All().Named(facts.Word)
		switch {
		case !ok:
			t.Errorf("agents.go has no entry of %s", facts.Name)
		case a.Decode == nil || a.Transcript.Read == nil || a.Transcript.Sessions == nil || a.Transcript.AddEvents == nil:
			t.Errorf("the entry of %s has no decoder or no reader of all its files", facts.Name)
		case a.Transcript.Host != facts.Host:
			t.Errorf("the entry of %s has the reader of %q", facts.Name, a.Transcript.Host)
		case a.Installer == nil || a.Command == nil || a.Servers == "" || a.AddServer == "":
			t.Errorf("the entry of %s has no installer, or does not say how its users add an MCP server", facts.Name)
		}
		starts := slices.ContainsFunc(started, func(r record.Agent) bool { return r.Facts.Host == facts.Host && r.Peek != nil })
		if starts != (facts.Program == hook.ProgramClaude) {
			t.Errorf("%s starts %s, and has a row in internal/record/claudehook/agents.go: %v", facts.Name, facts.Program, starts)
		}
	}
}
