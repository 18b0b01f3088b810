package hooksession

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/hook/cline"
	"github.com/hookspan/hookspan/internal/files/atomicfile"
	"github.com/hookspan/hookspan/internal/files/regular"
	"github.com/hookspan/hookspan/spool"
)

// maxPending bounds the texts that wait for an event that can carry them, in
// bytes; Cline cuts what is longer.
const maxPending = 50_000

// maxText is the largest waiting text that is read, in bytes.
const maxText = 4 << 20

// Session is what is kept between the events of one session, in one folder. Several
// hook processes of the session use it at once without a lock: each fact is a file
// that is created, removed or appended to in one step.
type Session struct {
	dir string
	now func() time.Time
}

// At returns a session of Cline, below the folder for all sessions. Open makes its
// folder.
func At(dir, session string, now func() time.Time) Session {
	k := spool.SessionKey(hook.HostCline, session)
	return Session{dir: filepath.Join(dir, k.Host, k.Name), now: now}
}

// Transcript is the session's conversation in Claude's form.
func (s Session) Transcript() string { return filepath.Join(s.dir, "transcript.jsonl") }

// EnvFile is what hooks get as CLAUDE_ENV_FILE.
func (s Session) EnvFile() string { return filepath.Join(s.dir, "env") }

// pending is the folder of the texts for the model that wait for an event.
func (s Session) pending() string { return filepath.Join(s.dir, "pending") }

// Open makes the session's folder.
func (s Session) Open() error { return os.MkdirAll(s.pending(), 0o700) }

// Remove removes everything that is kept of the session.
func (s Session) Remove() error { return os.RemoveAll(s.dir) }

// first marks a name and reports whether it was not marked before. On an error it
// reports true: a hook that runs twice does less harm than a guard that does not
// run.
func (s Session) first(name string) bool {
	f, err := os.OpenFile(filepath.Join(s.dir, name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return !errors.Is(err, fs.ErrExist)
	}
	_ = f.Close()
	return true
}

// Seen marks the session as started and reports whether it was before.
func (s Session) Seen() bool { return !s.first("started") }

// Continues records an event of this kind and reports whether the session had not
// ended before it.
func (s Session) Continues(kind hook.Kind) bool {
	const name = "ended"
	if kind == hook.KindRunCancel || kind == hook.KindSessionEnd {
		return s.first(name)
	}
	_ = os.Remove(filepath.Join(s.dir, name))
	return true
}

// Write appends rows to the transcript.
func (s Session) Write(rows [][]byte) error {
	if len(rows) == 0 {
		return nil
	}
	f, _, err := regular.Open(s.Transcript(), regular.Options{Flag: os.O_CREATE | os.O_APPEND | os.O_WRONLY, Perm: 0o600, NoLink: true})
	if err != nil {
		return err
	}
	var b []byte
	for _, row := range rows {
		b = append(append(b, row...), '\n')
	}
	_, err = f.Write(b)
	return errors.Join(err, f.Close())
}

// Keep stores texts for an event that can carry them.
func (s Session) Keep(texts []string) error {
	var errs []error
	for i, text := range texts {
		name := fmt.Sprintf("%020d-%03d-%s", s.now().UnixNano(), i, rand.Text()[:6])
		errs = append(errs, Replace(filepath.Join(s.pending(), name), []byte(text)))
	}
	return errors.Join(errs...)
}

// Take returns the stored texts, oldest first, and removes them. Each text goes to
// one process.
func (s Session) Take() []string {
	entries, err := os.ReadDir(s.pending())
	if err != nil {
		return nil
	}
	var out []string
	size := 0
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			continue // it is being written
		}
		path := filepath.Join(s.pending(), e.Name())
		text, err := regular.Read(path, regular.Options{Max: maxText, NoLink: true})
		if err != nil || len(out) > 0 && size+len(text) > maxPending || os.Remove(path) != nil {
			continue
		}
		size += len(text)
		out = append(out, string(text))
	}
	return out
}

// Waits reports whether a text may wait for an event that can carry it.
func (s Session) Waits() bool {
	entries, err := os.ReadDir(s.pending())
	return err != nil || len(entries) > 0
}

// Replace replaces a file that can be lost, and makes its folder.
func Replace(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return atomicfile.Write(path, data, atomicfile.Options{Sync: atomicfile.SyncNone})
}

// Sweep removes the folders of sessions that have not changed since before.
func Sweep(dir string, before time.Time) error {
	hosts, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var errs []error
	for _, host := range hosts {
		if !host.IsDir() {
			continue
		}
		sessions, err := os.ReadDir(filepath.Join(dir, host.Name()))
		errs = append(errs, err)
		for _, s := range sessions {
			path := filepath.Join(dir, host.Name(), s.Name())
			if last, ok := newest(path); ok && last.Before(before) {
				errs = append(errs, os.RemoveAll(path))
			}
		}
	}
	return errors.Join(append(errs, err)...)
}

// newest returns the latest modification time of a folder and its entries.
func newest(dir string) (time.Time, bool) {
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() {
		return time.Time{}, false
	}
	last := info.ModTime()
	entries, err := os.ReadDir(dir)
	if err != nil {
		return time.Time{}, false
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.ModTime().After(last) {
			last = info.ModTime()
		}
	}
	return last, true
}

// Dir is the folder for all sessions below the state folder, empty without one.
func Dir(stateDir string) string {
	if stateDir == "" {
		return ""
	}
	return filepath.Join(stateDir, "hooks")
}

// The programs that run hooks.
const (
	// Own is the hook process itself, which runs plain hooks.
	Own = "cline-hook"
	// Small runs command hooks. It links little, so that it starts fast.
	Small = "hook-runner"
	// Full runs all hooks.
	Full = "hookspan"
)

// Program returns the program that runs the hooks for an event of Cline. It is empty if
// no hook of the files can run and the answer is the neutral one. The event is then kept
// for the session's next event that starts a program, since hooks can read the whole
// conversation. In any doubt it is Full, which decides. guards reports that the event is
// denied if its hooks cannot be run: it is never Own then, since nothing denies for the
// hook process if that is killed.
func Program(raw hook.Raw, stateDir, trusted string, own, projects []string, guards bool, now func() time.Time) string {
	dir := Dir(stateDir)
	events, err := cline.DecodeCalls(raw)
	if dir == "" || err != nil || len(events) == 0 {
		return Full
	}
	ev := &events[0]
	tool := ""
	if ev.Tool != nil {
		tool = ev.Tool.Name
	}
	var files []File
	for _, path := range own {
		files = append(files, File{Path: path})
	}
	for _, path := range projects {
		files = append(files, File{Path: path, Project: true, Trust: trusted})
	}
	need := Nothing
	for _, f := range files {
		need = max(need, f.Need(dir, ev.Kind, tool))
	}
	switch {
	case need == Plain && !guards:
		return Own
	case need == Plain, need == Commands:
		return Small
	case need == Everything:
		return Full
	}
	s := At(dir, ev.Session, now)
	// A text that a hook left for the model goes with a call.
	waits := (ev.Kind == hook.KindToolStart || ev.Kind == hook.KindToolEnd) && s.Waits()
	if waits || s.Postpone(raw) != nil {
		return Full
	}
	return ""
}
