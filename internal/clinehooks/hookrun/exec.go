package hookrun

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hookspan/hookspan/internal/clinehooks/hookfile"
)

const (
	// maxOutput is what is kept of each of a hook's streams.
	maxOutput = 1 << 20
	// quiet is how long a hook's output has to rest before what still holds it is
	// stopped, once the hook itself has ended. Claude Code waits as long.
	quiet = 500 * time.Millisecond
	// grace is the time between the polite and the final signal, and final how
	// long the latter is repeated; both lie within 0.5 s after the time limit.
	grace = 250 * time.Millisecond
	final = 200 * time.Millisecond
)

// command runs a command handler to its end or to that of ctx.
func (b *batch) command(ctx context.Context, h hookfile.Handler, e Event) outcome {
	if ctx.Err() != nil {
		return stopped(ctx, outcome{})
	}
	mark := rand.Text()
	cmd, err := b.prepare(h, e, mark)
	if err != nil {
		return failure(err)
	}
	p, err := b.supervisor.start(cmd, mark)
	if err != nil {
		return failure(err)
	}
	go p.feed(e.Payload)
	out, note := p.wait(ctx)
	o := outcome{note: note, unread: out.stdout.lost > 0 && begins(out.stdout.String())}
	o.Stdout, o.Stderr = out.stdout.String(), out.stderr.String()
	switch {
	case out.state == nil && ctx.Err() != nil:
		return stopped(ctx, o)
	case out.state == nil || !out.state.Exited():
		o.Failed = true
		why := "ended by a signal"
		if out.state != nil {
			why = out.state.String()
		}
		if o.Stderr == "" {
			o.Stderr = why
		} else {
			o.Stderr = why + ": " + o.Stderr
		}
	default:
		o.Exit = out.state.ExitCode()
	}
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
	readers sync.WaitGroup
	feeder  sync.WaitGroup
	deaf    atomic.Bool  // nothing of its output is kept any more
	last    atomic.Int64 // when something was read, in ns of the monotonic clock since began
	began   time.Time
}

// stream is one of a hook's output streams.
type stream struct {
	file *os.File
	kept keeper
}

// keeper keeps the first bytes and counts the rest.
type keeper struct {
	data []byte
	lost int64
}

func (k *keeper) add(p []byte) {
	n := min(len(p), maxOutput-len(k.data))
	k.data = append(k.data, p[:n]...)
	k.lost += int64(len(p) - n)
}

func (k *keeper) String() string { return string(k.data) }

// start starts the command with pipes for its streams.
func (n *supervisor) start(cmd *exec.Cmd, mark string) (*process, error) {
	p := &process{cmd: cmd, ended: make(chan struct{}), began: time.Now()}
	var theirs []*os.File
	closeAll := func(fs ...*os.File) {
		for _, f := range fs {
			if f != nil {
				_ = f.Close()
			}
		}
	}
	pipe := func() (r, w *os.File, err error) {
		if r, w, err = os.Pipe(); err != nil {
			return nil, nil, fmt.Errorf("make a pipe: %w", err)
		}
		return r, w, nil
	}
	var err error
	// One of their and out is set: what the command gets as a stream.
	open := func(ours **os.File, their *io.Reader, out *io.Writer) {
		if err != nil {
			return
		}
		var r, w *os.File
		if r, w, err = pipe(); err != nil {
			return
		}
		if their != nil {
			*ours, *their = w, r
			theirs = append(theirs, r)
			return
		}
		*ours, *out = r, w
		theirs = append(theirs, w)
	}
	open(&p.stdin, &cmd.Stdin, nil)
	open(&p.stdout.file, nil, &cmd.Stdout)
	open(&p.stderr.file, nil, &cmd.Stderr)
	if err == nil {
		p.processTree, err = n.spawn(cmd, mark, false)
	}
	closeAll(theirs...)
	if err != nil {
		closeAll(p.stdin, p.stdout.file, p.stderr.file)
		return nil, err
	}
	p.feeder.Add(1)
	p.readers.Go(func() { p.read(&p.stdout) })
	p.readers.Go(func() { p.read(&p.stderr) })
	return p, nil
}

// feed gives the hook its payload. A hook need not read it.
func (p *process) feed(payload []byte) {
	defer p.feeder.Done()
	_, _ = p.stdin.Write(payload)
	_ = p.stdin.Close()
}

// read keeps what the hook prints and goes on reading, so that it can print on.
func (p *process) read(s *stream) {
	buf := make([]byte, 32<<10)
	for {
		n, err := s.file.Read(buf)
		if n > 0 {
			if !p.deaf.Load() {
				s.kept.add(buf[:n])
			}
			p.last.Store(int64(time.Since(p.began)))
		}
		if err != nil {
			return
		}
	}
}

