package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/clinehooks"
	"github.com/hookspan/hookspan/internal/clinehooks/hookfile"
	"github.com/hookspan/hookspan/internal/clinehooks/hookrun"
	"github.com/hookspan/hookspan/internal/clinehooks/sample"
	"github.com/hookspan/hookspan/internal/clinehooks/translate"
	"github.com/hookspan/hookspan/internal/termtext"
)

func (a *app) hooksCmd() *cobra.Command {
	c := group("hooks COMMAND", "Run hooks of your own, in Claude Code's form, when Cline works",
		a.hooksListCmd(), a.hooksAddCmd(), a.hooksRemoveCmd(), a.hooksImportCmd(),
		a.hooksTrustCmd(), a.hooksUntrustCmd(), a.hooksTestCmd())
	c.Long = `Hooks of your own, in the form of Claude Code's settings, run when Cline works. They
stand in ~/.cline/hooks.json, for all your projects, and in a project's
.cline/hooks.json, which counts once you trust it.

  hookspan hooks add --event PreToolUse --matcher Bash -- ~/guard.sh
  hookspan hooks test --event PreToolUse --tool execute_command --json '{"command":"ls"}'
  hookspan hooks list`
	return c
}

// projectFlag is the flag that names a project's folder.
type projectFlag struct{ dir string }

func (f *projectFlag) register(c *cobra.Command, usage string) {
	c.Flags().StringVar(&f.dir, "project", "", usage)
	_ = c.MarkFlagDirname("project")
}

// folder is the project's folder. Without the flag it is empty, or with here the
// working directory.
func (f *projectFlag) folder(cmd *cobra.Command, here bool) (string, error) {
	switch {
	case cmd.Flags().Changed("project") && f.dir == "":
		return "", wrongUsage(cmd, "--project: want the project's folder")
	case f.dir == "" && !here:
		return "", nil
	}
	dir, err := filepath.Abs(f.dir)
	if err != nil {
		return "", fmt.Errorf("--project %q: %w", f.dir, err)
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return "", wrongUsage(cmd, "--project %q: not a folder: want the folder of a project that exists", f.dir)
	}
	return dir, nil
}

// hooksPath is the hooks.json of a project, or with an empty one the user's own,
// which is also that of the home folder. project says which of the two it is.
func (a *app) hooksPath(dir string) (path string, project bool, err error) {
	var roots []string
	if dir != "" {
		roots = []string{dir}
	}
	user, projects := hookfile.Files(a.home, a.getenv("CLINE_DIR"), roots)
	switch {
	case len(projects) > 0:
		return projects[0], true, nil
	case user == "":
		return "", false, errors.New("no home folder is known, so there is no place for hooks.json: set HOME")
	}
	return user, false, nil
}

// hookSources are the files with hooks that count in a project.
func (a *app) hookSources(dir string) clinehooks.Sources {
	var roots []string
	if dir != "" {
		roots = []string{dir}
	}
	return clinehooks.Find(a.home, a.getenv("CLINE_DIR"), roots, a.trust())
}

// listedHooks is what hooks list tells.
type listedHooks struct {
	Files    []listedFile    `json:"files"`
	Problems []listedProblem `json:"problems,omitempty"`
}

type listedFile struct {
	Path string `json:"path"`
	// Scope is "user" or "project".
	Scope   string `json:"scope"`
	Trusted bool   `json:"trusted"`
	// Disabled reports that no hook of the file runs.
	Disabled bool            `json:"disabled,omitempty"`
	Error    string          `json:"error,omitempty"`
	Hooks    []listedHandler `json:"hooks"`
}

type listedHandler struct {
	// Number counts through all files.
	Number         int      `json:"number"`
	Line           int      `json:"line"`
	Event          string   `json:"event"`
	Matcher        string   `json:"matcher,omitempty"`
	Type           string   `json:"type"`
	Command        string   `json:"command,omitempty"`
	Args           []string `json:"args,omitempty"`
	URL            string   `json:"url,omitempty"`
	TimeoutSeconds float64  `json:"timeout_seconds,omitempty"`
	If             string   `json:"if,omitempty"`
	Async          bool     `json:"async,omitempty"`
	Once           bool     `json:"once,omitempty"`
	// Why says why it fits the tool that was asked about.
	Why string `json:"why,omitempty"`

	what, notes string
	handler     hookfile.Handler
}

type listedProblem struct {
	Path   string `json:"path"`
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
	Text   string `json:"text"`
	// Dropped reports that a hook does not run because of it.
	Dropped bool `json:"dropped,omitempty"`
	// Mistake reports an error in the file, not a limit of Cline.
	Mistake bool `json:"mistake,omitempty"`
}

