package fault_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hookspan/hookspan/tests/internal/lab"
	"github.com/hookspan/hookspan/tests/internal/proof"
)

// streamRows give the hooks streams, signals and an environment that are not
// what a program counts on.
var streamRows = []proof.Row{
	{
		Name:  "standard input that never ends: silent, dripping, pouring, a terminal",
		Rule:  "after the deadline of 5 s the hook answers neutrally and exits with 0; what came by then is stored",
		Waits: true, Rest: true, Run: endlessInput,
	},
	{
		Name:  "standard input that is closed, a folder, another program's end",
		Rule:  "neutral answer, exit code 0",
		Waits: true, Rest: true, Run: strangeInput,
	},
	{
		Name: "standard output and error closed, full, without a reader",
		Rule: "exit code 0, the event is stored",
		Run:  strangeOutput,
	},
	{
		Name:  "signals while the payload is being written",
		Rule:  "SIGINT, SIGHUP, SIGQUIT, SIGPIPE and SIGXFSZ cost nothing; no signal ends a hook with an exit code",
		Short: 2 * 13, Long: 2 * 13 * 20,
		Rest: true,
		Run:  signals,
	},
	{
		Name: "a lock that the agent's script holds by a descriptor, while the hook starts a delivery",
		Rule: "the lock ends with the script, not with the delivery",
		Run:  inheritedDescriptor,
	},
	{
		Name: "GOMEMLIMIT, GODEBUG and the like malformed, through the installed hooks",
		Rule: "neutral answer, exit code 0, silence, the event is stored",
		Rest: true,
		Run:  goVariables,
	},
	{
		Name: "a working directory that is gone, no PATH, umask 0777 and 0, as root and as another user",
		Rule: "neutral answer, exit code 0; the event is stored and delivered",
		Rest: true,
		Run:  surroundings,
	},
}

// pipe is a pipe both ends of which are closed with the test.
func (s *site) pipe() (r, w *os.File) {
	s.t.Helper()
	r, w, err := os.Pipe()
	s.ok(err)
	s.t.Cleanup(func() { _, _ = r.Close(), w.Close() })
	return r, w
}

// terminal is a terminal's two ends.
func (s *site) terminal() (inner, outer *os.File) {
	s.t.Helper()
	outer, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	s.ok(err)
	s.ok(unix.IoctlSetPointerInt(int(outer.Fd()), unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(int(outer.Fd()), unix.TIOCGPTN)
	s.ok(err)
	inner, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	s.ok(err)
	s.t.Cleanup(func() { _, _ = inner.Close(), outer.Close() })
	return inner, outer
}

func (s *site) open(path string, flag int) *os.File {
	s.t.Helper()
	f, err := os.OpenFile(path, flag, 0)
	s.ok(err)
	s.t.Cleanup(func() { _ = f.Close() })
	return f
}

func endlessInput(t *testing.T, r *proof.Result) {
	s := newSite(t, r)
	var wg sync.WaitGroup
	var whole []int
	try := func(what string, a *agent, stdin func(payload []byte) *os.File) {
		c := s.call(a)
		c.Stdin = stdin(a.payload("PreToolUse", s.session, openTurn, s.n))
		if strings.HasPrefix(what, "whole") {
			whole = append(whole, s.n)
		}
		wg.Go(func() { s.try(what, a, c) })
	}
	part := func(keep func(payload []byte) int) func([]byte) *os.File {
		return func(payload []byte) *os.File {
			in, out := s.pipe()
			_, err := out.Write(payload[:keep(payload)])
			s.ok(err)
			return in
		}
	}
	stop := make(chan struct{})
	defer close(stop)
	for i := range agents {
		a := &agents[i]
		try("silent", a, part(func([]byte) int { return 0 }))
		try("half", a, part(func(p []byte) int { return len(p) / 2 }))
		try("whole, not closed", a, part(func(p []byte) int { return len(p) }))
		try("whole, dripping", a, func(payload []byte) *os.File {
			in, out := s.pipe()
			go drip(out, payload, stop)
			return in
		})
		try("terminal", a, func([]byte) *os.File {
			inner, _ := s.terminal()
			return inner
		})
	}
	if proof.Soak() { // It takes a core for as long as it lasts.
		try("pouring zeros", &agents[0], func([]byte) *os.File { return s.open("/dev/zero", os.O_RDONLY) })
	}
	try("pouring JSON", &agents[1], func([]byte) *os.File {
		in, out := s.pipe()
		go pour(out, stop)
		return in
	})
	wg.Wait()
	s.look("endless input")
	for _, n := range whole {
		if s.stored[n] != 1 {
			r.Break("event %d, whole by the deadline, is stored %d times%s", n, s.stored[n], s.said())
		}
	}
	s.tells("endless input", "standard input broke off")
	s.finish("endless input")
}

// pour writes JSON without an end: 64 KiB each millisecond, in the long run as fast as it
// is read.
func pour(w io.Writer, stop <-chan struct{}) {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	piece := strings.Repeat("x", 1<<16)
	for text := `{"x":"`; ; text = piece {
		if _, err := io.WriteString(w, text); err != nil {
			return
		}
		if proof.Soak() {
			continue
		}
		select {
		case <-stop:
			return
		case <-tick.C:
		}
	}
}

// drip writes a payload over a second, and blanks from there on.
func drip(w io.Writer, payload []byte, stop <-chan struct{}) {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	piece := len(payload)/20 + 1
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
		}
		n := min(piece, len(payload))
		text := payload[:n]
		if payload = payload[n:]; n == 0 {
			text = []byte(" ")
		}
		if _, err := w.Write(text); err != nil {
			return
		}
	}
}

