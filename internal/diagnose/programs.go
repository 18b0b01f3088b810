package diagnose

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/agents"
	"github.com/hookspan/hookspan/internal/traces/store"
)

// Program is a program that has run hooks. Left counts the events that were not recorded, Nowhere
// those that were not since they name no folder and some are private, NotUnderstood those of a kind
// that hookspan does not know, by name.
type Program struct {
	Agent         string         `json:"agent"`
	Name          string         `json:"name"`
	Version       string         `json:"version,omitempty"`
	Recorded      bool           `json:"recorded"`
	Left          map[string]int `json:"left,omitempty"`
	Nowhere       map[string]int `json:"without_folder,omitempty"`
	NotUnderstood map[string]int `json:"not_understood,omitempty"`
	First         time.Time      `json:"first_event,omitzero"`
	Last          time.Time      `json:"last_event,omitzero"`
	Text          string         `json:"text"`
	Hint          string         `json:"hint,omitempty"`
}

func (st *Status) programRows(row func(level Level, name, text string)) {
	for i, p := range st.Programs {
		row("", []string{"ran hooks", ""}[min(i, 1)], p.Text)
	}
}

// addPrograms lists the programs that have run hooks.
func (st *Status) addPrograms(ctx context.Context, m *Machine) {
	for _, r := range m.Ran {
		name, word := agents.OtherName(r.Agent)
		p := Program{Agent: r.Agent, Name: name, Version: r.Latest[hook.RanVersion], Last: r.Last, Left: r.Notes[hook.RanLeft], Nowhere: r.Notes[hook.RanNowhere], NotUnderstood: r.Notes[hook.RanUnknown]}
		p.First, _ = time.Parse(time.RFC3339, r.Latest[hook.RanFirst])
		own := st.has(word)
		guest := slices.ContainsFunc(hook.Guests(), func(g hook.Agent) bool { return g.Word == word })
		p.Recorded = own || guest || word != "" && r.Notes[hook.RanFor] == nil
		if agent, ok := m.Setup.Agents.WithGuests().Named(word); ok && p.Version == "" {
			m.inStore(ctx, func(s *store.Store) (err error) { p.Version, err = s.HostVersion(ctx, agent.Host); return err })
		}
		p.Text = strings.TrimSpace(name + " " + p.Version)
		if len(r.Notes[hook.RanFor]) > 0 && !own {
			p.Text += " runs hookspan's hooks of " + joined(r.Notes[hook.RanFor], func(word string, _ int) string { name, _ := agents.OtherName(word); return name })
		}
		if p.First.Before(p.Last.Add(-24 * time.Hour)) {
			p.Text += ", first on " + p.First.Local().Format(time.DateOnly)
		}
		p.Text += ", last on " + p.Last.Local().Format(time.DateOnly)
		count := func(name string, n int) string { return fmt.Sprintf("%s (%d)", name, n) }
		switch {
		case r.Agent == hook.CopilotOrVSCode && st.has("copilot"):
			p.Recorded = true
			p.Text += "; recorded from those of GitHub Copilot"
		case r.Agent == hook.CopilotOrVSCode:
			p.Text += "; these events are not recorded: " + joined(p.Left, count)
			p.Hint = "both write them with the same members; hookspan install copilot records both"
		case !p.Recorded:
			p.Text += "; its sessions are not recorded: " + joined(p.Left, count)
			p.Hint = "hookspan install " + word + " records them"
			if word == "" {
				p.Hint = "hookspan does not support that agent yet; running the program does it no harm"
			}
		case guest:
			p.Text += "; recorded (not run: its events are read as published)"
		}
		if len(p.Nowhere) > 0 {
			p.Text += "; without a folder, not recorded: " + joined(p.Nowhere, count)
			p.Hint = "while HOOKSPAN_DISABLED_PROJECTS is set, an event that names no folder is not recorded"
		}
		if len(p.NotUnderstood) > 0 {
			p.Text += "; not understood: " + joined(p.NotUnderstood, count)
			p.Hint = "these events are kept as they came; a newer hookspan may understand them"
		}
		st.Programs = append(st.Programs, p)
	}
}

func joined(counts map[string]int, text func(name string, n int) string) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, text(name, counts[name]))
	}
	return strings.Join(parts, ", ")
}

// has reports that an agent has hookspan's hooks.
func (st *Status) has(word string) bool {
	return slices.ContainsFunc(st.installed(), func(h agentHooks) bool { return h.Agent.Word == word })
}

// programs names the programs that have run hooks, for a user who misses their traces, and
// for a month what they lack.
func (e *exam) programs(ctx context.Context) {
	for _, p := range e.st.Programs {
		if p.Hint == "" {
			e.add(OK, p.Text, "")
		} else if e.Setup.Now().Sub(p.Last) <= 30*24*time.Hour {
			e.add(Note, p.Text, p.Hint)
		}
	}
	if e.Setup.GOOS != "windows" || !e.st.has("claude") || e.st.has("copilot") {
		return
	}
	code, _ := e.Setup.Agents.WithGuests().Named(hook.HostVSCode)
	if where, _ := code.FoundIn(ctx, e.Setup.Files()); where != "" {
		e.add(Note, "VS Code starts the hooks of Claude Code with PowerShell, which may not read their command line: it may not be recorded",
			"hookspan install copilot: VS Code runs those hooks, too, and PowerShell reads them (not run)")
	}
}
