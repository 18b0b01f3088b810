package answer

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/record"
)

const (
	// margin is how long before the host's time limit the program that runs the
	// user's hooks is killed, so that the answer arrives in time.
	margin = 2 * time.Second
	// patience is the host's time limit if it is not known.
	patience = 30 * time.Second
	// killWait is how long to wait for a program that was killed.
	killWait = 500 * time.Millisecond
	// maxAnswer is the largest answer in bytes that is read from it.
	maxAnswer = 4 << 20
)

// runner returns the program that runs the user's hooks for the event. It is empty
// if no hook can run, so that no program needs to be started to find that out.
func (a *asking) runner() (program string) {
	c, p := a.call, a.call.Process
	if a.hooks.Runner == nil || c.Config.HooksDebug || !c.Payload.JSON || c.Payload.Cut > 0 || c.Err != nil {
		return record.MainProgram
	}
	defer func() {
		if e := recover(); e != nil {
			a.log("hooks: panic: %v", e)
			program = record.MainProgram
		}
	}()
	dirs := c.Head.Dirs
	if len(dirs) == 0 {
		dirs = []string{p.Dir}
	}
	own := a.ownFiles()
	var projects []string
	for _, dir := range dirs {
		if file := filepath.Join(dir, a.hooks.File); filepath.IsAbs(dir) && !slices.Contains(own, file) {
			projects = append(projects, file)
		}
	}
	raw := hook.Raw{Payload: c.Payload.Data, Event: p.Event, StoredAt: p.Now(), Cwd: p.Dir, TraceParent: c.Config.Traceparent}
	// The user's own hook is not to be taken for a process of the hooks.
	guards := a.script != "" || a.denial(errOverdue) != nil
	return a.hooks.Runner(raw, c.Config.StateDir, a.trustList(), own, projects, guards, p.Now)
}

// ask has a program, or this process, run the user's hooks.
func (a *asking) ask(ctx context.Context, stdin io.Reader, program, about string) ([]byte, error) {
	c, p := a.call, a.call.Process
	if program == a.hooks.Own && program != "" {
		out, report, err := a.hooks.Ask(ctx, c, about)
		if report != nil {
			if _, err := a.run(ctx, bytes.NewReader(report), a.hooks.Reporter, "run-hooks", "--host", p.Agent.Facts.Host, "--event", p.Event, "--report"); err != nil {
				a.log("hooks: what went wrong is not in the log: %v", err)
			}
		}
		var other otherProgram
		if !errors.As(err, &other) {
			return out, err
		}
		program = string(other)
	}
	args := []string{"run-hooks", "--host", p.Agent.Facts.Host, "--event", p.Event, "--began", strconv.FormatInt(c.Began.UnixMilli(), 10)}
	if about != "" {
		args = append(args, "--about", about)
	}
	return a.run(ctx, stdin, program, args...)
}

// otherProgram is the error of hooks that a program of that name must run.
type otherProgram string

// Error implements error.
func (p otherProgram) Error() string { return string(p) + " must run these hooks" }

// run runs a program of hookspan's. The main program can do what the others do.
func (a *asking) run(ctx context.Context, stdin io.Reader, program string, args ...string) ([]byte, error) {
	if a.hooks.Run != nil {
		return a.hooks.Run(ctx, stdin, program, args...)
	}
	p := a.call.Process
	run := func(program string) ([]byte, error) {
		path, environ, err := p.Sibling(program)
		if err != nil {
			return nil, err
		}
		_, environ = record.Variable(environ, chainVariable)
		return runLimited(ctx, path, args, environ, p.Dir, stdin)
	}
	out, err := run(program)
	if errors.Is(err, fs.ErrNotExist) && program != record.MainProgram {
		out, err = run(record.MainProgram)
	}
	return out, err
}

// hookReply is the answer of the program that runs the user's hooks. The zero
// value means that there are none.
type hookReply struct {
	asked  bool
	answer []byte
	err    error
}

// start has the program run the user's hooks; the function returned waits for their
// answer. The event is stored already, whatever they do.
func (a *asking) start(program string) func() hookReply {
	if program == "" {
		return func() hookReply { return hookReply{} }
	}
	c, p := a.call, a.call.Process
	stdin, err := a.whole.stdin(c.Payload.Data)
	if c.Err != nil && !c.Payload.JSON {
		err = c.Err
	}
	if err != nil {
		return func() hookReply { return hookReply{asked: true, err: err} }
	}
	if p.RestoreSignals != nil {
		p.RestoreSignals()
	}
	about := ""
	if c.Spool != nil {
		// The record of the hooks refers to the event by this.
		sum := sha256.Sum256(c.Kept)
		about = hex.EncodeToString(sum[:8])
	}
	limit := cmp.Or(c.Head.Patience, patience) - margin
	ctx, cancel := context.WithTimeout(context.Background(), limit-p.Now().Sub(c.Began))
	done := make(chan hookReply, 1)
	go func() {
		defer func() {
			if e := recover(); e != nil {
				done <- hookReply{asked: true, err: fmt.Errorf("panic: %v", e)}
			}
		}()
		out, err := a.ask(ctx, stdin, program, about)
		if err != nil && ctx.Err() != nil {
			err = errOverdue
		}
		done <- hookReply{asked: true, answer: out, err: err}
	}()
	return func() hookReply {
		defer cancel()
		// A process that hangs in the kernel cannot be killed: do not wait for it.
		end, _ := ctx.Deadline()
		timer := time.NewTimer(max(time.Until(end), 0) + killWait)
		defer timer.Stop()
		select {
		case t := <-done:
			return t
		case <-timer.C:
			return hookReply{asked: true, err: errOverdue}
		}
	}
}

var errOverdue = errors.New("they were still running at the agent's time limit")
