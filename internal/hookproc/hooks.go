package hookproc

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hookspan/hookspan/config"
	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/logfile"
	"github.com/hookspan/hookspan/internal/rawjson"
	"github.com/hookspan/hookspan/internal/regular"
)

const (
	// margin is how much earlier than the host gives up the program that runs the
	// user's hooks is ended, should it not end by itself: the answer has to get
	// there.
	margin = 2 * time.Second
	// patience is how long the host waits where it does not say so.
	patience = 30 * time.Second
	// killed is how long a program that was ended is waited for.
	killed = 500 * time.Millisecond
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

// hookReply is what the program that runs the user's hooks answered.
type hookReply struct {
	asked  bool
	answer []byte
	err    error
}

// startHooks starts running the user's hooks; the function returned waits for
// their answer. The event is stored by then, whatever they do.
func (p *Process) startHooks(hooked, stored bool, in payload, head hook.Head, over *spill) func() hookReply {
	if !hooked || p.RunHooks == nil {
		return func() hookReply { return hookReply{} }
	}
	failed := func(err error) func() hookReply {
		return func() hookReply { return hookReply{asked: true, err: err} }
	}
	if in.err != nil && !in.json {
		return failed(in.err)
	}
	stdin, err := over.stdin(in.data)
	if err != nil {
		return failed(err)
	}
	if p.RestoreSignals != nil {
		p.RestoreSignals()
	}
	args := []string{
		"run-hooks", "--host", p.Host.Name, "--event", p.Event, "--began", strconv.FormatInt(p.began.UnixMilli(), 10),
	}
	if stored {
		// The hooks' own record says which event it is about by this.
		sum := sha256.Sum256(in.data)
		args = append(args, "--about", hex.EncodeToString(sum[:8]))
	}
	limit := cmp.Or(head.Patience, patience) - margin
	ctx, cancel := context.WithTimeout(context.Background(), limit-p.Now().Sub(p.began))
	done := make(chan hookReply, 1)
	go func() {
		defer func() {
			if e := recover(); e != nil {
				done <- hookReply{asked: true, err: fmt.Errorf("panic: %v", e)}
			}
		}()
		out, err := p.RunHooks(ctx, stdin, args...)
		if err != nil && ctx.Err() != nil {
			err = errOverdue
		}
		done <- hookReply{asked: true, answer: out, err: err}
	}()
	return func() hookReply {
		defer cancel()
		select {
		case t := <-done:
			return t
		case <-ctx.Done():
		}
		// What hangs in the kernel cannot be ended, and is not waited for.
		timer := time.NewTimer(killed)
		defer timer.Stop()
		select {
		case t := <-done:
			return t
		case <-timer.C:
			return hookReply{asked: true, err: errOverdue}
		}
	}
}

var errOverdue = errors.New("they were not done when the agent's time for them was up")

// mergeReplies joins the answer of the user's Claude-format hooks with that of the
// user's Cline hook. Where the former cannot be had, the call goes on, or what can
// be stopped is stopped, as the user has set it.
func (p *Process) mergeReplies(own reply, t hookReply, head hook.Head, cfg *config.Config, log logfile.Log) reply {
	if !t.asked {
		return own
	}
	answer := bytes.TrimSpace(t.answer)
	if t.err == nil && (!json.Valid(answer) || answer[0] != '{') {
		t.err = fmt.Errorf("answered %.60q, want a JSON object", answer)
	}
	if t.err != nil {
		log.Line(fmt.Sprintf("%s: your hooks were not run: %v", p.Event, t.err))
		if head.Kind == hook.KindToolStart && cfg.HooksOnError != onErrorDeny && !p.mayGuard(head, cfg) {
			return own
		}
		out := p.unasked(t.err, head, cfg)
		if out.raw == nil {
			return own
		}
		answer = out.raw
	}
	if own.raw == nil {
		return reply{raw: answer}
	}
	joined, err := join(own.raw, answer)
	if err != nil {
		log.Line(fmt.Sprintf("%s: your own hook's answer: %v", p.Event, err))
		return reply{raw: answer}
	}
	return reply{raw: joined}
}

// The values of HOOKSPAN_HOOKS_ON_ERROR that matter here.
const (
	onErrorAllow = "allow"
	onErrorDeny  = "deny"
)

// unasked is the answer where the user's hooks could not be run: a guard that
// cannot be asked denies a tool call, unless the user wants otherwise; a prompt
// is denied where the user wants that.
func (p *Process) unasked(why error, head hook.Head, cfg *config.Config) reply {
	switch {
	case p.Host.Reply == nil:
		return reply{}
	case head.Kind == hook.KindToolStart && cfg.HooksOnError != onErrorAllow:
	case head.Kind == hook.KindPrompt && cfg.HooksOnError == onErrorDeny:
	default:
		return reply{}
	}
	text := fmt.Sprintf("hookspan could not run your hooks, so this is denied: %v. See hookspan doctor; "+
		"HOOKSPAN_HOOKS_ON_ERROR=allow lets calls go on without hooks", why)
	return reply{raw: p.Host.Reply(hook.Reply{Cancel: true, ErrorMessage: text})}
}

// mayGuard reports whether one of the files may hold a hook for tool calls: one
// that cannot be read may. A project's counts where the user trusts its content,
// or where that cannot be told.
func (p *Process) mayGuard(head hook.Head, cfg *config.Config) bool {
	user := p.userHooks()
	if user != "" {
		data, err := regular.Read(user, regular.Options{Max: maxHooks})
		switch guards, off := holdsGuard(data); {
		case err != nil && !errors.Is(err, fs.ErrNotExist), err == nil && guards:
			return true
		case err == nil && off:
			return false
		}
	}
	if !trusts(cfg) {
		return false
	}
	list, unread := regular.Read(trustList(cfg), regular.Options{Max: maxHooks})
	return slices.ContainsFunc(append([]string{p.Dir}, head.Dirs...), func(dir string) bool {
		file := filepath.Join(dir, p.Host.HooksFile)
		if !filepath.IsAbs(dir) || file == user {
			return false
		}
		data, err := regular.Read(file, regular.Options{Max: maxHooks, NoLink: true})
		if err != nil {
			// What is no file is not trusted.
			var odd *regular.Error
			return !errors.Is(err, fs.ErrNotExist) && !errors.As(err, &odd)
		}
		guards, _ := holdsGuard(data)
		sum := sha256.Sum256(data)
		return guards && (unread != nil || bytes.Contains(list, []byte(hex.EncodeToString(sum[:]))))
	})
}

// maxHooks is the largest file with hooks, or list of those that are trusted, that
// is looked into, in bytes.
const maxHooks = 4 << 20

// holdsGuard reports whether a file holds a hook for tool calls, and whether it
// switches all hooks off. Text that is not as it should be is searched for the
// event's name, which may be written with escapes.
func holdsGuard(data []byte) (guards, off bool) {
	var file struct {
		Off   bool `json:"disableAllHooks"`
		Hooks struct {
			PreToolUse groups
		} `json:"hooks"`
	}
	if json.Unmarshal(bytes.TrimPrefix(data, []byte("\ufeff")), &file) != nil {
		return bytes.Contains(data, []byte("PreToolUse")) || bytes.Contains(data, []byte(`\u`)), false
	}
	return bool(file.Hooks.PreToolUse) && !file.Off, file.Off
}

// groups reports that one of the lists under a name, which may come twice, is not
// empty.
type groups bool

// UnmarshalJSON implements json.Unmarshaler.
func (g *groups) UnmarshalJSON(data []byte) error {
	var list []json.RawMessage
	*g = *g || json.Unmarshal(data, &list) != nil || len(list) > 0
	return nil
}

// trusts reports whether there is a list of project files that the user trusts.
func trusts(cfg *config.Config) bool {
	_, err := os.Lstat(trustList(cfg))
	return err == nil || !errors.Is(err, fs.ErrNotExist)
}

func trustList(cfg *config.Config) string { return filepath.Join(cfg.ConfigDir, "trusted-hooks.json") }

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
	return rawjson.Marshal(out)
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

// runLimited runs one of hookspan's programs, ends it with ctx and returns what
// it prints.
func runLimited(ctx context.Context, path string, args, environ []string, dir string, stdin io.Reader) ([]byte, error) {
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
