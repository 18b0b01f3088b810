package claudecli_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hookspan/hookspan/tests/claudecli"
	"github.com/hookspan/hookspan/tests/internal/llm"
	"github.com/hookspan/hookspan/tests/internal/rig"
	"github.com/hookspan/hookspan/tests/internal/scenario"
)

// TestOlderVersionsTellTheModelNothing installs hooks for a new Claude Code and runs an
// older one with them, as after a downgrade or with the same settings on two machines: no
// variable becomes part of the conversation. Hooks installed for the older one record it;
// the first version ignores settings with an event that it does not know, which doctor
// says.
func TestOlderVersionsTellTheModelNothing(t *testing.T) {
	t.Parallel()
	for version, program := range map[string]rig.Program{
		"1.0.38":  {Name: "claude-first", Folder: "npm/first", Path: "@anthropic-ai/claude-code/cli.js", Node: true},
		"2.1.138": {Name: "claude-before", Folder: "npm/before", Path: "@anthropic-ai/claude-code-linux-x64/claude"},
	} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			old := claudecli.Agent
			program.Manifest = claudecli.Manifests
			old.Program, old.Version = program, version
			_, bin := claudecli.Agent.Programs(t)
			cache, err := rig.DefaultCache()
			if err != nil {
				t.Fatal(err)
			}
			for installedFor, recorded := range map[string]bool{claudecli.Agent.Version: version != "1.0.38", version: true} {
				older(t, &old, cache, bin, installedFor, recorded)
			}
		})
	}
}

func older(t *testing.T, old *scenario.Agent, cache, bin, installedFor string, recorded bool) {
	t.Helper()
	const canary = "sk-canary-of-the-environment"
	script := llm.Script{Main: []llm.Turn{turn("Run.", bash("echo one")), turn("All done.")}}
	hookspan := scenario.Hookspan(bin)
	// The first refuses root a mode without permissions.
	run := rig.Step{Args: []string{"-p", "run it", "--output-format", "json", "--allowedTools", "Bash"}, Timeout: 3 * time.Minute}
	res, err := old.Play(t.Context(), cache, t.TempDir(), script, []rig.Step{run, hookspan("flush", "--wait"), hookspan("list", "--json"), hookspan("doctor")}, func(a *rig.Arena) error {
		a.Env["CANARY_KEY"] = canary
		return errors.Join(nameVersion(a, installedFor), a.InstallHookspan(t.Context(), bin, nil, "claude"), nameVersion(a, old.Version))
	})
	rig.Check(t, old.Name, err)
	if s := res.Steps[0]; s.ExitCode != 0 || s.TimedOut || !strings.Contains(s.Stdout, "All done.") || strings.Contains(s.Stdout+s.Stderr, canary) {
		t.Errorf("ended with code %d\n%s%s", s.ExitCode, s.Stdout, s.Stderr)
	}
	for _, r := range res.Requests {
		if heard := strings.Join(r.Heard, "\n"); strings.Contains(heard, canary) {
			t.Errorf("installed for %s: the model of request %d heard %q", installedFor, r.N, heard)
		}
	}
	if s := res.Steps[2]; len(res.Requests) == 0 || strings.Contains(s.Stdout, "run it") != recorded {
		t.Errorf("installed for %s: %d requests, the task should be recorded: %t\n%s%s", installedFor, len(res.Requests), recorded, s.Stdout, s.Stderr)
	}
	if s := res.Steps[3]; strings.Contains(s.Stdout, "it may ignore the whole file") != (installedFor != old.Version) {
		t.Errorf("installed for %s: doctor says\n%s", installedFor, s.Stdout)
	}
}

// nameVersion puts a program in the path that names a version of Claude Code to hookspan.
func nameVersion(a *rig.Arena, version string) error {
	dir := filepath.Join(a.Dir, "path")
	if !strings.HasPrefix(a.Env["PATH"], dir) {
		a.Env["PATH"] = dir + string(os.PathListSeparator) + a.Env["PATH"]
	}
	return errors.Join(
		os.MkdirAll(dir, 0o755),
		os.WriteFile(filepath.Join(dir, "claude"), []byte("#!/bin/sh\necho '"+version+" (Claude Code)'\n"), 0o755),
	)
}
