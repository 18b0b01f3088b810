package hooks

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/hookspan/hookspan/internal/files/atomicfile"
	"github.com/hookspan/hookspan/internal/files/filelock"
	"github.com/hookspan/hookspan/internal/files/regular"
	"github.com/hookspan/hookspan/internal/jsonedit"
	"github.com/hookspan/hookspan/internal/userhooks/hookfile"
)

// SwitchedOff is a hook that was taken out of its file and can be put back.
type SwitchedOff struct {
	ID      string    `json:"id"`
	Event   string    `json:"event"`
	Matcher string    `json:"matcher"`
	Text    string    `json:"text"`
	Since   time.Time `json:"since"`
}

// offList is what is remembered of hooks that are switched off: JSON has no comments,
// so they are not in their files. Only the user can read it.
type offList struct {
	Version int       `json:"version"`
	Files   []offFile `json:"files"`
}

const offVersion = 1

// offFile are the hooks of one file.
type offFile struct {
	Path string `json:"path"`
	// SHA256 is that of the file's text without the hooks. As long as the file has it,
	// Gaps filled give the text with those hooks that have a place.
	SHA256 string         `json:"sha256"`
	Gaps   []jsonedit.Gap `json:"gaps"`
	Hooks  []offHook      `json:"hooks"`
}

type offHook struct {
	ID      string    `json:"id"`
	Event   string    `json:"event"`
	Matcher string    `json:"matcher"`
	Raw     string    `json:"raw"`
	Since   time.Time `json:"since"`
	// Place is its index among the hooks of the whole text, -1 if it has none any more.
	Place int `json:"place"`
}

func (c *Catalog) offPath() string {
	return filepath.Join(c.Process.Config.StateDir, "ui", "hooks-off.json")
}

// switchedOff reads the list. One that cannot be read is an error: to write it would
// lose hooks.
func (c *Catalog) switchedOff() (offList, error) {
	out := offList{Version: offVersion}
	data, err := regular.Read(c.offPath(), regular.Options{Max: hookfile.MaxSize})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return out, nil
	case err == nil:
		err = json.Unmarshal(data, &out)
	}
	if err == nil && out.Version != offVersion {
		err = fmt.Errorf("version %d, this hookspan reads %d", out.Version, offVersion)
	}
	if err != nil {
		return offList{Version: offVersion}, fmt.Errorf("list of hooks that are switched off %q: %w", c.offPath(), err)
	}
	return out, nil
}

func (c *Catalog) saveOff(l offList) error {
	l.Files = slices.DeleteFunc(slices.Clone(l.Files), func(f offFile) bool { return len(f.Hooks) == 0 })
	data, err := json.Marshal(l)
	switch {
	case err != nil:
	case len(data) > hookfile.MaxSize:
		err = errors.New("too many hooks are switched off: switch some on, or remove their file " + c.offPath())
	default:
		err = atomicfile.Write(c.offPath(), data, atomicfile.Options{})
	}
	if err != nil {
		return fmt.Errorf("list of hooks that are switched off: %w", err)
	}
	return nil
}

// lockTime is how long to wait for another page's change.
const lockTime = 5 * time.Second

// lock keeps other pages from changing hooks.
func (c *Catalog) lock(ctx context.Context) (io.Closer, error) {
	dir := filepath.Dir(c.offPath())
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, lockTime)
	defer cancel()
	return filelock.Folder(ctx, dir)
}

func (l *offList) file(path string) offFile {
	if i := slices.IndexFunc(l.Files, func(f offFile) bool { return f.Path == path }); i >= 0 {
		f := l.Files[i]
		f.Hooks, f.Gaps = slices.Clone(f.Hooks), slices.Clone(f.Gaps)
		return f
	}
	return offFile{Path: path}
}

// with is the list with another entry for a file.
func (l *offList) with(f offFile) offList {
	out := offList{Version: offVersion, Files: slices.DeleteFunc(slices.Clone(l.Files), func(have offFile) bool { return have.Path == f.Path })}
	out.Files = append(out.Files, f)
	return out
}