func strangeInput(t *testing.T, r *proof.Result) {
	s := newSite(t, r)
	var wg sync.WaitGroup
	for name, open := range map[string]func() *os.File{
		"a folder": func() *os.File { return s.open(s.Home, os.O_RDONLY) },
		"for writing only": func() *os.File {
			return s.open(filepath.Join(s.Home, ".config", "hookspan", "hookspan.env"), os.O_WRONLY)
		},
		"the null device":    func() *os.File { return s.open(os.DevNull, os.O_RDONLY) },
		"a pipe's other end": func() *os.File { _, w := s.pipe(); return w },
		"a path alone":       func() *os.File { return s.open(s.Home, unix.O_PATH) },
		"a closed pipe":      func() *os.File { in, w := s.pipe(); s.ok(w.Close()); return in },
		"a hung-up terminal": func() *os.File { inner, outer := s.terminal(); s.ok(outer.Close()); return inner },
		"process memory":     func() *os.File { return s.open("/proc/self/mem", os.O_RDONLY) },
		"an epoll set": func() *os.File {
			fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
			s.ok(err)
			f := os.NewFile(uintptr(fd), "epoll")
			t.Cleanup(func() { _ = f.Close() })
			return f
		},
	} {
		for i := range agents {
			c := s.call(&agents[i])
			c.Stdin = open()
			wg.Go(func() { s.try(name, &agents[i], c) })
		}
	}
	wg.Wait()
	s.look("strange input")
	s.finish("strange input")
}

func strangeOutput(t *testing.T, r *proof.Result) {
	s := newSite(t, r)
	outputs := map[string]func() *os.File{
		"without a reader": func() *os.File { in, w := s.pipe(); s.ok(in.Close()); return w },
		"full":             func() *os.File { return s.open("/dev/full", os.O_WRONLY) },
		"for reading only": func() *os.File { return s.open(os.DevNull, os.O_RDONLY) },
		"as it should be":  func() *os.File { return nil },
	}
	for out, openOut := range outputs {
		for errs, openErr := range outputs {
			for i := range agents {
				a := agents[i]
				c := s.call(&a)
				c.Stdout, c.Stderr = openOut(), openErr()
				if c.Stdout != nil {
					a.answer = ""
				}
				what := "output " + out + ", error " + errs
				s.try(what, &a, c)
				if !s.holds(what) {
					r.Break("%s: %s: the event is not stored%s", what, a.program, s.said())
				}
			}
		}
	}
	s.finish("strange output")
}

func signals(t *testing.T, r *proof.Result) {
	s := newSite(t, r)
	// Those that a hook has to outlive; the others may end it.
	survives := map[syscall.Signal]bool{
		syscall.SIGINT: true, syscall.SIGHUP: true, syscall.SIGQUIT: true, syscall.SIGPIPE: true, syscall.SIGXFSZ: true,
		syscall.SIGWINCH: true, syscall.SIGCHLD: true, syscall.SIGURG: true,
		syscall.SIGTERM: false, syscall.SIGUSR1: false, syscall.SIGUSR2: false, syscall.SIGALRM: false, syscall.SIGXCPU: false,
	}
	for range r.N / 2 / len(survives) {
		s.quiet()
		for sig, lives := range survives {
			for i := range agents {
				s.signal(&agents[i], sig, lives)
			}
		}
	}
	s.finish("signals")
}

