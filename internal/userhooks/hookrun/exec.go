package hookrun

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hookspan/hookspan/internal/userhooks/hookfile"
)

const (
	// maxOutput is how many bytes of each of a hook's streams are kept.
	maxOutput = 1 << 20
	// quiet is how long an ended hook must have printed nothing before the processes
	// that hold its output are stopped, as in Claude Code.
	quiet = 500 * time.Millisecond
	// grace is the time between SIGTERM and SIGKILL, and final how long the latter is
	// repeated; the sum is less than 0.5 s.
	grace = 250 * time.Millisecond
	final = 200 * time.Millisecond
)

// command runs a command handler to its end or to that of ctx.
func (b *batch) command(ctx context.Context, run *Run) outcome {
	if ctx.Err() != nil {
		return stopped(ctx, outcome{})
	}
	mark := rand.Text()
	cmd, err := b.prepare(run.Handler, run.event, mark)
	if err != nil {
		return failure(err)
	}
	p, err := b.supervisor.start(cmd, mark)
	if err != nil {
		return failure(err)
	}
	run.started(true)
	go p.feed(run.event.Payload)
	state, note := p.wait(ctx)
	o := outcome{note: note, late: p.late}
	o.Stdout, o.Stderr = string(p.stdout.data), string(p.stderr.data)
	o.tooLong = p.stdout.lost > 0 && begins(o.Stdout)
	switch {
	case state == nil && ctx.Err() != nil:
		return stopped(ctx, o)
	case state != nil && state.Exited():
		o.Exit = state.ExitCode()
		return o
	}
	o.Failed = true
	why := "ended by a signal"
	if state != nil {
		why = state.String()
	}
	o.Stderr = strings.TrimSuffix(why+": "+o.Stderr, ": ")
	return o
}

// process is a running hook with its streams.
type process struct {
	cmd         *exec.Cmd
	processTree *processTree
	stdin       *os.File
	stdout      stream
	stderr      stream

	ended   chan struct{} // closed when the hook itself has ended
	drained chan struct{} // closed when both readers have
	readers atomic.Int32  // how many read
	feeder  sync.WaitGroup
	discard atomic.Bool  // its output is no longer kept
	last    atomic.Int64 // when something was read, in ns of the monotonic clock since began
	began   time.Time
	late    bool // whether its answer was there in time is not known
}

// stream is one of a hook's output streams: its first bytes, and how many more
// were lost.
type stream struct {
	file *os.File
	data []byte
	lost int64
}

func (s *stream) add(p []byte) {
	n := min(len(p), maxOutput-len(s.data))
	s.data = append(s.data, p[:n]...)
	s.lost += int64(len(p) - n)
}

