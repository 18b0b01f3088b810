package claudecli_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hookspan/hookspan/tests/claudecli"
	"github.com/hookspan/hookspan/tests/claudecli/mockanthropic"
	"github.com/hookspan/hookspan/tests/internal/rig"
)

// TestRemovedHookspanBlocksNothing removes hookspan while its hooks are installed. Where
// the install knows the version of Claude Code, the hooks start without a shell: Claude
// Code then shows the user an error for each hook. The model sees none of them.
func TestRemovedHookspanBlocksNothing(t *testing.T) {
	t.Parallel()
	for name, known := range map[string]bool{"with a shell": false, "without a shell": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			script := mockanthropic.Script{
				Main: []mockanthropic.Turn{turn("Run.", bash("echo one"), bash("exit 3")), turn("Delegate.", agent(false)), turn("All done.")},
				Sub:  []mockanthropic.Turn{turn("Sub.", bash("echo sub")), turn("Sub done.")}, SubWhen: subWhen,
			}
			if !known {
				claudecli.Agent.RemovedDisturbsNothing(t, script, claude("run it"), 5)
				return
			}
			cache, bin := claudecli.Agent.Programs(t)
			res := claudecli.Agent.Try(t, cache, script, []rig.Step{claude("run it")}, func(a *rig.Arena) error {
				return errors.Join(
					nameVersion(a), claudecli.Agent.Settings(a, nil), a.InstallHookspan(t.Context(), bin, nil, "claude"), a.RemoveHookspan(bin),
				)
			})
			s := res.Steps[0]
			if s.ExitCode != 0 || s.TimedOut || len(res.Requests) != 5 || !strings.Contains(s.Stdout, "All done.") || len(res.Spans) > 0 {
				t.Errorf("ended with code %d after %d requests, with %d spans\n%s", s.ExitCode, len(res.Requests), len(res.Spans), s.Stdout)
			}
			// A run without a terminal shows only the last of the errors.
			if !strings.HasPrefix(s.Stderr, "SessionEnd hook [/usr/bin/env ") || strings.Count(s.Stderr, "claude-hook SessionEnd] failed") != 1 {
				t.Errorf("says %q", s.Stderr)
			}
			for _, r := range res.Requests {
				for _, heard := range r.Heard {
					if strings.Contains(heard, "claude-hook") {
						t.Errorf("the model of request %d heard %q", r.N, heard)
					}
				}
			}
		})
	}
}

// nameVersion puts a program in the path that names Claude Code's version to the install.
func nameVersion(a *rig.Arena) error {
	dir := filepath.Join(a.Dir, "path")
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	a.Env["PATH"] = dir + string(os.PathListSeparator) + a.Env["PATH"]
	return os.WriteFile(filepath.Join(dir, "claude"), []byte("#!/bin/sh\necho '"+claudecli.Agent.Version+" (Claude Code)'\n"), 0o755)
}
