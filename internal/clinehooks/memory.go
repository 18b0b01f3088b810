package clinehooks

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/clinehooks/hookfile"
	"github.com/hookspan/hookspan/internal/regular"
)

// claimsFor is how long events are marked as handled. Copies of one event arrive
// within a second.
const claimsFor = 5 * time.Minute

// maxPending bounds the texts that wait for an event that can carry them, in
// bytes; Cline cuts what is longer.
const maxPending = 50_000

// memory is what is kept between the events of one session, in one folder. Several
// hook processes of the session use it at once without a lock: each fact is a file
// that is created, removed or appended to in one step.
type memory struct {
	dir string
	now func() time.Time
}

// transcript is the session's conversation in Claude's form.
func (m memory) transcript() string { return filepath.Join(m.dir, "transcript.jsonl") }

// envFile is what hooks get as CLAUDE_ENV_FILE.
func (m memory) envFile() string { return filepath.Join(m.dir, "env") }

// pending is the folder of the texts for the model that wait for an event.
func (m memory) pending() string { return filepath.Join(m.dir, "pending") }

func (m memory) open() error { return os.MkdirAll(m.pending(), 0o700) }

// first marks a name and reports whether it was not marked before. On an error it
// reports true: a hook that runs twice does less harm than a guard that does not
// run.
func (m memory) first(name string) bool {
	f, err := os.OpenFile(filepath.Join(m.dir, name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return !errors.Is(err, fs.ErrExist)
	}
	_ = f.Close()
	return true
}

// claim reports whether this process is the one to run the hooks for the event
// with this payload.
func (m memory) claim(event string, payload []byte) bool {
	sum := sha256.Sum256(payload)
	if sum[31] < 8 {
		// For one event in 32, so that a long session does not keep all marks.
		m.forgetClaims()
	}
	return m.first("claim-" + safe(event) + "-" + hex.EncodeToString(sum[:12]))
}

// once reports whether a handler that runs once per session may run.
func (m memory) once(key string) bool {
	sum := sha256.Sum256([]byte(key))
	return m.first("once-" + hex.EncodeToString(sum[:12]))
}

// seen marks the session as started and reports whether it was before.
func (m memory) seen() bool { return !m.first("started") }

// continues records an event of this kind and reports whether the session had not
// ended before it.
func (m memory) continues(kind hook.Kind) bool {
	const name = "ended"
	if kind == hook.KindRunCancel || kind == hook.KindSessionEnd {
		return m.first(name)
	}
	_ = os.Remove(filepath.Join(m.dir, name))
	return true
}

// forgetClaims removes old marks of events.
func (m memory) forgetClaims() {
	entries, err := os.ReadDir(m.dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), "claim-") {
			continue
		}
		if info, err := e.Info(); err == nil && m.now().Sub(info.ModTime()) > claimsFor {
			_ = os.Remove(filepath.Join(m.dir, e.Name()))
		}
	}
}

// write appends rows to the transcript.
func (m memory) write(rows [][]byte) error {
	if len(rows) == 0 {
		return nil
	}
	f, _, err := regular.Open(m.transcript(), regular.Options{Flag: os.O_CREATE | os.O_APPEND | os.O_WRONLY, Perm: 0o600, NoLink: true})
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

// keep stores texts for an event that can carry them.
func (m memory) keep(texts []string) error {
	var errs []error
	for i, text := range texts {
		name := fmt.Sprintf("%020d-%03d-%s", m.now().UnixNano(), i, rand.Text()[:6])
		errs = append(errs, replace(filepath.Join(m.pending(), name), []byte(text)))
	}
	return errors.Join(errs...)
}

// take returns the stored texts, oldest first, and removes them. Each text goes to
// one process.
func (m memory) take() []string {
	entries, err := os.ReadDir(m.pending())
	if err != nil {
		return nil
	}
	var out []string
	size := 0
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			continue // it is being written
		}
		path := filepath.Join(m.pending(), e.Name())
		text, err := regular.Read(path, regular.Options{Max: hookfile.MaxSize, NoLink: true})
		if err != nil || len(out) > 0 && size+len(text) > maxPending || os.Remove(path) != nil {
			continue
		}
		size += len(text)
		out = append(out, string(text))
	}
	return out
}

// safe makes a part of a file's name.
func safe(s string) string {
	s = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, s)
	return s[:min(len(s), 40)]
}

// Sweep removes the memories of sessions without an event since a time.
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

// newest is when something in a folder last changed.
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
