package transcript

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/files/regular"
)

// Limits of one reading of a session. The files are the agents', and their
// content was written by models, tools and web pages. Real transcripts have up
// to some hundred megabytes, of which a delivery reads what is new.
const (
	// DefaultMaxBytes bounds what is read in all, in bytes.
	DefaultMaxBytes = 1 << 30
	// DefaultMaxTime bounds how long reading takes.
	DefaultMaxTime = 30 * time.Second
	// maxStreamBytes bounds one file that Stream reads.
	maxStreamBytes = 512 << 20
	// maxSmallBytes bounds one file that Small reads, into memory.
	maxSmallBytes = 64 << 20
)

// PendingAge is how long after a session's last row its files may still be
// behind. A session whose agent was killed looks unfinished for ever.
const PendingAge = 10 * time.Minute

// ErrBeyond is wrapped by errors that say which part of a session's files was
// left out because it is beyond a limit.
var ErrBeyond = errors.New("left out")

// Files finds and reads agents' files. Its methods may be called from several
// goroutines; the fields must not change meanwhile.
//
// An agent's functions get a Files in which Getenv, GOOS, Sleep and Now are set.
type Files struct {
	// Home is the user's home directory. If empty, only places named by the
	// environment are searched.
	Home string
	// Getenv returns a variable of the environment the agent ran in, such as
	// os.Getenv. If nil, no variable is set.
	Getenv func(string) string
	// GOOS decides where editors keep their files. If empty, runtime.GOOS.
	GOOS string
	// MaxBytes bounds what one reading of a session reads in all. If zero,
	// DefaultMaxBytes.
	MaxBytes int64
	// MaxTime bounds how long one reading takes. If zero, DefaultMaxTime.
	MaxTime time.Duration
	// Sleep waits between two readings of a file that was being written; it
	// returns early with the context's error. If nil, a timer.
	Sleep func(ctx context.Context, d time.Duration) error
	// Now is the wall clock, used only to tell a request under way from one
	// that never ended. If nil, time.Now.
	Now func() time.Time
	// Facts are what is known of the files from an earlier listing. If nil, nothing is.
	Facts *Facts

	// left is how many bytes may still be read; nil for any number.
	left *int64
	// unread gathers what one reading could not read; nil to drop it.
	unread *[]hook.Unread
	// memory is what Recall keeps; nil for nothing.
	memory *sync.Map
}

// Remember returns files of which Recall keeps what it was given, for reading many
// sessions at once.
func (f *Files) Remember() *Files {
	d := *f
	d.memory = new(sync.Map)
	return &d
}

// Remembers reports that Recall keeps what it is given.
func (f *Files) Remembers() bool { return f.memory != nil }

// Recall returns what find, whose reading has no limit, found for a key before, or finds
// it. The result must not be changed.
func Recall[T any](f *Files, key any, find func(*Files) T) T {
	free := *f
	free.left = nil
	if f.memory == nil {
		return find(&free)
	}
	found, _ := f.memory.LoadOrStore(key, sync.OnceValue(func() T { return find(&free) }))
	return found.(func() T)()
}

func (f *Files) withDefaults() *Files {
	d := *f
	if d.Getenv == nil {
		d.Getenv = func(string) string { return "" }
	}
	d.GOOS = cmp.Or(d.GOOS, runtime.GOOS)
	if d.Sleep == nil {
		d.Sleep = Sleep
	}
	if d.Now == nil {
		d.Now = time.Now
	}
	return &d
}

// Sleep waits, or returns the context's error once that ends.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// limited calls read with Files and a context that end at the limits of one
// reading.
func (f *Files) limited(ctx context.Context, session string, read func(context.Context, *Files) error) error {
	if err := CheckID("session id", session); err != nil {
		return err
	}
	f = f.withDefaults()
	f.left, f.unread = new(cmp.Or(f.MaxBytes, DefaultMaxBytes)), new([]hook.Unread)
	limit := cmp.Or(f.MaxTime, DefaultMaxTime)
	late := fmt.Errorf("%w: what could not be read within %s", ErrBeyond, limit)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, late)
	defer cancel()
	err := read(ctx, f)
	if err != nil && errors.Is(context.Cause(ctx), late) {
		return fmt.Errorf("%w (%w)", late, err)
	}
	return err
}

// File is an open file of an agent's. Reading it ends with an error at a limit.
type File struct {
	ctx  context.Context
	file *os.File
	info os.FileInfo
	// left is how many bytes may still be read; nil for any number.
	left *int64
}

// here reports whether a path that another program wrote may be opened: an absolute one
// on this machine. A relative one would be a project's file, and Windows sends the user's
// credentials to the server of a path such as \\server\share, unless home is there.
func (f *Files) here(path string) bool {
	volume := filepath.VolumeName(path)
	return filepath.IsAbs(path) && (!strings.HasPrefix(filepath.ToSlash(volume), "//") || strings.EqualFold(volume, filepath.VolumeName(f.Home)))
}

// Open opens a file of up to maxBytes bytes, or of any size if maxBytes is zero. The path
// must be an absolute one on this machine.
func (f *Files) Open(ctx context.Context, path string, maxBytes int64) (*File, error) {
	if !f.here(path) {
		return nil, fmt.Errorf("read %q: %w: found another path, want an absolute one on this machine", path, ErrBeyond)
	}
	// A settings folder often is a link, and so may be what is in it.
	file, info, err := regular.Open(path, regular.Options{Max: maxBytes})
	if err != nil {
		return nil, ReadError(path, err)
	}
	return &File{ctx: ctx, file: file, info: info, left: f.left}, nil
}

// Size is the file's size when it was opened, in bytes.
func (s *File) Size() int64 { return s.info.Size() }

// Half returns a view of the file that ends when half of the bytes that may be
// read is used up. settle takes from s what the view has used.
func (s *File) Half() (view *File, settle func()) {
	if s.left == nil {
		return s, func() {}
	}
	part := *s.left / 2
	h := *s
	h.left = new(part)
	return &h, func() { *s.left -= part - *h.left }
}

// Read implements io.Reader.
func (s *File) Read(p []byte) (int, error) { return s.limited(p, s.file.Read) }

// ReadAt implements io.ReaderAt.
func (s *File) ReadAt(p []byte, at int64) (int, error) {
	return s.limited(p, func(p []byte) (int, error) { return s.file.ReadAt(p, at) })
}

func (s *File) limited(p []byte, read func([]byte) (int, error)) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	if s.left == nil {
		return read(p)
	}
	whole := len(p)
	p = p[:min(int64(whole), *s.left)]
	var n int
	var err error
	if len(p) > 0 {
		n, err = read(p)
		*s.left -= int64(n)
	}
	if err == nil && n == len(p) && len(p) < whole {
		err = fmt.Errorf("%w: what is beyond the limit for one reading of a session", ErrBeyond)
	}
	return n, err
}

// Close closes the file.
func (s *File) Close() error { return s.file.Close() }

// ReadError returns err with the path of the file that could not be read.
func ReadError(path string, err error) error {
	var other *regular.Error
	if errors.As(err, &other) {
		return fmt.Errorf("read %q: %w: found %s, want %s", path, ErrBeyond, other.Found, other.Want)
	}
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("read %q: %w", path, ErrNotFound)
	}
	return fmt.Errorf("read %q: %w", path, err)
}
