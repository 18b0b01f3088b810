package userhooks

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/userhooks/hookfile"
	"github.com/hookspan/hookspan/internal/userhooks/hookrun"
	"github.com/hookspan/hookspan/internal/userhooks/sample"
	"github.com/hookspan/hookspan/internal/userhooks/translate"
)

// Listing is the user's hooks, without secrets.
type Listing struct {
	Files    []ListedFile       `json:"files"`
	Problems []hookfile.Problem `json:"problems,omitempty"`
}

// ListedFile is one hooks file of a Listing.
type ListedFile struct {
	Path string `json:"path"`
	// Scope is "user" or "project".
	Scope   string `json:"scope"`
	Trusted bool   `json:"trusted"`
	// Disabled reports that no hook of the file runs.
	Disabled bool         `json:"disabled,omitempty"`
	Error    string       `json:"error,omitempty"`
	Hooks    []ListedHook `json:"hooks"`
}

// ListedHook is one hook of a Listing.
type ListedHook struct {
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
	// RunsIn are Cline's programs in which it runs if its file counts.
	RunsIn []string `json:"runs_in"`
	// Why says why it is for the tool that was asked about.
	Why string `json:"why,omitempty"`

	// Handler is the hook as its file has it, with secrets.
	Handler hookfile.Handler `json:"-"`
}

// List lists the hooks of files.
func (s *Setup) List(sources Sources) Listing {
	l := Listing{Files: []ListedFile{}}
	n := 0
	for _, src := range sources {
		f := ListedFile{Path: src.Path, Scope: "user", Trusted: src.Trusted, Hooks: []ListedHook{}}
		if src.Project {
			f.Scope = "project"
		}
		if src.Err != nil {
			f.Error = strings.TrimPrefix(src.Err.Error(), src.Path+": ")
			var syntax *hookfile.SyntaxError
			if errors.As(src.Err, &syntax) {
				f.Error = fmt.Sprintf("line %d, column %d: %s", syntax.Line, syntax.Column, syntax.Text)
			}
		}
		if src.File != nil {
			f.Disabled = src.File.Disabled
			for _, h := range src.File.Handlers {
				n++
				f.Hooks = append(f.Hooks, s.listed(n, h))
			}
			l.Problems = append(l.Problems, s.CheckSource(src, sources)...)
		}
		l.Files = append(l.Files, f)
	}
	return l
}

// Reach says of each hook where it runs, by its event.
func (l *Listing) Reach(hosts func(event string) (runs, missing []string)) {
	for _, f := range l.Files {
		for i := range f.Hooks {
			f.Hooks[i].RunsIn, _ = hosts(f.Hooks[i].Event)
		}
	}
}

func (s *Setup) listed(n int, h hookfile.Handler) ListedHook {
	out := ListedHook{
		Number: n, Line: h.Line, Event: h.Event, Matcher: h.Matcher, Type: h.Type, Command: s.Clean(h.Command),
		URL: s.Clean(h.URL), TimeoutSeconds: h.Timeout.Seconds(), If: h.If, Async: h.Async || h.AsyncRewake, Once: h.Once,
		Handler: h,
	}
	for _, arg := range h.Args {
		out.Args = append(out.Args, s.Clean(arg))
	}
	return out
}

// Keep keeps the hooks that a call of a tool in a project starts. What an if rule
// says depends on the call's input and is not tried.
func (l *Listing) Keep(s *Setup, tool, project string, now time.Time) error {
	events, err := s.CallsOf(tool, nil, project, now)
	if err != nil {
		return err
	}
	r := s.matching(project, project)
	for i := range l.Files {
		f := &l.Files[i]
		kept := f.Hooks[:0]
		for _, h := range f.Hooks {
			plain := h.Handler
			plain.If = ""
			matches := r.Select([]hookfile.Handler{plain}, events)
			if at := slices.IndexFunc(matches, func(m hookrun.Match) bool { return m.Matched }); at >= 0 {
				h.Why = matches[at].Why
				kept = append(kept, h)
			}
		}
		f.Hooks = kept
	}
	return nil
}

// CallsOf are the events that hooks receive for calls of a tool, by Cline's or
// Claude Code's name. input is the tool's, in the form that goes with the name; if
// nil, it is an example.
func (s *Setup) CallsOf(tool string, input json.RawMessage, project string, now time.Time) ([]hookrun.Event, error) {
	var tools []translate.Sample
	for _, t := range sample.Tools() {
		if t.Name == tool || t.Claude == tool {
			tools = append(tools, t)
		}
	}
	var calls []hookrun.Event
	switch {
	case tools != nil:
	case strings.HasPrefix(tool, "mcp__"):
		calls = []hookrun.Event{{Name: "PreToolUse", Subjects: []string{tool}, Tool: tool, Input: json.RawMessage(cmp.Or(string(input), "{}"))}}
	default:
		tools = []translate.Sample{{Name: tool, Example: "{}"}}
	}
	for _, t := range tools {
		p := sample.Payload{Tool: t.Name, Input: []byte(t.Example), Dialect: t.Dialect, Root: project, Now: now}
		p.Event, _ = sample.FindEvent("PreToolUse")
		if t.Name == tool && input != nil {
			p.Input = input
		}
		if err := p.Complete(); err != nil {
			return nil, err
		}
		payload, err := p.Encode()
		if err != nil {
			return nil, err
		}
		call, err := translate.FromCline(hook.Raw{Payload: payload, Event: p.Event.HookFile(), StoredAt: now, Cwd: project},
			translate.Context{GOOS: s.GOOS})
		if err != nil {
			return nil, err
		}
		for _, e := range call.Events {
			if e.Tool == tool && input != nil {
				e.Input = input
			}
			calls = append(calls, e)
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
