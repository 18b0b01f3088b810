package hooks

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hookspan/hookspan/hook"
	claudehook "github.com/hookspan/hookspan/hook/claude"
	"github.com/hookspan/hookspan/internal/install"
	"github.com/hookspan/hookspan/internal/install/claude"
	"github.com/hookspan/hookspan/internal/rawjson"
	"github.com/hookspan/hookspan/internal/traces/store"
	"github.com/hookspan/hookspan/internal/userhooks"
	"github.com/hookspan/hookspan/internal/userhooks/hookcheck"
	"github.com/hookspan/hookspan/internal/userhooks/hookfile"
	"github.com/hookspan/hookspan/internal/userhooks/shelltext"
	"github.com/hookspan/hookspan/internal/userhooks/translate"
)

// Catalog finds the hooks that are configured on this machine.
type Catalog struct {
	// Process has Cline's hooks and their settings.
	Process *userhooks.Process
	// Claude finds Claude Code's files, System says where.
	Claude claude.Installer
	System install.System
	// Dir is the folder of the project that counts beside those that the store has. It
	// may be empty.
	Dir string
	// Installed reports the state of Cline's hook files. If nil, it is not known.
	Installed func(context.Context) (*install.Report, error)
	// Store has the hooks' runs.
	Store *store.Store
	// Running returns the tasks that run now, whose runs the store has not. It may be nil.
	Running func(context.Context) ([]*store.Trace, error)

	mu       sync.Mutex
	found    time.Time
	projects []string
	report   *install.Report
	fault    error
	lately   lately
}

// Agents are the hosts whose hooks are listed.
const (
	agentCline  = hook.HostCline
	agentClaude = hook.HostClaude
)

// Listing is the hooks of a machine: what runs is whole, with its secrets marked.
type Listing struct {
	Files   []File   `json:"files"`
	Folders []Folder `json:"folders"`
	// Notes say what concerns all hooks of an agent.
	Notes []Note `json:"notes"`
	// Events are the events that an agent gives its hooks, by agent.
	Events map[string][]string `json:"events"`
}

// Note is a fact about an agent and what to do about it.
type Note struct {
	Agent string `json:"agent"`
	Text  string `json:"text"`
	Hint  string `json:"hint,omitempty"`
}

// File is a file with hooks.
type File struct {
	// ID names the file in requests.
	ID    string `json:"id"`
	Path  string `json:"path"`
	Agent string `json:"agent"`
	// Scope is "user", "project", "local", "managed" or "plugin".
	Scope   string `json:"scope"`
	Project string `json:"project,omitempty"`
	Plugin  string `json:"plugin,omitempty"`
	Exists  bool   `json:"exists"`
	// SHA256 is that of the content, empty for an absent file.
	SHA256 string `json:"sha256"`
	// NeedsTrust reports a file whose hooks run only if the user trusts it, Trusted
	// that he does.
	NeedsTrust bool `json:"needsTrust,omitempty"`
	Trusted    bool `json:"trusted,omitempty"`
	// Editable reports that the page may change the file.
	Editable bool `json:"editable,omitempty"`
	// Off says why none of its hooks runs.
	Off string `json:"off,omitempty"`
	// Error says why the file cannot be read.
	Error    string             `json:"error,omitempty"`
	Hooks    []Hook             `json:"hooks"`
	Problems []hookfile.Problem `json:"problems,omitempty"`
	// SwitchedOff are hooks that were taken out and can be put back.
	SwitchedOff []SwitchedOff `json:"switchedOff,omitempty"`

	doc     *hookfile.Document
	entries []hookfile.Entry
	parsed  *hookfile.File
}

// Hook is a hook of a file.
type Hook struct {
	// Index is its place among the file's hooks.
	Index   int      `json:"index"`
	Line    int      `json:"line"`
	Event   string   `json:"event"`
	Matcher string   `json:"matcher"`
	Type    string   `json:"type"`
	Text    string   `json:"text"`
	Traits  []string `json:"traits,omitempty"`
	// Fields are what a change can set.
	Fields Fields `json:"fields"`
	// Records reports that it records for hookspan.
	Records bool `json:"records,omitempty"`
	// Never says why it never runs, Partly where it does not.
	Never    string             `json:"never,omitempty"`
	Partly   string             `json:"partly,omitempty"`
	Hint     string             `json:"hint,omitempty"`
	Problems []hookfile.Problem `json:"problems,omitempty"`
	Runs     Runs               `json:"runs"`
	// Fits says whether a call starts it, if one was asked about, and Why why.
	Fits *bool  `json:"fits,omitempty"`
	Why  string `json:"why,omitempty"`
}

