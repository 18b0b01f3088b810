package copilotcli_test

import (
	"testing"

	"github.com/hookspan/hookspan/tests/claudecli/mockanthropic"
	"github.com/hookspan/hookspan/tests/clinecli/mockllm"
	"github.com/hookspan/hookspan/tests/copilotcli"
	"github.com/hookspan/hookspan/tests/internal/drawn"
	"github.com/hookspan/hookspan/tests/internal/rig"
)

// drawnCall is a drawn call as one of Copilot's.
func drawnCall(c drawn.Call) mockllm.ToolCall {
	switch {
	case c.Unknown():
		return mockllm.ToolCall{Name: "no_such_" + c.Mark, Args: map[string]any{"x": c.Mark}}
	case c.Path != "":
		return view(c.Path)
	case c.Delegates:
		call := task("explore")
		call.Args["description"] = c.Mark
		return call
	}
	return shell(c.Command)
}

// TestDrawnSessions puts Copilot through sessions that are drawn at random.
func TestDrawnSessions(t *testing.T) {
	cache, bin := rig.Prepare(t, "Copilot")
	h := drawn.Host{
		Agent: "copilot", Bin: bin, Subagents: true,
		Prompt: func(s *drawn.Session, i int) rig.Step {
			if i == 0 {
				return copilot(s.Prompts[i])
			}
			return copilot(s.Prompts[i], "--continue")
		},
		Play: func(t *testing.T, dir string, s *drawn.Session, steps []rig.Step) (*rig.Result, []mockanthropic.Request) {
			t.Helper()
			res, err := copilotcli.Do(t.Context(), cache, dir, copilotcli.Script{Main: drawn.ChatTurns(s.Part(mockanthropic.PartMain), drawnCall), Sub: drawn.ChatTurns(s.Part(mockanthropic.PartSub), drawnCall)}, steps, func(a *rig.Arena) error {
				if err := copilotcli.Settings(a, map[string]string{"preToolUse": denies}); err != nil {
					return err
				}
				return a.InstallHookspan(t.Context(), bin, nil, "copilot")
			})
			rig.Check(t, "Copilot", err)
			return res.Result, res.Requests
		},
	}
	h.Run(t)
}
