package spool

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"
)

// The names in a session's folder, and in the spool's beside the hosts' folders.
const (
	logName        = "events.json-seq"
	lockSuffix     = ".lock"
	quarantineName = "quarantine"
	stampName      = "sweep.stamp"
)

// lockWait is how long an Append waits while its session's log is removed, which takes
// well under a millisecond unless that process was stopped.
const lockWait = 2 * time.Second

// Options configure a Spool. The zero value is ready to use.
type Options struct {
	// Sync makes every Append wait until its record is on the disk.
	Sync bool
}

// Spool is the folder of all sessions. Its methods are safe for concurrent use.
type Spool struct {
	dir      string
	root     *os.Root
	opts     Options
	lockWait time.Duration
}

// Open opens the spool in dir and creates the folder, and those above it, if they
// are missing. If dir is a symbolic link, belongs to another user or can be written
// by others, the error wraps ErrUnsafe.
func Open(dir string, o Options) (*Spool, error) {
	if dir == "" {
		return nil, errors.New("open spool: no folder is known for it: want HOME or XDG_STATE_HOME to be an absolute path")
	}
	root, err := openRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open spool %q: %w", dir, err)
	}
	return &Spool{dir: dir, root: root, opts: o, lockWait: lockWait}, nil
}

// Close closes the spool's folder. Sessions opened from it stay open.
func (s *Spool) Close() error { return s.root.Close() }

// Append adds the record to the end of its session's log with one write call. An
// error means that the record is not stored, unless it wraps ErrNotSynced. The other
// records are not affected, even by a torn one.
func (s *Spool) Append(r *Record) error {
	b, err := encode(r)
	if err != nil {
		return fmt.Errorf("append to spool %q: %w", s.dir, err)
	}
	key := SessionKey(r.Host, r.Session)
	for range attempts {
		err = s.append(key, b)
		if !errors.Is(err, errMoved) {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("append to session %s of spool %q: %w", key, s.dir, err)
	}
	return nil
}

func (s *Spool) append(key Key, b []byte) (err error) {
	host, err := openDir(s.root, key.Host, true)
	if err != nil {
		return err
	}
	defer host.Close() //nolint:errcheck // Nothing was written to it.
	dir, err := openDir(host, key.Name, true)
	if err != nil {
		return movedIfGone(err)
	}
	defer dir.Close() //nolint:errcheck // Nothing was written to it.
	log, _, err := openFile(dir, logName, appendMode, true)
	if err != nil {
		return movedIfGone(err)
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	// The lock is against Remove alone, which does nothing where it cannot be taken.
	lockErr := lockWithin(s.lockWait, log, appendAlone)
	if lockErr != nil && !errors.Is(lockErr, errNoLocks) {
		return fmt.Errorf("lock %s: %w", logName, lockErr)
	}
	defer unlock(log) //nolint:errcheck // Closing the file releases the lock too.
	// Remove takes the lock exclusively and takes the log's name away: a record that is
	// appended to a log opened before that would be lost.
	if err := stillNamed(dir, log); err != nil {
		return err
	}
	var syncErr error
	if s.opts.Sync {
		syncErr = s.syncFirst(log)
	}
	if err := writeOnce(log, b); err != nil {
		return fmt.Errorf("%s: %w", logName, err)
	}
	if lockErr != nil {
		if err := stillNamed(dir, log); err != nil {
			return err
		}
	}
	if s.opts.Sync {
		// The names survive once the folders that hold them are synced. The process that
		// created them may have died before that, or may not sync.
		syncErr = errors.Join(syncErr, syncData(log), syncDir(dir), syncDir(host), syncDir(s.root))
	}
	if syncErr != nil {
		return fmt.Errorf("%s: %w: %w", logName, ErrNotSynced, syncErr)
	}
	return nil
}

// stillNamed returns errMoved if the log's name no longer means the open log.
func stillNamed(dir *os.Root, log *os.File) error {
	named, err := isNamed(dir, logName, log)
	if err == nil && !named {
		err = errMoved
	}
	return err
}

// syncFirst makes the names above the spool survive a power cut before a log's first
// record: a reader of that record relies on it.
func (s *Spool) syncFirst(log *os.File) error {
	fi, err := log.Stat()
	if err != nil || fi.Size() > 0 {
		return err
	}
	return SyncAbove(s.dir)
}

// movedIfGone turns "does not exist" into a lost race: the folder was removed after
// it was opened.
func movedIfGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %w", errMoved, err)
	}
	return err
}

