package codexcli_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hookspan/hookspan/tests/codexcli"
	"github.com/hookspan/hookspan/tests/internal/rig"
	"github.com/hookspan/hookspan/tests/internal/scenario"
)

// TestManagedHooksRunOnce has hooks in the machine's requirements, which nobody trusts by
// hand: Codex runs them, they are recognised, and an install adds none.
func TestManagedHooksRunOnce(t *testing.T) {
	t.Parallel()
	cache, bin := rig.Prepare(t, "Codex")
	hookspan := func(args ...string) rig.Step {
		return rig.Step{Program: []string{filepath.Join(bin, "hookspan")}, Args: args}
	}
	res, err := codexcli.Do(t.Context(), cache, t.ArtifactDir(), codexcli.Script{Main: []codexcli.Turn{turn("Run.", shell("echo one")), turn("Done.")}}, []rig.Step{
		hookspan("install", "--managed"), hookspan("install", "codex"), codex("run it"),
		{WaitTraces: 1, Timeout: 30 * time.Second},
		hookspan("flush", "--wait"), hookspan("status", "--json"), hookspan("doctor"), hookspan("reconcile", "--json"),
	}, func(a *rig.Arena) error {
		if err := codexcli.Settings(a, nil); err != nil {
			return err
		}
		if err := a.MakeEtc(); err != nil {
			return err
		}
		return a.InstallHookspan(t.Context(), bin, nil, "--managed", "--dry-run") // for the env file
	})
	rig.Check(t, "Codex", err)
	t.Cleanup(func() {
		if t.Failed() {
			scenario.Report(t, res)
		}
	})
	traces, wrong := rig.Traces(res.Spans)
	if len(traces) != 1 || len(wrong) > 0 || len(traces[0].Operation("execute_tool")) != 1 {
		t.Errorf("%d traces, want one with one call: %q", len(traces), wrong)
	}
	for i, want := range map[int]string{1: "your organisation manages: none are added", 5: `"hooks": "installed",
      "managed": true`, 6: "Codex's hooks are installed", 7: `"changed": false`} {
		if s := res.Steps[i]; s.ExitCode != 0 || !strings.Contains(s.Stdout, want) {
			t.Errorf("step %d: code %d, want %q in\n%s%s", i, s.ExitCode, want, s.Stdout, s.Stderr)
		}
	}
}