// of are the hooks of a file that are switched off. Those that are in the file again,
// put back by hand or by an undo, are not among them.
func (l *offList) of(f *File, clean func(string) string) (out []SwitchedOff) {
	for _, h := range l.file(f.Path).present(f.entries) {
		out = append(out, SwitchedOff{h.ID, h.Event, clean(h.Matcher), clean(h.text()), h.Since})
	}
	return out
}

// SwitchedOff are the hooks of Cline's file at a path that are switched off, without
// secrets.
func (c *Catalog) SwitchedOff(path string) ([]SwitchedOff, error) {
	off, err := c.switchedOff()
	if err != nil || len(off.file(path).Hooks) == 0 {
		return nil, err
	}
	f := File{Path: path, Agent: agentCline}
	if err := f.open(false); err != nil {
		f.entries = nil // All of them are shown.
	}
	return off.of(&f, c.Process.Clean), nil
}

// present are the hooks without those that are in the file.
func (f offFile) present(entries []hookfile.Entry) []offHook {
	return slices.DeleteFunc(f.Hooks, func(h offHook) bool {
		return slices.ContainsFunc(entries, func(e hookfile.Entry) bool {
			return e.Event == h.Event && e.Matcher == h.Matcher && bytes.Equal(compact(e.Raw), compact([]byte(h.Raw)))
		})
	})
}

func compact(raw []byte) []byte {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return raw
	}
	return b.Bytes()
}

// text is what the hook runs.
func (h offHook) text() string {
	text, err := hookfile.Text{Claude: true}.Insert(h.Event, h.Matcher, []byte(h.Raw))
	if err == nil {
		if entries, err := (hookfile.Text{Data: text, Claude: true}).Entries(); err == nil && len(entries) == 1 {
			return textOf(entries[0])
		}
	}
	return h.Raw
}

// loosen takes the places of all hooks.
func (f *offFile) loosen() {
	f.Gaps, f.SHA256 = nil, ""
	for i := range f.Hooks {
		f.Hooks[i].Place = -1
	}
}

// whole is the text with all hooks that have a place. A text that has changed since
// has none of them.
func (f *offFile) whole(now hookfile.Text) hookfile.Text {
	if f.SHA256 == digest(now.Data) {
		if filled, ok := jsonedit.Fill(now.Data, f.Gaps); ok {
			now.Data = filled
			return now
		}
	}
	f.loosen()
	return now
}

// places are the indexes of the hooks that have one.
func (f *offFile) places() (out []int) {
	for _, h := range f.Hooks {
		if h.Place >= 0 {
			out = append(out, h.Place)
		}
	}
	slices.Sort(out)
	return out
}

// cut takes the hooks that have a place out of the whole text.
func (f *offFile) cut(whole hookfile.Text) ([]byte, error) {
	out, gaps, err := whole.Cut(f.places())
	f.Gaps, f.SHA256 = gaps, digest(out)
	return out, err
}

// switchOff takes the hook with an index out of the text.
func (f *offFile) switchOff(now hookfile.Text, index int, at time.Time) ([]byte, error) {
	whole := f.whole(now)
	taken := f.places()
	place := index
	for _, p := range taken {
		if p <= place {
			place++
		}
	}
	entries, err := whole.Entries()
	if err != nil {
		return nil, err
	}
	if index < 0 || place >= len(entries) {
		return nil, unknown("there is no such hook in the file")
	}
	e := entries[place]
	f.Hooks = append(f.Hooks, offHook{rand.Text(), e.Event, e.Matcher, string(e.Raw), at, place})
	return f.cut(whole)
}

// switchOn puts a hook back: where it was, or if the file has changed since, behind the
// others of its event and matcher.
func (f *offFile) switchOn(now hookfile.Text, id string) ([]byte, error) {
	i := slices.IndexFunc(f.Hooks, func(h offHook) bool { return h.ID == id })
	if i < 0 {
		return nil, unknown("this hook is not switched off")
	}
	whole := f.whole(now)
	h := f.Hooks[i]
	f.Hooks = slices.Delete(f.Hooks, i, i+1)
	if h.Place >= 0 {
		return f.cut(whole)
	}
	f.loosen()
	return now.Insert(h.Event, h.Matcher, []byte(h.Raw))
}
