package otelcol

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Options say what to run.
type Options struct {
	// Binary is what Build has made, or any other Collector.
	Binary string
	// Dir is the working folder and has the log in it; it must exist.
	Dir string
	// Args come before the configurations: of another program than a Collector,
	// such as the backend that one sends to.
	Args []string
	// Configs are merged in this order: paths of files, or "yaml:" and the text
	// of one, to set what differs in a test.
	Configs []string
	// Env comes on top of PATH and of HOME and TMPDIR, which are Dir. Nothing
	// else of the environment is passed on.
	Env []string
	// Ready are the addresses that have to answer before the Collector counts as
	// started: "http://..." with a status of 2xx, "host:port" by taking a
	// connection. If empty, nothing is waited for.
	Ready []string
	// Patience is how long that may take; if zero, a minute.
	Patience time.Duration
}

// Collector is a process and what it needs to be started again. Its methods may
// be called from any goroutine.
type Collector struct {
	o Options

	mu    sync.Mutex // held while it is started or ended
	cmd   *exec.Cmd
	ended chan struct{} // closed when cmd has ended and waitErr is set
	err   error
}

// Start starts a Collector. Who started it ends it, by Kill or Stop.
func Start(ctx context.Context, o Options) (*Collector, error) {
	c := &Collector{o: o}
	return c, c.Restart(ctx)
}

// Restart starts the Collector again with the same settings, after a Kill if it
// still runs. Where it does not come up it is killed, and the error has the end
// of its log.
func (c *Collector) Restart(ctx context.Context) error {
	if err := c.Launch(ctx); err != nil {
		return err
	}
	return c.Await(ctx)
}

// Launch is the first half of Restart: it does not wait until the Collector
// answers, so that it can be killed while it starts. Await is the second.
func (c *Collector) Launch(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.kill(); err != nil {
		return err
	}
	log, err := os.OpenFile(c.logFile(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	args := slices.Clone(c.o.Args)
	for _, config := range c.o.Configs {
		args = append(args, "--config", config)
	}
	cmd := exec.CommandContext(context.WithoutCancel(ctx), c.o.Binary, args...) //nolint:gosec // What the caller has built.
	cmd.Dir, cmd.Stdout, cmd.Stderr = c.o.Dir, log, log
	cmd.Env = slices.Concat([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + c.o.Dir, "TMPDIR=" + c.o.Dir}, c.o.Env)
	cmd.SysProcAttr = attributes()
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start the Collector: %w", err)
	}
	ended := make(chan struct{})
	c.cmd, c.ended = cmd, ended
	go func() {
		c.err = cmd.Wait()
		close(ended)
	}()
	return nil
}

// Await waits until a Collector that was launched answers. Where it does not, it
// is killed, and the error has the end of its log.
func (c *Collector) Await(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cmd == nil {
		return errors.New("wait for the Collector: it does not run")
	}
	if err := c.awaitReady(ctx); err != nil {
		return errors.Join(fmt.Errorf("%w; its log ends with:\n%s", err, tail(c.Log())), c.kill())
	}
	return nil
}

// Kill ends the Collector at once, as kill -9 does, and returns when it is gone.
// Where it does not run it does nothing.
func (c *Collector) Kill() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.kill()
}

func (c *Collector) kill() error {
	if c.cmd == nil {
		return nil
	}
	if err := c.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("kill the Collector: %w", err)
	}
	<-c.ended
	c.cmd = nil
	return nil
}

// Stop asks the Collector to end, as a service manager does, and waits for it. An
// exit code other than 0 is an error.
func (c *Collector) Stop(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cmd == nil {
		return nil
	}
	if err := c.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stop the Collector: %w", err)
	}
	select {
	case <-c.ended:
	case <-ctx.Done():
		return errors.Join(fmt.Errorf("the Collector has not ended after SIGTERM: %w; its log ends with:\n%s", ctx.Err(), tail(c.Log())), c.kill())
	}
	c.cmd = nil
	if c.err != nil {
		return fmt.Errorf("stop the Collector: %w; its log ends with:\n%s", c.err, tail(c.Log()))
	}
	return nil
}

// Running reports that the process has been started and has not ended.
func (c *Collector) Running() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cmd == nil {
		return false
	}
	select {
	case <-c.ended:
		return false
	default:
		return true
	}
}

// Log is everything the Collector has written to its output, of all its starts.
func (c *Collector) Log() string {
	b, err := os.ReadFile(c.logFile())
	if err != nil {
		return err.Error()
	}
	return string(b)
}

func (c *Collector) logFile() string { return filepath.Join(c.o.Dir, "collector.log") }

// RSS is the memory of the running process in bytes, on Linux only.
func (c *Collector) RSS() (int64, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cmd == nil {
		return 0, errors.New("memory of the Collector: it does not run")
	}
	return rss(c.cmd.Process.Pid)
}

// PID is the process's id, 0 where it does not run.
func (c *Collector) PID() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cmd == nil {
		return 0
	}
	return c.cmd.Process.Pid
}

func (c *Collector) awaitReady(ctx context.Context) error {
	patience := c.o.Patience
	if patience == 0 {
		patience = time.Minute
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for _, address := range c.o.Ready {
		for {
			err := answers(ctx, address)
			if err == nil {
				break
			}
			select {
			case <-c.ended:
				return fmt.Errorf("the Collector ended before %s answered: %w", address, errors.Join(c.err, err))
			case <-ctx.Done():
				return fmt.Errorf("the Collector runs, but %s did not answer within %v: %w", address, patience, err)
			case <-tick.C:
			}
		}
	}
	// Another program may be answering on its ports.
	select {
	case <-c.ended:
		return fmt.Errorf("the Collector has ended though its addresses answer: %w", errors.Join(c.err, errors.New("is a port taken?")))
	default:
		return nil
	}
}

func answers(ctx context.Context, address string) error {
	if !strings.HasPrefix(address, "http://") {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err != nil {
			return err
		}
		return conn.Close()
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	// A new connection, which the next start does not find dead.
	req.Close = true
	resp, err := http.DefaultClient.Do(req) //nolint:gosec // An address of loopback.
	if err != nil {
		return err
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		err = fmt.Errorf("%s answers with status %d", address, resp.StatusCode)
	}
	return errors.Join(err, resp.Body.Close())
}

func tail(s string) string {
	const most = 4000
	if len(s) > most {
		return "..." + s[len(s)-most:]
	}
	return s
}
