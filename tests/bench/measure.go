package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// crowds are how many hooks run at once where many do.
var crowds = []int{16, 64}

// call runs the contestant once. Its payload is in the pipe before it starts,
// so that nothing but the call itself is measured.
func (c *contestant) call() (took time.Duration, err error) {
	stdin, fill, err := os.Pipe()
	if err != nil {
		return 0, err
	}
	_, err = fill.Write(c.payload)
	if err := errors.Join(err, fill.Close()); err != nil {
		return 0, errors.Join(err, stdin.Close())
	}
	answer, stdout, err := os.Pipe()
	if err != nil {
		return 0, errors.Join(err, stdin.Close())
	}
	defer func() { err = errors.Join(err, answer.Close()) }()

	begin := time.Now()
	p, err := os.StartProcess(c.argv[0], c.argv, &os.ProcAttr{Dir: c.dir, Env: c.env, Files: []*os.File{stdin, stdout, stdout}})
	if err := errors.Join(err, stdin.Close(), stdout.Close()); err != nil {
		return 0, err
	}
	text, readErr := io.ReadAll(answer)
	status, err := p.Wait()
	took = time.Since(begin)
	if err := errors.Join(readErr, err); err != nil {
		return 0, err
	}
	if !status.Success() {
		return 0, fmt.Errorf("%s: %s: %s", c.name, status, text)
	}
	if strings.Contains(c.name, "cline-hook") && !bytes.HasPrefix(text, []byte(`{"cancel":false,`)) {
		return 0, fmt.Errorf("%s: answered %q", c.name, text)
	}
	if strings.Contains(c.name, "claude-hook") && len(text) > 0 {
		return 0, fmt.Errorf("%s: said %q, must be silent", c.name, text)
	}
	return took, nil
}

// takeTurns lets everybody run once per round, in an order that is new each
// time, so that no contestant always follows the same one.
func (f *field) takeTurns(ctx context.Context, rounds int) error {
	warm := 5
	for round := range rounds + warm {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := f.holdSweeps(); err != nil {
			return err
		}
		runtime.GC()
		for _, i := range rand.Perm(len(f.contestants)) {
			c := f.contestants[i]
			if c.missing || round%c.every != 0 {
				continue
			}
			if c.before != nil {
				if err := c.before(); err != nil {
					return err
				}
			}
			took, err := c.call()
			if err != nil {
				return err
			}
			if c.ends {
				if err := endStrays(); err != nil {
					return err
				}
			}
			if round >= warm {
				c.took = append(c.took, took)
			}
		}
	}
	return nil
}

// another is a contestant that runs the same as c, with a separate base.
func (c *contestant) another(name string) *contestant {
	return &contestant{name: name, argv: c.argv, env: c.env, dir: c.dir, payload: c.payload, apart: true}
}

// atOnce measures a crowd of each of two contestants, in turns.
func (f *field) atOnce(crowd, rounds int) error {
	noop := f.noop.another(fmt.Sprintf("a Go program that does nothing, %d at once", crowd))
	hook := f.noop.another(fmt.Sprintf("cline-hook, %d at once", crowd))
	hook.argv, hook.base = []string{f.program("cline-hook"), "PostToolUse"}, noop
	for range rounds {
		if err := f.holdSweeps(); err != nil {
			return err
		}
		for _, c := range []*contestant{noop, hook} {
			if err := c.crowd(crowd); err != nil {
				return err
			}
		}
	}
	f.contestants = append(f.contestants, noop, hook)
	return nil
}

func (c *contestant) crowd(n int) error {
	type result struct {
		took time.Duration
		err  error
	}
	results := make(chan result, n)
	for range n {
		go func() {
			took, err := c.call()
			results <- result{took, err}
		}()
	}
	var errs []error
	for range n {
		r := <-results
		errs = append(errs, r.err)
		c.took = append(c.took, r.took)
	}
	return errors.Join(errs...)
}

// coldRounds is how often each contestant runs from the disk.
const coldRounds = 30

// cold measures calls whose program and files have to be read from the disk, and
// says how the system's memory was made to forget them.
func (f *field) cold() (how string, err error) {
	noop := f.noop.another("a Go program that does nothing, cold cache")
	hook := f.noop.another("cline-hook, cold cache")
	hook.argv, hook.base = []string{f.program("cline-hook"), "PostToolUse"}, noop
	files := []string{noop.argv[0], hook.argv[0]}
	if log, err := filepath.Glob(filepath.Join(state(hook), "*", "*", "*")); err == nil {
		files = append(files, log...)
	}
	how, forget, err := forgetter(files)
	if err != nil {
		noop.missing, hook.missing = true, true
		f.contestants = append(f.contestants, noop, hook)
		return err.Error(), nil //nolint:nilerr // The table has the error.
	}
	for range coldRounds {
		for _, c := range []*contestant{noop, hook} {
			if err := errors.Join(f.holdSweeps(), forget()); err != nil {
				return how, err
			}
			took, err := c.call()
			if err != nil {
				return how, err
			}
			c.took = append(c.took, took)
		}
	}
	f.contestants = append(f.contestants, noop, hook)
	return how, nil
}

// launch runs the contestant through the program of that name, which says how
// much memory it took, in KiB.
func (f *field) launch(ctx context.Context, c *contestant, payload io.Reader) (peak int, took time.Duration, err error) {
	if !canLaunch {
		return 0, 0, errNotHere
	}
	u, err := f.measured(ctx, c, payload, 0)
	if err == nil && c.ends {
		err = endStrays()
	}
	return u.peak, u.took, err
}

// largeResult is the worst of a few calls with a payload of 100 MB.
type largeResult struct {
	took time.Duration
	peak int
}

func (f *field) largePayload(ctx context.Context) (largeResult, error) {
	line := []byte(`a line of a large file that some tool has read, 64 bytes of it\n`)
	block := bytes.Repeat(line, 1024)
	var worst largeResult
	for range 3 {
		var parts []io.Reader
		parts = append(parts, strings.NewReader(`{"hookName":"PostToolUse","taskId":"`+session+`","postToolUse":{"result":"`))
		for size := 0; size < 100<<20; size += len(block) {
			parts = append(parts, bytes.NewReader(block))
		}
		parts = append(parts, strings.NewReader(`","success":true}}`))
		c := &contestant{argv: []string{f.program("cline-hook"), "PostToolUse"}, env: f.noop.env, dir: f.noop.dir}
		peak, took, err := f.launch(ctx, c, io.MultiReader(parts...))
		if errors.Is(err, errNotHere) {
			return worst, nil
		}
		if err != nil {
			return worst, err
		}
		worst.took, worst.peak = max(worst.took, took), max(worst.peak, peak)
	}
	return worst, nil
}
