package hookproc

import (
	"context"
	"errors"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/hookspan/hookspan/config"
	"github.com/hookspan/hookspan/hook"
)

// Main is the whole of a hook binary's main: it lives the life of one hook call
// and exits with 0.
func Main(h Host) {
	// Before anything that the other program would inherit.
	handOver(h)
	OwnFiles()
	debug.SetTraceback("crash")
	restoreSignals := harden()
	if !reserveFDs() {
		minimal(h).replyOnly()
		os.Exit(0)
	}
	// One event's garbage is never worth collecting; an oversized payload's is.
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(24 << 20)

	home := Home()
	dir, _ := os.Getwd()
	p := &Process{
		Host: h, Stdin: os.Stdin, Stdout: os.Stdout, Environ: os.Environ(),
		Home: home, GOOS: runtime.GOOS, Dir: dir, PPID: os.Getppid(), Now: time.Now,
		RestoreSignals: restoreSignals,
	}
	if len(os.Args) > 1 {
		p.Event = os.Args[1]
	}
	if p.Event == "--help" || p.Event == "-h" {
		_, _ = os.Stdout.WriteString("usage: " + h.program() + " EVENT < payload\n" +
			"An agent starts this for each of its events. People use hookspan: hookspan --help\n")
		os.Exit(0)
	}
	p.Spawn = func(args ...string) error {
		path, err := Sibling(executable(p.GOOS))
		if err != nil {
			return err
		}
		return Detach(path, args, withHome(p.Environ, p.GOOS, home), startFolder(p.stateDir))
	}
	p.RunHooks = func(ctx context.Context, stdin io.Reader, args ...string) ([]byte, error) {
		path, err := Sibling(executable(p.GOOS))
		if err != nil {
			return nil, err
		}
		return runLimited(ctx, path, args, withHome(p.Environ, p.GOOS, home), p.Dir, stdin)
	}
	p.Run()
	os.Exit(0)
}

// minimal is a process that takes no descriptor to make.
func minimal(h Host) *Process {
	p := &Process{Host: h, Stdin: os.Stdin, Stdout: os.Stdout, Environ: os.Environ(), GOOS: runtime.GOOS}
	p.Home, _ = os.UserHomeDir()
	p.Dir, _ = os.Getwd()
	if len(os.Args) > 1 {
		p.Event = os.Args[1]
	}
	return p
}

// replyOnly answers, and stores nothing, where there is next to no descriptor to
// be had: the Go runtime gives up, with a stack trace, as soon as it gets none
// for a file or a timer of ours. So there is no log line, and nothing that ends
// the wait for standard input either, which is why the answer goes out first. It
// denies a tool call where there is a file with hooks, which cannot be read.
func (p *Process) replyOnly() {
	cfg, _ := config.Load(config.Input{Environ: p.Environ, Home: p.Home, GOOS: p.GOOS})
	head := hook.Head{}
	if p.Host.Peek != nil {
		head = p.Host.Peek(nil, p.Event)
	}
	out := reply{}
	if cfg.Hooks && (p.hooked() || p.hookedIn(p.Dir) && trusts(cfg)) {
		out = p.unasked(errNoDescriptors, head, cfg)
	}
	p.answer(out)
	_, _ = io.Copy(io.Discard, p.Stdin)
}

var errNoDescriptors = errors.New("no file descriptors are left")

// executable is the name of hookspan's main program.
func executable(goos string) string {
	if goos == "windows" {
		return "hookspan.exe"
	}
	return "hookspan"
}

// Home is the user's home folder: what the environment says, or where it says
// nothing, the user's entry in the system's user database. It is empty where
// neither is known.
func Home() string {
	if home, err := os.UserHomeDir(); err == nil {
		return home
	}
	return loginHome()
}

// withHome is the environment with the home folder in it, so that a program
// that is started finds the same folders.
func withHome(environ []string, goos, home string) []string {
	name := "HOME"
	if goos == "windows" {
		name = "USERPROFILE"
	}
	if value, rest := takeVariable(environ, name); value == "" && home != "" {
		return append(rest, name+"="+home)
	}
	return environ
}
