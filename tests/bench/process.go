package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"time"
)

// canLaunch says that this system reports the resources of a process.
const canLaunch = runtime.GOOS == "linux" || runtime.GOOS == "darwin"

// errNotHere says that this system does not report a process's peak memory.
var errNotHere = errors.New("memory is not measured on this system")

// tooLong is the exit code of launch if it stopped the program.
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
	argv, file := c.argv, filepath.Join(f.root, "usage")
	if canLaunch {
		argv = append([]string{f.program("launch"), "usage=" + file, "most=" + most.String(), "--"}, argv...)
	}
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	if canLaunch {
		// launch kills the program then.
		cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	}
	var stdout, stderr bytes.Buffer
	cmd.Env, cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = c.env, c.dir, stdin, &stdout, &stderr
	begin := time.Now()
	err = cmd.Run()
	u.took, u.said = time.Since(begin), stdout.Bytes()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() == tooLong && canLaunch && ctx.Err() == nil {
		u.stopped, err = true, nil
	}
	if err != nil {
		return u, fmt.Errorf("%s: %w: %s%s", c.name, err, &stdout, &stderr)
	}
	if canLaunch {
		text, err := os.ReadFile(file)
		if err != nil {
			return u, err
		}
		var micros int64
		if _, err := fmt.Sscan(string(text), &u.peak, &micros); err != nil {
			return u, fmt.Errorf("%s: launch wrote %q, want two numbers", c.name, text)
		}
		u.cpu = time.Duration(micros) * time.Microsecond
	}
	return u, nil
}
