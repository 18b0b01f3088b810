// Package planlimits keeps what agents say of their users' plans in one file to which several processes
// add at once: each change for a day, and the most that was used of a window in each hour for a year.
// See FORMAT.md.
//
// It promises that each of these is in the file once, even if several processes note it several
// times, and that the file never exceeds 4 MiB. It does not promise that a change survives a power
// cut.
package planlimits

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/files/atomicfile"
	"github.com/hookspan/hookspan/internal/files/filelock"
	"github.com/hookspan/hookspan/internal/files/regular"
)

const (
	// keep is how long the last line of an hour is kept, and every how long any, after which a day may pass.
	keep, every, day = 365 * 24 * time.Hour, 24 * time.Hour, 24 * time.Hour
	// maxSize is the largest size of the file, in bytes.
	maxSize = 4 << 20
	// maxEnd is how much of each end is read in the ordinary case, in bytes.
	maxEnd  = 8 << 10
	version = 1
	// patience is how long another process that notes something is waited for.
	patience = time.Second
)

// File is where the changes are kept.
type File struct {
	// Path is the file; empty keeps nothing.
	Path string
	// Now is the clock. It must not be nil where there is a path.
	Now func() time.Time
}

// line is a line of the file. Its time comes first, always as long: what follows says what changed.
type line struct {
	At      time.Time `json:"at"`
	Version int       `json:"v"`
	Agent   string    `json:"agent"`
	Minutes int64     `json:"minutes"`
	Used    float64   `json:"used"`
	Resets  time.Time `json:"resets"`
}

const begin, toHour, timed = `{"at":"`, len(`{"at":"2026-11-20T11`), len(`{"at":"2026-11-20T11:59:21Z`)

// period is from when on lines are kept: one of each hour, and every one.
type period struct{ from, every []byte }

// period is what is kept at a time before now.
func (f File) period(before time.Duration) period {
	at := func(ago time.Duration) []byte {
		return []byte(begin + f.Now().Add(-ago-before).UTC().Format(time.RFC3339))
	}
	return period{at(keep), at(every)}
}

// most are the largest shares that lines before a time say of a window in an hour.
type most map[string]float64

// of returns what a line is of, and the share in it.
func (p period) of(line []byte) (key string, used float64, ok bool) {
	if len(line) < timed || bytes.Compare(line, p.every) >= 0 {
		return "", 0, false
	}
	about, rest, _ := bytes.Cut(line[timed:], []byte(`,"used":`))
	share, resets, ok := bytes.Cut(rest, []byte(`,"resets":`))
	used, err := strconv.ParseFloat(string(share), 64)
	return string(line[:toHour]) + string(about) + string(resets), used, ok && err == nil
}

func (p period) most(text []byte) most {
	m := make(most)
	for l := range bytes.Lines(text) {
		if key, used, ok := p.of(l); ok {
			m[key] = max(m[key], used)
		}
	}
	return m
}

// Note keeps those of an agent's limits that are not yet in the file, and removes what is too old.
func (f File) Note(host string, all []hook.Limit) error {
	if f.Path == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	err := os.MkdirAll(filepath.Dir(f.Path), 0o700)
	if err == nil {
		err = f.note(ctx, host, all)
	}
	if err != nil {
		return fmt.Errorf("note limits: %w", err)
	}
	return nil
}

