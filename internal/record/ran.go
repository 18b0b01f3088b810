package record

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/files/regular"
)

// ranFolder is the folder, below the state folder, with a file for each program and agent,
// PROGRAM.AGENT, whose time is Ran.Last and whose lines are the notes.
const ranFolder = "programs"

// The limits of a file and of a value, in bytes.
const maxNotes, maxNote = 32 << 10, 100

// Programs lists the programs that have run hooks, by name.
func Programs(stateDir string) (out []hook.Ran) {
	files, _ := os.ReadDir(filepath.Join(stateDir, ranFolder)) // the first one makes the folder
	for _, f := range files {
		agent := filepath.Ext(f.Name())
		info, err := f.Info()
		if err != nil || len(agent) < 2 {
			continue
		}
		r := hook.Ran{Program: f.Name()[:len(f.Name())-len(agent)], Agent: agent[1:], Last: info.ModTime(), Notes: map[string]map[string]int{}, Latest: map[string]string{}}
		notes, _ := regular.Read(filepath.Join(stateDir, ranFolder, f.Name()), regular.Options{Max: 2 * maxNotes})
		for line := range strings.Lines(string(notes)) {
			what, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
			if r.Notes[what] == nil {
				r.Notes[what] = map[string]int{}
			}
			r.Notes[what][value]++
			r.Latest[what] = value
		}
		out = append(out, r)
	}
	return out
}

// leaveAlone answers a program that is not recorded and runs an agent's hook as if there
// were no hook. The first time it logs so.
func (c *Call) leaveAlone() {
	p := c.Process
	c.answered = true
	if p.Agent.Silence != nil {
		// The agent may have stopped listening, which is no error.
		_, _ = p.Stdout.Write(p.Agent.Silence(c.Head.Agent))
	}
	if p.off(c.Config) {
		return
	}
	c.installedFor = p.Agent.Facts
	if c.note(c.Head.Agent) {
		c.Log.Line(fmt.Sprintf("%s: run by %s, not by %s: it is not recorded (said once)", c.Name(), c.Head.Agent, p.Agent.Facts.Host))
	}
}

// note keeps that a program ran the hook, and reports whether it is the first time. Without a
// state folder the path would be one of the working folder.
func (c *Call) note(word string) (first bool) {
	if c.Config.StateDir == "" {
		return false
	}
	path, now := filepath.Join(c.Config.StateDir, ranFolder, c.Process.Agent.Facts.Program+"."+word), c.Process.Now()
	unknown := c.Head.Agent == "" && c.Head.Kind == hook.KindUnknown
	if c.installedFor.Host == "" && !unknown && os.Chtimes(path, now, now) == nil {
		return false
	}
	have, err := regular.Read(path, regular.Options{Max: 2 * maxNotes})
	first = errors.Is(err, fs.ErrNotExist)
	if !first && err != nil {
		return false // no file of this program's
	}
	more := ""
	add := func(is bool, what, value string, again bool) {
		line := what + " " + strings.Map(func(r rune) rune { return max(r, ' ') }, value[:min(len(value), maxNote)]) + "\n"
		if is && value != "" && (again || !strings.Contains("\n"+string(have), "\n"+line)) {
			more += line
		}
	}
	add(first, hook.RanFirst, now.UTC().Format(time.RFC3339), true)
	add(true, hook.RanFor, c.installedFor.Word, false)
	add(true, hook.RanVersion, c.Head.Version, false)
	add(c.Head.Agent != "", hook.RanLeft, c.Head.Name, true)
	add(c.nowhere, hook.RanNowhere, c.Head.Name, true)
	add(unknown, hook.RanUnknown, c.Head.Name, true)
	if len(have) < maxNotes && more != "" {
		_ = os.MkdirAll(filepath.Dir(path), 0o700)                              // else there is no file
		f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600) //nolint:gosec // The name is this program's.
		if err != nil {
			return false
		}
		_, _ = f.WriteString(more)
		_ = f.Close()
	}
	_ = os.Chtimes(path, now, now)
	return first
}