// signal sends a signal once the hook is known to be reading.
func (s *site) signal(a *agent, sig syscall.Signal, lives bool) {
	s.t.Helper()
	in, out := s.pipe()
	c := s.call(a)
	c.Stdin = in
	// More than a pipe holds: once it is written, the hook reads.
	payload := append(bytes.Repeat([]byte(" "), 256<<10), a.payload("PreToolUse", s.session, openTurn, s.n)...)
	c.Started = func(p *os.Process) error {
		s.ok(in.Close())
		if _, err := out.Write(payload[:len(payload)-1]); err != nil {
			return err
		}
		if err := p.Signal(sig); err != nil {
			return err
		}
		_, err := out.Write(payload[len(payload)-1:])
		if errors.Is(err, syscall.EPIPE) {
			err = nil // it has ended
		}
		return errors.Join(err, out.Close())
	}
	s.r.Trial(1)
	o := s.Call(c)
	err := o.Neutral(a.answer)
	switch {
	case err == nil && lives && !s.holds(sig.String()):
		s.r.Break("%v: %s: the event is not stored%s", sig, a.program, s.said())
	case err != nil && lives:
		s.r.Break("%v: %s: %v", sig, a.program, err)
	case err != nil && (o.Code >= 0 || o.Out+o.Err != ""):
		s.r.Break("%v: %s: %s, answered %q, said %.500q; want an end by the signal in silence", sig, a.program, o.State, o.Out, o.Err)
	}
	s.look(sig.String())
}

// installed are the commands that the agents have in their settings for an
// event once hookspan is installed.
func (s *site) installed(a *agent) [][]string {
	s.t.Helper()
	name := strings.TrimSuffix(a.program, "-hook")
	args := []string{"install", name}
	if name == "cline" {
		args = append(args, "--pre-tool-use")
	}
	s.ok(os.MkdirAll(filepath.Join(s.Home, "."+name), 0o700))
	if out, errs, code := s.Hookspan(args...); code != 0 {
		s.t.Fatalf("hookspan %v: %s%s", args, out, errs)
	}
	var all [][]string
	if name == "cline" {
		s.ok(filepath.WalkDir(s.Home, func(path string, e fs.DirEntry, err error) error {
			if err == nil && e.Type().IsRegular() && e.Name() == "PreToolUse" {
				all = append(all, []string{path})
			}
			return err
		}))
		return all
	}
	var settings struct {
		Hooks map[string][]struct {
			Hooks []struct {
				Command string
				Args    []string
			}
		}
	}
	b, err := os.ReadFile(filepath.Join(s.Home, ".claude", "settings.json"))
	s.ok(err)
	s.ok(json.Unmarshal(b, &settings))
	for _, group := range settings.Hooks["PreToolUse"] {
		for _, h := range group.Hooks {
			argv := append([]string{h.Command}, h.Args...)
			if h.Args == nil {
				argv = []string{"/bin/sh", "-c", h.Command}
			}
			all = append(all, argv)
		}
	}
	return all
}

func goVariables(t *testing.T, r *proof.Result) {
	s := newSite(t, r)
	for i := range agents {
		a := &agents[i]
		commands := s.installed(a)
		if len(commands) == 0 {
			r.Break("%s: nothing is installed", a.program)
		}
		for _, argv := range commands {
			for _, env := range []string{
				"GOMEMLIMIT=1GB", "GOMEMLIMIT=x", "GOMEMLIMIT=-1", "GOMEMLIMIT=1", "GOMEMLIMIT=99999999999999999999", "GOMEMLIMIT= 1",
				"GODEBUG=x", "GODEBUG=x=y", "GODEBUG=fips140=only", "GODEBUG=fips140=bogus", "GODEBUG=fips140=on", "GODEBUG=cpu.all=off,inittrace=1,gctrace=1,schedtrace=1",
				"GODEBUG=netdns=x,madvdontneed=x,invalidptr=2", "GODEBUG=asyncpreemptoff=1,clobberfree=1,allocfreetrace=1", "GODEBUG=cgocheck=2", "GODEBUG=execerrdot=9,gotypesalias=x",
				"GOGC=x", "GOGC=-5", "GOGC=1", "GOTRACEBACK=x", "GOTRACEBACK=none", "GOTRACEBACK=wer", "GOMAXPROCS=x", "GOMAXPROCS=-1", "GORACE=x", "GOCOVERDIR=/nowhere", "GOROOT=/nowhere", "GOFLAGS=-x",
			} {
				c := s.call(a)
				what := env + ": " + filepath.Base(argv[0])
				r.Trial(1)
				var out, errs bytes.Buffer
				cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...) //nolint:gosec // What was installed.
				cmd.Env, cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = append(append([]string{}, s.Environ...), env), s.Work, c.Stdin, &out, &errs
				err := cmd.Run()
				if err != nil || out.String() != a.answer || errs.Len() > 0 {
					r.Break("%s: %s: %v, answered %q, said %.300q", what, a.program, err, &out, &errs)
				}
				if !s.holds(what) {
					r.Break("%s: %s: the event is not stored%s", what, a.program, s.said())
				}
			}
		}
	}
	s.finish("variables of Go's")
}

