package codexcli_test

import (
	"slices"
	"testing"

	"github.com/hookspan/hookspan/tests/codexcli"
	"github.com/hookspan/hookspan/tests/internal/drawn"
	"github.com/hookspan/hookspan/tests/internal/llm"
	"github.com/hookspan/hookspan/tests/internal/rig"
	"github.com/hookspan/hookspan/tests/internal/scenario"
)

// TestDrawnSessions puts Codex through sessions that are drawn at random. It tries a
// request again, as it does outside of tests.
func TestDrawnSessions(t *testing.T) {
	retries := []string{"-c", "model_providers.mock.request_max_retries=2", "-c", "model_providers.mock.stream_max_retries=2"}
	codexcli.Agent.Draw(t, &scenario.Drawn{
		Host: drawn.Host{Short: 1},
		Submit: func(prompt string, args ...string) rig.Step {
			return codex(append(slices.Concat(args, retries), prompt)...)
		},
		Again: []string{"resume", "--last"},
		Forms: drawn.Forms{Read: func(path string) llm.Call { return shell("cat " + path) }, Shell: shell},
		More:  map[string]string{"PreToolUse": denies},
	})
}
