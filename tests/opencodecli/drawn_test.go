package opencodecli_test

import (
	"strings"
	"testing"

	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/tests/claudecli/mockanthropic"
	"github.com/hookspan/hookspan/tests/clinecli/mockllm"
	"github.com/hookspan/hookspan/tests/internal/drawn"
	"github.com/hookspan/hookspan/tests/internal/rig"
	"github.com/hookspan/hookspan/tests/opencodecli"
)

// drawnCall is a drawn call as one of opencode's.
func drawnCall(c drawn.Call) mockllm.ToolCall {
	switch {
	case c.Unknown():
		return mockllm.ToolCall{Name: "no_such_" + c.Mark, Args: map[string]any{"x": c.Mark}}
	case c.Path != "":
		return read(c.Path)
	case c.Delegates:
		return task(c.Mark)
	}
	// What is forbidden fails by the plugin; a rule denies what is secret.
	return bash(strings.ReplaceAll(c.Command, drawn.Forbidden, "secret"))
}

// TestDrawnSessions puts opencode through sessions that are drawn at random.
func TestDrawnSessions(t *testing.T) {
	cache, bin := rig.Prepare(t, "opencode")
	h := drawn.Host{
		Agent: "opencode", Bin: bin, Subagents: true,
		Prompt: func(s *drawn.Session, i int) rig.Step {
			if i == 0 {
				return opencode(s.Prompts[i])
			}
			return opencode("--continue", s.Prompts[i])
		},
		Play: func(t *testing.T, dir string, s *drawn.Session, steps []rig.Step) (*rig.Result, []mockanthropic.Request) {
			t.Helper()
			res, err := opencodecli.Do(t.Context(), cache, dir, opencodecli.Script{Main: drawn.ChatTurns(s.Part(mockanthropic.PartMain), drawnCall), Sub: drawn.ChatTurns(s.Part(mockanthropic.PartSub), drawnCall)}, steps, func(a *rig.Arena) error {
				if err := opencodecli.Settings(a, `{"bash": {"echo secret*": "deny"}}`); err != nil {
					return err
				}
				return a.InstallHookspan(t.Context(), bin, nil, "opencode")
			})
			rig.Check(t, "opencode", err)
			return res.Result, res.Requests
		},
	}
	h.Say = func(s *drawn.Story, _ bool) {
		// The program puts what has blanks between quotation marks.
		s.Prompt = `"` + s.Prompt + `"`
		if s.Outcome == otelmap.OutcomeInterrupted {
			s.Forget() // It never counts a request whose call is cut off.
		}
	}
	// Its database does not say that such a turn has ended.
	h.Open = func(outcome string) bool { return outcome == otelmap.OutcomeInterrupted }
	h.Run(t)
}
