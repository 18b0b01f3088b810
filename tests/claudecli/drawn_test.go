package claudecli_test

import (
	"testing"

	"github.com/hookspan/hookspan/tests/claudecli"
	"github.com/hookspan/hookspan/tests/claudecli/mockanthropic"
	"github.com/hookspan/hookspan/tests/internal/drawn"
	"github.com/hookspan/hookspan/tests/internal/rig"
	"github.com/hookspan/hookspan/tests/internal/scenario"
)

func delegate(mark string) mockanthropic.ToolCall {
	call := agent(false)
	call.Input["description"] = mark
	return call
}

// TestDrawnSessions puts Claude Code through sessions that are drawn at random.
func TestDrawnSessions(t *testing.T) {
	forms := drawn.Forms[mockanthropic.ToolCall]{
		Unknown: func(name string, args map[string]any) mockanthropic.ToolCall {
			return mockanthropic.ToolCall{Name: name, Input: args}
		},
		Read: func(path string) mockanthropic.ToolCall { return read(rig.WordWorkspace + "/" + path) }, Shell: bash, Delegate: delegate,
	}
	turns := func(answers []drawn.Answer) []mockanthropic.Turn {
		return drawn.Turns(answers, func(a drawn.Answer) mockanthropic.Turn {
			return mockanthropic.Turn{Text: a.Text, Tools: forms.Calls(a), HTTPError: a.Refusal, Message: "scripted refusal", Breaks: a.Breaks, Anew: a.Anew}
		})
	}
	claudecli.Agent.Draw(t, &scenario.Drawn[mockanthropic.Script]{
		Host: drawn.Host{Subagents: true}, Submit: claude, Again: []string{"-c"},
		Script: func(s *drawn.Session) mockanthropic.Script {
			return mockanthropic.Script{
				Main: turns(s.Part(mockanthropic.PartMain)), Sub: turns(s.Part(mockanthropic.PartSub)), SubWhen: subWhen,
			}
		},
		More: map[string]string{"deny": "Bash(echo " + drawn.Forbidden + "*)"},
	})
}
