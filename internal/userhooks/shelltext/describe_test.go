package shelltext

import (
	"testing"
	"time"

	"github.com/hookspan/hookspan/internal/userhooks/hookfile"
)

func TestDescribe(t *testing.T) {
	tests := map[string]struct {
		h    hookfile.Handler
		want string
	}{
		"a line for the shell":              {hookfile.Handler{Event: "Stop", Type: hookfile.TypeCommand, Command: "make test 2>&1 | tee log"}, "Stop: make test 2>&1 | tee log"},
		"a matcher that matches everything": {hookfile.Handler{Event: "PreToolUse", Matcher: "*", Type: hookfile.TypeCommand, Command: "c"}, "PreToolUse: c"},
		"a program":                         {hookfile.Handler{Event: "PreToolUse", Matcher: "Edit|Write", Type: hookfile.TypeCommand, Command: "prog", Args: []string{"-x", "a b", "", `"`}}, `PreToolUse [Edit|Write]: prog -x 'a b' '' '"'`},
		"a request":                         {hookfile.Handler{Event: "Stop", Type: hookfile.TypeHTTP, URL: "http://127.0.0.1:1/x"}, "Stop: POST http://127.0.0.1:1/x"},
		"a type that only Claude Code runs": {hookfile.Handler{Event: "Stop", Type: "prompt"}, `Stop: a hook of type "prompt"`},
		"all settings": {
			hookfile.Handler{
				Event: "PreToolUse", Type: hookfile.TypeCommand, Command: "c", Shell: "bash", If: "Bash(rm *)", Timeout: 90 * time.Second,
				Async: true, Once: true, BlockOnFailure: true,
			},
			"PreToolUse: c (if Bash(rm *), with bash, at most 1m30s, in the background, once per session, blocks when it fails)",
		},
		"arguments without a shell": {hookfile.Handler{Event: "Stop", Type: hookfile.TypeCommand, Command: "c", Args: []string{}, Shell: "bash"}, "Stop: c"},
		"control characters": {
			hookfile.Handler{Event: "Stop", Matcher: "a\nb", Type: hookfile.TypeCommand, Command: "echo \x1b[2J\u202e\r\n", If: "\t"},
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