// start starts the command with pipes for its streams.
func (s *supervisor) start(cmd *exec.Cmd, mark string) (*process, error) {
	var theirs, ours [3]*os.File
	for i := range theirs {
		r, w, err := os.Pipe()
		if err != nil {
			closeAll(theirs, ours)
			return nil, fmt.Errorf("make a pipe: %w", err)
		}
		theirs[i], ours[i] = w, r
		if i == 0 {
			theirs[i], ours[i] = r, w
		}
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = theirs[0], theirs[1], theirs[2]
	p := &process{
		cmd: cmd, ended: make(chan struct{}), drained: make(chan struct{}), began: time.Now(),
		stdin: ours[0], stdout: stream{file: ours[1]}, stderr: stream{file: ours[2]},
	}
	started := make(chan error, 1)
	go func() {
		// The thread that starts the hook lives until it has ended.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		var err error
		p.processTree, err = s.spawn(cmd, mark, false)
		started <- err
		if err == nil {
			_ = cmd.Wait() // the state has more than its error
			close(p.ended)
		}
	}()
	if err := <-started; err != nil {
		closeAll(theirs, ours)
		return nil, err
	}
	closeAll(theirs)
	p.feeder.Add(1)
	p.readers.Store(2)
	go p.read(&p.stdout)
	go p.read(&p.stderr)
	return p, nil
}

func closeAll(sets ...[3]*os.File) {
	for _, files := range sets {
		for _, f := range files {
			_ = f.Close() // or nil
		}
	}
}

// feed gives the hook its payload. A hook need not read it.
func (p *process) feed(payload []byte) {
	defer p.feeder.Done()
	_, _ = p.stdin.Write(payload)
	_ = p.stdin.Close()
}

// read keeps the first bytes that the hook prints and drains the rest.
func (p *process) read(s *stream) {
	buf := make([]byte, 4<<10) // most hooks print less, and each page costs
	for {
		n, err := s.file.Read(buf)
		if n > 0 {
			if !p.discard.Load() {
				s.add(buf[:n])
			}
			p.last.Store(int64(time.Since(p.began)))
		}
		if err != nil {
			break
		}
	}
	if p.readers.Add(-1) == 0 {
		close(p.drained)
	}
}

// holder is what still holds the output of a hook when waiting for it ends.
type holder int

const (
	noHolder holder = iota
	// silentHolder was quiet for a while after the hook had ended.
	silentHolder
	// noisyHolder is the hook itself, or a process that still prints at the time limit.
	noisyHolder
)

// redirect is the advice about a process that holds the output.
const redirect = "redirect the output of processes that are to continue (>/dev/null 2>&1)"

// wait waits for the hook and its output, or stops both. The state is nil if the
// hook was stopped; note describes another fault. No goroutine of the process is left
// when it returns.
func (p *process) wait(ctx context.Context) (state *os.ProcessState, note string) {
	left := noisyHolder
	if p.inTime(ctx, p.ended) {
		state = p.cmd.ProcessState
		p.processTree.ended()
		left = p.settle(ctx)
	}
	// The output while it is stopped is not part of its answer.
	p.discard.Store(true)
	switch left {
	case noHolder:
	case silentHolder:
		p.processTree.stopHolders(p.stdout.file, p.stderr.file)
	case noisyHolder:
		p.processTree.stop()
		p.abandon()
		p.processTree.ended()
	}
	// Closing ends the readers of what could not be stopped, and the feeder of a hook
	// that never read.
	_ = p.stdin.Close()
	_ = p.stdout.file.Close()
	_ = p.stderr.file.Close()
	<-p.drained
	p.feeder.Wait()
	p.processTree.release()
	switch {
	case state != nil && left == silentHolder:
		note = "a process that it started still held its output and was stopped; " + redirect
	case state != nil && left == noisyHolder:
		note = "a process that it started printed until the time limit and was stopped; " + redirect
	case p.stdout.lost > 0:
		note = fmt.Sprintf("stdout is cut: %d bytes after the first %d are lost", p.stdout.lost, maxOutput)
	}
	return state, note
}

// inTime waits for done and reports whether it was in time. A program that was
// suspended notices the limit late: then done gets as long again, up to grace. If that
// is not enough, the answer is not known, which late says.
func (p *process) inTime(ctx context.Context, done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	case <-ctx.Done():
	}
	by := lateness(ctx)
	select {
	case <-done:
		return true
	case <-time.After(by):
		p.late = by == grace
		return false
	}
}

// lateness is how late a context's deadline was noticed, at most grace.
func lateness(ctx context.Context) time.Duration {
	end, ok := ctx.Deadline()
	if !ok {
		return 0
	}
	return min(max(time.Since(end), 0), grace)
}

// abandon waits for a stopped hook, but not long: it may hang in the kernel.
func (p *process) abandon() {
	_ = p.cmd.Process.Kill()
	select {
	case <-p.ended:
	case <-time.After(final):
	}
}

// settle waits until an ended hook's output is closed or was quiet for a while, or
// for the time limit.
func (p *process) settle(ctx context.Context) holder {
	p.last.Store(int64(time.Since(p.began)))
	timer := time.NewTimer(quiet)
	defer timer.Stop()
	for {
		select {
		case <-p.drained:
			return noHolder
		case <-ctx.Done():
			if p.inTime(ctx, p.drained) {
				return noHolder
			}
			return noisyHolder
		case <-timer.C:
			left := quiet - (time.Since(p.began) - time.Duration(p.last.Load()))
			if left <= 0 {
				return silentHolder
			}
			timer.Reset(left)
		}
	}
}

