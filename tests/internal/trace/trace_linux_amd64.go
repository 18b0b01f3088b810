package trace

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Available returns why no process can be traced here, or nil.
func Available() error {
	end, err := Run(Program{Path: "/proc/self/exe", Args: []string{"-test.run=^$"}, Env: os.Environ(), Dir: "/"},
		&Fault{At: Call{"execve", 1}})
	if err == nil && len(end.Calls) == 0 {
		err = fmt.Errorf("%w: no call of a program was seen", ErrUnavailable)
	}
	return err
}

// Run runs the program to its end. A nil fault disturbs nothing.
func Run(p Program, f *Fault) (end *Ending, err error) {
	if len(p.Stdin) > maxStdin {
		return nil, fmt.Errorf("standard input of %d bytes: at most %d fit into a pipe", len(p.Stdin), maxStdin)
	}
	// All that is asked of a traced process must come from the thread that
	// started it. The thread goes back as it was.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	in, feed, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	_, err = feed.Write(p.Stdin)
	if err = errors.Join(err, feed.Close()); err != nil {
		return nil, err
	}
	stdout, err := memory("stdout")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, stdout.Close()) }()
	stderr, err := memory("stderr")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, stderr.Close()) }()

	// The process group is separate because of the wait below: other goroutines of
	// this process wait for children of theirs.
	pid, err := syscall.ForkExec(p.Path, append([]string{p.Path}, p.Args...), &syscall.ProcAttr{
		Dir: p.Dir, Env: p.Env, Files: []uintptr{in.Fd(), stdout.Fd(), stderr.Fd()},
		Sys: &syscall.SysProcAttr{Ptrace: true, Setpgid: true},
	})
	if err != nil {
		return nil, fmt.Errorf("%w: start %s: %w", ErrUnavailable, p.Path, err)
	}
	t := &tracee{pid: pid, fault: f, threads: make(map[int]*thread), end: &Ending{Calls: make(map[string]int)}}
	hung := make(chan bool, 1)
	watch := time.AfterFunc(patience, func() {
		hung <- true
		_ = unix.Kill(pid, unix.SIGKILL)
	})
	err = errors.Join(t.follow(), t.unpin())
	if !watch.Stop() {
		t.end.Hung = <-hung
	}
	if err != nil {
		t.abandon()
		return nil, err
	}
	if t.end.Stdout, err = contents(stdout); err != nil {
		return nil, err
	}
	t.end.Stderr, err = contents(stderr)
	return t.end, err
}

// memory is a file without a name that takes any amount: with a pipe the
// process could wait for a reader.
func memory(name string) (*os.File, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("%w: memfd_create: %w", ErrUnavailable, err)
	}
	return os.NewFile(uintptr(fd), name), nil //nolint:gosec // A descriptor is never negative.
}

func contents(f *os.File) ([]byte, error) {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	return io.ReadAll(f)
}

// tracee is the process that is followed.
type tracee struct {
	pid int
	// cores are those that it may run on, and its tracer.
	cores   unix.CPUSet
	fault   *Fault
	threads map[int]*thread
	end     *Ending
	killed  bool
	pinned  bool
}

// thread is one of its threads.
type thread struct {
	// inside reports that it has entered a call and not left it.
	inside bool
	// errno is what the call that it is in is to return, 0 for what it will.
	errno syscall.Errno
}

func (t *tracee) follow() error {
	var ws unix.WaitStatus
	if _, err := wait(t.pid, &ws); err != nil {
		return err
	}
	if !ws.Stopped() {
		return fmt.Errorf("%w: the program ended before its first call", ErrUnavailable)
	}
	t.threads[t.pid] = &thread{}
	options := unix.PTRACE_O_TRACESYSGOOD | unix.PTRACE_O_TRACECLONE | unix.PTRACE_O_EXITKILL
	if err := unix.PtraceSetOptions(t.pid, options); err != nil {
		return fmt.Errorf("%w: set options: %w", ErrUnavailable, err)
	}
	if err := t.resume(t.pid, 0); err != nil {
		return err
	}
	for {
		tid, err := wait(-t.pid, &ws)
		if err != nil {
			return err
		}
		if ws.Exited() || ws.Signaled() {
			if tid != t.pid {
				delete(t.threads, tid)
				continue
			}
			t.end.Code = ws.ExitStatus()
			if ws.Signaled() {
				t.end.Code, t.end.Signal = -1, unix.SignalName(ws.Signal())
			}
			return nil
		}
		deliver, err := t.stopped(tid, ws)
		if err != nil {
			return err
		}
		if err := t.resume(tid, deliver); err != nil {
			return err
		}
	}
}

// stopped looks at a thread that has stopped and returns the signal that it is
// to go on with.
func (t *tracee) stopped(tid int, ws unix.WaitStatus) (deliver int, err error) {
	th := t.threads[tid]
	if th == nil {
		th = &thread{}
		t.threads[tid] = th
		if ws.StopSignal() == unix.SIGSTOP {
			return 0, nil
		}
	}
	switch sig := ws.StopSignal(); {
	case sig == unix.SIGTRAP|0x80:
		return 0, gone(t.call(tid, th))
	case sig == unix.SIGTRAP && ws.TrapCause() > 0:
		return 0, nil
	default:
		return int(sig), nil
	}
}