func (a *app) hooksListCmd() *cobra.Command {
	var project projectFlag
	var tool string
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list", Short: "List your hooks, and what in their files will not work",
		Long: `List the hooks in your own hooks.json and in that of the project, with the numbers
that hooks remove takes. --for shows those that a call of a tool starts: Cline's name
of it, or Claude Code's.`,
		Args: takes(0, "no argument"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("for") && tool == "" {
				return wrongUsage(cmd, "--for: want a tool's name, such as execute_command or Bash")
			}
			dir, err := project.folder(cmd, true)
			if err != nil {
				return err
			}
			l := a.listHooks(a.hookSources(dir))
			if tool != "" {
				if err := a.onlyFor(&l, tool, dir); err != nil {
					return err
				}
			}
			if asJSON {
				return a.printJSON(l)
			}
			a.printHooks(l, tool)
			if tool != "" && !knownTool(tool) {
				a.hintUnknown(tool)
			}
			return nil
		},
	}
	project.register(cmd, "the project's folder; the working directory if not given")
	cmd.Flags().StringVar(&tool, "for", "", "only hooks that a call of this tool starts")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}

func (a *app) listHooks(sources clinehooks.Sources) listedHooks {
	l := listedHooks{Files: []listedFile{}}
	n := 0
	for _, s := range sources {
		f := listedFile{Path: s.Path, Scope: "user", Trusted: s.Trusted, Hooks: []listedHandler{}}
		if s.Project {
			f.Scope = "project"
		}
		if s.Err != nil {
			f.Error = strings.TrimPrefix(s.Err.Error(), s.Path+": ")
			var syntax *hookfile.SyntaxError
			if errors.As(s.Err, &syntax) {
				f.Error = fmt.Sprintf("line %d, column %d: %s", syntax.Line, syntax.Column, syntax.Text)
			}
		}
		if s.File != nil {
			f.Disabled = s.File.Disabled
			for _, h := range s.File.Handlers {
				n++
				f.Hooks = append(f.Hooks, a.listHandler(n, h))
			}
			l.Problems = append(l.Problems, a.checkSource(s, sources)...)
		}
		l.Files = append(l.Files, f)
	}
	return l
}

func (p listedProblem) String() string {
	at := p.Path
	if p.Line > 0 {
		at += ":" + strconv.Itoa(p.Line)
	}
	if p.Column > 0 {
		at += ":" + strconv.Itoa(p.Column)
	}
	return at + ": " + p.Text
}

func (a *app) listHandler(n int, h hookfile.Handler) listedHandler {
	out := listedHandler{
		Number: n, Line: h.Line, Event: h.Event, Matcher: h.Matcher, Type: h.Type, Command: a.clean(h.Command),
		URL: a.clean(h.URL), TimeoutSeconds: h.Timeout.Seconds(), If: h.If, Async: h.Async || h.AsyncRewake, Once: h.Once,
		what: a.clean(h.Text()), handler: h,
	}
	for _, arg := range h.Args {
		out.Args = append(out.Args, a.clean(arg))
	}
	var notes []string
	if h.If != "" {
		notes = append(notes, "if "+h.If)
	}
	if h.Timeout > 0 {
		notes = append(notes, "up to "+durationText(h.Timeout))
	}
	if out.Async {
		notes = append(notes, "not waited for")
	}
	if h.Once {
		notes = append(notes, "once per session")
	}
	out.notes = strings.Join(notes, ", ")
	return out
}