// detach starts an async handler. Its payload is in an unlinked file, since a pipe
// would end with this program.
func (b *batch) detach(run *Run) error {
	if h := run.Handler; h.Type != hookfile.TypeCommand {
		return fmt.Errorf("async does not work with type %q", h.Type)
	}
	mark := rand.Text()
	cmd, err := b.prepare(run.Handler, run.event, mark)
	if err != nil {
		return err
	}
	in, remove, err := payloadFile(run.event.Payload)
	if err != nil {
		return err
	}
	defer remove()
	cmd.Stdin = in
	f, err := b.supervisor.spawn(cmd, mark, true)
	if err != nil {
		return err
	}
	run.started(true)
	f.release()
	if err := cmd.Process.Release(); err != nil {
		return fmt.Errorf("let go of an async hook: %w", err)
	}
	return nil
}

// payloadFile returns a file that holds the payload. remove closes it and removes
// its name, as far as the system removes names of open files.
func payloadFile(payload []byte) (f *os.File, remove func(), err error) {
	f, err = os.CreateTemp("", "hookspan-payload-*")
	if err != nil {
		return nil, nil, fmt.Errorf("file for the payload: %w", err)
	}
	remove = func() {
		_ = f.Close()
		_ = os.Remove(f.Name())
	}
	_, err = f.Write(payload)
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		remove()
		return nil, nil, fmt.Errorf("file for the payload: %w", err)
	}
	return f, remove, nil
}

// prepare makes the command of a handler: a line for the shell, or a program with
// arguments. It does not use the context of exec.CommandContext, which would end
// only one process.
func (r *Runner) prepare(h hookfile.Handler, e Event, mark string) (*exec.Cmd, error) {
	env := r.environ(e, mark)
	var name string
	var args []string
	var err error
	if h.Args != nil {
		name = strings.ReplaceAll(h.Command, "${CLAUDE_PROJECT_DIR}", r.ProjectDir)
		for _, a := range h.Args {
			args = append(args, strings.ReplaceAll(a, "${CLAUDE_PROJECT_DIR}", r.ProjectDir))
		}
	} else {
		name, args, err = r.shell(h.Shell, h.Command, env)
		if err != nil {
			return nil, err
		}
	}
	full, err := r.find(name, env)
	if err != nil {
		return nil, err
	}
	if r.Dir != "" {
		if info, err := os.Stat(r.Dir); err != nil || !info.IsDir() {
			return nil, fmt.Errorf("the working directory %q is gone", r.Dir)
		}
	}
	cmd := exec.CommandContext(context.Background(), full, args...) //nolint:gosec // running the user's own hooks is the purpose
	cmd.Args[0] = name
	cmd.Dir, cmd.Env = r.Dir, env
	return cmd, nil
}

// find looks a program up in the hook's PATH, which need not be ours.
func (r *Runner) find(name string, env []string) (string, error) {
	if name == "" {
		return "", errors.New("the command is empty")
	}
	if strings.ContainsRune(name, filepath.Separator) || strings.Contains(name, "/") {
		if !filepath.IsAbs(name) {
			name = filepath.Join(r.Dir, name)
		}
		return executable(name)
	}
	path, _ := r.lookup(env, "PATH")
	var unfit error
	for _, dir := range filepath.SplitList(path) {
		if dir == "" || !filepath.IsAbs(dir) {
			continue // the working directory is no place to take programs from
		}
		full, err := executable(filepath.Join(dir, name))
		if err == nil {
			return full, nil
		}
		if !errors.Is(err, os.ErrNotExist) {
			unfit = err
		}
	}
	if unfit != nil {
		return "", unfit
	}
	return "", fmt.Errorf("program %q is not on PATH", name)
}
