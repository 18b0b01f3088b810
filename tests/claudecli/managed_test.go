package claudecli_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hookspan/hookspan/tests/claudecli"
	"github.com/hookspan/hookspan/tests/claudecli/mockanthropic"
	"github.com/hookspan/hookspan/tests/internal/rig"
)

// TestManagedHooksRunOnce has hooks in the machine's managed settings, and a managed file
// of hookspan's: Claude Code runs the hooks, they are recognised, and no text leaves.
func TestManagedHooksRunOnce(t *testing.T) {
	t.Parallel()
	_, bin := rig.Prepare(t, "Claude Code")
	hookspan := func(args ...string) rig.Step {
		return rig.Step{Program: []string{filepath.Join(bin, "hookspan")}, Args: args}
	}
	res := do(t, &claudecli.Run{
		Script: mockanthropic.Script{Main: []mockanthropic.Turn{turn("Run.", bash("echo one")), turn("All done.")}},
		Steps: []rig.Step{
			hookspan("install", "--managed"), hookspan("install", "claude"), claude("run the secret plan"),
			{WaitTraces: 1, Timeout: 30 * time.Second},
			hookspan("flush", "--wait"), hookspan("status", "--json"), hookspan("doctor"), hookspan("reconcile", "--json"),
		},
		Setup: func(a *rig.Arena) error {
			return errors.Join(
				claudecli.Settings{}.Write(a), a.MakeEtc(),
				a.Write(map[string]string{"etc/hookspan/hookspan.env": "HOOKSPAN_MANAGED=true\nHOOKSPAN_CAPTURE=none\n"}),
				a.InstallHookspan(t.Context(), bin, nil, "--managed", "--dry-run"), // for the env file
			)
		},
	})
	traces, wrong := rig.Traces(res.Spans)
	if len(traces) != 1 || len(wrong) > 0 || len(traces[0].Operation("execute_tool")) != 1 {
		t.Errorf("%d traces, want one with one call: %q", len(traces), wrong)
	}
	for i := range res.Spans {
		for name, value := range res.Spans[i].Attrs {
			if text, ok := value.(string); ok && (strings.Contains(text, "secret plan") || strings.Contains(text, "echo one")) {
				t.Errorf("%s has the text %q", name, text)
			}
		}
	}
	for i, want := range map[int]string{1: "your organisation manages: none are added", 5: `"managed": true`, 6: "Claude Code's hooks are installed", 7: `"changed": false`} {
		if s := res.Steps[i]; s.ExitCode != 0 || !strings.Contains(s.Stdout, want) {
			t.Errorf("step %d: code %d, want %q in\n%s%s", i, s.ExitCode, want, s.Stdout, s.Stderr)
		}
	}
}
