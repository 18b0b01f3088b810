package hookfile

import (
	"testing"
	"time"
)

func TestDescribe(t *testing.T) {
	tests := map[string]struct {
		h    Handler
		want string
	}{
		"a line for the shell":              {Handler{Event: "Stop", Type: TypeCommand, Command: "make test 2>&1 | tee log"}, "Stop: make test 2>&1 | tee log"},
		"a matcher that matches everything": {Handler{Event: "PreToolUse", Matcher: "*", Type: TypeCommand, Command: "c"}, "PreToolUse: c"},
		"a program":                         {Handler{Event: "PreToolUse", Matcher: "Edit|Write", Type: TypeCommand, Command: "prog", Args: []string{"-x", "a b", "", `"`}}, `PreToolUse [Edit|Write]: prog -x 'a b' '' '"'`},
		"a request":                         {Handler{Event: "Stop", Type: TypeHTTP, URL: "http://127.0.0.1:1/x"}, "Stop: POST http://127.0.0.1:1/x"},
		"a type that only Claude Code runs": {Handler{Event: "Stop", Type: "prompt"}, `Stop: a hook of type "prompt"`},
		"all settings": {
			Handler{
				Event: "PreToolUse", Type: TypeCommand, Command: "c", Shell: "bash", If: "Bash(rm *)", Timeout: 90 * time.Second,
				Async: true, Once: true, BlockOnFailure: true,
			},
			"PreToolUse: c (if Bash(rm *), with bash, at most 1m30s, in the background, once per session, blocks when it fails)",
		},
		"arguments without a shell": {Handler{Event: "Stop", Type: TypeCommand, Command: "c", Args: []string{}, Shell: "bash"}, "Stop: c"},
		"control characters": {
			Handler{Event: "Stop", Matcher: "a\nb", Type: TypeCommand, Command: "echo \x1b[2J\u202e\r\n", If: "\t"},
			`Stop [a\nb]: echo \x1b[2J\u202e\r\n (if \t)`,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := Describe(tt.h); got != tt.want {
				t.Errorf("%s\nwant %s", got, tt.want)
			}
		})
	}
}
