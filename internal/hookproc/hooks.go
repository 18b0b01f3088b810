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
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/hookspan/hookspan/config"
	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/logfile"
	"github.com/hookspan/hookspan/internal/rawjson"
	"github.com/hookspan/hookspan/internal/regular"
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

// hooked reports whether the user has a file with Claude-format hooks. For a call
// without hooks, this and hookedIn are the whole cost.
func (p *Process) hooked() bool { return slices.ContainsFunc(p.ownHooks(), exists) }

// hookedIn reports the same for a project.
func (p *Process) hookedIn(dir string) bool {
	return p.Host.HooksFile != "" && filepath.IsAbs(dir) && exists(filepath.Join(dir, p.Host.HooksFile))
}

// exists reports whether the path can be seen. A link counts, wherever it leads.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// ownHooks are the paths of the user's files: where the variable names a folder the file
// there, and always that of the home folder, so that a variable takes no guard away.
func (p *Process) ownHooks() (files []string) {
	if p.Host.HooksFile == "" {
		return nil
	}
	if p.Host.HooksVariable != "" {
		if dir, _ := takeVariable(p.Environ, p.Host.HooksVariable); dir != "" {
			files = append(files, filepath.Join(dir, filepath.Base(p.Host.HooksFile)))
		}
	}
	if file := filepath.Join(p.Home, p.Host.HooksFile); p.Home != "" && !slices.Contains(files, file) {
		files = append(files, file)
	}
	return files
}

// mainProgram runs whatever hookspan does.
const mainProgram = "hookspan"

// hookRunner returns the program that runs the user's hooks for the event. It is empty
// if no hook can run, so that no program needs to be started to find that out.
func (p *Process) hookRunner(in payload, head hook.Head, cfg *config.Config, log logfile.Log) (program string) {
	if p.Host.HookRunner == nil || cfg.HooksDebug || !in.json || in.cut > 0 || in.err != nil {
		return mainProgram
	}
	defer func() {
		if e := recover(); e != nil {
			log.Line(fmt.Sprintf("%s: hooks: panic: %v", p.Event, e))
			program = mainProgram
		}
	}()
	dirs := head.Dirs
	if len(dirs) == 0 {
		dirs = []string{p.Dir}
	}
	own := p.ownHooks()
	var projects []string
	for _, dir := range dirs {
		if file := filepath.Join(dir, p.Host.HooksFile); filepath.IsAbs(dir) && !slices.Contains(own, file) {
			projects = append(projects, file)
		}
	}
	raw := hook.Raw{Payload: in.data, Event: p.Event, StoredAt: p.Now(), Cwd: p.Dir, TraceParent: cfg.Traceparent}
	return p.Host.HookRunner(raw, cfg.StateDir, trustList(cfg), own, projects, p.Now)
}

// hookReply is the answer of the program that runs the user's hooks. The zero
// value means that there are none.
type hookReply struct {
	asked  bool
	answer []byte
	err    error
}

