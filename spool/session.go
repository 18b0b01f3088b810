package spool

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"
)

// Session is one session's folder. Its methods are safe for concurrent use; those
// that change the folder require the lock of TryLock or Lock. After a successful
// Remove they fail with fs.ErrNotExist.
type Session struct {
	key     Key
	path    string
	host    *os.Root
	dir     *os.Root
	removed atomic.Bool
}

// Key returns the session's key.
func (s *Session) Key() Key { return s.key }

// Close closes the folder. It releases no lock.
func (s *Session) Close() error { return errors.Join(s.dir.Close(), s.host.Close()) }

// wrap adds to an error what failed.
func (s *Session) wrap(err *error, what string) {
	if *err != nil {
		*err = fmt.Errorf("%s session %s of spool %q: %w", what, s.key, s.path, *err)
	}
}

// TryLock takes the session's lock of that name, one for each destination, so that
// only the caller delivers there. ok is false if the lock is held, in this process
// or another; unlock or the end of the process releases it. Where files cannot be
// locked, every caller gets the lock. Appending needs no such lock and does not wait for
// it. Names are as in WriteFile.
func (s *Session) TryLock(name string) (unlock func() error, ok bool, err error) {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	unlock, err = s.Lock(ended, name)
	if errors.Is(err, context.Canceled) {
		return nil, false, nil
	}
	return unlock, err == nil, err
}

// Lock is TryLock that waits until the lock is free. If ctx ends first, the error
// wraps that of ctx.
func (s *Session) Lock(ctx context.Context, name string) (release func() error, err error) {
	defer s.wrap(&err, "lock")
	if err := validState(name); err != nil {
		return nil, err
	}
	name += lockSuffix
	for range attempts {
		if s.removed.Load() {
			return nil, fs.ErrNotExist
		}
		f, _, err := openFile(s.dir, name, os.O_RDWR, true)
		if err != nil {
			return nil, err
		}
		if err := waitLock(ctx, f, true); err != nil && !errors.Is(err, errNoLocks) {
			return nil, errors.Join(err, f.Close())
		}
		release = func() error {
			_ = unlock(f) // Closing the file does so too, unless a program that is just being started has it.
			return f.Close()
		}
		// The former holder of the lock may have removed the session.
		named, err := isNamed(s.dir, name, f)
		if named {
			return release, nil
		}
		if err := errors.Join(err, release()); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("%s: %w", name, errMoved)
}

// Sync makes the log's content, its name and the names of the folders above it
// survive a power cut. Without a log it does nothing.
func (s *Session) Sync() (err error) {
	defer s.wrap(&err, "sync")
	f, _, err := openFile(s.dir, logName, syncMode, false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(syncData(f), f.Close(), syncDir(s.dir), syncDir(s.host), SyncAbove(filepath.Join(s.path, s.key.Host)))
}

// Size returns the log's size in bytes, 0 without a log.
func (s *Session) Size() (size int64, err error) {
	defer s.wrap(&err, "size of")
	fi, err := lstat(s.dir, logName)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return fi.Size(), checkFile(fi)
}

// HasLog reports whether there is a log, which may be empty.
func (s *Session) HasLog() (ok bool, err error) {
	defer s.wrap(&err, "find the log of")
	if _, err = lstat(s.dir, logName); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// ModTime returns the time of the last append, or of the folder's last change if
// there is no log.
func (s *Session) ModTime() (at time.Time, err error) {
	defer s.wrap(&err, "time of")
	fi, err := lstat(s.dir, logName)
	if errors.Is(err, fs.ErrNotExist) {
		fi, err = lstat(s.dir, ".")
	}
	if err != nil {
		return time.Time{}, err
	}
	return fi.ModTime(), nil
}

// Reader returns a Reader of the log from an offset on: 0, a Record's End or a
// Reader's Offset. For an offset behind the end the error wraps ErrPastEnd. Without
// a log a Reader from 0 finds nothing. The caller closes it.
func (s *Session) Reader(offset int64) (r *Reader, err error) {
	defer s.wrap(&err, "read")
	if offset < 0 {
		return nil, fmt.Errorf("offset %d is negative", offset)
	}
	f, _, err := openFile(s.dir, logName, os.O_RDONLY, false)
	if errors.Is(err, fs.ErrNotExist) {
		if offset > 0 {
			return nil, fmt.Errorf("%w: offset %d, no log", ErrPastEnd, offset)
		}
		return newReader(bytes.NewReader(nil), 0, func() error { return nil }), nil
	}
	if err != nil {
		return nil, err
	}
	fi, err := f.Stat()
	if err == nil && offset > fi.Size() {
		err = fmt.Errorf("%w: offset %d, size %d", ErrPastEnd, offset, fi.Size())
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return newReader(f, offset, f.Close), nil
}

// checked is how much of the log before an offset Check reads, a block of most file
// systems.
const checked = 4096

// Check returns a checksum of the last bytes of the log before an offset, as 8 hex
// digits. If it has changed, the log was cut, such as by a power cut, and has grown
// again: the offset is no longer valid.
func (s *Session) Check(offset int64) (sum string, err error) {
	r, err := s.Reader(offset)
	if err != nil {
		return "", err
	}
	defer s.wrap(&err, "read")
	sum, err = r.Check()
	return sum, errors.Join(err, r.Close())
}

// Tail returns a Reader of the last records of the log, those that begin within its
// last limit bytes. first reports that these are all records: the Reader starts at
// the log's beginning.
func (s *Session) Tail(limit int64) (r *Reader, first bool, err error) {
	size, err := s.Size()
	if err != nil {
		return nil, false, err
	}
	// If the log was removed or replaced since, the offset is as good as any, or past
	// the end.
	offset := max(0, size-max(0, limit))
	r, err = s.Reader(offset)
	if err != nil || offset == 0 {
		return r, err == nil, err
	}
	// The Reader may start inside a record, which is no damage. Next reports an error.
	r.seek()
	r.settled = r.pos
	return r, false, nil
}