func durationText(d time.Duration) string {
	switch {
	case d >= time.Second && d%time.Second == 0:
		return strconv.Itoa(int(d/time.Second)) + " s"
	case d >= time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return strconv.Itoa(int(d.Milliseconds())) + " ms"
}

// matcherText is a matcher as people read it.
func matcherText(m string) string {
	if m == "" {
		return "*"
	}
	return m
}

// onlyFor keeps the hooks that a call of a tool starts. What an if rule says
// depends on the call's input and is left to be read.
func (a *app) onlyFor(l *listedHooks, tool, dir string) error {
	events, err := a.callsOf(tool, dir)
	if err != nil {
		return err
	}
	r := &hookrun.Runner{Dir: dir, ProjectDir: dir, Home: a.home, GOOS: a.goos}
	for i := range l.Files {
		f := &l.Files[i]
		kept := f.Hooks[:0]
		for _, h := range f.Hooks {
			plain := h.handler
			plain.If = ""
			for _, m := range r.Select([]hookfile.Handler{plain}, events) {
				if m.Matched {
					h.Why = m.Why
					kept = append(kept, h)
					break
				}
			}
		}
		f.Hooks = kept
	}
	return nil
}

// callsOf are the events that hooks hear of calls of a tool, by either name.
func (a *app) callsOf(tool, dir string) ([]hookrun.Event, error) {
	var calls []hookrun.Event
	add := func(t sample.Tool) error {
		p := sample.Payload{Tool: t.Name, Input: []byte(t.Example), Dialect: t.Dialect, Root: dir, Now: a.now()}
		p.Event, _ = sample.FindEvent("PreToolUse")
		if err := p.Complete(); err != nil {
			return err
		}
		payload, err := p.Encode()
		if err != nil {
			return err
		}
		call, err := translate.FromCline(hook.Raw{Payload: payload, Event: p.Event.HookFile(), StoredAt: p.Now, Cwd: dir},
			translate.Context{Home: a.home, GOOS: a.goos})
		if err != nil {
			return err
		}
		calls = append(calls, clinehooks.Events(call)...)
		return nil
	}
	for _, t := range sample.Tools() {
		if t.Name == tool || t.Claude == tool {
			if err := add(t); err != nil {
				return nil, err
			}
		}
	}
	if calls == nil && strings.HasPrefix(tool, "mcp__") {
		calls = []hookrun.Event{{Name: "PreToolUse", Subjects: []string{tool}, Tool: tool, Input: []byte("{}")}}
	}
	if calls == nil {
		if err := add(sample.Tool{Name: tool, Example: "{}"}); err != nil {
			return nil, err
		}
	}
	for _, e := range slices.Clone(calls) {
		for _, name := range []string{"PostToolUse", "PostToolUseFailure"} {
			e.Name = name
			calls = append(calls, e)
		}
	}
	return calls, nil
}

// knownTool reports a tool's name, Cline's or Claude Code's. What is in an MCP
// server's form may be one.
func knownTool(name string) bool {
	return strings.Contains(name, "__") || slices.ContainsFunc(sample.Tools(), func(t sample.Tool) bool { return t.Name == name || t.Claude == name })
}

func (a *app) hintUnknown(tool string) {
	a.hint("hookspan knows no tool " + termtext.Value(tool) + ", of Cline's or Claude Code's; upper and lower case count")
}

func (a *app) printHooks(l listedHooks, tool string) {
	if len(l.Files) == 0 {
		a.printf("no hooks of your own: there is no hooks.json\n")
		a.hint("hookspan hooks add makes one, hookspan hooks import claude takes over Claude Code's")
		return
	}
	if !a.cfg.Hooks {
		a.printf("none of these runs: HOOKSPAN_HOOKS is false\n")
	}
	for _, f := range l.Files {
		a.printf("%s (%s)\n", termtext.Value(f.Path), f.standing())
		if f.Error != "" {
			a.printf("  cannot be read, so none of its hooks runs: %s\n", termtext.Value(f.Error))
			continue
		}
		var table bytes.Buffer
		w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
		for _, h := range f.Hooks {
			_, _ = fmt.Fprintf(w, "  %d\t%s\t%s\t%s\t%s\n", h.Number, termtext.Value(h.Event), termtext.Value(matcherText(h.Matcher)),
				termtext.Value(h.what), termtext.Value(h.notes))
			if h.Why != "" {
				_, _ = fmt.Fprintf(w, "\t%s\n", termtext.Value(h.Why))
			}
		}
		_ = w.Flush()
		for line := range strings.Lines(table.String()) {
			a.printf("%s\n", strings.TrimRight(line, " \n"))
		}
		if len(f.Hooks) == 0 {
			if tool != "" {
				a.printf("  none that a call of %s starts\n", termtext.Value(tool))
			} else {
				a.printf("  no hook that can run\n")
			}
		}
	}
	if len(l.Problems) > 0 {
		a.printf("\nwhat will not work\n")
	}
	for _, p := range l.Problems {
		a.printf("  %s\n", termtext.Value(p.String()))
	}
	for _, f := range l.Files {
		if !f.Trusted && f.Error == "" {
			a.hint("read what " + termtext.Value(f.Path) + " runs, then: hookspan hooks trust " + hookfile.ShellWord(projectOf(f.Path)))
		}
	}
}

// standing says for whom a file counts.
func (f *listedFile) standing() string {
	out := "yours, in every project"
	if f.Scope == "project" {
		out = "this project's, trusted"
		if f.Error != "" {
			out = "this project's"
		} else if !f.Trusted {
			out = "this project's, not trusted: its hooks do not run"
		}
	}
	switch {
	case f.Disabled && f.Scope == "user":
		out += "; disableAllHooks: no hook runs, nor any project's"
	case f.Disabled:
		out += "; disableAllHooks: none of these runs"
	}
	return out
}
