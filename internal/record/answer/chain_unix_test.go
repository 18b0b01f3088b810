//go:build !windows

package answer

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/internal/record"
)

// script makes the user's own hook and has the process run it too.
func (c *call) script(text string, mode os.FileMode) {
	c.t.Helper()
	c.write("hook", text)
	if err := os.Chmod(c.path("hook"), mode); err != nil {
		c.t.Fatal(err)
	}
	c.setenv(chainVariable, c.path("hook"))
}

func TestChain(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil {
		t.Fatalf("bash runs the scripts that have no first line: %v", err)
	}
	const cancelled = `{"cancel":true,"errorMessage":"no"}`
	for name, tc := range map[string]struct {
		script string
		mode   os.FileMode // 0o755 if zero
		with   func(c *call)
		want   string
		log    string
		exit   int
	}{
		"cancels":        {script: "#!/bin/sh\ncat >/dev/null; echo '" + cancelled + "'\n", want: cancelled},
		"says nothing":   {script: "#!/bin/sh\ncat >/dev/null\n", want: neutral},
		"debug and JSON": {script: "#!/bin/sh\necho debug; printf '{\\n\"cancel\": true\\n}\\n'\n", want: `{"cancel":true,"errorMessage":""}`},
		"gives context": {
			script: "#!/bin/sh\necho '{\"cancel\":null,\"contextModification\":\"careful\"}'\n",
			want:   `{"cancel":false,"contextModification":"careful","errorMessage":""}`,
		},
		"gets the payload, the environment and the folder": {
			script: "#!/bin/sh\ncat >\"$XDG_STATE_HOME/seen\"; pwd >>\"$XDG_STATE_HOME/seen\"; echo \"chain=$" + chainVariable + "\" >>\"$XDG_STATE_HOME/seen\"\n",
			want:   neutral,
		},
		"does not read":  {script: "#!/bin/sh\nexec <&-; echo '" + cancelled + "'\n", with: largePayload, want: cancelled},
		"prints garbage": {script: "#!/bin/sh\necho hello\n", want: neutral, log: "holds no JSON object"},
		"fails":          {script: "#!/bin/sh\necho '" + cancelled + "'; exit 3\n", want: neutral, log: "exit status 3", exit: 3},
		"fails with 2":   {script: "#!/bin/sh\nexit 2\n", want: neutral, log: "exit status 2", exit: 1},
		"misses":         {script: "#!/bin/sh\nno-such-command\n", want: neutral, log: "exit status 127", exit: 1},
		"is killed":      {script: "#!/bin/sh\nkill -9 $$\n", want: neutral, log: "killed", exit: 1},
		"fails on the SDK": {
			script: "#!/bin/sh\necho '" + cancelled + "'; exit 3\n", with: func(c *call) {
				c.Stdin = strings.NewReader(`{"hookName":"tool_result","taskId":"17","sessionContext":{"rootSessionId":"r"}}`)
			}, want: cancelled, log: "exit status 3",
		},
		"fails beside a hook that denies": {
			script: "#!/bin/sh\nexit 3\n", with: func(c *call) { c.hooksFile("home/.cline"); c.hooks(denied, nil) },
			want: denied, log: "exit status 3",
		},
		"fails beside a hook that allows": {
			script: "#!/bin/sh\nexit 3\n", with: func(c *call) { c.hooksFile("home/.cline"); c.hooks(neutral, nil) },
			want: neutral, log: "exit status 3", exit: 3,
		},
		"is missing": {
			script: "", with: func(c *call) {
				if err := os.Remove(c.path("hook")); err != nil {
					c.t.Fatal(err)
				}
			}, want: neutral, log: "no such file",
		},
		"is a folder": {
			script: "", with: func(c *call) {
				if err := os.Remove(c.path("hook")); err != nil {
					c.t.Fatal(err)
				}
				if err := os.Mkdir(c.path("hook"), 0o700); err != nil {
					c.t.Fatal(err)
				}
			}, want: neutral, log: "chained hook", exit: 1,
		},
		"is not executable":            {script: "#!/bin/sh\necho '" + cancelled + "'\n", mode: 0o644, want: cancelled},
		"names its own interpreter":    {script: "#!/usr/bin/env sh\n[ -z \"$BASH_VERSION\" ] || exit 1\necho '" + cancelled + "'\n", mode: 0o644, want: cancelled},
		"has no first line":            {script: "[[ -n $BASH_VERSION ]] && echo '" + cancelled + "'\n", want: cancelled},
		"has neither":                  {script: "cat >/dev/null; [[ -n $BASH_VERSION ]] && echo '" + cancelled + "'\n", mode: 0o644, want: cancelled},
		"has a first line and no more": {script: "#!\n", mode: 0o644, want: neutral},
		"runs while recording is off": {
			script: "#!/bin/sh\necho '" + cancelled + "'\n", with: func(c *call) { c.setenv("HOOKSPAN_DISABLED", "1") }, want: cancelled,
		},
		"runs when nothing can be stored": {
			script: "#!/bin/sh\necho '" + cancelled + "'\n", with: func(c *call) { c.write("state/hookspan/spool", "") },
			want: cancelled, log: "event not stored",
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCall(t)
			mode := tc.mode
			if mode == 0 {
				mode = 0o755
			}
			c.script(tc.script, mode)
			if tc.with != nil {
				tc.with(c)
			}
			c.Run()
			if c.Exit != tc.exit {
				t.Errorf("exit code %d, want %d", c.Exit, tc.exit)
			}
			if d := cmp.Diff(tc.want+"\n", c.stdout.String()); d != "" {
				t.Errorf("answer (-want +got):\n%s", d)
			}
			if log := c.log(); tc.log == "" && log != "" || !strings.Contains(log, tc.log) || strings.Count(log, "\n") > 1 {
				t.Errorf("log %q, want one line with %q, or nothing for nothing", log, tc.log)
			}
			if tc.log == "" && !c.has("HOOKSPAN_DISABLED") && strings.Count(c.events(), "\x1e") != 1 {
				t.Errorf("stored %q, want one event", c.events())
			}
			seen, err := os.ReadFile(c.path("state/seen"))
			if strings.Contains(tc.script, "seen") {
				if want := toolEvent + c.path("project") + "\nchain=\n"; err != nil || string(seen) != want {
					t.Errorf("the script saw %q, %v; want %q", seen, err, want)
				}
			}
		})
	}
}