// leftBehind is what there is to say about a hook in the end.
type leftBehind struct {
	// state is nil where the hook was stopped before it ended by itself.
	state          *os.ProcessState
	rest           rest
	stdout, stderr *keeper
}

// rest is what holds the output of a hook in the end.
type rest int

const (
	nobody rest = iota
	// silent is something that was quiet for a while when the hook had ended.
	silent
	// noisy is the hook itself, or something that prints on, when time is over.
	noisy
)

// redirect is what to do about it.
const redirect = "redirect the output of what shall go on (>/dev/null 2>&1)"

// wait waits for the hook and its output, or stops both. No goroutine of the
// process is left when it returns.
func (p *process) wait(ctx context.Context) (leftBehind, string) {
	go func() {
		// Its error says what the state says.
		_ = p.cmd.Wait()
		close(p.ended)
	}()
	drained := make(chan struct{})
	go func() {
		p.readers.Wait()
		close(drained)
	}()
	out := leftBehind{rest: noisy}
	if inTime(ctx, p.ended) {
		out.state = p.cmd.ProcessState
		p.processTree.ended()
		out.rest = p.settle(ctx, drained)
	}
	// What is printed while it is being stopped is no part of its answer.
	p.deaf.Store(true)
	switch out.rest {
	case silent:
		p.processTree.stopHolders(p.stdout.file, p.stderr.file)
	case noisy:
		p.processTree.stop()
		p.abandon()
		p.processTree.ended()
	}
	// A reader that is still waiting for something that could not be stopped gives
	// up, and so does the feeder of a hook that never read.
	_ = p.stdin.Close()
	_ = p.stdout.file.Close()
	_ = p.stderr.file.Close()
	<-drained
	p.feeder.Wait()
	p.processTree.release()
	out.stdout, out.stderr = &p.stdout.kept, &p.stderr.kept
	var note string
	switch {
	case out.state != nil && out.rest == silent:
		note = "what it started still held its output and was stopped; " + redirect
	case out.state != nil && out.rest == noisy:
		note = "what it started went on printing until the time limit and was stopped; " + redirect
	case p.stdout.kept.lost > 0:
		note = fmt.Sprintf("stdout is cut: %d bytes after the first %d are lost", p.stdout.kept.lost, maxOutput)
	}
	return out, note
}

// inTime waits for done and reports that it came before the time limit. Where this
// program was stopped itself, or had no processor, it sees the limit late: what is
// done by then gets as long to show.
func inTime(ctx context.Context, done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	case <-ctx.Done():
	}
	timer := time.NewTimer(lateness(ctx))
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}

// lateness is how late the end of a context's time is seen, at most grace.
func lateness(ctx context.Context) time.Duration {
	end, ok := ctx.Deadline()
	if !ok {
		return 0
	}
	return min(max(time.Since(end), 0), grace)
}

// abandon waits for a hook that was stopped. One that cannot be ended, because it
// hangs in the kernel, is not waited for.
func (p *process) abandon() {
	_ = p.cmd.Process.Kill()
	timer := time.NewTimer(final)
	defer timer.Stop()
	select {
	case <-p.ended:
	case <-timer.C:
	}
}

// settle waits for the rest of an ended hook's output: until everyone has closed
// it, or nothing came for a while, or time is over.
func (p *process) settle(ctx context.Context, drained <-chan struct{}) rest {
	p.last.Store(int64(time.Since(p.began)))
	timer := time.NewTimer(quiet)
	defer timer.Stop()
	for {
		select {
		case <-drained:
			return nobody
		case <-ctx.Done():
			if inTime(ctx, drained) {
				return nobody
			}
			return noisy
		case <-timer.C:
			left := quiet - (time.Since(p.began) - time.Duration(p.last.Load()))
			if left <= 0 {
				return silent
			}
			timer.Reset(left)
		}
	}
}

// detach starts an async handler and leaves it. Its payload waits in a file that
// has no name any more, since the pipe of a program that ends is lost.
func (b *batch) detach(h hookfile.Handler, e Event) error {
	if h.Type != hookfile.TypeCommand {
		return fmt.Errorf("async does not work with type %q", h.Type)
	}
	mark := rand.Text()
	cmd, err := b.prepare(h, e, mark)
	if err != nil {
		return err
	}
	in, remove, err := payloadFile(e.Payload)
	if err != nil {
		return err
	}
	defer remove()
	cmd.Stdin = in
	f, err := b.supervisor.spawn(cmd, mark, true)
	if err != nil {
		return err
	}
	f.release()
	if err := cmd.Process.Release(); err != nil {
		return fmt.Errorf("let go of an async hook: %w", err)
	}
	return nil
}

// payloadFile is a file that holds the payload. remove takes its name, where the
// system lets go of the name of an open file, and closes it.
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
