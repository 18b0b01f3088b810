package codexcli_test

import (
	"slices"
	"testing"

	"github.com/hookspan/hookspan/tests/codexcli"
	"github.com/hookspan/hookspan/tests/internal/drawn"
	"github.com/hookspan/hookspan/tests/internal/rig"
	"github.com/hookspan/hookspan/tests/internal/scenario"
)

// TestDrawnSessions puts Codex through sessions that are drawn at random. It tries a
// request again, as it does outside of tests.
func TestDrawnSessions(t *testing.T) {
	retries := []string{"-c", "model_providers.mock.request_max_retries=2", "-c", "model_providers.mock.stream_max_retries=2"}
	forms := drawn.Forms[codexcli.Tool]{
		Unknown: func(name string, args map[string]any) codexcli.Tool { return codexcli.Tool{Name: name, Args: args} },
		Read:    func(path string) codexcli.Tool { return shell("cat " + path) }, Shell: shell,
	}
	codexcli.Agent.Draw(t, &scenario.Drawn[codexcli.Script]{
		Host: drawn.Host{Short: 1},
		Submit: func(prompt string, args ...string) rig.Step {
			return codex(append(slices.Concat(args, retries), prompt)...)
		},
		Again: []string{"resume", "--last"},
		Script: func(s *drawn.Session) codexcli.Script {
			return codexcli.Script{Main: drawn.Turns(s.Answers, func(a drawn.Answer) codexcli.Turn {
				return codexcli.Turn{Text: a.Text, Tools: forms.Calls(a), HTTPError: a.Refusal, Breaks: a.Breaks, Anew: a.Anew}
			})}
		},
		More: map[string]string{"PreToolUse": denies},
	})
}
