// Package plugin installs hookspan's plugin for opencode and its forks, and its extension for
// Pi: one JavaScript file in a folder from which the agent loads such files at its start. Its
// settings are not touched. A file of this name that is not hookspan's is never changed.
package plugin

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/install"
)

// fileName is the plugin's file. Its name means nothing to the agent.
const fileName = "hookspan.js"

// pluginVersion is the version of the plugin. It rises when its text changes, so that a
// file of an earlier version is still distinguished from an edited one.
const pluginVersion = 1

// The first line marks the file and has the version; the second has the SHA-256 of what
// follows, by which an edited file is found.
const (
	markerPrefix = "// hookspan:plugin v"
	markerRest   = ` - managed by "hookspan install WORD"; removed by "hookspan uninstall WORD".`
	sumPrefix    = "// sha256 "
)

//go:embed program.js
var program string

//go:embed opencode.js
var opencodeSource string

//go:embed pi.js
var piSource string

// Installer is the install.Installer of opencode, a fork or Pi.
type Installer struct{ Agent hook.Agent }

// pi reports that the agent is Pi, not opencode or a fork: these fetch a package.
func (i Installer) pi() bool { return i.Agent.Plugin == "" }

// text returns a text with the agent's names in it.
func (i Installer) text(of string) string {
	return strings.NewReplacer("AGENT", i.Agent.Name, "WORD", i.Agent.Word, "PACKAGE", i.Agent.Plugin, "NOUN", i.form().noun).Replace(of)
}

// form is an agent's word for the plugin, the folder for plugins in a folder of the agent's, and
// the plugin's text.
type form struct{ noun, folder, source string }

func (i Installer) form() form {
	if i.pi() {
		return form{"extension", "extensions", piSource}
	}
	return form{"plugin", "plugin", opencodeSource}
}

// plugin is the content of a plugin file of hookspan's.
type plugin struct {
	Version int
	// Binary is the program that it starts.
	Binary string
	// Edited reports that the bytes are not those that hookspan wrote.
	Edited bool
}

// render returns the text of the plugin that starts a program.
func (i Installer) render(binary string) []byte {
	quoted, _ := json.Marshal(binary) // a string; JSON's are JavaScript's, too
	body := strings.Replace(i.text(program+i.form().source), "HOOK_PROGRAM", string(quoted), 1)
	return fmt.Appendf(nil, "%s%d%s\n%s%s\n%s", markerPrefix, pluginVersion, i.text(markerRest), sumPrefix, sum(body), body)
}

// read returns the plugin in a file. ok is false if the file is not hookspan's.
func read(data []byte) (p plugin, ok bool) {
	first, rest, _ := bytes.Cut(data, []byte("\n"))
	version, ok := strings.CutPrefix(string(first), markerPrefix)
	if !ok {
		return p, false
	}
	version, _, _ = strings.Cut(version, " ")
	p.Version, _ = strconv.Atoi(version)
	second, body, _ := bytes.Cut(rest, []byte("\n"))
	p.Edited = string(second) != sumPrefix+sum(string(body)) || p.Version < 1 || p.Version > pluginVersion
	for line := range bytes.Lines(body) {
		if quoted, ok := strings.CutPrefix(strings.TrimSpace(string(line)), "const hook = "); ok {
			_ = json.Unmarshal([]byte(quoted), &p.Binary) // empty if it was edited
			break
		}
	}
	return p, true
}

// site is a folder for the plugin.
type site struct {
	Place install.Place
	// folder is the folder that the agent searches for plugin folders.
	folder string
}

func (s site) file() string { return filepath.Join(s.Place.Path, fileName) }

// userSite is that of the user.
func (i Installer) userSite(sys install.System) (site, error) {
	dir, named := filepath.Join(sys.Home, ".config", i.Agent.Word), ""
	if i.pi() {
		dir, named = filepath.Join(sys.Home, ".pi", "agent"), sys.Env(i.Agent.Folders[0])
		if named != "" && !filepath.IsAbs(named) {
			return site{}, fmt.Errorf("%s: found %q, want an absolute path", i.Agent.Folders[0], named)
		}
	} else if config := sys.Env("XDG_CONFIG_HOME"); filepath.IsAbs(config) {
		named = filepath.Join(config, i.Agent.Word)
	}
	dir = cmp.Or(named, dir)
	return site{install.Place{Path: filepath.Join(dir, i.form().folder), Kind: install.ScopeUser, Readers: i.Agent.Name + ", all your projects"}, dir}, sys.CheckHome()
}

