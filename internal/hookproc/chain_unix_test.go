//go:build !windows

package hookproc

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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
		"fails":          {script: "#!/bin/sh\necho '" + cancelled + "'; exit 3\n", want: neutral, log: "exit status 3"},
		"is killed":      {script: "#!/bin/sh\nkill -9 $$\n", want: neutral, log: "killed"},
		"is gone": {
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
			}, want: neutral, log: "chained hook",
		},
		"is not executable":            {script: "#!/bin/sh\necho '" + cancelled + "'\n", mode: 0o644, want: cancelled},
		"names its own interpreter":    {script: "#!/usr/bin/env sh\n[ -z \"$BASH_VERSION\" ] || exit 1\necho '" + cancelled + "'\n", mode: 0o644, want: cancelled},
		"has no first line":            {script: "[[ -n $BASH_VERSION ]] && echo '" + cancelled + "'\n", want: cancelled},
		"has neither":                  {script: "cat >/dev/null; [[ -n $BASH_VERSION ]] && echo '" + cancelled + "'\n", mode: 0o644, want: cancelled},
		"has a first line and no more": {script: "#!\n", mode: 0o644, want: neutral},
		"runs while we are switched off": {
			script: "#!/bin/sh\necho '" + cancelled + "'\n", with: func(c *call) { c.setenv("HOOKSPAN_DISABLED", "1") }, want: cancelled,
		},
		"runs when nothing can be stored": {
			script: "#!/bin/sh\necho '" + cancelled + "'\n", with: func(c *call) { c.write("state/hookspan/spool/cline", "") },
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
			if d := cmp.Diff(tc.want+"\n", c.stdout.String()); d != "" {
				t.Errorf("answer (-want +got):\n%s", d)
			}
			if log := c.log(); tc.log == "" && log != "" || !strings.Contains(log, tc.log) || strings.Count(log, "\n") > 1 {
				t.Errorf("log %q, want one line with %q, or nothing for nothing", log, tc.log)
			}
			if tc.log == "" && !c.has("HOOKSPAN_DISABLED") && len(c.records()) != 1 {
				t.Errorf("%d events stored, want 1", len(c.records()))
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
	_, rest := takeVariable(c.Environ, variable)
	return len(rest) < len(c.Environ)
}

// largePayload is more than a pipe takes, so that writing it to a program that
// does not read fails.
func largePayload(c *call) {
	c.Stdin = strings.NewReader(`{"taskId":"17","x":"` + strings.Repeat("x", 900_000) + `"}`)
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
