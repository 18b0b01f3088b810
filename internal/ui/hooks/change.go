package hooks

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hookspan/hookspan/internal/userhooks/hookfile"
)

// Editor changes the hooks of a machine, one change at a time.
type Editor struct {
	Catalog *Catalog
	// Say shows a line in the terminal in which the page was started. It must not be
	// nil.
	Say func(string)

	mu sync.Mutex
	// shown is the change that was shown last; only that can be made.
	shown *change
	// before has what was written last, by the file's path.
	before map[string]written
}

// Request asks for a change, or for a test.
type Request struct {
	// Kind is "add", "change", "off", "on", "trust", "untrust", "undo" or "test".
	Kind string `json:"kind"`
	// File and SHA256 are those of the list.
	File   string `json:"file"`
	SHA256 string `json:"sha256"`
	// Hook is the index of the hook to change or to switch off, Off the id of the one to
	// switch on.
	Hook int    `json:"hook"`
	Off  string `json:"off"`

	// Event and the further members are the new hook's, or what changes of a hook. A
	// test has Event.
	Event   *string   `json:"event"`
	Matcher *string   `json:"matcher"`
	Command *string   `json:"command"`
	Args    *[]string `json:"args"`
	URL     *string   `json:"url"`
	If      *string   `json:"if"`
	Timeout *float64  `json:"timeout"`
	Async   *bool     `json:"async"`

	// Agent, Tool, Input and Text describe the call of a test.
	Agent string `json:"agent"`
	Tool  string `json:"tool"`
	Input string `json:"input"`
	Text  string `json:"text"`
}

// Preview is a change as it would be made.
type Preview struct {
	ID string `json:"id"`
	// What says in a line what it does.
	What   string `json:"what"`
	Path   string `json:"path,omitempty"`
	SHA256 string `json:"sha256"`
	// Diff is the difference in the unified form, whole but for the values of variables and
	// headers that are in the file already.
	Diff string `json:"diff,omitempty"`
	// Notes are what will not work.
	Notes []string `json:"notes,omitempty"`
	// Code reports that it needs the code that the terminal shows: all do but a test that
	// starts nothing.
	Code bool `json:"code"`
	// Call is the event of a test, Matches the hooks that it would start.
	Call    []string `json:"call,omitempty"`
	Matches []Match  `json:"matches,omitempty"`
}

// Confirmation makes a change that was shown.
type Confirmation struct {
	ID     string `json:"id"`
	SHA256 string `json:"sha256"`
	Code   string `json:"code"`
}

// Done says what was done.
type Done struct {
	Text string `json:"text"`
	Hint string `json:"hint,omitempty"`
	// Backup is the copy of the file as it was.
	Backup string `json:"backup,omitempty"`
	// Undo is the file's id if the change can be undone, SHA256 what the file has now.
	Undo   string      `json:"undo,omitempty"`
	SHA256 string      `json:"sha256,omitempty"`
	Result *TestResult `json:"result,omitempty"`
}

// change is a change that was shown and not made yet.
type change struct {
	Preview
	code    string
	tries   int
	expires time.Time
	file    *File
	// after is the new text.
	after []byte
	apply func(context.Context) (*Done, error)
}

// written is what was written to a file: the digest of the text, and the text before.
type written struct {
	sha256 string
	before []byte
	// absent reports that there was no file.
	absent bool
	// off are the file's hooks that were switched off before.
	off offFile
}

// Limits of a change that was shown.
const (
	validFor = 10 * time.Minute
	maxTries = 3
	// maxSeconds is the longest time limit.
	maxSeconds = 86_400
)

// Preview computes a change and keeps it until it is made or another one is shown. The
// code, if it needs one, goes to the terminal.
func (e *Editor) Preview(ctx context.Context, r Request) (*Preview, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.shown = nil
	c := &change{expires: e.Catalog.Process.Now().Add(validFor), tries: maxTries}
	if err := e.prepare(ctx, c, r); err != nil {
		return nil, err
	}
	c.ID = rand.Text()
	if c.Code {
		text := rand.Text()
		c.code = text[:4] + "-" + text[4:8]
		e.Say(fmt.Sprintf("code %s allows this once: %s", c.code, hookfile.OneLine(c.What)))
	}
	e.shown = c
	p := c.Preview
	return &p, nil
}

