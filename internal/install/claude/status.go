package claude

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/hookspan/hookspan/internal/install"
)

// Status implements install.Installer. It reads the user's settings, those of
// o.Project or o.Dir and those installed into.
func (in Installer) Status(ctx context.Context, sys install.System, o install.Options) (*install.Report, error) {
	m, err := install.ReadManifest(sys.StateDir)
	if err != nil {
		return nil, err
	}
	of := in.product()
	files, err := of.allSettings(sys, m, cmp.Or(o.Project, o.Dir))
	if err != nil {
		return nil, err
	}
	r := &install.Report{}
	for _, f := range files {
		if f.Project != "" && !install.FileExists(f.Project) {
			continue // a project that is gone needs no hooks
		}
		s := install.Site{Place: f, Grouped: true, Present: m.Settings.Find(f.Path) != nil}
		found, err := readSettings(f.Path)
		if err == nil && found.Missing() {
			if !s.Present {
				continue
			}
			found.Data = []byte("{}")
		}
		if err == nil {
			s.Hooks, err = of.inspect(sys.GOOS, found.Data, o.Binary)
			if err != nil {
				err = fmt.Errorf("settings %q: %w", f.Path, err)
			}
		}
		s.Err = err
		s.Present = s.Present || err != nil && bytes.Contains(found.Data, []byte(hookProgram)) ||
			slices.ContainsFunc(s.Hooks, func(h install.Hook) bool { return h.State != install.StateMissing })
		r.Sites = append(r.Sites, s)
	}
	in.excuse(ctx, r)
	for _, s := range r.Sites {
		if !s.Present {
			continue
		}
		if s.Kind == install.ScopeUser && s.Path != files[0].Path {
			r.Warnings = append(r.Warnings, fmt.Sprintf("%s reads %q now, not %q, where hooks were installed (%s): install again", of.name, files[0].Path, s.Path, of.homeVariable))
		}
		if why := of.untrusted(ctx, cmp.Or(s.Project, o.Dir, sys.Home), s); why != "" {
			r.Off, r.OffHint = append(r.Off, why), trustHint
		}
		for _, why := range in.hooksOff(sys, s.Project) {
			if !slices.Contains(r.Off, why) {
				r.Off = append(r.Off, why)
			}
		}
		if r.Telemetry == "" {
			r.Telemetry = in.telemetry(sys, s.Project)
		}
		if r.Endpoint == "" {
			r.Endpoint = in.endpoint(sys, s.Project)
		}
	}
	return r, nil
}

// inspect returns the states of the hooks in a settings text: one for each event
// that hookspan records, then hookspan's hooks of other events.
func (p *product) inspect(goos string, text []byte, binary string) ([]install.Hook, error) {
	e, err := p.open(text, nil)
	if err == nil {
		err = e.check()
	}
	if err != nil {
		return nil, err
	}
	var hooks []install.Hook
	for _, ev := range p.events {
		hooks = append(hooks, install.Hook{Event: ev.name, State: install.StateMissing, Faulty: true})
	}
	w := p.wanted(goos, binary)
	for _, f := range e.find() {
		h := install.Hook{Event: f.event}
		h.State, h.Reason = w.judge(f.handler, f.event, f.matcher)
		i := slices.IndexFunc(hooks, func(have install.Hook) bool { return have.Event == f.event })
		_, known := p.event(f.event)
		switch {
		case !known:
		case hooks[i].State != install.StateMissing:
			h.State, h.Reason = install.StateOutdated, "is there twice"
		case h.State != install.StateOutdated && filepath.IsAbs(f.program) && !install.FileExists(f.program):
			h.State, h.Reason = install.StateOutdated, "the program "+f.program+" is gone"
		}
		h.Faulty = h.State == install.StateOutdated
		if known {
			hooks[i] = h
		} else {
			hooks = append(hooks, h)
		}
	}
	return hooks, nil
}

// excuse removes missing hooks of events that this Claude Code does not have. It
// asks for the version only where that matters.
func (in Installer) excuse(ctx context.Context, r *install.Report) {
	late := func(h install.Hook) bool {
		ev, ok := in.product().event(h.Event)
		return ok && h.State == install.StateMissing && ev.since != ""
	}
	if !slices.ContainsFunc(r.Sites, func(s install.Site) bool {
		return s.Present && slices.ContainsFunc(s.Hooks, late)
	}) {
		return
	}
	v, known, _ := in.version(ctx)
	if !known {
		return
	}
	for i := range r.Sites {
		s := &r.Sites[i]
		s.Hooks = slices.DeleteFunc(s.Hooks, func(h install.Hook) bool {
			ev, _ := in.product().event(h.Event)
			return late(h) && !v.has(ev.since)
		})
	}
}