func (i Installer) projectSite(project string) site {
	dir := filepath.Join(project, "."+i.Agent.Word)
	return site{install.Place{
		Path: filepath.Join(dir, i.form().folder), Kind: install.ScopeProject, Project: project, Readers: i.Agent.Name + ", this project",
	}, dir}
}

// chosen is the place that an install goes into.
func (i Installer) chosen(sys install.System, o install.Options) (site, error) {
	switch scope := cmp.Or(o.Scope, map[bool]string{true: install.ScopeProject, false: install.ScopeUser}[o.Project != ""]); {
	case scope == install.ScopeUser && o.Project != "":
		return site{}, install.Optionf("scope %q has no project: leave out --project or --scope", scope)
	case scope == install.ScopeUser:
		return i.userSite(sys)
	case scope == install.ScopeProject:
		project := cmp.Or(o.Project, o.Dir)
		return i.projectSite(project), cmp.Or(sys.CheckHome(), install.CheckProject(project))
	default:
		return site{}, install.Optionf("scope %q: want %s or %s", scope, install.ScopeUser, install.ScopeProject)
	}
}

// sites are the places to look at: those that the options select, of those recorded and
// those that the agent reads now.
func (i Installer) sites(sys install.System, m *install.Manifest, o install.Options) ([]site, error) {
	user, err := i.userSite(sys)
	if err != nil {
		return nil, err
	}
	all := []site{user}
	if project := cmp.Or(o.Project, o.Dir); project != "" {
		all = append(all, i.projectSite(project))
	}
	for _, r := range m.Settings {
		if r.Agent != i.Agent.Argument() || slices.ContainsFunc(all, func(s site) bool { return s.Place.Path == filepath.Dir(r.Path) }) {
			continue
		}
		s := site{r.Place(), filepath.Dir(filepath.Dir(r.Path))}
		s.Place.Path, s.Place.Readers = filepath.Dir(r.Path), "of an earlier install"
		if r.Project != "" {
			s.Place.Readers = i.Agent.Name + ", in " + r.Project
		}
		all = append(all, s)
	}
	return slices.DeleteFunc(all, func(s site) bool {
		return o.Scope != "" && s.Place.Kind != o.Scope || o.Project != "" && s.Place.Project != o.Project
	}), nil
}

// Plan implements install.Installer.
func (i Installer) Plan(_ context.Context, sys install.System, o install.Options) (*install.Plan, error) {
	if err := sys.CheckBinary(o, hook.ProgramClaude); err != nil {
		return nil, err
	}
	s, err := i.chosen(sys, o)
	if err != nil {
		return nil, err
	}
	a, have, ours, err := i.look(s)
	if err != nil {
		return nil, err
	}
	p := &install.Plan{StateDir: sys.StateDir, Places: []install.Place{s.Place}}
	a.Content = i.render(o.Binary)
	switch {
	case a.Was.Missing():
		a.Op = install.OpCreate
	case !ours:
		a.Op, a.Reason = install.OpForeign, "is not hookspan's and stays as it is: move it away and install again"
	case have.Edited && !o.Force:
		a.Op, a.Reason = install.OpEdited, install.EditedReason(have.Version, pluginVersion)
	case bytes.Equal(a.Was.Data, a.Content):
		a.Op = install.OpKeep
	case have.Edited:
		a.Op, a.Reason = install.OpUpdate, "was edited; --force rewrites it"
	case have.Binary != o.Binary:
		a.Op, a.Reason = install.OpUpdate, "starts "+have.Binary
	default:
		a.Op, a.Reason = install.OpUpdate, "is out of date"
	}
	p.Actions = []install.Action{a}
	if err := p.RemoveLeft(s.Place.Path, s.Place.Path); err != nil {
		return nil, err
	}
	if a.Op.Writes() {
		if err := install.Writable(s.Place.Path); err != nil {
			return nil, fmt.Errorf("%s folder %q: %w", i.form().noun, s.Place.Path, err)
		}
	}
	if a.Op.Writes() || a.Op == install.OpKeep {
		p.Before = func(m *install.Manifest) {
			m.Settings.Add(install.Record{
				Agent: i.Agent.Argument(), Path: s.file(), Scope: s.Place.Kind, Project: s.Place.Project,
				Created: install.MissingDirs(s.Place.Path), CreatedFile: a.Op == install.OpCreate,
			})
		}
	}
	if a.Op == install.OpCreate && !i.fetched(s) {
		p.Warnings = append(p.Warnings, i.fetchNote(s))
	}
	if a.Op == install.OpCreate || a.Op == install.OpUpdate {
		p.Warnings = append(p.Warnings, i.text("AGENT loads NOUNs when it starts: one that runs is not recorded until it is restarted"))
	}
	if s.Place.Project != "" {
		p.Warnings = append(p.Warnings, i.text("the NOUN names a program on this machine: do not commit it"))
		if i.pi() {
			p.Warnings = append(p.Warnings, "Pi loads the extensions of a project only if you trust it there")
		}
	}
	return p, nil
}

