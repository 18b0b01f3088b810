package clinecli_test

import (
	"testing"

	"github.com/hookspan/hookspan/tests/clinecli"
	"github.com/hookspan/hookspan/tests/internal/drawn"
	"github.com/hookspan/hookspan/tests/internal/llm"
	"github.com/hookspan/hookspan/tests/internal/rig"
	"github.com/hookspan/hookspan/tests/internal/scenario"
)

func delegate(mark string) llm.Call {
	return call("spawn_agent", "systemPrompt", "You are a helper", "task", mark+" "+drawn.Around)
}

// TestDrawnSessions puts CLI 3 through sessions that are drawn at random.
func TestDrawnSessions(t *testing.T) {
	harness(t).Agent(clinecli.CLI3, clinecli.Nowhere).Draw(t, &scenario.Drawn{
		Host: drawn.Host{Subagents: true, Prompt: func(s *drawn.Session, i int) rig.Step {
			if i == 0 && !s.Denies() {
				return cliStep("--json", s.Prompts[i])
			}
			// Only an editor takes a session up again without a terminal, and only it denies.
			chat := rig.ACP{Prompts: s.Prompts[i : i+1], Permissions: []string{"allow_once"}, Rejects: drawn.Forbidden}
			if i > 0 {
				chat.Session = rig.WordSession
			}
			return rig.Step{Args: []string{"--acp"}, ACP: &chat}
		}},
		Forms: drawn.Forms{Read: read, Shell: func(command string) llm.Call { return run(command) }, Delegate: delegate},
		// A subagent asks while its caller waits.
		Whole: true,
		Env:   map[string]string{"CLINE_API_KEY": "sk-mock", "CLINE_PROVIDER": "openai-compatible", "CLINE_MODEL": llm.Name},
	})
}