// Fields are the members of a hook that a form has, as they are: the form sends them back.
type Fields struct {
	Matcher string   `json:"matcher,omitempty"`
	Command string   `json:"command,omitempty"`
	Args    []string `json:"args,omitempty"`
	URL     string   `json:"url,omitempty"`
	If      string   `json:"if,omitempty"`
	Timeout float64  `json:"timeout,omitempty"`
	Async   bool     `json:"async,omitempty"`
}

// MarshalJSON implements json.Marshaler.
func (f Fields) MarshalJSON() ([]byte, error) {
	type plain Fields
	b, err := json.Marshal(plain(f))
	return rawjson.ASCII(b), err
}

// Folder is a folder with Cline's own hook files.
type Folder struct {
	Path    string         `json:"path"`
	Readers string         `json:"readers"`
	Project string         `json:"project,omitempty"`
	Hooks   []install.Hook `json:"hooks"`
}

// Limits of what is listed, and how long what takes time is kept.
const (
	maxProjects = 60
	keepFor     = 5 * time.Second
)

// List lists the hooks.
func (c *Catalog) List(ctx context.Context) (*Listing, error) {
	projects, report, fault := c.survey(ctx)
	l := &Listing{
		Files: []File{}, Folders: []Folder{}, Notes: []Note{},
		Events: map[string][]string{agentCline: hookfile.Events(), agentClaude: claudehook.EventNames()},
	}
	if fault != nil {
		l.Notes = append(l.Notes, Note{agentCline, "it is not known which hook files Cline has: " + fault.Error(), ""})
	}
	_, runs, err := c.lastDay(ctx)
	if err != nil {
		return nil, err
	}
	off, err := c.switchedOff()
	if err != nil {
		l.Notes = append(l.Notes, Note{"", err.Error(), ""})
	}
	for _, f := range c.files(projects) {
		c.read(&f, report, runs)
		f.SwitchedOff = off.of(&f, c.whole)
		if f.Exists || f.Error != "" || f.Editable && (f.Project == "" || f.Project == c.Dir) {
			l.Files = append(l.Files, f)
		}
	}
	c.clineNotes(l, report)
	if off := c.Claude.Off(c.System, c.Dir); off != "" {
		l.Notes = append(l.Notes, Note{agentClaude, off, "change that setting"})
	}
	return l, nil
}

// Paths are the files whose changes a page should show at once.
func (c *Catalog) Paths() (out []string) {
	for _, f := range c.files([]string{c.Dir}) {
		out = append(out, f.Path)
	}
	return append(out, c.Process.Setup().Trust.Path)
}

// survey finds the projects and Cline's hook files, which takes longer than to read
// files, and keeps them for a moment.
func (c *Catalog) survey(ctx context.Context) ([]string, *install.Report, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := c.Process.Now(); c.found.IsZero() || now.Sub(c.found) > keepFor {
		c.found, c.projects = now, c.findProjects(ctx)
		c.report, c.fault = nil, nil
		if c.Installed != nil {
			c.report, c.fault = c.Installed(ctx)
		}
	}
	return c.projects, c.report, c.fault
}

// findProjects are the folders of projects that may have hooks: the working directory,
// those with a trusted file, and those of the stored traces.
func (c *Catalog) findProjects(ctx context.Context) []string {
	var out []string
	add := func(dir string) {
		if !filepath.IsAbs(dir) || len(out) >= maxProjects {
			return
		}
		dir = filepath.Clean(dir)
		if info, err := os.Stat(dir); err == nil && info.IsDir() && dir != c.Process.Home && !slices.Contains(out, dir) {
			out = append(out, dir)
		}
	}
	add(c.Dir)
	for _, f := range c.Process.Setup().Trust.List() {
		add(hookfile.ProjectOf(f.Path))
	}
	folders, err := c.Store.Folders(ctx)
	if err != nil {
		return out // the store's own views report it
	}
	for _, dir := range folders {
		add(dir)
	}
	return out
}

// files names the files, without their content.
func (c *Catalog) files(projects []string) []File {
	setup := c.Process.Setup()
	var out []File
	user, ofProjects := hookfile.Files(setup.Home, setup.ClineDir, projects)
	if user != "" {
		out = append(out, File{Path: user, Agent: agentCline, Scope: install.ScopeUser, Editable: true})
	}
	for _, path := range ofProjects {
		out = append(out, File{Path: path, Agent: agentCline, Scope: install.ScopeProject, Project: hookfile.ProjectOf(path), NeedsTrust: true, Editable: true})
	}
	for _, f := range c.Claude.HookFiles(c.System, projects) {
		out = append(out, File{
			Path: f.Path, Agent: agentClaude, Scope: f.Scope, Project: f.Project, Plugin: f.Plugin, Off: f.Off,
			Editable: f.Scope == install.ScopeUser || f.Scope == install.ScopeProject || f.Scope == install.ScopeLocal,
		})
	}
	for i := range out {
		sum := sha256.Sum256([]byte(out[i].Agent + "\x00" + out[i].Path))
		out[i].ID = hex.EncodeToString(sum[:8])
		out[i].Hooks = []Hook{}
	}
	return out
}

