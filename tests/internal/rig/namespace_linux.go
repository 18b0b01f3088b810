package rig

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// innerVar is set in the environment of the inner half.
const innerVar = "HOOKSPAN_TESTS_INNER"

// overhead is what a run may take beyond the sum of its steps' limits.
const overhead = 30 * time.Second

// runInNamespace starts this program again in a new network namespace
// and has it do the job.
func runInNamespace(ctx context.Context, j *job) (*Result, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	in, err := json.Marshal(j)
	if err != nil {
		return nil, fmt.Errorf("encode the run: %w", err)
	}
	limit := overhead
	for i := range j.Run.Steps {
		limit += j.Run.Steps[i].limit()
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var out, log bytes.Buffer
	cmd := exec.CommandContext(ctx, self)
	cmd.Env = append(os.Environ(), innerVar+"=1")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(in), &out, &log
	cmd.SysProcAttr = namespaceAttr(j.Arena.ownEtc())
	// The inner half ends what it started when it is asked to.
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 5 * time.Second
	if err := cmd.Start(); err != nil {
		for _, refused := range []error{syscall.EPERM, syscall.EACCES, syscall.EINVAL, syscall.ENOSPC, syscall.ENOSYS} {
			if errors.Is(err, refused) {
				return nil, fmt.Errorf("start in a network namespace: %w: %w", err, ErrNoNamespace)
			}
		}
		return nil, fmt.Errorf("start in a network namespace: %w", err)
	}
	if err := cmd.Wait(); err != nil {
		if s := cmd.ProcessState; s != nil && s.ExitCode() == exitNoLoopback {
			return nil, fmt.Errorf("%s: %w", bytes.TrimSpace(log.Bytes()), ErrNoNamespace)
		}
		return nil, fmt.Errorf("inner half: %w\n%s", err, log.Bytes())
	}
	var res Result
	if err := json.Unmarshal(out.Bytes(), &res); err != nil {
		return nil, fmt.Errorf("decode the result: %w\n%s%s", err, out.Bytes(), log.Bytes())
	}
	res.Arena = j.Arena
	return &res, nil
}

// namespaceAttr asks for a network namespace: directly as root, else by way of
// a user namespace in which we are root. etc asks for one of mounts, too.
func namespaceAttr(etc bool) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGTERM}
	if etc {
		attr.Cloneflags |= syscall.CLONE_NEWNS
	}
	if os.Geteuid() == 0 {
		return attr
	}
	attr.Cloneflags |= syscall.CLONE_NEWUSER
	attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
	attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	return attr
}

// exitNoLoopback is the inner half's exit code when it has a namespace it may
// not configure.
const exitNoLoopback = 3

// Inner does the inner half's work if this process was started as one, and
// reports whether it was. A program that calls Execute calls it first thing and
// exits with the code if it was.
func Inner(stdin io.Reader, stdout, stderr io.Writer) (code int, inner bool) {
	if os.Getenv(innerVar) == "" {
		return 0, false
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	if err := loopbackUp(); err != nil {
		_, _ = fmt.Fprintln(stderr, err)
		return exitNoLoopback, true
	}
	var j job
	if err := json.NewDecoder(stdin).Decode(&j); err != nil {
		_, _ = fmt.Fprintf(stderr, "decode the run: %v\n", err)
		return 1, true
	}
	if j.Arena.ownEtc() {
		err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
		if err = errors.Join(err, unix.Mount(j.Arena.etc(), "/etc", "", unix.MS_BIND, "")); err != nil {
			_, _ = fmt.Fprintf(stderr, "mount the run's /etc: %v\n", err)
			return 1, true
		}
	}
	res, err := perform(ctx, &j)
	if err != nil {
		_, _ = fmt.Fprintln(stderr, err)
		return 1, true
	}
	if err := json.NewEncoder(stdout).Encode(res); err != nil {
		_, _ = fmt.Fprintf(stderr, "encode the result: %v\n", err)
		return 1, true
	}
	return 0, true
}

// loopbackUp does what `ip link set lo up` does, without needing that program.
func loopbackUp() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open a socket to bring loopback up: %w", err)
	}
	defer func() { _ = unix.Close(fd) }()
	req, err := unix.NewIfreq("lo")
	if err != nil {
		return fmt.Errorf("name the loopback interface: %w", err)
	}
	if err := unix.IoctlIfreq(fd, unix.SIOCGIFFLAGS, req); err != nil {
		return fmt.Errorf("read the flags of loopback: %w", err)
	}
	req.SetUint16(req.Uint16() | unix.IFF_UP)
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, req); err != nil {
		return fmt.Errorf("bring loopback up: %w", err)
	}
	return nil
}

// ownEtc reports that the run sees a folder of the arena as /etc.
func (a *Arena) ownEtc() bool {
	_, err := os.Stat(a.etc())
	return err == nil
}
