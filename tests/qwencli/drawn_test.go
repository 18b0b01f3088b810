package qwencli_test

import (
	"strings"
	"testing"

	"github.com/hookspan/hookspan/tests/claudecli/mockanthropic"
	"github.com/hookspan/hookspan/tests/clinecli/mockllm"
	"github.com/hookspan/hookspan/tests/internal/drawn"
	"github.com/hookspan/hookspan/tests/internal/rig"
	"github.com/hookspan/hookspan/tests/qwencli"
)

// drawnCall is a drawn call as one of Qwen Code's.
func drawnCall(c drawn.Call) mockllm.ToolCall {
	switch {
	case c.Unknown():
		return mockllm.ToolCall{Name: "no_such_" + c.Mark, Args: map[string]any{"x": c.Mark}}
	case c.Path != "":
		return read(c.Path)
	case c.Delegates:
		call := agent(drawn.Around)
		call.Args["description"] = c.Mark
		return call
	}
	return shell(c.Command)
}

// TestDrawnSessions puts Qwen Code through sessions that are drawn at random.
func TestDrawnSessions(t *testing.T) {
	cache, bin := rig.Prepare(t, "Qwen Code")
	h := drawn.Host{
		Agent: "qwen", Bin: bin, Subagents: true,
		Prompt: func(s *drawn.Session, i int) rig.Step {
			if i == 0 {
				return qwen(s.Prompts[i])
			}
			return qwen(s.Prompts[i], "--continue")
		},
		Play: func(t *testing.T, dir string, s *drawn.Session, steps []rig.Step) (*rig.Result, []mockanthropic.Request) {
			t.Helper()
			res, err := qwencli.Do(t.Context(), cache, dir, qwencli.Script{Main: drawn.ChatTurns(s.Part(mockanthropic.PartMain), drawnCall), Sub: drawn.ChatTurns(s.Part(mockanthropic.PartSub), drawnCall)}, steps, func(a *rig.Arena) error {
				if err := qwencli.Settings(a, map[string]string{"PreToolUse": denies}); err != nil {
					return err
				}
				return a.InstallHookspan(t.Context(), bin, nil, "qwen")
			})
			rig.Check(t, "Qwen Code", err)
			forgetLost(t, s, res)
			return res.Result, res.Requests
		},
	}
	h.Run(t)
}

// forgetLost takes the texts out of a session that Qwen Code itself has lost.
func forgetLost(t *testing.T, s *drawn.Session, res *qwencli.Result) {
	t.Helper()
	for _, r := range res.Requests {
		for i, c := range r.Calls {
			call := &s.Part(r.Part)[r.Turn].Calls[i]
			if told, known := res.Told[c.ID]; known && !strings.Contains(strings.ReplaceAll(told, call.Command, ""), call.Says) {
				t.Logf("Qwen Code has lost the output of %s: %q", call.Mark, told)
				call.Says = ""
			}
		}
	}
}