// Hosts returns the agents' folders, also those without a session, in no order.
func (s *Spool) Hosts() ([]string, error) {
	entries, err := list(s.root, ".")
	if err != nil {
		return nil, fmt.Errorf("list spool %q: %w", s.dir, err)
	}
	var hosts []string
	for _, e := range entries {
		if e.IsDir() && validHost(e.Name()) {
			hosts = append(hosts, e.Name())
		}
	}
	return hosts, nil
}

// Sessions lists all sessions, sorted by host and name. Other things in the spool's
// folder are skipped, and so is a host's folder that cannot be read.
func (s *Spool) Sessions() ([]Key, error) {
	hosts, err := s.Hosts()
	if err != nil {
		return nil, err
	}
	var keys []Key
	for _, host := range hosts {
		entries, err := list(s.root, host)
		if err != nil {
			continue
		}
		for _, e := range entries {
			if e.IsDir() && validName(e.Name()) {
				keys = append(keys, Key{Host: host, Name: e.Name()})
			}
		}
	}
	slices.SortFunc(keys, func(a, b Key) int {
		return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.Name, b.Name))
	})
	return keys, nil
}

// list reads the folder as far as possible: entries that vanish meanwhile are no
// error.
func list(d *os.Root, name string) ([]fs.DirEntry, error) {
	f, err := d.OpenFile(name, os.O_RDONLY|noBlock, 0)
	if err != nil {
		return nil, err
	}
	entries, err := f.ReadDir(-1)
	return entries, errors.Join(err, f.Close())
}

// Session opens a session's folder. The error wraps fs.ErrNotExist if there is none,
// and ErrUnsafe if hookspan did not create it.
func (s *Spool) Session(k Key) (*Session, error) {
	if !validHost(k.Host) || !validName(k.Name) {
		return nil, fmt.Errorf("open session %q of spool %q: not a session's key", k, s.dir)
	}
	host, err := openDir(s.root, k.Host, false)
	if err != nil {
		return nil, fmt.Errorf("open session %s of spool %q: %w", k, s.dir, err)
	}
	dir, err := openDir(host, k.Name, false)
	if err != nil {
		return nil, fmt.Errorf("open session %s of spool %q: %w", k, s.dir, errors.Join(err, host.Close()))
	}
	return &Session{key: k, host: host, dir: dir, path: s.dir}, nil
}

// ClaimSweep reports whether the caller should deliver all sessions now: it is true
// for one caller per period, or for a few when the clock jumps. The period counts
// from the last claim, which is the stamp file's time; a stamp in the future, left
// after the clock was set back, counts as old. On any error it is false. Where files
// cannot be locked, several callers may get the same period.
func (s *Spool) ClaimSweep(now time.Time, every time.Duration) bool {
	due := func() bool {
		fi, err := lstat(s.root, stampName)
		if err != nil {
			return errors.Is(err, fs.ErrNotExist)
		}
		return now.Sub(fi.ModTime()).Abs() >= every
	}
	if !due() {
		return false
	}
	f, created, err := openFile(s.root, stampName, os.O_RDWR, true)
	if err != nil {
		return false
	}
	defer f.Close() //nolint:errcheck // Nothing was written to it.
	if ok, err := tryLock(f, true); err == nil && !ok {
		return false
	}
	defer unlock(f) //nolint:errcheck // Closing the file releases the lock too.
	// The former holder of the lock has claimed the period.
	if !created && !due() {
		return false
	}
	return s.root.Chtimes(stampName, now, now) == nil
}

// CheckLocks returns why the spool's files cannot be locked, or nil. Without locks no log
// is removed, and two processes may deliver the same session at once.
func (s *Spool) CheckLocks() error {
	const name = ".locks.tmp"
	f, _, err := openFile(s.root, name, os.O_RDWR, true)
	if err != nil {
		return err
	}
	_, err = tryLock(f, false)
	return errors.Join(err, f.Close(), s.root.Remove(name))
}
