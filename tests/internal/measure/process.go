package measure

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
)

// Receiver is a running receiver process.
type Receiver struct {
	// URL is its address without a path.
	URL string

	cmd   *exec.Cmd
	stdin io.Closer
}

// StartReceiver starts the program at path. The caller may give a function that
// starts the process, for instance on a separate processor; nil starts it here.
// The process ends when its input does, so it does not outlive this one.
func StartReceiver(ctx context.Context, path string, start func(start func() error) error) (_ *Receiver, err error) {
	cmd := exec.CommandContext(context.WithoutCancel(ctx), path)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if start == nil {
		err = cmd.Start()
	} else {
		err = start(cmd.Start)
	}
	if err != nil {
		return nil, err
	}
	r := &Receiver{cmd: cmd, stdin: stdin}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the receiver did not start: %w", err), r.Close())
	}
	r.URL = strings.TrimSpace(line)
	return r, nil
}

// Close ends the process.
func (r *Receiver) Close() error { return errors.Join(r.stdin.Close(), r.cmd.Wait()) }

// Counts are what a receiver got between two calls of Receiver.Counts.
type Counts struct{ Requests, Spans, Bytes int64 }

// Counts returns what has arrived since the last call.
func (r *Receiver) Counts(ctx context.Context) (c Counts, err error) {
	text, err := Get(ctx, r.URL)
	if err != nil {
		return c, err
	}
	if _, err := fmt.Sscan(text, &c.Requests, &c.Spans, &c.Bytes); err != nil {
		return c, fmt.Errorf("the receiver's counts: %w", err)
	}
	return c, nil
}

// Get returns the body at url, whatever the status.
func Get(ctx context.Context, url string) (_ string, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, resp.Body.Close()) }()
	body, err := io.ReadAll(resp.Body)
	return string(body), err
}
