package fault_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/testkit/installtest"
	"github.com/hookspan/hookspan/tests/internal/lab"
	"github.com/hookspan/hookspan/tests/internal/proof"
	"github.com/hookspan/hookspan/tests/internal/trace"
)

// killInstallRows kill the commands that change agents' files.
var killInstallRows = []proof.Row{{
	Name: "SIGKILL at every system call of install, uninstall and reconcile that changes a file, for all agents",
	Rule: "no setting is lost, and after the next command and an uninstall the home is as it was",
	Run:  killInstalls, Rest: true,
}}

// installing are the calls of an install that change files.
var installing = []string{
	"fchmod", "fchown", "flock", "fsync", "ftruncate", "linkat", "mkdirat", "renameat", "renameat2", "symlinkat", "unlinkat",
}

// userFiles are the settings that a home has before.
var userFiles = map[string]string{
	".claude/settings.json":  "{\n  \"env\": {\"KEY\": \"secret\"},\n  \"hooks\": {\"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"mine\"}]}]}\n}\n",
	".codex/hooks.json":      "{\"hooks\": {}}\n",
	".gemini/settings.json":  "{ // mine\n  \"ui\": {}\n}\n",
	".kimi-code/config.toml": "a = 1 # mine",
	".qwen/settings.json":    "{\"a\": 1}\n",
	".copilot/config.json":   "{}\n",
	".config/opencode/x":     "x", ".config/kilo/x": "x", ".pi/agent/x": "x", ".cline/x": "x", "Documents/x": "x", ".local/share/x": "x", ".local/state/x": "x",
}

func killInstalls(t *testing.T, r *proof.Result) {
	if err := trace.Available(); err != nil {
		r.Skip("%v", err)
	}
	for _, a := range hook.Agents() {
		word := a.Word
		for _, command := range [][]string{{"install", word}, {"uninstall", word}, {"reconcile"}} {
			if command[0] == "reconcile" && word != "claude" {
				continue // it is of all agents
			}
			killInstall(t, r, lab.Programs, word, command)
		}
	}
}

func killInstall(t *testing.T, r *proof.Result, bin, word string, command []string) {
	t.Helper()
	home := t.TempDir()
	env := []string{"HOME=" + home, "PATH=" + t.TempDir()}
	run := func(f *trace.Fault, args ...string) *trace.Ending {
		end, err := trace.Run(trace.Program{Path: filepath.Join(bin, "hookspan"), Args: args, Env: env, Dir: home}, f)
		if err != nil {
			t.Fatal(err)
		}
		return end
	}
	fresh := func() map[string]string {
		entries, err := os.ReadDir(home)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if err := os.RemoveAll(filepath.Join(home, e.Name())); err != nil {
				t.Fatal(err)
			}
		}
		for path, text := range userFiles {
			installtest.Write(t, filepath.Join(home, path), text, 0o600)
		}
		before := installtest.Tree(t, home, false)
		if command[0] == "uninstall" {
			run(nil, "install", word)
		}
		return before
	}
	before := fresh()
	calls := run(nil, command...).Calls
	for path := range installtest.Tree(t, home, false) {
		if _, known := before[path]; !known && !slices.ContainsFunc(slices.Collect(maps.Keys(userFiles)), func(file string) bool {
			return strings.HasPrefix(path, filepath.ToSlash(filepath.Dir(file))+"/")
		}) {
			r.Break("%v makes %s, and userFiles has no file of the user's in its folder", command, path)
		}
	}
	for name := range calls {
		if !slices.Contains(installing, name) {
			delete(calls, name)
		}
	}
	killed := 0
	everyCall(calls, 1, 1, func(c trace.Call) bool {
		before := fresh()
		end := run(&trace.Fault{At: c}, command...)
		for path, text := range userFiles {
			got, err := os.ReadFile(filepath.Join(home, path))
			if err != nil || !strings.Contains(string(got), "hookspan") && string(got) != text {
				r.Break("%v, killed at %s: %s has %q (%v)", command, c, path, got, err)
			}
		}
		run(nil, command...) // finds what the killed one has left
		run(nil, "uninstall", "--all")
		if diff := cmp.Diff(before, installtest.Tree(t, home, false)); diff != "" {
			r.Break("%v, killed at %s, the next one and an uninstall (-before +after):\n%s", command, c, diff)
		}
		if end.Hit {
			killed++
		}
		return end.Hit
	})
	r.Trial(killed)
	r.Note("%v: %d kills", command, killed)
}
