package claudecli_test

import (
	"testing"

	"github.com/hookspan/hookspan/tests/claudecli"
	"github.com/hookspan/hookspan/tests/claudecli/mockanthropic"
	"github.com/hookspan/hookspan/tests/internal/drawn"
	"github.com/hookspan/hookspan/tests/internal/rig"
)

// drawnTurn is a drawn answer as a turn of the model's.
func drawnTurn(a drawn.Answer) mockanthropic.Turn {
	t := mockanthropic.Turn{Text: a.Text, HTTPError: a.Refusal, Message: "scripted refusal", Breaks: a.Breaks}
	for _, c := range a.Calls {
		switch {
		case c.Unknown():
			t.Tools = append(t.Tools, mockanthropic.ToolCall{Name: "no_such_" + c.Mark, Input: map[string]any{"x": c.Mark}})
		case c.Path != "":
			t.Tools = append(t.Tools, read(rig.WordWorkspace+"/"+c.Path))
		case c.Delegates:
			call := agent(false)
			call.Input["description"] = c.Mark
			t.Tools = append(t.Tools, call)
		default:
			t.Tools = append(t.Tools, bash(c.Command))
		}
	}
	return t
}

// TestDrawnSessions puts Claude Code through sessions that are drawn at random.
func TestDrawnSessions(t *testing.T) {
	cache, bin := rig.Prepare(t, "Claude Code")
	h := drawn.Host{
		Agent: "claude", Bin: bin, Subagents: true,
		Prompt: func(s *drawn.Session, i int) rig.Step {
			if i == 0 {
				return claude(s.Prompts[i])
			}
			return claude(s.Prompts[i], "-c")
		},
		Play: func(t *testing.T, dir string, s *drawn.Session, steps []rig.Step) (*rig.Result, []mockanthropic.Request) {
			t.Helper()
			res, err := claudecli.Do(t.Context(), cache, dir, &claudecli.Run{
				Script: mockanthropic.Script{
					Main: drawn.Turns(s.Part(mockanthropic.PartMain), drawnTurn), Sub: drawn.Turns(s.Part(mockanthropic.PartSub), drawnTurn), SubWhen: subWhen,
				},
				Steps: steps,
				Setup: func(a *rig.Arena) error {
					if err := (claudecli.Settings{Deny: []string{"Bash(echo " + drawn.Forbidden + "*)"}}).Write(a); err != nil {
						return err
					}
					return a.InstallHookspan(t.Context(), bin, nil, "claude")
				},
			})
			rig.Check(t, "Claude Code", err)
			return res.Result, res.Requests
		},
	}
	h.Run(t)
}