// call is at the beginning or at the end of a system call.
func (t *tracee) call(tid int, th *thread) error {
	th.inside = !th.inside
	if t.killed || !th.inside && th.errno == 0 {
		return nil
	}
	var regs unix.PtraceRegs
	if err := unix.PtraceGetRegs(tid, &regs); err != nil {
		return err
	}
	if !th.inside {
		regs.Rax = -uint64(th.errno)
		th.errno = 0
		return unix.PtraceSetRegs(tid, &regs)
	}
	name := callName(regs.Orig_rax)
	if !t.pinned && t.end.Calls[asksCores] > 0 {
		if err := t.pin(); err != nil {
			return err
		}
	}
	if (name == "read" || name == "write") && t.wakes(regs.Rdi) {
		name += " eventfd"
	}
	t.end.Calls[name]++
	if t.fault == nil {
		return nil
	}
	at := t.fault.At
	switch {
	case t.fault.Rule != nil:
		if name != "flock" && name != "fsync" && name != "fdatasync" {
			return nil
		}
		if th.errno = t.fault.Rule(t.use(name, &regs)); th.errno == 0 {
			return nil
		}
		t.end.Hit = true
		regs.Orig_rax = ^uint64(0)
		return unix.PtraceSetRegs(tid, &regs)
	case !t.end.Hit && name == at.Name && t.end.Calls[name] == at.N:
		t.end.Hit = true
	case !t.end.Hit || t.fault.Lasts == nil || !t.fault.Lasts(name):
		return nil
	}
	if t.fault.Errno == 0 {
		t.killed = true
		return unix.Kill(t.pid, unix.SIGKILL)
	}
	th.errno = t.fault.Errno
	if name == "close" {
		// Linux lets go of the descriptor whatever close returns.
		return nil
	}
	// A number that no call has is not made.
	regs.Orig_rax = ^uint64(0)
	return unix.PtraceSetRegs(tid, &regs)
}

// use describes a call with an open file.
func (t *tracee) use(name string, regs *unix.PtraceRegs) Use {
	u := Use{Name: name, Arg: regs.Rsi}
	u.Path, _ = os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", t.pid, regs.Rdi))
	info, _ := os.ReadFile(fmt.Sprintf("/proc/%d/fdinfo/%d", t.pid, regs.Rdi))
	if _, flags, ok := strings.Cut(string(info), "flags:"); ok {
		n, _ := strconv.ParseInt(strings.Fields(flags)[0], 8, 64)
		u.Flags = int(n)
	}
	return u
}

// asksCores is the call by which the Go runtime finds at its start how many cores
// there are.
const asksCores = "sched_getaffinity"

var pins atomic.Uint32

// pin keeps the program and its tracer on one core from now on, each program on
// the next one: a stop is two switches between the two, and each takes several
// times as long from one core to another. Since the program has counted the cores
// by now, it is as parallel as before.
func (t *tracee) pin() error {
	t.pinned = true
	if err := unix.SchedGetaffinity(0, &t.cores); err != nil {
		return fmt.Errorf("%s: %w", asksCores, err)
	}
	nth, core := int(pins.Add(1))%t.cores.Count(), 0
	for ; nth > 0 || !t.cores.IsSet(core); core++ {
		if t.cores.IsSet(core) {
			nth--
		}
	}
	var one unix.CPUSet
	one.Set(core)
	for _, tid := range []int{0, t.pid} {
		if err := unix.SchedSetaffinity(tid, &one); err != nil {
			return fmt.Errorf("sched_setaffinity: %w", err)
		}
	}
	return nil
}

// unpin gives the tracer's thread its cores back.
func (t *tracee) unpin() error {
	if t.cores.Count() == 0 {
		return nil
	}
	return unix.SchedSetaffinity(0, &t.cores)
}

// wakes reports that the descriptor is an eventfd, by which the Go runtime wakes
// its own threads: no disk stands behind it.
func (t *tracee) wakes(fd uint64) bool {
	target, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", t.pid, fd))
	return err == nil && strings.HasPrefix(target, "anon_inode:")
}

// abandon ends a process that cannot be followed any more.
func (t *tracee) abandon() {
	_ = unix.Kill(t.pid, unix.SIGKILL)
	var ws unix.WaitStatus
	for {
		tid, err := wait(-t.pid, &ws)
		if err != nil || tid == t.pid && (ws.Exited() || ws.Signaled()) {
			return
		}
		_ = t.resume(tid, 0)
	}
}

func wait(pid int, ws *unix.WaitStatus) (int, error) {
	for {
		tid, err := unix.Wait4(pid, ws, unix.WALL|unix.WNOTHREAD, nil)
		if err == nil {
			return tid, nil
		}
		if !errors.Is(err, unix.EINTR) {
			return 0, fmt.Errorf("wait for a traced process: %w", err)
		}
	}
}

// resume has a thread go on to its next system call, or once the fault is done and
// nothing more will be, to its end.
func (t *tracee) resume(tid, sig int) error {
	proceed := unix.PtraceSyscall
	if t.end.Hit && t.fault.Lasts == nil && t.fault.Rule == nil && (t.threads[tid] == nil || t.threads[tid].errno == 0) {
		proceed = unix.PtraceCont
	}
	if err := gone(proceed(tid, sig)); err != nil {
		return fmt.Errorf("resume thread %d: %w", tid, err)
	}
	return nil
}

// gone forgives that a thread is killed while it is looked at: the next wait
// tells of it.
func gone(err error) error {
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	return err
}
