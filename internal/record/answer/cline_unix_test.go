//go:build !windows

package answer

import (
	"strings"
	"testing"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/userhooks/hooksession"
)

// TestPlainHooksRunInThisProcess puts a function in place of the other programs.
func TestPlainHooksRunInThisProcess(t *testing.T) {
	file := func(event, matcher, command string) string {
		return `{"hooks":{"` + event + `":[{"matcher":"` + matcher + `","hooks":[{"type":"command","command":"` + command + `"}]}]}}`
	}
	const ran = "touch ${HOME:?}/ran; echo $TRACEPARENT >$HOME/parent; "
	for name, tc := range map[string]struct {
		event, file string
		with        func(c *call)
		started     string // what of the other programs is started; empty for none
		given       string // is in its input
		ran         bool   // by this process
		want        string
	}{
		"a hook that says nothing": {toolEvent, file("PostToolUse", "Read", ran), nil, "", "", true, neutral},
		"a hook with a text":       {toolEvent, file("PostToolUse", "Read", ran+`echo careful >&2; exit 2`), nil, "", "", true, `"contextModification":"`},
		"a hook that fails":        {toolEvent, file("PostToolUse", "Read", ran+`echo the password is s3cret >&2; exit 1`), nil, "hook-runner run-hooks --host cline --event PostToolUse --report", "s3cret", true, neutral},
		"a guard":                  {startEvent, file("PreToolUse", "Read", ran), nil, "hook-runner run-hooks --host cline --event PostToolUse --began", startEvent, false, denied},
		"a guard that may fail":    {startEvent, file("PreToolUse", "Read", ran), func(c *call) { c.setenv("HOOKSPAN_HOOKS_ON_ERROR", "allow") }, "", "", true, neutral},
		"a file that is not plain": {toolEvent, file("PostToolUse", "^Read$", ran), nil, "hookspan run-hooks", toolEvent, false, denied},
		"a log that is not certain": {toolEvent, file("PostToolUse", "Read", ran), func(c *call) {
			c.setenv("HOOKSPAN_TRACEPARENT", "00-11111111111111111111111111111111-2222222222222222-01")
		}, "hook-runner run-hooks", toolEvent, false, denied},
		"a Cline hook of the user's":    {toolEvent, file("PostToolUse", "Read", ran), func(c *call) { c.script("#!/bin/sh\n", 0o700) }, "hook-runner run-hooks", toolEvent, false, denied},
		"a hook that another tool runs": {toolEvent, file("PostToolUse", "Bash", ran), nil, "", "", false, neutral},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCall(t)
			c.Agent.Answers = c.hooked.Answers
			started := c.hooks(denied, nil)
			own := Cline()
			own.Run = c.hooked.Run
			c.Agent.Answers = own.Answers
			c.Stdin = strings.NewReader(tc.event)
			c.hooksFile("home/.cline")
			c.write("home/.cline/hooks.json", tc.file)
			f := hooksession.File{Path: c.path("home/.cline/hooks.json")}
			kinds := hooksession.Hooks{Need: hooksession.Plain}
			must(t, f.Summarize(hooksession.Dir(c.path("state/hookspan")), []byte(tc.file), hooksession.Summary{hook.KindToolStart: kinds, hook.KindToolEnd: kinds}))
			if tc.with != nil {
				tc.with(c)
			}
			c.Run()
			if got := c.stdout.String(); !strings.Contains(got, tc.want) {
				t.Errorf("answer %s, want %s", got, tc.want)
			}
			if got := strings.Join(*started, " "); !strings.HasPrefix(got, tc.started) || tc.started == "" && got != "" || !strings.Contains(got, tc.given) {
				t.Errorf("started %q, want %q with %q", got, tc.started, tc.given)
			}
			if got := c.text("home/ran*") + c.text("home/parent"); tc.ran != strings.HasPrefix(got, "00-") {
				t.Errorf("the hook ran here: %q, want %t", got, tc.ran)
			}
			if log := c.log(); strings.Contains(log, "s3cret") {
				t.Errorf("log %q, want no secret", log)
			}
		})
	}
}
