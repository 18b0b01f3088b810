package diagnose

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/hookspan/hookspan/config"
	"github.com/hookspan/hookspan/internal/redact/configured"
	"github.com/hookspan/hookspan/internal/termtext"
	"github.com/hookspan/hookspan/internal/traces/store"
)

// Finding is the result of one check.
type Finding struct {
	Level Level  `json:"level"`
	Text  string `json:"text"`
	// Hint says what to do; empty if there is nothing to do.
	Hint string `json:"hint,omitempty"`
}

// Level is how much a finding matters.
type Level string

// The levels. A Problem keeps traces from appearing.
const (
	OK      Level = "ok"
	Note    Level = "note"
	Problem Level = "problem"
)

// Examine makes all checks. The findings hold no secrets.
func (m *Machine) Examine(ctx context.Context) []Finding {
	out := m.examine(ctx)
	if clean, err := configured.New(m.Setup.Config); err == nil && clean != nil {
		for i := range out {
			// Some quote a payload, or name a folder that a payload names.
			out[i].Text, out[i].Hint = clean.Tail(out[i].Text), clean.Tail(out[i].Hint)
		}
	}
	return out
}

// exam collects findings.
type exam struct {
	*Machine
	st    *Status
	found []Finding
}

func (e *exam) add(l Level, text, hint string) { e.found = append(e.found, Finding{l, text, hint}) }

func (m *Machine) examine(ctx context.Context) []Finding {
	st, statusErr := m.status(ctx, true)
	e := &exam{Machine: m, st: st}
	for _, name := range m.examined(st) {
		e.program(ctx, name)
	}
	e.copies()
	e.state(ctx)
	for _, p := range config.Problems(m.ConfigErr) {
		e.add(Problem, p.Error(), "correct it; hookspan config shows the value used instead")
	}
	if m.ConfigErr == nil {
		e.add(OK, "every setting is valid", "")
	}
	if _, err := configured.New(m.Setup.Config); err != nil {
		e.add(Problem, termtext.Message(err), "nothing is delivered until that file is fixed")
	}
	if statusErr != nil {
		text := termtext.Message(statusErr)
		// The check of a program may have found it as well.
		e.found = slices.DeleteFunc(e.found, func(f Finding) bool { return f.Text == text })
		e.add(Problem, text, "fix that first; the other checks need it")
		return e.found
	}
	e.recording()
	e.hooks()
	e.programs(ctx)
	e.ownHooks()
	e.asking(ctx)
	e.delivery()
	e.past(ctx)
	e.stripped()
	e.standard()
	e.spool()
	e.log()
	return e.found
}

// examined returns the hook programs that this machine needs: each program of an agent with
// hookspan's hooks once, or that of the first agent if none has hooks.
func (m *Machine) examined(st *Status) (names []string) {
	if st != nil {
		for _, h := range st.installed() {
			if !slices.Contains(names, h.Agent.Program) {
				names = append(names, h.Agent.Program)
			}
		}
	}
	if len(names) == 0 {
		return []string{m.Setup.Agents[0].Program}
	}
	return names
}

// program runs a hook program, which may be missing, damaged or made for another
// machine.
func (e *exam) program(ctx context.Context, name string) {
	path, err := e.Program(name)
	if err != nil {
		e.add(Problem, err.Error(), hint(err))
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if err := exec.CommandContext(ctx, path, "--help").Run(); err != nil { //nolint:gosec // A hookspan program.
		e.add(Problem, fmt.Sprintf("%s does not run: %s: %v", name, path, err), "build or install it again")
		return
	}
	e.add(OK, name+" is beside hookspan and runs", "")
}

// copies compares the version of the programs that hooks start with that of this
// program.
func (e *exam) copies() {
	v, err := e.Copies.Version()
	switch {
	case err != nil:
		e.add(Problem, termtext.Message(err), "")
	case v == e.Setup.Version && v != "":
		e.add(OK, "hooks run hookspan "+v, "")
	case v != "":
		e.add(Note, fmt.Sprintf("hooks run hookspan %s; this is hookspan %s", v, e.Setup.Version), "hookspan install AGENT replaces it by this one")
	}
}

// state writes to the state folder and reads the local store. The first event
// creates them.
func (e *exam) state(ctx context.Context) {
	dir := e.Setup.Config.StateDir
	if missing(dir) {
		return
	}
	f, err := os.CreateTemp(dir, ".doctor-")
	if err == nil {
		_, err = f.Write(make([]byte, 64<<10))
		err = errors.Join(err, f.Close(), os.Remove(f.Name()))
	}
	if err != nil {
		e.add(Problem, "the state folder cannot be written to, so events are lost: "+err.Error(), "free space, or make it writable: "+dir)
		return
	}
	if missing(e.Setup.Config.StorePath()) {
		return
	}
	s, done, err := e.Setup.LocalStore(ctx)
	if err == nil {
		_, err = s.List(ctx, store.Filter{Limit: 1})
		err = errors.Join(err, done())
	}
	if err != nil {
		e.add(Problem, err.Error(), "move the file away: its traces are lost, events that are still in the spool are not")
		return
	}
	e.add(OK, "the state folder can be written to and the local store can be read", "")
}

// past says what an import would find, while nothing is stored.
func (e *exam) past(ctx context.Context) {
	stored := func(d Destination) bool { return d.Stored != nil && d.Stored.Traces > 0 }
	if e.Past == nil || slices.ContainsFunc(e.st.Destinations, stored) {
		return
	}
	if have := e.Past(ctx); len(have) > 0 {
		e.add(Note, "sessions from before: "+strings.Join(have, ", "), "'hookspan import' makes traces of them")
	}
}

func (e *exam) recording() {
	text := "recording is " + e.st.Recording
	switch {
	case e.st.Recording == recordingOn:
	case e.st.Recording == recordingPaused:
		e.add(Problem, text, "hookspan resume")
	case e.Private != "" && !e.Setup.Config.Off():
		e.add(Note, text, "take the folder out of HOOKSPAN_DISABLED_PROJECTS to record there")
	case e.ProjectOff && !e.Setup.Config.Off():
		e.add(Note, text, "remove that line to record this project's tasks")
	default:
		e.add(Note, text, "unset the variable; hookspan config says where it is set")
	}
}