// fetched reports that the agent has fetched its plugin package for a folder, or needs none.
func (i Installer) fetched(s site) bool {
	if i.pi() {
		return true
	}
	info, err := os.Stat(filepath.Join(s.folder, "node_modules", filepath.FromSlash(i.Agent.Plugin)))
	return err == nil && info.IsDir()
}

// fetchNote says what the agent does when a folder has its first plugin.
func (i Installer) fetchNote(s site) string {
	return fmt.Sprintf(i.text("with a plugin, whichever, AGENT fetches its package PACKAGE (about 60 MB) from the npm registry into %q "+
		"at its next start, and without a network it waits for more than a minute first"), filepath.Join(s.folder, "node_modules"))
}

// look reads the plugin file of a place.
func (i Installer) look(s site) (a install.Action, have plugin, ours bool, err error) {
	check := func() error { return install.ThroughLink(s.Place.Project, s.file()) }
	if err := check(); err != nil {
		return a, have, false, err
	}
	was, err := install.Follow(s.file())
	if err != nil {
		return a, have, false, fmt.Errorf("%s %w", i.form().noun, err)
	}
	have, ours = read(was.Data)
	return install.Action{
		Place: s.Place.Path, Path: s.file(), Event: i.form().noun, Was: was, Mode: 0o644, FolderMode: 0o755, Check: check,
	}, have, ours, nil
}

// PlanUninstall implements install.Installer. What the agent itself has fetched stays.
func (i Installer) PlanUninstall(_ context.Context, sys install.System, o install.Options) (*install.Plan, error) {
	m, err := install.ReadManifest(sys.StateDir)
	if err != nil {
		return nil, err
	}
	all, err := i.sites(sys, m, o)
	if err != nil {
		return nil, err
	}
	p := &install.Plan{StateDir: sys.StateDir, Undo: true}
	for _, s := range all {
		a, have, ours, err := i.look(s)
		if err != nil {
			if o.Project != "" {
				return nil, err
			}
			p.Stays = append(p.Stays, err.Error())
			continue
		}
		p.Places = append(p.Places, s.Place)
		if err := p.RemoveLeft(s.Place.Path, s.Place.Path); err != nil {
			return nil, err
		}
		switch {
		case ours && have.Edited && !o.Force:
			a.Op, a.Reason = install.OpEdited, install.EditedReason(have.Version, pluginVersion)
		case ours:
			a.Op = install.OpRemove
			if s.Place.Project == "" {
				p.Started = append(p.Started, have.Binary)
			}
			if a.Was.Link != "" {
				a.Reason = "a link to " + a.Was.Link + ", which stays"
			}
		}
		if ours {
			p.Actions = append(p.Actions, a)
		}
		rec := m.Settings.Find(s.file())
		if rec == nil || a.Op == install.OpEdited {
			continue
		}
		for _, dir := range slices.Backward(rec.Created) {
			p.RemoveIfEmpty(dir)
		}
		p.AddAfter(func(m *install.Manifest) { m.Settings.Drop(s.file()) })
	}
	p.RemoveState(m)
	return p, nil
}

