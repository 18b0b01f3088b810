package answer

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/record"
)

// Hooks are an agent's hooks files and what runs their hooks.
type Hooks struct {
	// File is the file with the user's Claude-format hooks, relative to a project's
	// folder and to the home folder.
	File string
	// Variable is the environment variable with a folder that holds a File of the user
	// besides the home folder.
	Variable string
	// Runner returns the program that runs the hooks for an event. It is empty if no hook
	// can run and nothing else is left to do for them. own are the user's hooks files,
	// projects those of projects, which count if the list of trusted files has them; none
	// need exist. guards reports that the event is denied if its hooks cannot be run. If
	// Runner is nil, and in any doubt, the program is hookspan.
	Runner func(raw hook.Raw, stateDir, trusted string, own, projects []string, guards bool, now func() time.Time) string
	// Own is what Runner returns for hooks that Ask is to run in this process.
	Own string
	// Ask returns the answer, and a report of what went wrong, in which secrets may be:
	// `Reporter run-hooks --report` removes them and writes it to the log. about is the stored
	// event's hash. It returns otherProgram, having done nothing, if that must run them.
	Ask func(ctx context.Context, c *record.Call, about string) (answer, report []byte, err error)
	// Reporter is a program of hookspan's.
	Reporter string
	// Run runs `program args...`, a program of hookspan's, with that standard input, ends
	// it with ctx, and returns what it prints. If nil, it starts the program beside this one.
	Run func(ctx context.Context, stdin io.Reader, program string, args ...string) ([]byte, error)
}

// Answers is record.Agent.Answers for the hooks.
func (h *Hooks) Answers(c *record.Call) record.Answerer {
	a := &asking{hooks: h, call: c}
	a.script, a.environ = record.Variable(c.Process.Environ, chainVariable)
	a.hooked = c.Config.Hooks && (slices.ContainsFunc(a.ownFiles(), exists) || a.hookedIn(c.Process.Dir))
	if a.script != "" || a.hooked {
		a.whole = &spill{dir: c.Config.StateDir}
	}
	return a
}

// asking is one call for which hooks are asked.
type asking struct {
	hooks *Hooks
	call  *record.Call
	// script is the user's Cline hook, environ the environment to run it with.
	script  string
	environ []string
	// hooked reports that there are files with hooks.
	hooked bool
	whole  *spill // nil where nothing needs the payload
}

// Write implements io.Writer.
func (a *asking) Write(b []byte) (int, error) { return a.whole.Write(b) }

// Close removes what was kept of the payload.
func (a *asking) Close() { a.whole.close() }

// Answer runs the hooks side by side with the user's Cline hook, and joins what they say.
func (a *asking) Answer() (answer []byte, by string) {
	for _, dir := range a.call.Head.Dirs {
		a.hooked = a.hooked || a.call.Config.Hooks && dir != a.call.Process.Dir && a.hookedIn(dir)
	}
	if a.hooked {
		by = a.runner()
	}
	wait := a.start(by)
	own, failed := a.chain()
	answer = a.join(own, wait())
	// What hooks decided must be heard, which it is at exit code 0 alone.
	if p := a.call.Process; answer == nil || bytes.Equal(bytes.TrimSpace(answer), p.Agent.Reply(hook.Reply{})) {
		p.Exit = failed
	}
	return answer, by
}

// Unasked is the denial of a tool call if there is a file with hooks, since it cannot
// be read.
func (a *asking) Unasked(why error) []byte {
	c := a.call
	if c.Config.Hooks && (slices.ContainsFunc(a.ownFiles(), exists) || a.hookedIn(c.Process.Dir) && a.trusts()) {
		return a.denial(why)
	}
	return nil
}

// hookedIn reports whether a project has a file with hooks. A call without hooks pays for
// this look and that for the user's file, and for nothing else.
func (a *asking) hookedIn(dir string) bool {
	return filepath.IsAbs(dir) && exists(filepath.Join(dir, a.hooks.File))
}

// exists reports whether the path can be seen. A link counts, wherever it leads.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// ownFiles are the paths of the user's files: the one in the folder that the variable names,
// if it names one, and always that of the home folder, so that a variable takes no guard
// away.
func (a *asking) ownFiles() (files []string) {
	p := a.call.Process
	if dir, _ := record.Variable(p.Environ, a.hooks.Variable); dir != "" {
		files = append(files, filepath.Join(dir, filepath.Base(a.hooks.File)))
	}
	if file := a.homeFile(); p.Home != "" && !slices.Contains(files, file) {
		files = append(files, file)
	}
	return files
}

func (a *asking) homeFile() string { return filepath.Join(a.call.Process.Home, a.hooks.File) }

// join joins the answer of the user's Claude-format hooks with that of the user's Cline
// hook, which may be nil. If the former failed, the user's configuration decides whether
// the call is allowed.
func (a *asking) join(own []byte, t hookReply) []byte {
	if !t.asked {
		return own
	}
	answer := bytes.TrimSpace(t.answer)
	if t.err == nil && (!json.Valid(answer) || answer[0] != '{') {
		t.err = fmt.Errorf("answered %.60q, want a JSON object", answer)
	}
	if t.err != nil {
		a.log("your hooks were not run: %v", t.err)
		if a.call.Head.Kind == hook.KindToolStart && a.call.Config.HooksOnError != onErrorDeny && !a.mayGuard() {
			return own
		}
		answer = a.denial(t.err)
		if answer == nil {
			return own
		}
	}
	if own == nil {
		return answer
	}
	joined, err := join(own, answer)
	if err != nil {
		a.log("your own hook's answer: %v", err)
		return answer
	}
	return joined
}

func (a *asking) log(format string, args ...any) {
	a.call.Log.Line(a.call.Process.Event + ": " + fmt.Sprintf(format, args...))
}
