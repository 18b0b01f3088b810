package userhooks

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/userhooks/hookfile"
	"github.com/hookspan/hookspan/internal/userhooks/hookrun"
	"github.com/hookspan/hookspan/internal/userhooks/hooksession"
	"github.com/hookspan/hookspan/internal/userhooks/plain"
	"github.com/hookspan/hookspan/internal/userhooks/translate"
)

// Source is one file that configures hooks.
type Source struct {
	// Path is the file's absolute path.
	Path string
	// Project reports that it belongs to a project, which it takes the user's
	// trust to run hooks for.
	Project bool
	// named reports that CLINE_DIR names it.
	named bool
	// Trusted reports that its hooks run.
	Trusted bool
	// File is what it says; nil where Err is set.
	File *hookfile.File
	// Err is why it cannot be read; unread reports that not even its bytes can.
	Err    error
	unread bool
	// Data are its bytes.
	Data []byte

	file hooksession.File
}

// Sources are the files that count for a session, the user's own first.
type Sources []Source

// find reads the files with hooks: the user's own and those of the session's
// project folders. A file that does not exist is not among them.
func (s *Setup) find(roots []string) Sources {
	user, projects := hookfile.Files(s.Home, s.ClineDir, roots)
	var out Sources
	own := hookfile.Moved(s.Home, s.ClineDir)
	projects = slices.DeleteFunc(projects, func(path string) bool { return path == own })
	for i, path := range append([]string{user, own}, projects...) {
		src := Source{Path: path, Project: i > 1, Trusted: i <= 1, named: i == 0 && s.ClineDir != ""}
		src.file = hooksession.File{Path: path, Project: src.Project, Trust: s.Trust.Path}
		src.Data, src.Err = src.file.Read()
		if path == "" || errors.Is(src.Err, fs.ErrNotExist) {
			continue
		}
		src.unread = src.Err != nil
		if !src.unread {
			src.Trusted = src.Trusted || s.Trust.Trusted(path, src.Data)
			src.File, src.Err = hookfile.Parse(path, src.Data)
		}
		out = append(out, src)
	}
	return out
}

// summarize stores what the hook process must know of the files to decide that no
// hook can run. Failing at it costs time, nothing else.
func (s Sources) summarize(dir string) {
	for _, src := range s {
		if src.File != nil && src.Trusted && len(src.File.Problems) == 0 {
			_ = src.file.Summarize(dir, src.Data, summary(src.File))
		}
	}
}

// summary summarizes the hooks of a file.
func summary(f *hookfile.File) hooksession.Summary {
	out := hooksession.Summary{}
	if f.Disabled {
		return out
	}
	for kind := range hook.KindHookRuns {
		handlers := of(kind, f.Handlers)
		if handlers == nil {
			continue
		}
		hooks := hooksession.Hooks{Need: need(handlers)}
		if kind == hook.KindToolStart || kind == hook.KindToolEnd {
			hooks.NotFor = unfit(handlers)
		}
		out[kind] = hooks
	}
	return out
}

// of are the handlers that an event of this kind may start.
func of(kind hook.Kind, handlers []hookfile.Handler) (out []hookfile.Handler) {
	for _, h := range handlers {
		if slices.Contains(translate.EventsOf(kind), h.Event) {
			out = append(out, h)
		}
	}
	return out
}

// unfit are the tools whose calls start none of the handlers.
func unfit(handlers []hookfile.Handler) (tools []string) {
	for tool, names := range translate.ToolSubjects() {
		if !slices.ContainsFunc(handlers, func(h hookfile.Handler) bool {
			m, _ := plain.Compile(h.Event, h.Matcher)
			return m.Names == nil || slices.ContainsFunc(names, func(n string) bool { return slices.Contains(m.Names, n) })
		}) {
			tools = append(tools, tool)
		}
	}
	slices.Sort(tools)
	return tools
}

// need is what it takes to run handlers: http hooks and rules on hosts take everything,
// rules and expressions a program that reads them.
func need(handlers []hookfile.Handler) hooksession.Need {
	out := hooksession.Plain
	for _, h := range handlers {
		_, expression := plain.Compile(h.Event, h.Matcher)
		switch {
		case h.Type != hookfile.TypeCommand || plain.OnHost(h.If):
			return hooksession.Everything
		case h.If != "" || expression != "":
			out = hooksession.Commands
		}
	}
	return out
}

// Handlers are the hooks that run, in configuration order. disableAllHooks of
// the user's own file switches all of them off; that of a project's file, and of the one
// that CLINE_DIR names, only its own, so that neither a project nor a variable can
// switch off a user's guard.
func (s Sources) Handlers() []hookfile.Handler {
	var out []hookfile.Handler
	for _, src := range s {
		switch {
		case src.File == nil || !src.Trusted:
		case src.File.Disabled && !src.Project && !src.named:
			return nil
		case !src.File.Disabled:
			out = append(out, src.File.Handlers...)
		}
	}
	return out
}

// Guard reports whether a hook for tool calls runs.
func (s Sources) Guard() bool { return HasGuard(s.Handlers()) }

// Hook finds the hook with a number of a Listing. count is the number of all hooks.
func (s Sources) Hook(number int) (src Source, h hookfile.Handler, count int) {
	for _, in := range s {
		if in.File == nil {
			continue
		}
		if i := number - count - 1; i >= 0 && i < len(in.File.Handlers) {
			src, h = in, in.File.Handlers[i]
		}
		count += len(in.File.Handlers)
	}
	return src, h, count
}

// Environ is an environment with the variables that trusted files give to all
// hooks. Of one name the last counts, so a project's file overrides the user's.
// It is for the processes of hooks alone.
func (s Sources) Environ(base []string) []string {
	out := slices.Clone(base)
	for _, src := range s {
		if src.File == nil || !src.Trusted {
			continue
		}
		for _, v := range src.File.Env {
			out = append(out, v.Name+"="+v.Value)
		}
	}
	return out
}

// Broken are the files whose hooks should run and cannot be read.
func (s Sources) Broken() []error {
	var out []error
	for _, src := range s {
		// Of a project's file it is not known whether its content is trusted. It may
		// be, where only a descriptor to read it was missing.
		if src.Err != nil && (!src.Project || hookrun.Exhausted(src.Err)) {
			err := src.Err
			if src.unread {
				err = fmt.Errorf("%w, %w", err, errMayGuard)
			}
			out = append(out, err)
		}
	}
	return out
}

// Problems are what in the files will not work, one line each.
func (s Sources) Problems() []string {
	var out []string
	for _, src := range s {
		switch {
		case src.Err != nil:
			out = append(out, src.Err.Error())
			continue
		case !src.Trusted:
			out = append(out, fmt.Sprintf("%s: its hooks do not run: you have not trusted this content: read it, then hookspan hooks trust", src.Path))
			continue
		}
		for _, p := range src.File.Problems {
			out = append(out, fmt.Sprintf("%s:%d:%d: %s", p.Path, p.Line, p.Column, p.Text))
		}
	}
	return out
}