// Apply makes the change that was shown.
func (e *Editor) Apply(ctx context.Context, r Confirmation) (*Done, error) {
	e.mu.Lock()
	c, err := e.confirmed(r)
	if err != nil || c.isTest() {
		e.mu.Unlock()
		if err != nil {
			return nil, err
		}
		return c.apply(ctx) // a test may take long, and changes nothing
	}
	defer e.mu.Unlock()
	done, err := c.apply(ctx)
	if err == nil {
		e.Say(hookfile.OneLine(done.Text))
	}
	return done, err
}

// isTest reports that the change is a test.
func (c *change) isTest() bool { return c.Call != nil }

// confirmed takes the change that was shown, if the request confirms it.
func (e *Editor) confirmed(r Confirmation) (*change, error) {
	c := e.shown
	switch {
	case c == nil || r.ID != c.ID || e.Catalog.Process.Now().After(c.expires):
		return nil, &Error{Stale, "this change is not shown any more: nothing was done", "look at the change again"}
	case r.SHA256 != c.SHA256:
		return nil, stale(c.Path)
	case c.Code && subtle.ConstantTimeCompare([]byte(plainCode(r.Code)), []byte(plainCode(c.code))) != 1:
		if c.tries--; c.tries <= 0 {
			e.shown = nil
			return nil, &Error{NoCode, "the code was wrong three times: nothing was done", "look at the change again for a new code"}
		}
		return nil, &Error{NoCode, "that is not the code for this change", "the terminal in which hookspan ui runs shows it"}
	}
	e.shown = nil
	return c, nil
}

func plainCode(s string) string {
	return strings.NewReplacer("-", "", " ", "").Replace(strings.ToUpper(s))
}

// prepare fills in the change.
func (e *Editor) prepare(ctx context.Context, c *change, r Request) error {
	catalog := e.Catalog
	if r.Kind == "test" {
		return e.prepareTest(ctx, c, r)
	}
	f, err := e.find(ctx, r.File)
	if err != nil {
		return err
	}
	c.file, c.Path, c.SHA256, c.Code = f, f.Path, f.SHA256, true
	if r.SHA256 != f.SHA256 {
		return stale(f.Path)
	}
	off, err := catalog.switchedOff()
	if err != nil {
		return err
	}
	switched := off.file(f.Path)
	before := off.file(f.Path)
	saveOff := false
	switch r.Kind {
	case "add":
		err = e.add(c, r)
	case "change":
		err = e.change(c, r)
	case "off":
		if c.after, err = switched.switchOff(f.text(), r.Hook, catalog.Process.Now()); err == nil {
			saveOff = true
			h := f.entries[r.Hook]
			c.What = "switch off " + catalog.describe(h.Handler, textOf(h))
		}
	case "on":
		if i := slices.IndexFunc(switched.Hooks, func(h offHook) bool { return h.ID == r.Off }); i >= 0 {
			h := switched.Hooks[i]
			c.What = "switch on " + catalog.describe(hookfile.Handler{Event: h.Event, Matcher: h.Matcher}, h.text())
		}
		c.after, err = switched.switchOn(f.text(), r.Off)
		saveOff = true
	case "undo":
		if err = e.undo(c); err == nil {
			switched, saveOff = e.before[f.Path].off, true
		}
	case "trust", "untrust":
		return e.trust(c, r.Kind == "trust")
	default:
		err = Refused("kind %q: want add, change, off, on, trust, untrust, undo or test", r.Kind)
	}
	if err != nil {
		return asRefusal(err)
	}
	if bytes.Equal(c.after, f.doc.Data) {
		return Refused("there is nothing to change")
	}
	c.What += ", in " + catalog.whole(f.Path)
	c.Diff = catalog.diff(f, c.after)
	c.apply = func(ctx context.Context) (*Done, error) {
		lock, err := catalog.lock(ctx)
		if err != nil {
			return nil, fmt.Errorf("another page changes hooks: nothing was written: %w", err)
		}
		defer func() { _ = lock.Close() }()
		saved := false
		done, err := e.write(ctx, c, r.Kind, func() error {
			if !saveOff {
				return nil
			}
			if now, err := catalog.switchedOff(); err != nil || !reflect.DeepEqual(now, off) {
				return stale(catalog.offPath())
			}
			saved = true
			return catalog.saveOff(off.with(switched))
		})
		switch last, ok := e.before[f.Path]; {
		case err != nil && saved:
			err = errors.Join(err, catalog.saveOff(off))
		case err == nil && ok:
			last.off = before
			e.before[f.Path] = last
		}
		return done, err
	}
	return nil
}

// asRefusal makes an error of the file's form one of the request.
func asRefusal(err error) error {
	var own *Error
	if err == nil || errors.As(err, &own) {
		return err
	}
	return Refused("%s", err)
}