func surroundings(t *testing.T, r *proof.Result) {
	for _, uid := range []int{os.Geteuid(), nobody} {
		if uid != os.Geteuid() && os.Geteuid() != 0 {
			continue
		}
		for _, odd := range []struct {
			launch []string
			env    []string
		}{
			{launch: []string{"lost"}},
			{env: []string{"PATH="}},
			{env: []string{"PATH=/nowhere:.", "PWD=/nowhere", "OLDPWD=x", "SHELL=/nowhere", "TMPDIR=/nowhere", "LANG=x", "TZ=/nowhere"}},
			{launch: []string{"umask=0777"}},
			{launch: []string{"umask=0"}},
			{launch: []string{"umask=0277"}},
			// The first thing to be written is a line of the log.
			{launch: []string{"umask=0777"}, env: []string{"HOOKSPAN_RETENTION=x"}},
			{launch: []string{"umask=0", "lost"}, env: []string{"HOOKSPAN_RETENTION=x", "PATH="}},
		} {
			// Root may do what a mode forbids, so that it breaks less.
			if proof.Soak() || uid == nobody {
				surrounded(t, r, uid, odd.launch, odd.env)
			}
		}
	}
}

// surrounded plays a run with both agents on a separate machine.
func surrounded(t *testing.T, r *proof.Result, uid int, launch, env []string) {
	s := &site{World: lab.New(t), t: t, r: r, session: "site", stored: map[int]int{}}
	what := fmt.Sprintf("user %d, %v, %v", uid, launch, env)
	if uid != os.Geteuid() {
		launch = append(launch[:len(launch):len(launch)], fmt.Sprintf("uid=%d", uid))
		// The test's own folder is closed to others.
		s.ok(os.Chmod(filepath.Dir(s.Home), 0o711))
		s.ok(filepath.WalkDir(s.Home, func(path string, _ fs.DirEntry, err error) error {
			return errors.Join(err, os.Chown(path, uid, uid))
		}))
	}
	call := func(c lab.Call) lab.Call {
		c.Launch, c.Env = launch, env
		for _, word := range launch {
			if word == "lost" {
				dir, err := os.MkdirTemp(s.Home, "lost")
				s.ok(errors.Join(err, os.Chmod(s.Home, 0o777), os.Chown(dir, uid, uid)))
				c.Dir = dir
			}
		}
		return c
	}
	var stored int
	for range 2 {
		for i := range agents {
			a := &agents[i]
			s.try(what, a, call(s.call(a)))
			stored++
		}
	}
	for i := range agents {
		a := &agents[i]
		c := lab.Call{Program: a.program, Args: []string{a.ended}, Stdin: bytes.NewReader(a.payload(a.ended, s.session, openTurn, s.n))}
		s.try(what, a, call(c))
	}
	s.Settle()
	for range 2 {
		o := s.Call(call(lab.Call{Program: "hookspan", Args: []string{"flush", "--wait"}}))
		if o.Code != 0 {
			r.Break("%s: hookspan flush: %s\n%s%s%s", what, o.State, o.Out, o.Err, s.said())
		}
	}
	for _, name := range []string{"otlp", "file"} {
		if got := len(s.arrived(name)); got != stored {
			r.Break("%s: %s has %d tool calls, want %d%s", what, name, got, stored, s.said())
		}
	}
	o := s.Call(call(lab.Call{Program: "hookspan", Args: []string{"list"}}))
	if o.Code != 0 || strings.Count(o.Out, "\n") < len(agents) {
		r.Break("%s: hookspan list: %s, printed %q, said %q", what, o.State, o.Out, o.Err)
	}
}

// inheritedDescriptor gives the hooks the open file of a lock, as `flock 9` in a script
// does, and ends a run: the delivery still waits for it to settle when the hook has ended.
func inheritedDescriptor(t *testing.T, r *proof.Result) {
	s := newSite(t, r)
	for i := range agents {
		a := &agents[i]
		s.must("before", a)
		path := filepath.Join(s.Home, "lock-"+a.program)
		s.ok(os.WriteFile(path, nil, 0o600))
		held := s.open(path, os.O_RDWR)
		s.ok(unix.Flock(int(held.Fd()), unix.LOCK_EX))
		cmd := s.Program(a.program, a.ended)
		cmd.Stdin = bytes.NewReader(a.payload(a.ended, s.session, openTurn, s.n))
		cmd.ExtraFiles = []*os.File{held, held, held}
		out, err := cmd.Output()
		r.Trial(1)
		if err != nil || string(out) != a.answer {
			r.Break("%s: %v, answered %q", a.program, err, out)
		}
		s.ok(held.Close())
		again := s.open(path, os.O_RDWR)
		if err := unix.Flock(int(again.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
			r.Break("%s: the lock is still held: %v", a.program, err)
		}
	}
	s.Settle()
}
