//go:build !windows

package record

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// beside puts the hook program into a separate folder, with a hookspan beside
// it that is a script, or none.
func beside(t *testing.T, script string) (hook string) {
	t.Helper()
	dir := t.TempDir()
	text, err := os.ReadFile(program(t, "cline-hook"))
	must(t, err)
	hook = filepath.Join(dir, "cline-hook")
	must(t, os.WriteFile(hook, text, 0o700))
	if script != "" {
		must(t, os.WriteFile(filepath.Join(dir, "hookspan"), []byte("#!/bin/sh\n"+script), 0o700))
	}
	return hook
}

// TestFlagsAreHandedOver has hookspan take the hook program's place: its words,
// its streams, its environment and its exit code.
func TestFlagsAreHandedOver(t *testing.T) {
	hook := beside(t, `echo "$HOME"; printf '%s|' "$@"; cat; echo said >&2; exit 5`+"\n")
	for name, args := range map[string][]string{
		"flags alone":      {"--port", "3043", "--dir", "a b"},
		"behind an event":  {"PreToolUse", "--port=3043"},
		"--enable":         {"--enable", "--json"},
		"an unknown flag":  {"-x", ""},
		"--help":           {"--help"},
		"the end of flags": {"--", "PreToolUse"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newBinaryCall(t)
			cmd := c.command(strings.NewReader(toolEvent), "")
			cmd.Path, cmd.Args = hook, append([]string{hook}, args...)
			var stdout, stderr bytes.Buffer
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			if err := cmd.Run(); err == nil || cmd.ProcessState.ExitCode() != 5 {
				t.Errorf("ends with %v, want hookspan's exit code", err)
			}
			want := c.path("home") + "\ncline-hook|" + strings.Join(args, "|") + "|" + toolEvent
			if stdout.String() != want || stderr.String() != "said\n" {
				t.Errorf("stdout %q, stderr %q; want %q", &stdout, &stderr, want)
			}
			if n := len(c.records()); n != 0 {
				t.Errorf("%d events stored", n)
			}
		})
	}
}

func TestFlagsWithoutHookspanAreNotHandedOver(t *testing.T) {
	hook := beside(t, "")
	for name, tc := range map[string]struct {
		args           []string
		code           int
		stdout, stderr string
		logged         bool
	}{
		"a hook":   {[]string{"--port", "3043"}, 0, "", "", true},
		"--enable": {[]string{"--enable"}, 1, "", "hint: hookspan and cline-hook belong in one folder", false},
		"--help":   {[]string{"--help"}, 0, "usage: cline-hook EVENT", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			c := newBinaryCall(t)
			// More than a pipe takes: an agent that writes is not cut off.
			cmd := c.command(stream(`{"session_id":"1","x":"`, "x", 1<<20, `"}`), "")
			cmd.Path, cmd.Args = hook, append([]string{hook}, tc.args...)
			var stdout, stderr bytes.Buffer
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			_ = cmd.Run()
			if code := cmd.ProcessState.ExitCode(); code != tc.code {
				t.Errorf("exit code %d, want %d", code, tc.code)
			}
			for _, out := range []struct{ got, want string }{{stdout.String(), tc.stdout}, {stderr.String(), tc.stderr}} {
				if !strings.Contains(out.got, out.want) || out.want == "" && out.got != "" {
					t.Errorf("said %q, want %q", out.got, out.want)
				}
			}
			if logged := strings.Contains(c.log(), "event not passed on"); logged != tc.logged {
				t.Errorf("log %q", c.log())
			}
		})
	}
}
