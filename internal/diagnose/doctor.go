package diagnose

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/hookspan/hookspan/config"
	"github.com/hookspan/hookspan/internal/agents"
	"github.com/hookspan/hookspan/internal/pipeline"
	"github.com/hookspan/hookspan/internal/store"
	"github.com/hookspan/hookspan/internal/termtext"
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
	if clean, err := pipeline.Redactor(m.Config); err == nil && clean != nil {
		for i := range out {
			// Some quote a payload, or name a folder that a payload names.
			out[i].Text, out[i].Hint = clean.Tail(out[i].Text), clean.Tail(out[i].Hint)
		}
	}
	return out
}

func (m *Machine) examine(ctx context.Context) []Finding {
	var out []Finding
	add := func(more ...Finding) { out = append(out, more...) }
	st, statusErr := m.Status(ctx)
	for _, a := range m.examined(st) {
		add(m.examineProgram(ctx, a))
	}
	add(m.examineState(ctx)...)
	for _, p := range config.Problems(m.ConfigErr) {
		add(Finding{Problem, p.Error(), "correct it; hookspan config shows the value in force instead"})
	}
	if m.ConfigErr == nil {
		add(Finding{OK, "every setting is valid", ""})
	}
	if _, err := pipeline.Redactor(m.Config); err != nil {
		add(Finding{Problem, termtext.Message(err), "nothing is delivered until that file is fixed"})
	}
	if statusErr != nil {
		add(Finding{Problem, termtext.Message(statusErr), "fix that first; the other checks need it"})
		return out
	}
	add(st.examineRecording()...)
	add(st.examineHooks()...)
	add(m.examineOthers()...)
	add(m.examineOwnHooks(st)...)
	add(st.examineDelivery()...)
	add(st.examineStripped()...)
	add(m.examineSpool()...)
	add(m.examineLog(st)...)
	return out
}

// examined returns the agents whose hook programs this machine needs: those that
// have hooks of hookspan's, or else the first.
func (m *Machine) examined(st *Status) agents.Table {
	var out agents.Table
	if st != nil {
		for _, h := range st.installed() {
			out = append(out, h.Agent)
		}
	}
	if len(out) == 0 {
		return m.Agents[:1]
	}
	return out
}

// examineProgram runs a hook program, which may be missing, damaged or made for
// another machine.
func (m *Machine) examineProgram(ctx context.Context, a agents.Agent) Finding {
	path, err := m.Program(a.Program)
	if err != nil {
		return Finding{Problem, err.Error(), hint(err)}
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if err := exec.CommandContext(ctx, path, "--help").Run(); err != nil { //nolint:gosec // A program of hookspan's.
		return Finding{Problem, fmt.Sprintf("%s does not run: %s: %v", a.Program, path, err), "build or install it again"}
	}
	return Finding{OK, a.Program + " is beside hookspan and runs", ""}
}

// examineState writes to the state folder and reads the local store. The first
// event creates them.
func (m *Machine) examineState(ctx context.Context) []Finding {
	dir := m.Config.StateDir
	if missing(dir) {
		return nil
	}
	f, err := os.CreateTemp(dir, ".doctor-")
	if err == nil {
		_, err = f.Write(make([]byte, 64<<10))
		err = errors.Join(err, f.Close(), os.Remove(f.Name()))
	}
	if err != nil {
		return []Finding{{Problem, "the state folder cannot be written to, so events are lost: " + err.Error(), "free space, or make it writable: " + dir}}
	}
	if missing(m.Config.StorePath()) {
		return nil
	}
	s, err := store.Open(ctx, m.Config.StorePath())
	if err == nil {
		_, err = s.List(ctx, store.Filter{Limit: 1})
		err = errors.Join(err, s.Close())
	}
	if err != nil {
		return []Finding{{Problem, err.Error(), "move the file away: its traces are lost, events that are still in the spool are not"}}
	}
	return []Finding{{OK, "the state folder can be written to and the local store can be read", ""}}
}

func (st *Status) examineRecording() []Finding {
	switch {
	case Paused(st.machine.Config):
		return []Finding{{Problem, "recording is paused", "hookspan resume"}}
	case st.Recording == recordingOn:
		return nil
	case strings.Contains(st.Recording, ".hookspan.env"):
		return []Finding{{Problem, "recording is " + st.Recording, "remove that line to record this project's tasks"}}
	}
	return []Finding{{Problem, "recording is " + st.Recording, "unset the variable; hookspan config says where it is set"}}
}

// othersShown is how long an agent that runs another agent's hooks is mentioned.
const othersShown = 30 * 24 * time.Hour

// examineOthers names the agents that run hooks which were installed for
// another, so that a user who misses their traces learns why.
func (m *Machine) examineOthers() []Finding {
	var out []Finding
	for _, o := range m.Others {
		if m.Now().Sub(o.Last) > othersShown {
			continue
		}
		out = append(out, Finding{
			Note, fmt.Sprintf("%s runs %s too, last on %s; its sessions are not recorded",
				agents.OtherName(o.Agent), o.Program, o.Last.Local().Format(time.DateOnly)),
			"hookspan does not support that agent yet; running the program does it no harm",
		})
	}
	return out
}
