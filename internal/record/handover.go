package record

import (
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// handsOverAs are the hook programs whose flags hookspan handles, in commands of the
// same names.
var handsOverAs = [...]string{"cline-hook", "claude-hook"}

// userFlags are the flags that people type. Errors are reported to them.
var userFlags = [...]string{"--enable", "--disable", "--status", "--help", "-h"}

// handsOver reports whether a call is one with flags and not an agent's: a flag
// comes first, or after the event's name one that hookspan knows. With any other
// word there the event is stored.
func handsOver(args []string) bool {
	if len(args) == 0 {
		return false
	}
	if strings.HasPrefix(args[0], "-") {
		return true
	}
	return slices.ContainsFunc(args[1:], func(arg string) bool {
		name, _, _ := strings.Cut(arg, "=")
		return name == "--port" || name == "--dir"
	})
}

// handOver lets hookspan handle a call with flags, so that this program need not
// link what that takes. It returns if there are no flags, and for a call for help
// if hookspan cannot be started.
func handOver(a Agent) {
	args := os.Args[1:]
	if a.Facts.Argument() != "" || !slices.Contains(handsOverAs[:], a.Facts.Program) || !handsOver(args) {
		return
	}
	typed := slices.IndexFunc(args, func(arg string) bool { return slices.Contains(userFlags[:], arg) })
	p := newProcess(a, args)
	if typed < 0 && !reserveFDs() {
		(&Process{Agent: a, Stdin: os.Stdin, Stdout: os.Stdout, Now: time.Now}).replyOnly()
		os.Exit(0)
	}
	p.Home = Home()
	path, environ, err := p.Sibling(MainProgram)
	if err == nil {
		err = become(path, append([]string{path, a.Facts.Program}, args...), environ)
	}
	switch {
	case typed >= 0 && (args[typed] == "--help" || args[typed] == "-h"):
		return
	case typed >= 0:
		_, _ = fmt.Fprintf(os.Stderr, "%s: %v\nhint: hookspan and %s belong in one folder\n", a.Facts.Program, err, a.Facts.Program)
		os.Exit(1)
	}
	// The agent must not notice.
	c := &Call{Process: p}
	c.begin(ReadSettings)
	c.Log.Line("event not passed on: " + err.Error())
	_, _ = io.Copy(io.Discard, p.Stdin)
	os.Exit(0)
}

// Harden keeps a crash of another program that an agent starts from being read as
// a verdict.
func Harden() {
	debug.SetTraceback("crash")
	_ = harden()
}
