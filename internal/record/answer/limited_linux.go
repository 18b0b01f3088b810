package answer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// runLimited runs one of hookspan's programs, kills it when ctx ends, and returns
// its output. It uses package syscall, since package os starts a further process
// before the first one, to find out what the kernel can do.
func runLimited(ctx context.Context, path string, args, environ []string, dir string, stdin io.Reader) ([]byte, error) {
	c := child{}
	output, err := c.start(ctx, path, args, environ, dir, stdin)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", path, err)
	}
	defer func() { _ = output.Close() }()
	defer context.AfterFunc(ctx, c.kill)()
	out, readErr := io.ReadAll(io.LimitReader(output, maxAnswer))
	_, _ = io.Copy(io.Discard, output)
	if err := errors.Join(readErr, c.wait()); err != nil {
		return nil, fmt.Errorf("%s %s: %w", filepath.Base(path), args[0], err)
	}
	return out, nil
}

// child is a program that this one has started and waits for.
type child struct {
	pid   int
	stdin *os.File
	fed   chan error

	mu     sync.Mutex
	reaped bool // its process id may be another's
}

func (c *child) start(ctx context.Context, path string, args, environ []string, dir string, stdin io.Reader) (output *os.File, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var files []*os.File
	pipe := func() (r, w *os.File) {
		if err == nil {
			if r, w, err = os.Pipe(); err == nil {
				files = append(files, r, w)
			}
		}
		return r, w
	}
	input, feed := pipe()
	output, answer := pipe()
	var null *os.File
	if err == nil {
		null, err = os.OpenFile(os.DevNull, os.O_WRONLY, 0)
		files = append(files, null)
	}
	if err == nil {
		c.pid, err = syscall.ForkExec(path, append([]string{path}, args...), &syscall.ProcAttr{ //nolint:gosec // hookspan itself.
			Dir: dir, Env: environ, Files: []uintptr{input.Fd(), answer.Fd(), null.Fd()},
		})
	}
	for _, f := range files {
		if err != nil || f != feed && f != output {
			_ = f.Close() // or nil
		}
	}
	if err != nil {
		return nil, err
	}
	c.stdin, c.fed = feed, make(chan error, 1)
	go func() {
		_, err := io.Copy(feed, stdin)
		_ = feed.Close()
		c.fed <- err
	}()
	return output, nil
}

// kill ends the program if it still runs.
func (c *child) kill() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.reaped {
		_ = syscall.Kill(c.pid, syscall.SIGKILL)
	}
}

// wait waits for the program's end. It need not have read its input.
func (c *child) wait() error {
	// The process id stays the program's until it is reaped, under the lock. Where the
	// kernel refuses to wait without reaping, the lock must be free for kill meanwhile.
	ended := uninterrupted(func() error {
		return unix.Waitid(unix.P_PID, c.pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
	}) == nil
	if ended {
		c.mu.Lock()
	}
	var status syscall.WaitStatus
	err := uninterrupted(func() error {
		_, err := syscall.Wait4(c.pid, &status, 0, nil)
		return err
	})
	if !ended {
		c.mu.Lock()
	}
	c.reaped = true
	c.mu.Unlock()
	// What it has started may hold its standard input open.
	_ = c.stdin.Close()
	fed := <-c.fed
	switch {
	case err != nil:
		return fmt.Errorf("wait: %w", err)
	case status.Signaled():
		return fmt.Errorf("signal: %v", status.Signal())
	case status.ExitStatus() != 0:
		return fmt.Errorf("exit status %d", status.ExitStatus())
	case errors.Is(fed, syscall.EPIPE), errors.Is(fed, os.ErrClosed):
		return nil
	}
	return fed
}

// uninterrupted makes a system call again as long as a signal interrupts it.
func uninterrupted(call func() error) error {
	for {
		if err := call(); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}
