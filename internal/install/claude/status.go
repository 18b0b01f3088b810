package claude

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hookspan/hookspan/internal/install"
)

// Hook is one event's hook in one settings file.
type Hook struct {
	// Event is the event's name.
	Event string
	// State is how it stands, and Reason what is wrong with it.
	State  install.State
	Reason string
	// Program is what the entry starts, empty without one.
	Program string
}

// Settings is how hookspan's hooks stand in one settings file.
type Settings struct {
	// Scope says for whom the file counts.
	Scope string
	// Path is the file as Claude Code names it.
	Path string
	// Project is the folder of the project it belongs to, empty for the user's.
	Project string
	// Recorded reports that an install put hooks here, or that a file which
	// cannot be read as settings names claude-hook.
	Recorded bool
	// Hooks are the events that hookspan records and the entries of ours beside
	// them. It is empty where Err is set.
	Hooks []Hook
	// Err says why the file cannot be read as settings.
	Err error
}

// Count returns how many events are in a state.
func (s *Settings) Count(state install.State) int {
	n := 0
	for _, h := range s.Hooks {
		if h.State == state {
			n++
		}
	}
	return n
}

// Present reports that hooks of hookspan's are in the file, or should be.
func (s *Settings) Present() bool {
	return s.Recorded || slices.ContainsFunc(s.Hooks, func(h Hook) bool { return h.State != install.StateMissing })
}

// Healthy reports that every event's hook is there and works.
func (s *Settings) Healthy() bool {
	return s.Err == nil && len(s.Hooks) > 0 && s.Count(install.StateOutdated)+s.Count(install.StateMissing) == 0
}

// Report is how Claude Code's hooks stand.
type Report struct {
	// Settings are the files that exist or that were installed into.
	Settings []Settings
	// Off says why Claude Code runs no hooks, each a sentence without a final
	// stop. It is empty where it runs them.
	Off []string
	// Telemetry says where Claude Code's own telemetry is switched on, empty
	// where it is not.
	Telemetry string
	// Endpoint says which settings file sets an OTLP endpoint in its env, which
	// Claude Code keeps from its hooks; empty where none does.
	Endpoint string
	// Warnings are what else the user should know, in the same form as Off.
	Warnings []string
}

// Present reports that Claude Code has hooks of hookspan's.
func (r *Report) Present() bool {
	return slices.ContainsFunc(r.Settings, func(s Settings) bool { return s.Present() })
}

// Healthy reports that hooks are installed, that all those of each file that has
// any work, and that Claude Code runs hooks.
func (r *Report) Healthy() bool {
	for _, s := range r.Settings {
		if s.Present() && !s.Healthy() {
			return false
		}
	}
	return r.Present() && len(r.Off) == 0
}

// Text shows the report: a line for each file and for each state that events in
// it are in, then what keeps hooks from running.
func (r *Report) Text() string {
	var b strings.Builder
	for _, s := range r.Settings {
		fmt.Fprintf(&b, "%s (%s)\n", install.Line(s.Path), readers(s.Scope))
		switch {
		case s.Err != nil:
			fmt.Fprintf(&b, "  %s\n", install.Line(s.Err.Error()))
		case !s.Present():
			b.WriteString("  no hooks of hookspan's\n")
		default:
			for _, l := range s.Lines() {
				fmt.Fprintf(&b, "  %s\n", install.Line(l))
			}
		}
	}
	for _, w := range slices.Concat(r.Off, r.Warnings) {
		fmt.Fprintf(&b, "warning: %s\n", install.Line(w))
	}
	return b.String()
}

// Lines tells the states of the file's events, those in the same state for the
// same reason in one line.
func (s *Settings) Lines() []string {
	var changes []change
	for _, h := range s.Hooks {
		changes = append(changes, change{op: install.Op(h.State), event: h.Event, reason: h.Reason})
	}
	return summary(changes)
}

