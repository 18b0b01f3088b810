package hookproc

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"time"

	"github.com/hookspan/hookspan/config"
	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/regular"
)

// Main is the main function of a hook program: it handles one hook call, or for a host
// with StreamEnded all its events, and exits with 0. Other agents start the same program with their Word before the event's name.
func Main(h Host, others ...Host) {
	shows := slices.Index(os.Args, "--debug")
	if shows > 0 {
		os.Args = slices.Delete(os.Args, shows, shows+1)
		_ = os.Setenv("HOOKSPAN_HOOKS_DEBUG", "true")
	}
	args := os.Args[1:]
	if i := slices.IndexFunc(others, func(o Host) bool { return len(args) > 0 && args[0] == o.Word }); i >= 0 {
		h, args = others[i], args[1:]
	}
	// First, since the other program would inherit what follows.
	handOver(h)
	OwnFiles()
	debug.SetTraceback("crash")
	restoreSignals := harden()
	p := newProcess(h, args)
	if !reserveFDs() {
		p.replyOnly()
		os.Exit(0)
	}
	// The garbage of one event is not worth collecting, but that of an oversized
	// payload is.
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(24 << 20)

	if p.Event == "--help" || p.Event == "-h" {
		_, _ = os.Stdout.WriteString("usage: " + h.program() + " EVENT < payload\n" +
			"An agent starts this for each of its events. People use hookspan: hookspan --help\n")
		os.Exit(0)
	}
	p.Home, p.RestoreSignals = Home(), restoreSignals
	p.Spawn = func(args ...string) error {
		path, environ, err := p.hookspan()
		if err != nil {
			return err
		}
		if h.StreamEnded != nil {
			return DetachReaped(path, args, environ, startFolder(p.stateDir))
		}
		return Detach(path, args, environ, startFolder(p.stateDir))
	}
	p.RunHooks = func(ctx context.Context, stdin io.Reader, program string, args ...string) ([]byte, error) {
		run := func(path string, environ []string, err error) ([]byte, error) {
			if err != nil {
				return nil, err
			}
			_, environ = takeVariable(environ, chainVariable)
			return runLimited(ctx, path, args, environ, p.Dir, stdin)
		}
		out, err := run(p.sibling(program))
		if errors.Is(err, fs.ErrNotExist) && program != mainProgram { // which can do what the others do
			out, err = run(p.hookspan())
		}
		return out, err
	}
	if h.StreamEnded == nil {
		show := func() {}
		if shows > 0 {
			show = p.showLog(os.Stderr)
		}
		p.Run()
		show()
		os.Exit(0)
	}
	p.Stdin = os.Stdin // which is silent while the agent is
	p.runLines()
	os.Exit(0)
}

// showLog returns a function that copies what is logged until then to a terminal. An
// agent's pipe gets nothing.
func (p *Process) showLog(out *os.File) func() {
	info, err := out.Stat()
	cfg, _ := config.Load(config.Input{Environ: p.Environ, Home: p.Home, GOOS: p.GOOS, ReadFile: ReadSettings})
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return func() {}
	}
	var from int64
	if info, err := os.Stat(cfg.LogPath()); err == nil {
		from = info.Size()
	}
	return func() {
		f, info, err := regular.Open(cfg.LogPath(), regular.Options{})
		if err != nil {
			return
		}
		_, _ = io.Copy(out, io.NewSectionReader(f, from, max(0, info.Size()-from)))
		_ = f.Close()
	}
}

// newProcess returns this process. It needs no file descriptor.
func newProcess(h Host, args []string) *Process {
	p := &Process{
		Host: h, Stdin: input(os.Stdin, stdinDeadline), Stdout: os.Stdout, Environ: os.Environ(),
		GOOS: runtime.GOOS, MachineFile: MachineFile(), PPID: os.Getppid(), Now: time.Now,
	}
	p.Home, _ = os.UserHomeDir()
	p.Dir, _ = os.Getwd()
	if len(args) > 0 {
		p.Event = args[0]
	}
	return p
}

// replyOnly answers and stores nothing, for a process that has almost no file
// descriptors left: the Go runtime ends, with a stack trace, when it gets none for
// a file or a timer. So there is no log line and no time limit for standard input,
// which is why the answer is written first. A tool call is denied if there is a
// file with hooks, since it cannot be read.
func (p *Process) replyOnly() {
	cfg, _ := config.Load(config.Input{Environ: p.Environ, Home: p.Home, GOOS: p.GOOS})
	head := hook.Head{}
	if p.Host.Peek != nil {
		head = p.Host.Peek(nil, p.Event)
	}
	out := reply{}
	if cfg.Hooks && (p.hooked() || p.hookedIn(p.Dir) && trusts(cfg)) {
		out = p.denial(errNoDescriptors, head, cfg)
	}
	p.answer(out)
	_, _ = io.Copy(io.Discard, p.Stdin)
}

var errNoDescriptors = errors.New("no file descriptors are left")

// Home returns the user's home folder, from the environment or from the system's
// user database. It is empty if neither has it.
func Home() string {
	if home, err := os.UserHomeDir(); err == nil {
		return home
	}
	return loginHome()
}

// hookspan is sibling for the main program.
func (p *Process) hookspan() (path string, environ []string, err error) {
	return p.sibling(mainProgram)
}

// sibling is the path of a program of hookspan's, and the environment to start it
// with: with the home folder, so that it finds the same folders.
func (p *Process) sibling(program string) (path string, environ []string, err error) {
	variable := "HOME"
	if p.GOOS == "windows" {
		program, variable = program+".exe", "USERPROFILE"
	}
	environ = p.Environ
	if value, rest := takeVariable(environ, variable); value == "" && p.Home != "" {
		environ = append(rest, variable+"="+p.Home)
	}
	path, err = Sibling(program)
	return path, environ, err
}
