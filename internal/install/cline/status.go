package cline

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/hookspan/hookspan/internal/install"
)

// Status implements install.Installer. o.Project selects a project's folders as in
// Plan.
func (in Installer) Status(ctx context.Context, sys install.System, o install.Options) (*install.Report, error) {
	m, err := install.ReadManifest(sys.StateDir)
	if err != nil {
		return nil, err
	}
	folders, warnings, err := in.installedFolders(ctx, sys, m, o.Project)
	if err != nil {
		return nil, err
	}
	r := &install.Report{Warnings: warnings}
	preShared := false
	present := map[string]bool{} // by project
	for _, f := range folders {
		s := install.Site{Place: f}
		r.Left = append(r.Left, install.LeftIn(f.Path)...)
		for _, ev := range hookEvents() {
			h := inspect(sys.GOOS, f, ev.name, o.Binary)
			works := h.State == install.StateInstalled || h.State == install.StateOutdated || h.State == install.StateOff
			needed := works || wanted(f, ev, false, preShared)
			if ev.name == preToolUse && f.Kind != RoleSDK && needed {
				preShared = preShared || f.Kind != RoleEditors
				if f.Kind == RoleShared || f.Kind == RoleEditors {
					r.Warnings = append(r.Warnings, fmt.Sprintf("with the PreToolUse hook in %q, "+classicRisk+"; hookspan install cline --pre-tool-use=false moves it to the SDK's folder, and your hooks before tool calls then run there only", f.Path))
				}
			}
			if h.State == install.StateMissing && !needed {
				continue
			}
			h.Faulty = needed && h.State != install.StateInstalled
			present[f.Project] = present[f.Project] || works || h.State == install.StateEdited
			s.Hooks = append(s.Hooks, h)
		}
		r.Sites = append(r.Sites, s)
	}
	for i := range r.Sites {
		r.Sites[i].Present = present[r.Sites[i].Project]
	}
	if path, off := hooksOff(sys); off {
		r.Off = append(r.Off, fmt.Sprintf("hooks are switched off in Cline's settings (%q)", path))
	}
	return r, nil
}

// inspect returns the state of one hook.
func inspect(goos string, f install.Place, event, binary string) install.Hook {
	path := filepath.Join(f.Path, hookFileName(goos, event))
	h := install.Hook{Path: path, Event: event, State: install.StateForeign}
	cur, err := look(f, path)
	if err != nil {
		h.Reason = err.Error()
		return h
	}
	if cur.Missing() {
		h.State = install.StateMissing
		return h
	}
	s, isShim := readShim(goos, cur)
	if !isShim {
		if !cur.Runnable() {
			h.Reason = describe(cur)
		} else if cur.Link != "" {
			h.Reason = "is a symbolic link to " + cur.Link
		}
		return h
	}
	h.Chained, h.Program = s.Chain, s.Binary
	h.State, h.Reason = judge(goos, f, s, cur, event, binary)
	if h.State == install.StateInstalled && s.Chain != "" {
		h.Reason = "also runs " + s.Chain
	}
	return h
}

// judge returns the state of a hookspan hook file.
func judge(goos string, f install.Place, s shim, cur install.File, event, binary string) (install.State, string) {
	switch {
	case s.Edited:
		return install.StateEdited, install.EditedReason(s.Version, shimVersion)
	case cur.Link != "":
		return install.StateOutdated, linkReason
	case s.Event != event:
		return install.StateOutdated, "reports the event " + s.Event
	case goos != "windows" && !cur.Executable() && (f.Kind == RoleShared || f.Kind == RoleSDKDocuments):
		return install.StateOff, "in Cline's Hooks tab, which makes it not executable: switch it on there, or install again"
	case goos != "windows" && !cur.Executable():
		return install.StateOutdated, "is not executable"
	case binary != "" && s.Binary != binary:
		return install.StateOutdated, "starts " + s.Binary
	case !install.FileExists(s.Binary):
		return install.StateOutdated, "the program " + s.Binary + " is gone"
	case s.Chain != "" && !install.FileExists(s.Chain):
		return install.StateOutdated, "the chained script " + s.Chain + " is gone"
	}
	return install.StateInstalled, ""
}