// Status looks at Claude Code's settings files: the user's, those of
// o.Project and those installed into. o.Binary, if set, is the program that the
// hooks should start. It writes nothing and fails only when it cannot tell where
// to look.
func (in Installer) Status(ctx context.Context, sys install.System, o install.Options) (*Report, error) {
	m, err := install.ReadManifest(sys.StateDir)
	if err != nil {
		return nil, err
	}
	files, err := allSettings(sys, m, o.Project)
	if err != nil {
		return nil, err
	}
	r := &Report{}
	for _, f := range files {
		if f.project != "" && !install.FileExists(f.project) {
			continue // a project that is gone needs no hooks
		}
		recorded := m.Settings.Find(f.path) != nil
		s := Settings{Scope: f.scope, Path: f.path, Project: f.project, Recorded: recorded}
		found, err := readSettings(f.path)
		switch {
		case err != nil:
			s.Err = err
		case !found.exists && !recorded:
			continue
		case found.exists:
			s.inspect(sys.GOOS, found.data, o.Binary)
		default:
			s.inspect(sys.GOOS, []byte("{}"), o.Binary)
		}
		if s.Err != nil && bytes.Contains(found.data, []byte(hookProgram)) {
			s.Recorded = true
		}
		r.Settings = append(r.Settings, s)
	}
	in.excuse(ctx, r)
	if !r.Present() {
		return r, nil
	}
	for _, project := range r.projects() {
		for _, why := range in.hooksOff(sys, project) {
			if !slices.Contains(r.Off, why) {
				r.Off = append(r.Off, why)
			}
		}
		if r.Telemetry == "" {
			r.Telemetry = in.telemetry(sys, project)
		}
		if r.Endpoint == "" {
			r.Endpoint = in.endpoint(sys, project)
		}
	}
	return r, nil
}

// projects lists the projects with hooks of ours; "" stands for all projects.
func (r *Report) projects() []string {
	var out []string
	for _, s := range r.Settings {
		if s.Present() && !slices.Contains(out, s.Project) {
			out = append(out, s.Project)
		}
	}
	return out
}

// inspect judges the hooks in a settings text.
func (s *Settings) inspect(goos string, text []byte, binary string) {
	e, err := openSettings(text, nil)
	if err == nil {
		err = e.check()
	}
	if err != nil {
		s.Err = fmt.Errorf("settings %q: %w", s.Path, err)
		return
	}
	w := wantedHandler{binary: binary, guarded: goos != "windows"}
	seen := map[string]bool{}
	byEvent := map[string]Hook{}
	var strays []Hook
	for _, f := range e.find() {
		h := Hook{Event: f.event, Program: f.program}
		h.State, h.Reason = w.judge(f.handler, f.event, f.matcher)
		if _, ok := eventNamed(f.event); !ok {
			strays = append(strays, h)
			continue
		}
		if (h.State == install.StateInstalled || h.State == install.StateEdited) && filepath.IsAbs(f.program) && !install.FileExists(f.program) {
			h.State, h.Reason = install.StateOutdated, "the program "+f.program+" is gone"
		}
		if seen[f.event] {
			h.State, h.Reason = install.StateOutdated, "stands there twice"
		}
		seen[f.event] = true
		byEvent[f.event] = h
	}
	for _, ev := range hookEvents() {
		h, ok := byEvent[ev.name]
		if !ok {
			h = Hook{Event: ev.name, State: install.StateMissing}
		}
		s.Hooks = append(s.Hooks, h)
	}
	s.Hooks = append(s.Hooks, strays...)
}

// excuse takes the events off that are missing because Claude Code does not have
// them. It asks for the version only where that can matter.
func (in Installer) excuse(ctx context.Context, r *Report) {
	late := func(h Hook) bool {
		ev, ok := eventNamed(h.Event)
		return ok && h.State == install.StateMissing && ev.since != ""
	}
	if !slices.ContainsFunc(r.Settings, func(s Settings) bool {
		return s.Present() && slices.ContainsFunc(s.Hooks, late)
	}) {
		return
	}
	v, known, _ := in.version(ctx)
	if !known {
		return
	}
	for i := range r.Settings {
		s := &r.Settings[i]
		s.Hooks = slices.DeleteFunc(s.Hooks, func(h Hook) bool {
			ev, _ := eventNamed(h.Event)
			return late(h) && !v.has(ev.since)
		})
	}
}
