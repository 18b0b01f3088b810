package claudecli_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/hookspan/hookspan/otelmap"
	"github.com/hookspan/hookspan/tests/claudecli"
	"github.com/hookspan/hookspan/tests/internal/llm"
	"github.com/hookspan/hookspan/tests/internal/rig"
	"github.com/hookspan/hookspan/tests/internal/scenario"
)

// TestShellCommandOfASkill runs a skill whose text has a shell command: it is a call of
// the task, with the skill's name, and verify finds nothing wrong.
func TestShellCommandOfASkill(t *testing.T) {
	t.Parallel()
	cache, bin := claudecli.Agent.Programs(t)
	script := llm.Script{Main: []llm.Turn{turn("The house is tidy.")}}
	hookspan := scenario.Hookspan(bin)
	// The trace may be sent before it is stored here.
	steps := []rig.Step{claude("/tidy"), {WaitTraces: 1}, hookspan("flush", "--wait"), hookspan("verify")}
	res := claudecli.Agent.Try(t, cache, script, steps, func(a *rig.Arena) error {
		return errors.Join(
			claudecli.Agent.Settings(a, nil),
			a.Write(map[string]string{"home/.claude/skills/tidy/SKILL.md": "---\nname: tidy\ndescription: Tidies\nallowed-tools: Bash(echo:*)\n---\nRooms: !`echo kitchen and attic`\n"}),
			a.InstallHookspan(t.Context(), bin, nil, "claude"),
		)
	})
	var calls []string
	for _, s := range res.Spans {
		if name := s.Attrs[otelmap.KeyToolName]; name != nil {
			calls = append(calls, strings.Join([]string{name.(string), s.Attrs["hookspan.command.name"].(string), s.Attrs["hookspan.command.invoked_by"].(string), s.Attrs[otelmap.KeyToolArguments].(string)}, " "))
		}
	}
	if want := `Bash tidy user {"command":"echo kitchen and attic"}`; len(calls) != 1 || calls[0] != want {
		t.Errorf("calls %q, want %q", calls, want)
	}
	if s := res.Steps[3]; s.ExitCode != 0 {
		t.Errorf("verify ends with code %d:\n%s%s", s.ExitCode, s.Stdout, s.Stderr)
	}
}
