package install

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hookspan/hookspan/internal/termtext"
)

// State is the state of an installed hook.
type State string

// The states of a hook.
const (
	// StateInstalled is a hookspan hook file that works.
	StateInstalled State = "installed"
	// StateOutdated is a hookspan hook file that another install would fix.
	StateOutdated State = "outdated"
	// StateOff is a hookspan hook file that was switched off in Cline's
	// Hooks tab, which removes the executable bit. The SDK runs it all the same.
	StateOff State = "switched off"
	// StateEdited is a hookspan hook file that was changed since, or one of
	// a newer hookspan.
	StateEdited State = "edited"
	// StateForeign is something that is not hookspan's.
	StateForeign State = "not hookspan's"
	// StateMissing is no file at all.
	StateMissing State = "missing"
)

// Report is the state of one agent's hooks.
type Report struct {
	// Sites are the places that the agent reads and those installed into earlier.
	Sites []Site
	// Off says why the agent runs no hooks, each a sentence without a final stop.
	// It is empty where the agent runs them.
	Off []string
	// OffHint says what to do about it. If empty, the setting that Off names has to go.
	OffHint string
	// Warnings are other problems, in the same form.
	Warnings []string
	// Left name copies of files that a killed install has left, in the same form.
	Left []string
	// Telemetry is where Claude Code's telemetry is switched on, and Endpoint the
	// settings file that sets an OTLP endpoint, which Claude Code keeps from its
	// hooks. Both are empty where there is none.
	Telemetry, Endpoint string
}

// Site is the state of the hooks in one place.
type Site struct {
	Place
	// Present reports that hookspan's hooks are installed for the site's
	// readers, so that every hook of an install should be there.
	Present bool
	// Grouped has Report.Text show hooks of equal state in one line.
	Grouped bool
	// Hooks are the hooks that are there or that an install would put there.
	Hooks []Hook
	// Err says why a settings file cannot be read. There are no hooks then.
	Err error
}

// Hook is the state of one event's hook. Its JSON is stable.
type Hook struct {
	Event string `json:"event"`
	// Path is the hook file, empty in a settings file.
	Path  string `json:"path"`
	State State  `json:"state"`
	// Reason says what is wrong, empty where the state says enough.
	Reason string `json:"reason,omitempty"`
	// Chained is the script that a hookspan hook also runs, or empty.
	Chained string `json:"chained,omitempty"`
	// Program is the absolute path of the program that a hook in StateInstalled starts.
	Program string `json:"-"`
	// Faulty reports a hook that an install or the user should fix.
	Faulty bool `json:"-"`
}

// Group are hooks of one site with equal state and reason.
type Group struct {
	State  State
	Reason string
	Events []string
}

// Present reports that the agent has hookspan's hooks.
func (r *Report) Present() bool {
	return slices.ContainsFunc(r.Sites, func(s Site) bool { return s.Present })
}

// InProject reports that hookspan's hooks are installed for a project, or with
// an empty name for the user.
func (r *Report) InProject(project string) bool {
	return slices.ContainsFunc(r.Sites, func(s Site) bool { return s.Present && s.Project == project })
}

// Healthy reports that the agent has hookspan's hooks, that all of them work
// and that the agent runs hooks.
func (r *Report) Healthy() bool {
	return r.Present() && len(r.Off) == 0 && !slices.ContainsFunc(r.Sites, func(s Site) bool {
		return s.Present && (s.Err != nil || slices.ContainsFunc(s.Hooks, func(h Hook) bool { return h.Faulty }))
	})
}

// Text shows the report: the sites with their hooks, then the warnings.
func (r *Report) Text() string {
	var b strings.Builder
	for _, s := range r.Sites {
		if lines := s.lines(); len(lines) > 0 {
			fmt.Fprintf(&b, "%s (%s)\n", termtext.Value(s.Path), s.Readers)
			for _, line := range lines {
				fmt.Fprintf(&b, "  %s\n", termtext.Value(line))
			}
		}
	}
	for _, w := range slices.Concat(r.Off, r.Warnings, r.Left) {
		fmt.Fprintf(&b, "warning: %s\n", termtext.Value(w))
	}
	return b.String()
}

func (s *Site) lines() (lines []string) {
	switch {
	case s.Err != nil:
		return []string{s.Err.Error()}
	case s.Grouped && !s.Present:
		return []string{"no hookspan hooks"}
	case s.Grouped:
		for _, g := range s.Groups() {
			lines = append(lines, fmt.Sprintf("%-8s %s", g.State, g.Text()))
		}
	case len(s.Hooks) > 1 && len(s.Groups()) == 1 && s.Hooks[0].State == StateInstalled && s.Hooks[0].Reason == "":
		lines = append(lines, fmt.Sprintf("%-14s %s", StateInstalled, termtext.Plural(len(s.Hooks), "hook")))
	default:
		for _, h := range s.Hooks {
			lines = append(lines, fmt.Sprintf("%-14s %s%s", h.State, filepath.Base(h.Path), WithReason(h.Reason)))
		}
	}
	return lines
}

// Count returns how many hooks are in a state.
func (s *Site) Count(state State) int {
	n := 0
	for _, h := range s.Hooks {
		if h.State == state {
			n++
		}
	}
	return n
}

// Groups returns the site's hooks by state and reason, in the order of the first
// hook of each.
func (s *Site) Groups() []Group {
	var out []Group
	for _, h := range s.Hooks {
		i := slices.IndexFunc(out, func(g Group) bool { return g.State == h.State && g.Reason == h.Reason })
		if i < 0 {
			i = len(out)
			out = append(out, Group{State: h.State, Reason: h.Reason})
		}
		out[i].Events = append(out[i].Events, h.Event)
	}
	return out
}

// Names lists the events, or counts more than three as things.
func (g Group) Names(thing string) string {
	if n := len(g.Events); n > 3 {
		return termtext.Plural(n, thing)
	}
	return strings.Join(g.Events, ", ")
}

// Text is the events and the reason.
func (g Group) Text() string { return g.Names("event") + WithReason(g.Reason) }
