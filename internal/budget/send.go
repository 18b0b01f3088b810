package budget

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/hookspan/hookspan/internal/files/atomicfile"
	"github.com/hookspan/hookspan/internal/files/filelock"
	"github.com/hookspan/hookspan/internal/files/regular"
)

// keep is how long a figure is kept after its period, patience how long another sender is waited for. Agents compute the
// end of a plan's window, with a jitter.
const keep, patience, jitter, version = 40 * 24 * time.Hour, 20 * time.Second, time.Minute, 1

// file has the figures of periods in which the budgets were looked at, each with its highest level so far.
type file struct {
	Version int      `json:"v"`
	Figures []Figure `json:"figures"`
}

// note adds what is used. A level never falls, as a sum does by a correction. What had ended before it was looked at is
// left out.
func (f *file) note(used []Figure, now time.Time) {
	f.Figures = slices.DeleteFunc(f.Figures, func(one Figure) bool { return now.Sub(one.Until) > keep })
	for _, u := range used {
		i := slices.IndexFunc(f.Figures, func(one Figure) bool {
			return one.of(u) && one.Plan == u.Plan && one.Until.Sub(u.Until).Abs() <= jitter
		})
		u.ID = rand.Text()
		switch {
		case i < 0 && u.Until.After(now):
			f.Figures = append(f.Figures, u)
		case i >= 0 && rank(u.Level) > rank(f.Figures[i].Level):
			u.Sent, f.Figures[i] = f.Figures[i].Sent, u
		}
	}
}

func (f *Figure) of(g Figure) bool { return f.Budget == g.Budget && f.Limit == g.Limit }

func rank(level string) int { return slices.Index([]string{"", "warn", "reached"}, level) }

// Send notes in a file what is used of the budgets, and posts the messages that are due until that fails. Other senders
// wait. What is due is noted before it is posted, and then that it was taken: a kill between costs the second note, and
// the message comes again with its id.
func Send(ctx context.Context, path string, used []Figure, now time.Time, post func(Figure) error) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	soon, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	lock, err := filelock.Folder(soon, filepath.Dir(path))
	if err != nil {
		return fmt.Errorf("wait for another delivery: %w", err)
	}
	defer func() { _ = lock.Close() }()
	before, err := regular.Read(path, regular.Options{Max: 1 << 20, NoLink: true})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var f file
	if json.Unmarshal(before, &f) != nil || f.Version != version {
		f = file{Version: version}
	}
	f.note(used, now)
	write := func() error {
		text, err := json.Marshal(f)
		if err != nil || bytes.Equal(text, before) {
			return err
		}
		return atomicfile.Write(path, text, atomicfile.Options{})
	}
	err = write()
	for i := 0; i < len(f.Figures) && err == nil; i++ {
		one := &f.Figures[i]
		if rank(one.Level) <= rank(one.Sent) || !slices.ContainsFunc(used, one.of) {
			continue
		}
		err = post(*one)
		if err == nil {
			one.Sent = one.Level
			err = write()
		}
	}
	return err
}