// find reads the file with an id again, strictly as in File.open.
func (e *Editor) find(ctx context.Context, id string) (*File, error) {
	projects, _, _ := e.Catalog.survey(ctx)
	for _, f := range e.Catalog.files(projects) {
		if f.ID != id {
			continue
		}
		if !f.Editable {
			return nil, Refused("%s is not yours to change here: it is read only", f.Path)
		}
		if err := f.open(true); err != nil {
			return nil, &Error{Wrong, e.Catalog.Process.Clean(err.Error()), "fix the file first"}
		}
		return &f, nil
	}
	return nil, unknown("there is no such file in the list")
}

// undo prepares to write back what was there before the last change of a file.
func (e *Editor) undo(c *change) error {
	last, ok := e.before[c.file.Path]
	if !ok || last.sha256 != c.file.SHA256 {
		return &Error{Stale, "the last change of this page is not the last one of " + c.file.Path + ": nothing to undo", "the file as it was is beside it: " + c.file.doc.Backup()}
	}
	c.after, c.What = last.before, "undo the last change"
	return nil
}

// write makes the change. first is done just before the file is written.
func (e *Editor) write(ctx context.Context, c *change, kind string, first func() error) (*Done, error) {
	f, err := e.same(ctx, c)
	if err != nil {
		return nil, err
	}
	if err := first(); err != nil {
		return nil, err
	}
	done := &Done{Text: "done: " + c.What, Undo: f.ID, SHA256: digest(c.after)}
	last := e.before[f.Path]
	trusted := false
	switch {
	case kind == "undo" && last.absent:
		err = os.Remove(f.doc.Target)
	case f.NeedsTrust:
		trusted, err = f.doc.WriteTrusted(c.after, e.Catalog.Process.Setup().Trust, kind == "add")
	default:
		err = f.doc.Write(c.after)
	}
	if err != nil {
		return nil, err
	}
	if f.NeedsTrust && !trusted {
		done.Hint = "the file is not trusted, so its hooks do not run yet"
	}
	if f.Exists {
		done.Backup = f.doc.Backup()
	}
	if e.before == nil {
		e.before = make(map[string]written)
	}
	e.before[f.Path] = written{sha256: digest(c.after), before: f.doc.Data, absent: !f.Exists}
	if kind == "undo" {
		delete(e.before, f.Path)
		done.Undo = ""
	}
	return done, nil
}

// same reads the file of a change again, and refuses it if it is not as it was shown.
func (e *Editor) same(ctx context.Context, c *change) (*File, error) {
	f, err := e.find(ctx, c.file.ID)
	if err != nil {
		return nil, &Error{Stale, cmp.Or(err.Error(), c.Path) + ": nothing was written", "look at the change again"}
	}
	if f.SHA256 != c.SHA256 || f.Exists != c.file.Exists || f.doc.Target != c.file.doc.Target {
		return nil, stale(f.Path)
	}
	return f, nil
}

// trust prepares to trust the content of a project's file, or to stop that.
func (e *Editor) trust(c *change, on bool) error {
	f, list := c.file, e.Catalog.Process.Setup().Trust
	is := f.Exists && list.Trusted(f.Path, f.doc.Data)
	switch {
	case !f.NeedsTrust:
		return Refused("%s needs no trust", f.Path)
	case !f.Exists:
		return unknown("there is no such file")
	case on == is:
		return Refused("there is nothing to change")
	}
	if err := hookfile.CheckOwner(f.Path); err != nil {
		return Refused("%s", err)
	}
	c.What = "stop trusting " + e.Catalog.whole(f.Path)
	c.Diff = fmt.Sprintf("-%s trusted, SHA-256 %s\n", e.Catalog.whole(f.Path), f.SHA256)
	if on {
		c.What = "trust " + e.Catalog.whole(f.Path) + ": " + runs(f) + " in that project"
		c.Diff = "+" + c.Diff[1:]
		c.Diff += "\nwhat the file has:\n" + e.Catalog.shown(f)
	}
	c.apply = func(ctx context.Context) (*Done, error) {
		f, err := e.same(ctx, c)
		if err != nil {
			return nil, err
		}
		if on {
			err = list.Add(f.Path, f.doc.Data)
		} else {
			_, err = list.Remove(f.Path)
		}
		if err != nil {
			return nil, err
		}
		return &Done{Text: "done: " + c.What}, nil
	}
	return nil
}

func runs(f *File) string {
	if n := len(f.parsed.Handlers); n != 1 {
		return fmt.Sprintf("%d hooks run", n)
	}
	return "1 hook runs"
}
