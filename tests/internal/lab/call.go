package lab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/hookspan/hookspan/internal/testkit/spooltest"
	"github.com/hookspan/hookspan/spool"
)

// patience is how long a call may take before it counts as hanging. It is far
// beyond what any takes on a loaded machine.
const patience = 2 * time.Minute

// Call is one start of a program with all that may be odd about it.
type Call struct {
	// Program is cline-hook if empty.
	Program string
	Args    []string
	// Stdin may be a file, which the program then gets as it is; if nil, there
	// is nothing to read. Stdout and Stderr replace those of Outcome.
	Stdin          io.Reader
	Stdout, Stderr *os.File
	// Env comes behind the world's own, Environ in place of it.
	Env, Environ []string
	// Dir is the working directory, Work if empty.
	Dir string
	// Launch are the words for the program launch, such as "nofile=5".
	Launch []string
	// Started is called once the program runs; if it fails, the program is
	// killed.
	Started func(*os.Process) error
}

// Outcome is what became of a call.
type Outcome struct {
	Out, Err string
	// Code is the exit code, -1 for one that a signal ended.
	Code int
	// State is the same in words.
	State string
	// CPU is the processor time that the program and those that it waited for have taken.
	CPU time.Duration
}

// Neutral says what is wrong with a hook's outcome: it has to exit with 0, to
// say nothing, and to print want.
func (o Outcome) Neutral(want string) error {
	if o.Code != 0 || o.Out != want || o.Err != "" {
		return fmt.Errorf("%s, answered %.300q, said %.500q; want exit code 0, %q and silence", o.State, o.Out, o.Err, want)
	}
	return nil
}

// Call starts a program and waits for its end.
func (w *World) Call(c Call) Outcome {
	ctx, cancel := context.WithTimeout(w.T.Context(), patience)
	defer cancel()
	cmd := w.Program(orHook(c.Program), c.Args...)
	argv := cmd.Args
	if len(c.Launch) > 0 {
		argv = slices.Concat([]string{w.Program("launch").Path}, c.Launch, []string{"--"}, argv)
	}
	env, dir := cmd.Env, cmd.Dir
	cmd = exec.CommandContext(ctx, argv[0], argv[1:]...) //nolint:gosec // The programs are ours.
	cmd.Env, cmd.Dir, cmd.Stdin = slices.Concat(env, c.Env), dir, c.Stdin
	if c.Environ != nil {
		cmd.Env = c.Environ
	}
	if c.Dir != "" {
		cmd.Dir = c.Dir
	}
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if c.Stdout != nil {
		cmd.Stdout = c.Stdout
	}
	if c.Stderr != nil {
		cmd.Stderr = c.Stderr
	}
	// Who gives the program its input may be waiting for a reader that has gone.
	cmd.WaitDelay = 10 * time.Second
	err := cmd.Start()
	if err == nil {
		if c.Started != nil {
			if err = c.Started(cmd.Process); err != nil {
				_ = cmd.Process.Kill()
			}
		}
		err = errors.Join(err, cmd.Wait())
	}
	o := Outcome{Out: out.String(), Err: errs.String(), Code: -1, State: fmt.Sprint(err)}
	if cmd.ProcessState != nil {
		o.Code, o.State = cmd.ProcessState.ExitCode(), cmd.ProcessState.String()
		o.CPU = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
	if ctx.Err() != nil {
		o.State = "hung"
	}
	return o
}

func orHook(program string) string {
	if program == "" {
		return "cline-hook"
	}
	return program
}

// Peak is Call with the program's peak memory in KiB.
func (w *World) Peak(c Call) (Outcome, int64, error) {
	file := filepath.Join(w.Home, "peak")
	c.Launch = append(slices.Clone(c.Launch), "usage="+file)
	o := w.Call(c)
	b, err := os.ReadFile(file) //nolint:gosec // Made by this test.
	if err != nil {
		return o, 0, err
	}
	var kib int64
	_, err = fmt.Sscan(string(b), &kib)
	return o, kib, errors.Join(err, os.Remove(file))
}

// NoSweep keeps hooks from looking at all sessions for the next minute, which
// starts a delivery.
func (w *World) NoSweep() error {
	dir := filepath.Join(w.State(), "spool")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "sweep.stamp"), nil, 0o600)
}

// Salvage is Records of logs that may be damaged: what is whole, and how many
// stretches are not. An error of one session leaves the others in.
func (w *World) Salvage() (all []*spool.Record, damaged int, err error) {
	logs, err := spooltest.Logs(filepath.Join(w.State(), "spool"))
	for _, l := range logs {
		all, damaged = append(all, l.Records...), damaged+l.Broken()
	}
	return all, damaged, err
}