// startHooks has the program run the user's hooks; the function returned waits for their
// answer. The event is stored already, whatever they do.
func (p *Process) startHooks(program string, stored bool, in payload, head hook.Head, over *spill) func() hookReply {
	if program == "" || p.RunHooks == nil {
		return func() hookReply { return hookReply{} }
	}
	stdin, err := over.stdin(in.data)
	if in.err != nil && !in.json {
		err = in.err
	}
	if err != nil {
		return func() hookReply { return hookReply{asked: true, err: err} }
	}
	if p.RestoreSignals != nil {
		p.RestoreSignals()
	}
	args := []string{
		"run-hooks", "--host", p.Host.Name, "--event", p.Event, "--began", strconv.FormatInt(p.began.UnixMilli(), 10),
	}
	if stored {
		// The record of the hooks refers to the event by this.
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
		out, err := p.RunHooks(ctx, stdin, program, args...)
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

// mergeReplies joins the answer of the user's Claude-format hooks with that of the
// user's Cline hook. If the former failed, the user's configuration decides whether
// the call is allowed.
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
		out := p.denial(t.err, head, cfg)
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

// denial is the answer if the user's hooks could not be run: a tool call is denied,
// since one of them may be a guard, unless the user wants otherwise; a prompt is
// denied if the user wants that. The zero reply denies nothing.
func (p *Process) denial(why error, head hook.Head, cfg *config.Config) reply {
	switch {
	case p.Host.Reply == nil:
		return reply{}
	case head.Kind == hook.KindToolStart && cfg.HooksOnError != onErrorAllow:
	case head.Kind == hook.KindPrompt && cfg.HooksOnError == onErrorDeny:
	default:
		return reply{}
	}
	text := fmt.Sprintf("hookspan could not run your hooks, so this is denied: %v. See hookspan doctor; "+
		"HOOKSPAN_HOOKS_ON_ERROR=allow allows calls without hooks", why)
	return reply{raw: p.Host.Reply(hook.Reply{Cancel: true, ErrorMessage: text})}
}

// mayGuard reports whether one of the files may hold a hook for tool calls; a file
// that cannot be read may. A project's file counts if the user trusts its content,
// or the list of trusted files cannot be read.
func (p *Process) mayGuard(head hook.Head, cfg *config.Config) bool {
	own := p.ownHooks()
	for _, file := range own {
		data, err := regular.Read(file, regular.Options{Max: maxHooks})
		switch guards, off := holdsGuard(data); {
		case err != nil && (!errors.Is(err, fs.ErrNotExist) || exists(file)), err == nil && guards:
			return true
		case err == nil && off && file == filepath.Join(p.Home, p.Host.HooksFile):
			return false
		}
	}
	if !trusts(cfg) {
		return false
	}
	list, unread := regular.Read(trustList(cfg), regular.Options{Max: maxHooks})
	return slices.ContainsFunc(append([]string{p.Dir}, head.Dirs...), func(dir string) bool {
		file := filepath.Join(dir, p.Host.HooksFile)
		if !filepath.IsAbs(dir) || slices.Contains(own, file) {
			return false
		}
		data, err := regular.Read(file, regular.Options{Max: maxHooks, NoLink: true})
		if err != nil {
			// Only regular files are trusted.
			var irregular *regular.Error
			return !errors.Is(err, fs.ErrNotExist) && !errors.As(err, &irregular)
		}
		guards, _ := holdsGuard(data)
		sum := sha256.Sum256(data)
		return guards && (unread != nil || bytes.Contains(list, []byte(hex.EncodeToString(sum[:]))))
	})
}

// maxHooks is the largest file with hooks, or list of trusted files, that is read,
// in bytes.
const maxHooks = 4 << 20

// holdsGuard reports whether a file holds a hook for tool calls, and whether it
// switches all hooks off. A file that is not valid is searched for the event's
// name, which may be written with escapes.
func holdsGuard(data []byte) (guards, off bool) {
	valid := rawjson.EachMember(bytes.TrimPrefix(data, []byte("\ufeff")), func(name, value []byte) {
		switch string(name) { // encoding/json would take any case
		case "disableAllHooks":
			off = string(value) == "true"
		case "hooks":
			rawjson.EachMember(value, func(name, value []byte) {
				list, isList := rawjson.Elements(value)
				guards = guards || string(name) == "PreToolUse" && (!isList || len(list) > 0)
			})
		}
	})
	if !valid {
		return bytes.Contains(data, []byte("PreToolUse")) || bytes.Contains(data, []byte(`\u`)), false
	}
	return guards && !off, off
}

// trusts reports whether the user has a list of trusted project files.
func trusts(cfg *config.Config) bool {
	_, err := os.Lstat(trustList(cfg))
	return err == nil || !errors.Is(err, fs.ErrNotExist)
}

func trustList(cfg *config.Config) string { return filepath.Join(cfg.ConfigDir, "trusted-hooks.json") }