func (f *File) text() hookfile.Text {
	return hookfile.Text{Data: f.doc.Data, Claude: f.Agent == agentClaude}
}

// open reads the file. Of a project's file for Cline, and of one that is to be changed,
// the path may be no link.
func (f *File) open(strict bool) error {
	doc, err := hookfile.Open(f.Path, f.Project != "" && (strict || f.Agent == agentCline))
	if doc == nil {
		return err
	}
	f.doc, f.Exists, f.SHA256 = doc, doc.Exists, ""
	if doc.Exists {
		f.SHA256 = digest(doc.Data)
	}
	if err != nil {
		return err
	}
	if f.entries, err = f.text().Entries(); err != nil {
		return err
	}
	f.parsed = doc.File
	if f.Agent == agentClaude && len(doc.Data) > 0 {
		if parsed, err := hookfile.ParseClaude(f.Path, doc.Data); err == nil {
			f.parsed = parsed
		}
	}
	return nil
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// read fills a file with its hooks.
func (c *Catalog) read(f *File, report *install.Report, runs runsByHook) {
	setup := c.Process.Setup()
	if err := f.open(false); err != nil {
		f.Error = strings.TrimPrefix(err.Error(), fmt.Sprintf("hooks file %q: ", f.Path))
		var syntax *hookfile.SyntaxError
		if errors.As(err, &syntax) {
			f.Error = fmt.Sprintf("line %d, column %d: %s", syntax.Line, syntax.Column, syntax.Text)
		}
		f.Error = setup.Clean(f.Error)
		return
	}
	if f.NeedsTrust {
		f.Trusted = f.Exists && setup.Trust.Trusted(f.Path, f.doc.Data)
	}
	switch {
	case !f.Exists || f.Off != "":
	case f.Agent == agentCline && !c.Process.Config.Hooks:
		f.Off = "HOOKSPAN_HOOKS is false: none of your hooks for Cline runs"
	case f.NeedsTrust && !f.Trusted:
		f.Off = "you have not trusted this content"
	case f.parsed.Disabled && f.Agent == agentCline:
		f.Off = "disableAllHooks is set in this file"
	}
	problems := c.problems(f)
	for i, e := range f.entries {
		h := Hook{
			Index: i, Line: e.Line, Event: e.Event, Matcher: c.whole(e.Matcher), Type: e.Type, Text: c.whole(textOf(e)), Traits: e.Traits(),
			Fields: Fields{
				Matcher: e.Matcher, Command: e.Command, Args: e.Args, URL: e.URL, If: e.If, Timeout: e.Timeout.Seconds(), Async: e.Async || e.AsyncRewake,
			},
			Records: e.Type == hookfile.TypeCommand && claude.Records(e.Command, e.Args),
			Runs:    runs.of(f, e.Handler, setup.Clean),
		}
		for j := range h.Traits {
			h.Traits[j] = c.whole(h.Traits[j])
		}
		problems = slices.DeleteFunc(problems, func(p hookfile.Problem) bool {
			last := i+1 == len(f.entries) || p.Line < f.entries[i+1].Line || f.entries[i+1].Line == e.Line && p.Line == e.Line
			own := p.Event == e.Event && p.Line >= e.Line && last
			if own {
				h.Problems = append(h.Problems, p)
			}
			return own
		})
		c.asks(f, &h, e, report)
		f.Hooks = append(f.Hooks, h)
	}
	f.Problems = problems
}

// textOf is what a hook runs, also one that only Claude Code can run.
func textOf(e hookfile.Entry) string {
	if text := shelltext.Text(e.Handler); text != "" {
		return text
	}
	return strings.Join(strings.Fields(string(e.Raw)), " ")
}

// problems are what in a file will not work.
func (c *Catalog) problems(f *File) []hookfile.Problem {
	setup := c.Process.Setup()
	if !f.Exists {
		return nil
	}
	if f.Agent == agentCline {
		return setup.Check(f.parsed, f.Project, nil)
	}
	place := hookfile.Place{
		Project: f.Project, Home: setup.Home, GOOS: setup.GOOS, Path: setup.Path, Tools: translate.ToolNames(), Claude: true, Shell: "bash",
	}
	if f.Scope == claude.ScopePlugin {
		place.Env = []hookfile.Variable{{Name: "CLAUDE_PLUGIN_ROOT", Value: filepath.Dir(filepath.Dir(f.Path))}}
	}
	list := hookcheck.Check(f.parsed, place)
	for i := range list {
		list[i].Text = setup.Clean(list[i].Text)
	}
	return list
}

// where is a line of a file for people.
func where(path string, line int) string { return path + ":" + strconv.Itoa(line) }
