package clinecli_test

import (
	"testing"

	"github.com/hookspan/hookspan/tests/clinecli"
	"github.com/hookspan/hookspan/tests/clinecli/mockllm"
	"github.com/hookspan/hookspan/tests/internal/drawn"
	"github.com/hookspan/hookspan/tests/internal/rig"
	"github.com/hookspan/hookspan/tests/internal/scenario"
)

func delegate(mark string) mockllm.ToolCall {
	return call("spawn_agent", "systemPrompt", "You are a helper", "task", mark+" "+drawn.Around)
}

// TestDrawnSessions puts CLI 3 through sessions that are drawn at random.
func TestDrawnSessions(t *testing.T) {
	forms := drawn.Forms[mockllm.ToolCall]{
		Unknown: mockllm.Call, Read: read, Shell: func(command string) mockllm.ToolCall { return run(command) }, Delegate: delegate,
	}
	newAgent(t).Draw(t, &scenario.Drawn[clinecli.Script]{
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
		Script: func(s *drawn.Session) clinecli.Script {
			return clinecli.Script{CLI: clinecli.CLI3, Turns: drawn.ChatTurns(s.Answers, &forms), Recorder: clinecli.Nowhere}
		},
		Env: map[string]string{"CLINE_API_KEY": "sk-mock", "CLINE_PROVIDER": "openai-compatible", "CLINE_MODEL": mockllm.Model},
		// The script has no parts: a subagent asks while its caller waits.
		Adjust: func(_ *testing.T, s *drawn.Session, res *scenario.Result) {
			for i := range res.Requests {
				r := &res.Requests[i]
				r.Part, r.Turn = s.Place(r.Turn)
			}
		},
	})
}