func (c *call) has(variable string) bool {
	_, rest := record.Variable(c.Environ, variable)
	return len(rest) < len(c.Environ)
}

// largePayload is more than a pipe takes, so that writing it to a program that
// does not read fails.
func largePayload(c *call) {
	c.Stdin = strings.NewReader(`{"taskId":"17","x":"` + strings.Repeat("x", 900_000) + `"}`)
}

// TestChainGetsThePayloadWhole gives payloads around the limit, of which the
// event keeps the beginnings only.
func TestChainGetsThePayloadWhole(t *testing.T) {
	const script = "#!/bin/sh\ncat >\"$XDG_STATE_HOME/seen\"; ls -A \"$XDG_STATE_HOME/hookspan\" >\"$XDG_STATE_HOME/left\"\n"
	for name, tc := range map[string]struct {
		size int
		mode os.FileMode
		with func(c *call)
		cut  bool
	}{
		"at the limit":               {size: 4096, mode: 0o755},
		"one above":                  {size: 4097, mode: 0o755},
		"far above":                  {size: 3 << 20, mode: 0o755},
		"the first start is refused": {size: 3 << 20, mode: 0o644},
		"switched off":               {size: 9000, mode: 0o755, with: func(c *call) { c.setenv("HOOKSPAN_DISABLED", "1") }},
		"no state folder so far": {size: 9000, mode: 0o755, with: func(c *call) {
			must(c.t, os.RemoveAll(c.path("state/hookspan")))
		}},
		"the state folder is a file": {size: 9000, mode: 0o755, cut: true, with: func(c *call) {
			must(c.t, os.RemoveAll(c.path("state/hookspan")))
			c.write("state/hookspan", "")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCall(t)
			c.script(script, tc.mode)
			c.setenv("HOOKSPAN_MAX_EVENT_BYTES", "4KiB")
			if tc.with != nil {
				tc.with(c)
			}
			payload := `{"taskId":"17","x":"`
			payload += strings.Repeat("x", tc.size-len(payload)-len(`"}`)) + `"}`
			c.Stdin = strings.NewReader(payload)
			c.Run()
			seen, err := os.ReadFile(c.path("state/seen"))
			if err != nil || tc.cut != (string(seen) != payload) {
				t.Errorf("the script saw %d bytes %.40q, %v; want %d, cut: %t", len(seen), seen, err, len(payload), tc.cut)
			}
			if tc.cut {
				return
			}
			left, err := os.ReadFile(c.path("state/left"))
			if err != nil || strings.Contains(string(left), ".chain-") {
				t.Errorf("while the script ran, the state folder held %q, %v", left, err)
			}
			if log := c.log(); log != "" {
				t.Errorf("log %q", log)
			}
		})
	}
}