// Status implements install.Installer.
func (i Installer) Status(_ context.Context, sys install.System, o install.Options) (*install.Report, error) {
	m, err := install.ReadManifest(sys.StateDir)
	if err != nil {
		return nil, err
	}
	all, err := i.sites(sys, m, o)
	if err != nil {
		return nil, err
	}
	r := &install.Report{}
	for _, s := range all {
		at := install.Site{Place: s.Place}
		r.Left = append(r.Left, install.LeftIn(s.Place.Path)...)
		a, have, ours, err := i.look(s)
		if err != nil {
			at.Err = err
			r.Sites = append(r.Sites, at)
			continue
		}
		h := install.Hook{Event: i.form().noun, Path: s.file(), Program: have.Binary, State: install.StateInstalled, Faulty: true}
		switch {
		case a.Was.Missing() && m.Settings.Find(s.file()) == nil:
			continue
		case a.Was.Missing():
			h.State, h.Reason = install.StateMissing, "was installed and is gone"
		case !ours:
			h.State, h.Faulty = install.StateForeign, false
		case have.Edited:
			h.State, h.Reason = install.StateEdited, install.EditedReason(have.Version, pluginVersion)
		case o.Binary != "" && have.Binary != o.Binary:
			h.State, h.Reason = install.StateOutdated, "starts "+have.Binary
		case !install.FileExists(have.Binary):
			h.State, h.Reason = install.StateOutdated, "the program "+have.Binary+" is gone"
		case !bytes.Equal(a.Was.Data, i.render(have.Binary)):
			h.State, h.Reason = install.StateOutdated, "is of an older hookspan"
		default:
			h.Faulty = false
		}
		at.Present, at.Hooks = ours || h.State == install.StateMissing, []install.Hook{h}
		if ours && !i.fetched(s) {
			r.Warnings = append(r.Warnings, i.fetchNote(s))
		}
		r.Sites = append(r.Sites, at)
	}
	if pure := strings.ToUpper(i.Agent.Word) + "_PURE"; !i.pi() && (sys.Env(pure) == "1" || sys.Env(pure) == "true") {
		r.Off = append(r.Off, "the variable "+pure+i.text(" is set, with which AGENT loads no plugins"))
		r.OffHint = "unset it"
	}
	return r, nil
}

// sum is the SHA-256 of the text below the first two lines.
func sum(body string) string {
	digest := sha256.Sum256([]byte(body))
	return hex.EncodeToString(digest[:])
}

// Command describes the command that installs the hooks, or with undo the one that removes
// them.
func (i Installer) Command(undo bool) install.Command {
	stays, fetches, user := "", "", "~/.pi/agent/extensions, for all your projects (the default)"
	if !i.pi() {
		user = "~/.config/WORD/plugin, for all your projects (the default)"
		stays = ", the packages that AGENT has fetched included"
		fetches = `
With any plugin in a folder AGENT fetches its package PACKAGE, about
60 MB, from the npm registry into the folder's node_modules at its next start. It waits
for that, without a network for more than a minute. --dry-run says whether it will.
`
	}
	if undo {
		return install.Command{
			Short: i.text("Remove hookspan's NOUN from AGENT"),
			Long: i.text(`Remove exactly what hookspan install WORD wrote, from wherever it did, and leave
everything else` + stays + `. --scope and --project
limit it. Traces and settings stay.`),
			Flags: map[string]string{
				"force":   i.text("remove a hookspan NOUN that was edited, too"),
				"scope":   i.text("only this NOUN folder: user or project"),
				"project": i.text("only this project's NOUN folder; for --scope project, this folder if not given"),
			},
		}
	}
	return install.Command{
		Short: i.text("Let AGENT report to hookspan"),
		Long: i.text(`Write hookspan's NOUN, one JavaScript file, into a folder from which AGENT loads
NOUNs at its start. AGENT's settings stay as they are. hookspan uninstall WORD
removes the file.
` + fetches + `
  --scope user      ` + user + `
  --scope project   ` + filepath.ToSlash(filepath.Join(".WORD", i.form().folder)) + ` in the project`),
		Flags: map[string]string{
			"force":   i.text("rewrite a hookspan NOUN that was edited"),
			"scope":   i.text("whose NOUN folder: user or project"),
			"project": "the project's folder, for --scope project, which it implies; this folder if not given",
		},
	}
}
