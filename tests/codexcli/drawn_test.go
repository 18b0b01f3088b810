package codexcli_test

import (
	"testing"

	"github.com/hookspan/hookspan/tests/claudecli/mockanthropic"
	"github.com/hookspan/hookspan/tests/codexcli"
	"github.com/hookspan/hookspan/tests/internal/drawn"
	"github.com/hookspan/hookspan/tests/internal/rig"
)

// drawnTurn is a drawn answer as a turn of the model's.
func drawnTurn(a drawn.Answer) codexcli.Turn {
	t := codexcli.Turn{Text: a.Text, HTTPError: a.Refusal, Breaks: a.Breaks}
	for _, c := range a.Calls {
		switch {
		case c.Unknown():
			t.Tools = append(t.Tools, codexcli.Tool{Name: "no_such_" + c.Mark, Args: map[string]any{"x": c.Mark}})
		case c.Path != "":
			t.Tools = append(t.Tools, shell("cat "+c.Path))
		default:
			t.Tools = append(t.Tools, shell(c.Command))
		}
	}
	return t
}

// TestDrawnSessions puts Codex through sessions that are drawn at random. It tries a
// request again, as it does outside of tests.
func TestDrawnSessions(t *testing.T) {
	cache, bin := rig.Prepare(t, "Codex")
	retries := []string{"-c", "model_providers.mock.request_max_retries=2", "-c", "model_providers.mock.stream_max_retries=2"}
	h := drawn.Host{
		Agent: "codex", Bin: bin, Short: 1,
		Prompt: func(s *drawn.Session, i int) rig.Step {
			if i == 0 {
				return codex(append(retries, s.Prompts[i])...)
			}
			return codex(append([]string{"resume", "--last"}, append(retries, s.Prompts[i])...)...)
		},
		Play: func(t *testing.T, dir string, s *drawn.Session, steps []rig.Step) (*rig.Result, []mockanthropic.Request) {
			t.Helper()
			res, err := codexcli.Do(t.Context(), cache, dir, codexcli.Script{Main: drawn.Turns(s.Answers, drawnTurn)}, steps, func(a *rig.Arena) error {
				if err := codexcli.Settings(a, map[string]string{"PreToolUse": denies}); err != nil {
					return err
				}
				return a.InstallHookspan(t.Context(), bin, nil, "codex")
			})
			rig.Check(t, "Codex", err)
			return res.Result, res.Requests
		},
	}
	h.Run(t)
}
