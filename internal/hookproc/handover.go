package hookproc

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/hookspan/hookspan/config"
	"github.com/hookspan/hookspan/internal/logfile"
)

// handsOverAs is the hook program whose flags hookspan takes, under a command of
// the same name.
const handsOverAs = "cline-hook"

// orders are the flags that people give. Their fate is of interest to somebody.
var orders = [...]string{"--enable", "--disable", "--status", "--help", "-h"}

// handsOver tells a call with flags from that of an agent: a flag in front, or
// behind an event's name one that hookspan knows. Any other word there is the
// agent's own business, and the event is stored.
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

// handOver has hookspan do what a call with flags asks for, so that this program
// stays free of what that takes. It returns where there is nothing to hand over,
// and for a call for help that nobody else can answer.
func handOver(h Host) {
	args := os.Args[1:]
	if h.program() != handsOverAs || !handsOver(args) {
		return
	}
	by := slices.IndexFunc(args, func(arg string) bool { return slices.Contains(orders[:], arg) })
	if by < 0 && !reserveFDs() {
		(&Process{Host: h, Stdin: os.Stdin, Stdout: os.Stdout}).replyOnly()
		os.Exit(0)
	}
	path, err := Sibling(executable(runtime.GOOS))
	if err == nil {
		argv := append([]string{path, handsOverAs}, args...)
		err = become(path, argv, withHome(os.Environ(), runtime.GOOS, Home()))
	}
	switch {
	case by >= 0 && (args[by] == "--help" || args[by] == "-h"):
		return
	case by >= 0:
		_, _ = fmt.Fprintf(os.Stderr, "%s: %v\nhint: hookspan and %s belong in one folder\n", handsOverAs, err, handsOverAs)
		os.Exit(1)
	}
	// A hook is no place to complain: the agent goes on.
	cfg, _ := config.Load(config.Input{Environ: os.Environ(), Home: Home(), GOOS: runtime.GOOS, ReadFile: ReadSettings})
	logfile.Log{Path: cfg.LogPath(), Who: handsOverAs}.Line("event not passed on: " + err.Error())
	drained := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		close(drained)
	}()
	select {
	case <-drained:
	case <-time.After(stdinDeadline):
	}
	os.Exit(0)
}

// Harden is for another program that an agent starts: no way for it to die then
// reads as a verdict.
func Harden() {
	debug.SetTraceback("crash")
	_ = harden()
}