// TestSpill follows the file through its life.
func TestSpill(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	s := &spill{dir: dir}
	if r, err := s.stdin([]byte("small")); err != nil || readAllOf(t, r) != "small" {
		t.Errorf("a payload up to the limit: %v", err)
	}
	if _, err := os.Lstat(dir); err == nil {
		t.Error("a payload up to the limit made a folder")
	}
	for _, part := range []string{"la", "rge"} {
		if n, err := s.Write([]byte(part)); n != len(part) || err != nil {
			t.Fatalf("write: %d, %v", n, err)
		}
	}
	fi, err := s.file.Stat()
	must(t, err)
	if fi.Mode() != 0o600 {
		t.Errorf("mode %v, want 0600", fi.Mode())
	}
	if !strings.HasPrefix(filepath.Base(s.file.Name()), ".") || filepath.Dir(s.file.Name()) != dir {
		t.Errorf("file %s, want a name with a dot in %s", s.file.Name(), dir)
	}
	for range 2 {
		if r, err := s.stdin([]byte("la")); err != nil || readAllOf(t, r) != "large" {
			t.Errorf("a payload above the limit: %v", err)
		}
	}
	// Closed early, the file takes no more: what is left is the cut payload.
	must(t, s.file.Close())
	_, _ = s.Write([]byte("!"))
	if r, err := s.stdin([]byte("la")); err == nil || readAllOf(t, r) != "la" {
		t.Errorf("a file that fails: error %v, want one and the cut payload", err)
	}
	s.close()

	// A file that keeps its name while it is open, as on Windows.
	s = &spill{dir: dir}
	s.file, err = os.CreateTemp(dir, ".chain-*")
	must(t, err)
	s.close()
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func readAllOf(t *testing.T, r io.Reader) string {
	t.Helper()
	b, err := io.ReadAll(r)
	must(t, err)
	return string(b)
}

// TestChainStoresFirst has the script look for the event in the log.
func TestChainStoresFirst(t *testing.T) {
	c := newCall(t)
	c.script("#!/bin/sh\ngrep -q PostToolUse \"$XDG_STATE_HOME\"/hookspan/spool/cline/*/events.json-seq && echo '{\"cancel\":true}'\n", 0o755)
	c.Run()
	if want := `{"cancel":true,"errorMessage":""}` + "\n"; c.stdout.String() != want {
		t.Errorf("answer %q, want %q, which says that the event was there", &c.stdout, want)
	}
}
