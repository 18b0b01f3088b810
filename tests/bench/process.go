package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// canLaunch says that this system reports the resources of a process.
const canLaunch = runtime.GOOS != "windows"

// errNotHere says that this system does not report a process's peak memory.
var errNotHere = errors.New("memory is not measured on this system")

// tooLong is the exit code of launch where it has stopped the program.
const tooLong = 3

// usage is what a process took.
type usage struct {
	took, cpu time.Duration
	peak      int // KiB, 0 if not measured
	said      []byte
	// stopped says that it took too long and did not come to its end.
	stopped bool
}

// measured runs the contestant through the program launch, where there is one,
// and stops it after that long; 0 means never.
func (f *field) measured(ctx context.Context, c *contestant, stdin io.Reader, most time.Duration) (u usage, err error) {
	argv := c.argv
	if canLaunch {
		argv = append([]string{f.program("launch"), "-most", most.String()}, argv...)
	}
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	if canLaunch {
		// It passes that on.
		cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	}
	var stdout, stderr bytes.Buffer
	cmd.Env, cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = c.env, c.dir, stdin, &stdout, &stderr
	begin := time.Now()
	err = cmd.Run()
	u.took, u.said = time.Since(begin), stdout.Bytes()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() == tooLong && canLaunch {
		u.stopped, err = true, nil
	}
	if err != nil {
		return u, fmt.Errorf("%s: %w: %s%s", c.name, err, &stdout, &stderr)
	}
	if canLaunch {
		lines := strings.Split(strings.TrimSpace(stderr.String()), "\n")
		var micros int64
		if _, err := fmt.Sscan(lines[len(lines)-1], &u.peak, &micros); err != nil {
			return u, fmt.Errorf("%s: launch said %q, want two numbers", c.name, &stderr)
		}
		u.cpu = time.Duration(micros) * time.Microsecond
	}
	return u, nil
}
