package hookproc

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/hookspan/hookspan/config"
	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/logfile"
)

const (
	// hooksLimit ends the program that runs the user's hooks, should it not end
	// by itself: it keeps to the host's own limits, of which two minutes is the
	// longest.
	hooksLimit = 118 * time.Second
	// maxAnswer is the largest answer in bytes that is taken from it.
	maxAnswer = 4 << 20
)

// hooked tells whether the user has a file with Claude-format hooks. With
// hookedIn it is all that a call costs for which there are none.
func (p *Process) hooked() bool {
	file := p.userHooks()
	if file == "" {
		return false
	}
	_, err := os.Lstat(file)
	return err == nil
}

// hookedIn tells the same of a project.
func (p *Process) hookedIn(dir string) bool {
	if p.Host.HooksFile == "" || !filepath.IsAbs(dir) {
		return false
	}
	_, err := os.Lstat(filepath.Join(dir, p.Host.HooksFile))
	return err == nil
}

// userHooks is the path of the user's own file; empty where the host has none, or
// no home is known.
func (p *Process) userHooks() string {
	if p.Host.HooksFile == "" {
		return ""
	}
	if p.Host.HooksVariable != "" {
		if dir, _ := takeVariable(p.Environ, p.Host.HooksVariable); dir != "" {
			return filepath.Join(dir, filepath.Base(p.Host.HooksFile))
		}
	}
	if p.Home == "" {
		return ""
	}
	return filepath.Join(p.Home, p.Host.HooksFile)
}

// theirs is what the program that runs the user's hooks answered.
type theirs struct {
	asked  bool
	answer []byte
	err    error
}

// startHooks starts running the user's hooks; the function returned waits for
// their answer. The event is stored by then, whatever they do.
func (p *Process) startHooks(hooked, stored bool, in payload, over *spill) func() theirs {
	if !hooked || p.RunHooks == nil {
		return func() theirs { return theirs{} }
	}
	stdin, err := over.stdin(in.data)
	if err != nil {
		return func() theirs { return theirs{asked: true, err: err} }
	}
	if p.Soften != nil {
		p.Soften()
	}
	args := []string{"run-hooks", "--host", p.Host.Name, "--event", p.Event}
	if stored {
		// The hooks' own record says which event it is about by this.
		sum := sha256.Sum256(in.data)
		args = append(args, "--about", hex.EncodeToString(sum[:8]))
	}
	done := make(chan theirs, 1)
	go func() {
		defer func() {
			if e := recover(); e != nil {
				done <- theirs{asked: true, err: fmt.Errorf("panic: %v", e)}
			}
		}()
		out, err := p.RunHooks(stdin, args...)
		done <- theirs{asked: true, answer: out, err: err}
	}()
	return func() theirs { return <-done }
}

// both lays the answer of the user's Claude-format hooks beside that of their
// own Cline hook. Where the former cannot be had, the call goes on, or what can
// be stopped is stopped, as the user has set it.
func (p *Process) both(own reply, t theirs, head hook.Head, cfg *config.Config, log logfile.Log) reply {
	if !t.asked {
		return own
	}
	answer := bytes.TrimSpace(t.answer)
	if t.err == nil && !json.Valid(answer) {
		t.err = fmt.Errorf("answered %.60q, want JSON", answer)
	}
	if t.err != nil {
		log.Line(fmt.Sprintf("%s: your hooks were not run: %v", p.Event, t.err))
		guarded := head.Kind == hook.KindToolStart || head.Kind == hook.KindPrompt
		if !guarded || cfg.HooksOnError != "deny" {
			return own
		}
		answer = p.Host.Reply(hook.Reply{Cancel: true, ErrorMessage: "hookspan could not run your hooks: " + t.err.Error()})
	}
	if own.raw == nil {
		return reply{raw: answer}
	}
	joined, err := join(own.raw, answer)
	if err != nil {
		log.Line(fmt.Sprintf("%s: your hooks' answer: %v", p.Event, err))
		return own
	}
	return reply{raw: joined}
}

// join makes one answer of two, as Cline does with those of two hook files: one
// that cancels is enough, and the texts of both count. Any other member is the
// second's, if it has it.
func join(first, second []byte) ([]byte, error) {
	var a, b map[string]any
	if err := errors.Join(json.Unmarshal(first, &a), json.Unmarshal(second, &b)); err != nil {
		return nil, err
	}
	out := make(map[string]any, len(a)+len(b))
	for k, v := range a {
		out[k] = v
	}
	for k, v := range b {
		switch k {
		case "cancel":
			out[k] = a[k] == true || v == true
		case "contextModification":
			out[k] = texts("\n\n", a[k], v)
		case "errorMessage":
			out[k] = texts("\n", a[k], v)
		default:
			out[k] = v
		}
	}
	if context, _ := out["contextModification"].(string); strings.TrimSpace(context) == "" {
		// Blank is what keeps Cline's row from staying at "Running", and what
		// would hide a cancellation's reason.
		delete(out, "contextModification")
		if out["cancel"] != true {
			out["contextModification"] = " "
		}
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	err := enc.Encode(out)
	return bytes.TrimSpace(buf.Bytes()), err
}

// texts joins those that are not blank.
func texts(sep string, values ...any) string {
	var parts []string
	for _, v := range values {
		if s, _ := v.(string); strings.TrimSpace(s) != "" {
			parts = append(parts, s)
		}
	}
	return strings.Join(parts, sep)
}

// runLimited runs one of hookspan's programs within hooksLimit and returns what
// it prints.
func runLimited(path string, args, environ []string, dir string, stdin io.Reader) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), hooksLimit)
	defer cancel()
	_, environ = takeVariable(environ, chainVariable)
	cmd := exec.CommandContext(ctx, path, args...) //nolint:gosec // hookspan itself.
	cmd.Env, cmd.Dir, cmd.Stdin = environ, dir, stdin
	cmd.WaitDelay = time.Second
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", path, err)
	}
	out, readErr := io.ReadAll(io.LimitReader(pipe, maxAnswer))
	_, _ = io.Copy(io.Discard, pipe)
	if err := errors.Join(readErr, cmd.Wait()); err != nil {
		return nil, fmt.Errorf("%s %s: %w", filepath.Base(path), args[0], err)
	}
	return out, nil
}
