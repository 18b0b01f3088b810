//go:build !windows

package hooks_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/hookspan/hookspan/internal/install"
	"github.com/hookspan/hookspan/internal/install/cline"
	"github.com/hookspan/hookspan/internal/testkit/golden"
	"github.com/hookspan/hookspan/internal/ui/hooks"
)

// wrongChanges differ in one thing from changes that would be right.
func (s *story) wrongChanges() {
	s.home.Write("managed/managed-settings.json", `{"hooks":{}}`, 0o644)
	const cline, claude = ".cline/hooks.json", ".claude/settings.json"
	for what, c := range []struct {
		name   string
		change func(*hooks.Request)
	}{
		{"managed/managed-settings.json", func(*hooks.Request) {}},
		{cline, func(r *hooks.Request) { r.Event = new(" ") }},
		{cline, func(r *hooks.Request) { r.Event = nil }},
		{cline, func(r *hooks.Request) { r.Event = new("PostToolBatch") }},
		{cline, func(r *hooks.Request) { r.Command = new(" ") }},
		{cline, func(r *hooks.Request) { r.URL = new("http://h/") }},
		{cline, func(r *hooks.Request) { r.Command, r.URL = nil, new("file:///etc/passwd") }},
		{cline, func(r *hooks.Request) { r.Matcher = new("Edit(") }},
		{cline, func(r *hooks.Request) { r.If = new("Bash((") }},
		{cline, func(r *hooks.Request) { r.If, r.Matcher = new(" "), new(" ") }},
		{cline, func(r *hooks.Request) { r.Timeout = new(-1.0) }},
		{cline, func(r *hooks.Request) { r.Timeout = new(0.0) }},
		{cline, func(r *hooks.Request) { r.Command = new("a [REDACTED:x]") }},
		{cline, func(r *hooks.Request) { r.Args = &[]string{"a", "⟨secret: x"} }},
		{cline, func(r *hooks.Request) { r.Command = new("⟨U+202E⟩") }},
		{cline, func(r *hooks.Request) { r.Kind, r.Hook = "change", 3 }},
		{cline, func(r *hooks.Request) { r.Kind, r.Hook = "change", 99 }},
		{cline, func(r *hooks.Request) { r.Kind, r.Hook = "change", -1 }},
		{cline, func(r *hooks.Request) { r.Kind, r.Hook = "off", 4 }},
		{cline, func(r *hooks.Request) { r.Kind, r.Off = "on", "x" }},
		{cline, func(r *hooks.Request) { r.Kind = "trust" }},
		{claude, func(r *hooks.Request) { r.Kind = "untrust" }},
		{claude, func(r *hooks.Request) { r.Kind, r.Event, r.Command = "change", nil, new("./guard.sh") }},
		{claude, func(r *hooks.Request) { r.Kind, r.Event, r.Command, r.URL = "change", nil, nil, new("http://h/") }},
	} {
		r := hooks.Request{Kind: "add", Event: new("PreToolUse"), Command: new("echo ok")}
		c.change(&r)
		s.ask(fmt.Sprintf("wrong change %d, %s", what, r.Kind), c.name, r)
	}
	f := s.file(cline)
	for _, r := range []hooks.Request{{Kind: "off", File: "x"}, {Kind: "off", File: f.ID, SHA256: "x"}, {Kind: "off", File: f.ID}} {
		s.ask("wrong file", "", r)
	}
}

// TestStoryOfInstalls has Cline's hook files in every state: what each hook of the user's
// needs of them.
func TestStoryOfInstalls(t *testing.T) {
	s := newStory(t)
	s.home.Write(".cline/hooks.json", `{"hooks":{"PreToolUse":[{"hooks":[{"type":"command","command":"true"}]}],"Notification":[{"hooks":[{"type":"command","command":"true"}]}],"SubagentStart":[{"hooks":[{"type":"command","command":"true"}]}]}}`, 0o600)
	site := func(kind, project string, present bool, state install.State, events ...string) install.Site {
		out := install.Site{Place: install.Place{Path: "/hooks/" + kind, Readers: "read by some", Kind: kind, Project: project}, Present: present}
		for _, e := range events {
			out.Hooks = append(out.Hooks, install.Hook{Event: e, State: state, Faulty: state == install.StateMissing})
		}
		return out
	}
	all := []string{"PreToolUse", "Notification", "TaskStart"}
	reports := []*install.Report{
		nil,
		{Off: []string{"hooks are switched off in Cline"}, Sites: []install.Site{site("x", "", true, install.StateInstalled, all...)}},
		{Sites: []install.Site{site("x", "", true, install.StateInstalled, "PreToolUse"), site(cline.RoleSDK, "", true, install.StateMissing, all...)}},
		{Sites: []install.Site{site(cline.RoleSDK, "", true, install.StateInstalled, all...), site("x", "", false, install.StateMissing, all...)}},
		{Sites: []install.Site{site(cline.RoleSDKDocuments, "", true, install.StateOutdated, all...), site("x", "/another", true, install.StateInstalled, all...)}},
		{Sites: []install.Site{site("x", s.home.Project, true, install.StateOutdated, all...)}},
	}
	for _, state := range []install.State{install.StateOutdated, install.StateOff, install.StateForeign, install.StateEdited} {
		reports = append(reports, &install.Report{Sites: []install.Site{site("x", "", true, state, all...)}})
	}
	for n, r := range reports {
		s.catalog.Installed = func(context.Context) (*install.Report, error) {
			if r == nil {
				return nil, errors.New("cannot be read")
			}
			return r, nil
		}
		s.now = s.now.Add(time.Minute)
		l := s.list()
		s.write("== %d\n", n)
		for _, h := range l.Files[0].Hooks {
			s.write("%s: never %q, partly %q, hint %q\n", h.Event, h.Never, h.Partly, h.Hint)
		}
		for _, f := range l.Folders {
			s.write("%s (%s) %s: %v\n", f.Path, f.Readers, f.Project, f.Hooks)
		}
		s.write("notes %q\n", l.Notes)
	}
	golden.Check(t, "installs.txt", s.out.String())
}