func (f File) note(ctx context.Context, host string, all []hook.Limit) error {
	// Most of what agents say is there already, at the end. Others may hold the lock for long.
	if len(all) > 0 && f.settled(f.ends(), host, all) {
		return nil
	}
	text, err := f.read()
	if err == nil && f.settled(text, host, all) {
		return nil
	}
	lock, err := filelock.Folder(ctx, filepath.Dir(f.Path))
	if err != nil {
		return err
	}
	defer func() { _ = lock.Close() }()
	text, err = f.read()
	if err != nil || f.settled(text, host, all) {
		return err
	}
	more := f.added(text, host, all)
	joined := append(f.period(0).kept(text), more...)
	if f.old(text) || f.old(joined) || len(joined) > maxSize {
		kept := f.period(0).kept(joined)
		if over := len(kept) - maxSize/2; len(kept) > maxSize {
			kept = kept[over+bytes.IndexByte(kept[over:], '\n')+1:]
		}
		return atomicfile.Write(f.Path, kept, atomicfile.Options{Sync: atomicfile.SyncNone})
	}
	file, _, err := regular.Open(f.Path, regular.Options{Flag: os.O_WRONLY | os.O_APPEND | os.O_CREATE, Perm: 0o600, NoLink: true})
	if err != nil {
		return err
	}
	_, err = file.Write(more)
	return errors.Join(err, file.Close())
}

// settled reports that a text needs no change for limits.
func (f File) settled(text []byte, host string, all []hook.Limit) bool {
	return !f.old(text) && len(f.added(text, host, all)) == 0
}

// old reports that a text has lines that are no longer kept, or damaged ones.
func (f File) old(text []byte) bool {
	return len(f.period(day).kept(text)) < len(text)
}

// read returns the file's text, which is empty if there is none.
func (f File) read() ([]byte, error) {
	text, err := regular.Read(f.Path, regular.Options{Max: maxSize, NoLink: true})
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return text, err
}

// ends returns the first and the last lines of a long file. It is empty for another file.
func (f File) ends() (text []byte) {
	file, info, err := regular.Open(f.Path, regular.Options{NoLink: true})
	if err != nil {
		return nil
	}
	defer func() { _ = file.Close() }() // read only
	var first, last [maxEnd]byte
	_, err = file.ReadAt(first[:], 0)
	_, err2 := file.ReadAt(last[:], info.Size()-maxEnd)
	if errors.Join(err, err2) != nil {
		return nil
	}
	return append(first[:bytes.LastIndexByte(first[:], '\n')+1], last[bytes.IndexByte(last[:], '\n')+1:]...)
}

// added returns the lines of limits that are kept and that a text lacks.
func (f File) added(text []byte, host string, all []hook.Limit) (more []byte) {
	said := make(map[string]bool)
	for l := range strings.Lines(string(text)) {
		said[l[min(timed, len(l)):]] = true
	}
	p := f.period(0)
	known := p.most(text)
	for _, l := range all {
		b, _ := json.Marshal(line{l.At, version, host, int64(l.Window / time.Minute), l.Used, l.Resets}) // cannot fail
		b = append(b, '\n')
		key, used, late := p.of(b)
		if most, is := known[key]; late && is && used <= most || bytes.Compare(b, p.from) < 0 {
			continue
		}
		if what := string(b[timed:]); !said[what] {
			said[what] = true
			more = append(more, b...)
		}
	}
	return more
}

// kept returns the lines of a text that are kept, without those that were cut off by a kill.
func (p period) kept(text []byte) (kept []byte) {
	known := p.most(text)
	for l := range bytes.Lines(text) {
		key, used, late := p.of(l)
		if !bytes.HasPrefix(l, []byte(begin)) || bytes.Compare(l, p.from) < 0 || l[len(l)-1] != '\n' || late && used < known[key] {
			continue
		}
		kept = append(kept, l...)
	}
	return kept
}

// ByHost returns the limits in the file by the agents' hosts. What is damaged is left out.
func (f File) ByHost() (map[string][]hook.Limit, error) {
	text, err := f.read()
	if err != nil {
		return nil, fmt.Errorf("read limits: %w", err)
	}
	all := make(map[string][]hook.Limit)
	for raw := range bytes.Lines(text) {
		var l line
		if json.Unmarshal(raw, &l) != nil || l.Version != version || l.Minutes > int64(keep/time.Minute) {
			continue
		}
		if limit, ok := hook.NewLimit(l.At, time.Duration(l.Minutes)*time.Minute, l.Used, float64(l.Resets.Unix())); ok {
			all[l.Agent] = append(all[l.Agent], limit)
		}
	}
	return all, nil
}
