// Package transcripttest holds what an agent's reader makes of files against golden files.
package transcripttest

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/files/regular"
	"github.com/hookspan/hookspan/internal/rawjson"
	"github.com/hookspan/hookspan/internal/testkit/golden"
	"github.com/hookspan/hookspan/internal/transcript"
)

// Now is the clock of a Home: later than all recordings.
var Now = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

// Finder looks in an empty home folder for Linux, without environment, and fails the test
// if it waits for a file.
func Finder(t testing.TB) *transcript.Files {
	t.Helper()
	return &transcript.Files{
		Home: t.TempDir(), GOOS: "linux", Getenv: func(string) string { return "" },
		Sleep: func(context.Context, time.Duration) error {
			t.Error("the reader waited for a file that was whole")
			return nil
		},
		Now: func() time.Time { return time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC) },
	}
}

// Write writes one file and the folders above it.
func Write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Add adds the files of a pattern to a fuzz target, whole and by halves, and small ones.
func Add(f *testing.F, pattern string) {
	f.Helper()
	paths, err := filepath.Glob(filepath.FromSlash(pattern))
	if err != nil || len(paths) == 0 {
		f.Fatalf("no files match %q: %v", pattern, err)
	}
	for _, p := range paths {
		data, err := os.ReadFile(p) //nolint:gosec // A file of testdata.
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
		f.Add(data[:len(data)/2])
	}
	for _, s := range []string{``, `[]`, `{}`, `[null]`, `[{}]`, `{"messages":[]}`, `[`, `{"messages":`, "\x00"} {
		f.Add([]byte(s))
	}
}

// Total is the sum over calls, as agents make it.
type Total struct {
	Input, Output, CacheWrite, CacheRead int64
	Cost                                 float64
	Requests                             int
}

// Sum adds calls up.
func Sum(calls []hook.Request) (s Total) {
	for _, c := range calls {
		if c.Kind == hook.RequestSingle {
			s.Requests++
		}
		if c.Usage == nil {
			continue
		}
		s.Input += c.Usage.Input
		s.Output += c.Usage.Output
		s.CacheRead += c.Usage.CacheRead
		s.CacheWrite += c.Usage.CacheWrite
		if c.Usage.CostUSD != nil {
			s.Cost += *c.Usage.CostUSD
		}
	}
	return s
}

// CheckCalls holds for every transcript, whatever the files said.
func CheckCalls(t *testing.T, tr *hook.Transcript) {
	t.Helper()
	for i, c := range tr.Requests {
		if i > 0 && c.Start.Before(tr.Requests[i-1].Start) {
			t.Errorf("call %d starts before the one in front of it", i)
		}
		if !c.End.IsZero() && c.End.Before(c.Start) {
			t.Errorf("call %q ends at %v before it starts at %v", c.ID, c.End, c.Start)
		}
		if c.ID == "" {
			t.Errorf("call %d has no id", i)
		}
		if u := c.Usage; u != nil {
			if u.Input < 0 || u.Output < 0 || u.CacheRead < 0 || u.CacheWrite < 0 || u.TotalInput() < u.CacheRead {
				t.Errorf("call %q has usage %+v", c.ID, *u)
			}
		}
		if y := c.Start.Year(); y > 9999 {
			t.Errorf("call %q starts in the year %d", c.ID, y)
		}
	}
}

// IDOf is the id of the one session that is there.
func IDOf(t testing.TB, f *transcript.Files, a transcript.Reader) string {
	t.Helper()
	all, err := f.Sessions(t.Context(), a)
	if err != nil || len(all) != 1 {
		t.Fatalf("sessions %+v, %v; want one", all, err)
	}
	return all[0].ID
}

// Home is a home folder whose folder dir has a recording's files, if it is not empty.
func Home(t testing.TB, recording, dir string) *transcript.Files {
	t.Helper()
	home := t.TempDir()
	if recording != "" {
		if err := os.CopyFS(filepath.Join(home, dir), os.DirFS(recording)); err != nil {
			t.Fatal(err)
		}
	}
	return &transcript.Files{Home: home, GOOS: "linux", Now: func() time.Time { return Now }}
}

