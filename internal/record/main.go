package record

import (
	"errors"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"time"

	"github.com/hookspan/hookspan/internal/files/regular"
)

// Main is the main function of a hook program: it handles one hook call, or for an agent
// with StreamEnded all its events, and exits with 0, or with Process.Exit. The program is the first agent's; the
// others start it with their Argument before the event's name.
func Main(agents ...Agent) {
	shows := slices.Index(os.Args, "--debug")
	if shows > 0 {
		os.Args = slices.Delete(os.Args, shows, shows+1)
		_ = os.Setenv("HOOKSPAN_HOOKS_DEBUG", "true")
	}
	a, others, args := agents[0], agents[1:], os.Args[1:]
	if i := slices.IndexFunc(others, func(o Agent) bool { return len(args) > 0 && args[0] == o.Facts.Argument() }); i >= 0 {
		a, args = others[i], args[1:] //nolint:gosec // There is a first one.
	}
	if len(os.Args) == 2 && os.Args[1] == "--version" {
		_, _ = os.Stdout.WriteString(agents[0].Facts.Program + " of hookspan\n") // it starts: more is hookspan's to say
		os.Exit(0)
	}
	// First, since the other program would inherit what follows.
	handOver(a)
	OwnFiles()
	debug.SetTraceback("crash")
	restoreSignals := harden()
	p := newProcess(a, args)
	if !reserveFDs() {
		p.replyOnly()
		os.Exit(0)
	}
	// The garbage of one event is not worth collecting, but that of an oversized
	// payload is.
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(24 << 20)

	if p.Event == "--help" || p.Event == "-h" {
		_, _ = os.Stdout.WriteString("usage: " + a.Facts.Program + " EVENT < payload\n" +
			"An agent starts this for each of its events. People use hookspan: hookspan --help\n")
		os.Exit(0)
	}
	p.Home, p.RestoreSignals = Home(), restoreSignals
	p.Spawn = func(args ...string) error {
		path, environ, err := p.Sibling(MainProgram)
		if err != nil {
			return err
		}
		if a.StreamEnded != nil {
			return DetachReaped(path, args, environ, startFolder(p.stateDir))
		}
		return Detach(path, args, environ, startFolder(p.stateDir))
	}
	if a.StreamEnded == nil {
		if shows > 0 {
			p.ShowLog = terminal(os.Stderr)
		}
		p.Run()
		os.Exit(p.Exit)
	}
	p.Stdin = os.Stdin // which is silent while the agent is
	p.runLines()
	os.Exit(0)
}

// terminal returns the file if it is a terminal: an agent's pipe gets nothing.
func terminal(f *os.File) io.Writer {
	if info, err := f.Stat(); err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return nil
	}
	return f
}

// showLog copies what the call has logged to ShowLog.
func (c *Call) showLog() {
	if c.Process.ShowLog == nil {
		return
	}
	f, info, err := regular.Open(c.Log.Path, regular.Options{})
	if err != nil {
		return
	}
	_, _ = io.Copy(c.Process.ShowLog, io.NewSectionReader(f, c.logged, max(0, info.Size()-c.logged)))
	_ = f.Close()
}

// newProcess returns this process. It needs no file descriptor.
func newProcess(a Agent, args []string) *Process {
	p := &Process{
		Agent: a, Stdin: input(os.Stdin, stdinDeadline), Stdout: os.Stdout, Environ: os.Environ(),
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
	c := &Call{Process: p}
	c.begin(nil)
	if p.Agent.Peek != nil {
		c.Head = p.Agent.Peek(nil, p.Event)
	}
	var out []byte
	if p.Agent.Answers != nil {
		out = p.Agent.Answers(c).Unasked(errNoDescriptors)
	}
	c.reply(out)
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

// MainProgram does whatever hookspan does.
const MainProgram = "hookspan"

// Sibling is the path of a program of hookspan's, and the environment to start it with.
func (p *Process) Sibling(program string) (path string, environ []string, err error) {
	if p.GOOS == "windows" {
		program += ".exe"
	}
	path, err = Sibling(program)
	return path, p.ChildEnviron(), err
}

// ChildEnviron is the environment for a program: with the home folder, so that it finds
// the same folders.
func (p *Process) ChildEnviron() []string {
	variable := "HOME"
	if p.GOOS == "windows" {
		variable = "USERPROFILE"
	}
	value, rest := Variable(p.Environ, variable)
	if value == "" && p.Home != "" {
		return append(rest, variable+"="+p.Home)
	}
	return p.Environ
}
