// Package hooks_test runs each example as Claude Code and hookspan do: an event
// on standard input, the answer in the exit code and the output.
package hooks_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/hookspan/hookspan/internal/testkit/skip"
)

// world is what a hook sees: a home folder, a project, programs of its own
// choice.
type world struct {
	home, project, bin string
	env                []string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	if runtime.GOOS == "windows" {
		skip.Missing(t, "the examples are scripts for a POSIX shell")
	}
	// Paths in answers are those that links lead to.
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{home: filepath.Join(top, "home"), project: filepath.Join(top, "pro ject"), bin: filepath.Join(top, "bin")}
	for _, dir := range []string{w.home, w.project, w.bin} {
		if err := os.Mkdir(dir, 0o750); err != nil {
			t.Fatal(err)
		}
	}
	w.env = []string{
		"HOME=" + w.home, "CLAUDE_PROJECT_DIR=" + w.project, "PATH=" + w.bin + ":" + os.Getenv("PATH"),
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_CEILING_DIRECTORIES=" + top,
	}
	return w
}

// program puts a shell script of this name before all others.
func (w *world) program(t *testing.T, name, script string) {
	t.Helper()
	write(t, filepath.Join(w.bin, name), "#!/bin/sh\n"+script+"\n", 0o700)
}

// only leaves these programs and no others on the path.
func (w *world) only(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		path, err := exec.LookPath(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(path, filepath.Join(w.bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	w.env = append(w.env, "PATH="+w.bin)
}

func write(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		t.Fatal(err)
	}
	// A process that another test starts meanwhile would have the file open for writing until
	// it executes its program, and nothing could execute the file.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// said is what one run left behind.
type said struct {
	exit           int
	stdout, stderr string
}

// shells are those on this machine that may be behind /bin/sh somewhere. The
// first is nil: the script's own first line.
func shells() [][]string {
	list := [][]string{nil}
	for _, shell := range [][]string{{"dash"}, {"bash", "--posix"}, {"busybox", "sh"}, {"ksh"}} {
		if path, err := exec.LookPath(shell[0]); err == nil {
			list = append(list, append([]string{path}, shell[1:]...))
		}
	}
	return list
}

// script is the absolute path of an example.
func script(t *testing.T, name string) string {
	t.Helper()
	if filepath.IsAbs(name) {
		return name
	}
	path, err := filepath.Abs(name)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// run runs an example in the project's folder.
func (w *world) run(t *testing.T, shell []string, stdin []byte, name string, args ...string) said {
	t.Helper()
	line := append(append(slices.Clone(shell), script(t, name)), args...)
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), line[0], line[1:]...) //nolint:gosec // The examples.
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = w.project, w.env, bytes.NewReader(stdin), &stdout, &stderr
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return said{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// event makes the payload of an event.
func event(t *testing.T, name string, more map[string]any) []byte {
	t.Helper()
	m := map[string]any{
		"session_id": "1763600001234", "transcript_path": "/tmp/t.jsonl", "cwd": "/p",
		"permission_mode": "default", "hook_event_name": name,
	}
	for k, v := range more {
		m[k] = v
	}
	b, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// tool makes the payload of a tool event.
func tool(t *testing.T, name, tool string, input map[string]any) []byte {
	t.Helper()
	return event(t, name, map[string]any{"tool_name": tool, "tool_use_id": "toolu_1", "tool_input": input})
}

// check compares the exit code and looks for a text in what the agent is told.
func (s said) check(t *testing.T, exit int, why string) {
	t.Helper()
	if s.exit != exit {
		t.Errorf("exit code %d, want %d\nstdout: %s\nstderr: %s", s.exit, exit, s.stdout, s.stderr)
	}
	if !strings.Contains(s.stderr, why) {
		t.Errorf("standard error %q does not say %q", s.stderr, why)
	}
	if exit == 0 && s.stderr != "" {
		t.Errorf("standard error %q of a hook that has no objection", s.stderr)
	}
}

// guards are the examples that block, with an event each looks at.
func guards() map[string]string {
	return map[string]string{
		"block-commands.sh": "PreToolUse", "protect-files.sh": "PreToolUse", "stay-inside.sh": "PreToolUse",
		"no-secrets-in-prompts.sh": "UserPromptSubmit",
	}
}

// TestGuardsBlockWhatTheyCannotRead: a guard that fails must not let through.
func TestGuardsBlockWhatTheyCannotRead(t *testing.T) {
	for name, ev := range guards() {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			for _, stdin := range []string{"", "no JSON", "[1]", `{"tool_input":{"command":"ls`} {
				w.run(t, nil, []byte(stdin), name).check(t, 2, "blocked: ")
			}
			// A call with nothing in it that the guard looks at is none of its business.
			w.run(t, nil, tool(t, ev, "mcp__x__y", map[string]any{"a": 1}), name).check(t, 0, "")
		})
		t.Run(name+" without jsonget", func(t *testing.T) {
			w := newWorld(t)
			alone := filepath.Join(w.home, name)
			write(t, alone, read(t, name), 0o700)
			w.run(t, nil, tool(t, ev, "Bash", map[string]any{"command": "ls"}), alone).check(t, 2, "blocked: ")
		})
	}
}

// TestOthersNeverBlock: an example that is no guard must not use exit code 2
// when it fails itself, as shells do for their own errors.
func TestOthersNeverBlock(t *testing.T) {
	for _, line := range [][]string{
		{"format-edited.sh"},
		{"lint-edited.sh"},
		{"lint-edited.sh", "*", "true"},
		{"add-context.sh"},
		{"notify.sh"},
		{"audit-log.sh"},
		{"audit-log.sh", "/dev/null/log"},
		{"tests-before-finish.sh"},
		{"tests-before-finish.sh", "true"},
	} {
		t.Run(strings.Join(line, " "), func(t *testing.T) {
			for _, shell := range shells() {
				for _, stdin := range []string{"", "no JSON", `{"hook_event_name":"Stop"}`} {
					w := newWorld(t)
					w.program(t, "notify-send", "exit 2")
					w.program(t, "osascript", "exit 2")
					if s := w.run(t, shell, []byte(stdin), line[0], line[1:]...); s.exit != 0 && s.exit != 1 {
						t.Errorf("%v: exit code %d for %q, want 0 or 1: %s", shell, s.exit, stdin, s.stderr)
					}
					w.env = []string{"PATH=" + os.Getenv("PATH"), "CLAUDE_PROJECT_DIR=/nowhere"}
					if s := w.run(t, shell, []byte(stdin), line[0], line[1:]...); s.exit != 0 && s.exit != 1 {
						t.Errorf("%v: exit code %d for %q without an environment, want 0 or 1: %s", shell, s.exit, stdin, s.stderr)
					}
				}
			}
		})
	}
}