// Each calls test for every folder in some folders.
func Each(t *testing.T, test func(t *testing.T, recording string), folders ...string) {
	t.Helper()
	for _, folder := range folders {
		recordings, err := os.ReadDir(folder)
		if err != nil || len(recordings) == 0 {
			t.Fatalf("no recordings in %s: %v", folder, err)
		}
		for _, r := range recordings {
			t.Run(r.Name(), func(t *testing.T) { test(t, filepath.Join(folder, r.Name())) })
		}
	}
}

// Golden compares what a reader says of all sessions in a home folder with the golden file
// of a recording: the list, each session's transcript as it is imported and as whole texts, its events,
// origin and end. It also reads each session from each of its prompts on.
func Golden(t *testing.T, a transcript.Reader, f *transcript.Files, recording string) {
	t.Helper()
	file := filepath.Join("testdata", "golden", filepath.Base(recording)+".txt")
	var out strings.Builder
	p := printer{out: &out, home: f.Home}
	list, err := f.Sessions(t.Context(), a)
	p.err("sessions", err)
	for _, s := range list {
		all := p.session(t, a, f, s)
		if all != nil {
			since(t, a, f, s, all)
		}
		p.growth(t, a, f, s)
	}
	got := out.String()
	if golden.Updating() {
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(got), 0o600)); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := regular.Read(file, regular.Options{})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

// since reads a session from each of its prompts on: all that ends later is there, as in
// the whole.
func since(t *testing.T, a transcript.Reader, f *transcript.Files, s transcript.Session, all *hook.Transcript) {
	t.Helper()
	for _, prompt := range all.Prompts {
		late, err := f.Read(t.Context(), a, transcript.Query{Session: s.ID, Dialect: s.Dialect, Cwd: s.Cwd, Full: true, Since: prompt.At})
		if late == nil {
			t.Errorf("session %s since %v: %v", s.ID, prompt.At, err)
			continue
		}
		if late.HostVersion != all.HostVersion || late.Cwd != all.Cwd || late.Session != all.Session {
			t.Errorf("session %s since %v: session %q, version %q, folder %q; want %q, %q, %q",
				s.ID, prompt.At, late.Session, late.HostVersion, late.Cwd, all.Session, all.HostVersion, all.Cwd)
		}
		later(t, "calls", all.Requests, late.Requests, func(c hook.Request) bool { return !c.End.Before(prompt.At) })
		later(t, "results", all.ToolResults, late.ToolResults, func(r hook.ToolResult) bool { return !cmp.Or(r.At, r.Asked).Before(prompt.At) })
		later(t, "prompts", all.Prompts, late.Prompts, func(p hook.Prompt) bool { return !p.At.Before(prompt.At) })
		later(t, "ends", all.Ends, late.Ends, func(e hook.TurnEnd) bool { return !e.At.Before(prompt.At) })
	}
}

// later compares what is late enough of a whole reading with what a later one has.
func later[T any](t *testing.T, what string, all, late []T, wanted func(T) bool) {
	t.Helper()
	keep := func(list []T) (kept []T) {
		for _, v := range list {
			if wanted(v) {
				kept = append(kept, v)
			}
		}
		return kept
	}
	if diff := gocmp.Diff(keep(all), keep(late)); diff != "" {
		t.Errorf("%s of a later reading (-whole +late):\n%s", what, diff)
	}
}

// written finds the time of a row.
var written = regexp.MustCompile(`"time(?:stamp)?": ?("20[^"]+"|\d{13})`)

