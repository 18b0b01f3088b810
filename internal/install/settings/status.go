package settings

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/install"
)

// Status implements install.Installer. It reads the user's settings, those of
// o.Project or o.Dir and those installed into.
func (in Installer) Status(ctx context.Context, sys install.System, o install.Options) (*install.Report, error) {
	m, err := install.ReadManifest(sys.StateDir)
	if err != nil {
		return nil, err
	}
	a := in.Spec
	places, err := a.allPlaces(sys, m, cmp.Or(o.Project, o.Dir))
	if err != nil {
		return nil, err
	}
	r := &install.Report{}
	managed := a.managed(sys)
	for _, place := range slices.Concat(places, managed) {
		if place.Project != "" && !install.FileExists(place.Project) {
			continue // a project that is gone needs no hooks
		}
		s := install.Site{Place: place, Grouped: true, Present: m.Settings.Find(place.Path) != nil}
		found, err := readSettings(place.Path)
		r.Left = append(r.Left, install.LeftIn(filepath.Dir(place.Path), filepath.Dir(found.Path))...)
		if err == nil && found.Missing() {
			if !s.Present {
				continue
			}
			found.Data = []byte("{}")
		}
		if err == nil {
			binary, ours := o.Binary, a.ours(sys, o, m, place.Path)
			if place.Kind == install.ScopeManaged {
				binary, ours = "", inManaged // the administrator's choice
			}
			s.Hooks, err = a.hookStates(sys.GOOS, a.asJSON(place.Path, found.Data), binary, ours)
			if err != nil {
				err = fmt.Errorf("settings %q: %w", place.Path, err)
			}
		}
		s.Err = err
		s.Present = s.Present || err != nil && bytes.Contains(found.Data, []byte(hook.ProgramClaude)) ||
			slices.ContainsFunc(s.Hooks, func(h install.Hook) bool { return h.State != install.StateMissing })
		r.Sites = append(r.Sites, s)
	}
	a.compareVersion(ctx, r, o.Ask)
	for _, s := range r.Sites {
		if !s.Present {
			continue
		}
		if s.Kind == install.ScopeUser && s.Path != places[0].Path {
			r.Warnings = append(r.Warnings, fmt.Sprintf("%s reads %q now, not %q, where hooks were installed (%s): install again", a.Agent.Name, places[0].Path, s.Path, a.Agent.Folders[0]))
		}
		if s.Kind != install.ScopeManaged && len(managed) > 0 {
			r.Warnings = append(r.Warnings, fmt.Sprintf("hookspan's hooks are in %q and, by your organisation, in %q: each event is stored twice and counted once; hookspan reconcile takes yours out", s.Path, managed[0].Path))
			continue
		}
		if s.Kind != install.ScopeManaged && a.Untrusted != nil && s.Count(install.StateInstalled) > 0 {
			if why := a.Untrusted(ctx, cmp.Or(s.Project, o.Dir, sys.Home)); why != "" {
				r.Off, r.OffHint = append(r.Off, why), a.TrustHint+a.NoTrust
			}
		}
		for _, why := range a.offReasons(sys, s.Project, s.Kind == install.ScopeManaged) {
			if !slices.Contains(r.Off, why) {
				r.Off = append(r.Off, why)
			}
		}
	}
	return r, nil
}

// hookStates returns the states of the hooks in a settings text: one for each event
// that hookspan records, then hookspan's hooks of other events.
func (a *Spec) hookStates(goos string, text []byte, binary string, ours func(string) bool) ([]install.Hook, error) {
	e, err := a.open(text, nil, ours)
	if err == nil {
		err = e.check()
	}
	if err != nil {
		return nil, err
	}
	var hooks []install.Hook
	for _, ev := range a.Events {
		hooks = append(hooks, install.Hook{Event: ev.Name, State: install.StateMissing, Faulty: true})
	}
	w := a.wanted(goos, binary, Version{})
	for _, placed := range e.find() {
		h := install.Hook{Event: placed.event}
		h.State, h.Reason = w.judge(placed.handler, placed.event, placed.matcher)
		i := slices.IndexFunc(hooks, func(have install.Hook) bool { return have.Event == placed.event })
		_, known := a.event(placed.event)
		switch {
		case !known:
		case hooks[i].State != install.StateMissing:
			h.State, h.Reason = install.StateOutdated, "is there twice"
		case h.State != install.StateOutdated && filepath.IsAbs(placed.program) && !install.FileExists(placed.program):
			h.State, h.Reason = install.StateOutdated, "the program "+placed.program+" is gone"
		}
		h.Faulty, h.Program = h.State == install.StateOutdated, placed.program
		if known {
			hooks[i] = h
		} else {
			hooks = append(hooks, h)
		}
	}
	return hooks, nil
}

// compareVersion removes missing hooks of events that the agent's version does not have,
// and warns of those that are there: a version may ignore settings with an event that it
// does not know, as Claude Code's first do. It asks for the version only where something
// is missing, or if it should.
func (a *Spec) compareVersion(ctx context.Context, r *install.Report, ask bool) {
	// unknown reports a hook of an event that came after a version.
	unknown := func(h install.Hook, v Version) bool {
		ev, ok := a.event(h.Event)
		return ok && slices.Compare(ev.Since[:], v[:]) > 0
	}
	missing := func(h install.Hook) bool { return h.State == install.StateMissing && unknown(h, Version{}) }
	if !slices.ContainsFunc(r.Sites, func(s install.Site) bool {
		return s.Present && (ask || slices.ContainsFunc(s.Hooks, missing))
	}) {
		return
	}
	v, _ := a.version(ctx)
	if !v.known() {
		return
	}
	for i := range r.Sites {
		s := &r.Sites[i]
		s.Hooks = slices.DeleteFunc(s.Hooks, func(h install.Hook) bool { return missing(h) && unknown(h, v) })
		var g install.Group
		for _, h := range s.Hooks {
			if unknown(h, v) {
				g.Events = append(g.Events, h.Event)
			}
		}
		if len(g.Events) > 0 {
			r.Warnings = append(r.Warnings, fmt.Sprintf("%s %s does not know %s in %q: it may ignore the whole file, and its other hooks too: install again, or upgrade it", a.Agent.Name, v, g.Names("event"), s.Path))
		}
	}
}

// Others reports whether the settings for a project have hooks for an event besides
// hookspan's. Those of plugins and extensions are not looked for.
func (in Installer) Others(sys install.System, project, event string) bool {
	for _, f := range in.Spec.Files(sys, project) {
		var events map[string]json.RawMessage
		var groups []struct {
			Hooks []struct {
				Command string   `json:"command"`
				Args    []string `json:"args"`
			} `json:"hooks"`
		}
		_ = json.Unmarshal(f.Members[hooksKey], &events) // what has another form is no hook
		_ = json.Unmarshal(events[event], &groups)
		for _, g := range groups {
			for _, h := range g.Hooks {
				if _, _, ours := HookCommand(h.Command, h.Args); !ours {
					return true
				}
			}
		}
	}
	return false
}