// growth prints what a reader says of the session's end as its file grows by a row each
// time, a second after the row: p for a transcript that is pending, u for one that is
// undecided too, and e for a session that has ended.
func (p *printer) growth(t *testing.T, a transcript.Reader, f *transcript.Files, s transcript.Session) {
	t.Helper()
	text, err := regular.Read(s.Path, regular.Options{})
	if err != nil || filepath.Ext(s.Path) != ".jsonl" {
		return
	}
	live, now := *f, Now
	live.Now = func() time.Time { return now }
	q := transcript.Query{Session: s.ID, Dialect: s.Dialect, Cwd: s.Cwd, Path: s.Path}
	if !written.Match(text) {
		t.Errorf("%s: no row has a time that %s finds: without it no session is seen while it grows", s.Path, written)
	}
	var states strings.Builder
	for have, row := 0, []byte(nil); have < len(text); {
		row, _, _ = bytes.Cut(text[have:], []byte("\n"))
		have = min(have+len(row)+1, len(text))
		if at := written.FindSubmatch(row); at != nil {
			last := rawjson.Instant(at[1])
			if last.IsZero() {
				continue
			}
			now = last.Add(time.Second)
		}
		if err := os.WriteFile(s.Path, text[:have], 0o600); err != nil {
			t.Fatal(err)
		}
		state := "."
		tr, _ := live.Read(t.Context(), a, q)
		kind, _, _ := live.End(t.Context(), a, q)
		switch {
		case tr == nil:
			state = "-"
		case tr.Undecided:
			state = "u"
		case tr.Pending:
			state = "p"
		case kind != hook.KindUnknown:
			state = "e"
		}
		states.WriteString(state)
	}
	p.line("growth", states.String())
}

// printer writes values that are not zero, a line each.
type printer struct {
	out  *strings.Builder
	home string
}

func (p *printer) line(name string, v any) {
	if text := golden.Line(v, p.home); text != "" {
		_, _ = fmt.Fprintf(p.out, "%s %s\n", name, text) // never fails
	}
}

func (p *printer) err(name string, err error) {
	if err != nil {
		p.line(name+": error", err.Error())
	}
}

func (p *printer) session(t *testing.T, a transcript.Reader, f *transcript.Files, s transcript.Session) *hook.Transcript {
	t.Helper()
	listed := s
	listed.ModTime = time.Time{}
	p.line("session", listed)
	if a.Parts != nil {
		parts, err := a.Parts(s)
		p.line("parts", parts)
		p.err("parts", err)
	}
	q := transcript.Query{Session: s.ID, Dialect: s.Dialect, Cwd: s.Cwd}
	session, turn, err := f.Origin(t.Context(), a, q)
	p.line("origin", []string{session, turn})
	p.err("origin", err)
	kind, at, err := f.End(t.Context(), a, q)
	if kind != hook.KindUnknown {
		p.line("ended", fmt.Sprint(kind, " ", at.Format(time.RFC3339Nano)))
	}
	p.err("ended", err)
	q.Full = true
	all, err := f.Read(t.Context(), a, q)
	p.err("read", err)
	if all != nil {
		p.transcript(all)
		for e := range a.Events(s.Dialect, all) {
			e.Host, e.Dialect, e.Session, e.HostVersion, e.Offset, e.Hash = "", "", "", "", 0, 0 // all the same, or the number
			p.line("event", e)
		}
	}
	q.Full, q.Whole = false, func(string, string) bool { return true }
	whole, err := f.Read(t.Context(), a, q)
	p.err("whole", err)
	if whole != nil {
		for _, r := range whole.ToolResults {
			p.line("whole result", hook.ToolResult{ID: r.ID, Agent: r.Agent, Input: r.Input, Text: r.Text, File: r.File, Row: r.Row})
		}
	}
	return all
}

func (p *printer) transcript(tr *hook.Transcript) {
	rest := *tr
	rest.Requests, rest.Prompts, rest.ToolResults, rest.Agents, rest.Ends, rest.Unread = nil, nil, nil, nil, nil, nil
	p.line("transcript", rest)
	each(p, "unread", tr.Unread)
	each(p, "prompt", tr.Prompts)
	each(p, "call", tr.Requests)
	each(p, "result", tr.ToolResults)
	each(p, "agent", tr.Agents)
	each(p, "end", tr.Ends)
}

func each[T any](p *printer, name string, list []T) {
	for _, v := range list {
		p.line(name, v)
	}
}
