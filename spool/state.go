package spool

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"time"
)

// maxState is the largest state file that is read, in bytes.
const maxState = 64 << 20

// The limits of a session's quarantine. Damage beyond them is in the log only.
const (
	quarantineItem  = 1 << 20
	quarantineBytes = 4 << 20
	quarantineFiles = 256
)

// removeWait is how long Remove waits for appends that have begun.
const removeWait = 50 * time.Millisecond

// validState allows plain names that the spool does not use.
func validState(name string) error {
	if name == "" || len(name) > 64 || name[0] == '.' || strings.Trim(name, lowerCase+"._-") != "" {
		return fmt.Errorf("name %q: want 1 to 64 bytes of a-z, 0-9, \".\", \"_\" and \"-\", no dot first", name)
	}
	if name == logName || strings.HasSuffix(name, lockSuffix) || name == quarantineName {
		return fmt.Errorf("name %q: is the spool's own", name)
	}
	return nil
}

// ReadFile reads a state file of the session, such as "delivery.json". The error
// wraps fs.ErrNotExist if there is none.
func (s *Session) ReadFile(name string) (b []byte, err error) {
	defer s.wrap(&err, fmt.Sprintf("read file %q of", name))
	if err := validState(name); err != nil {
		return nil, err
	}
	f, _, err := openFile(s.dir, name, os.O_RDONLY, false)
	if err != nil {
		return nil, err
	}
	b, err = io.ReadAll(io.LimitReader(f, maxState+1))
	if err == nil && len(b) > maxState {
		err = fmt.Errorf("larger than %d bytes", maxState)
	}
	return b, errors.Join(err, f.Close())
}

// WriteFile replaces a state file of the session: a reader sees the old content or
// the new one, also after a power cut. Names are 1 to 64 bytes of a-z, 0-9, ".", "_"
// and "-", without a dot first.
func (s *Session) WriteFile(name string, b []byte) (err error) {
	defer s.wrap(&err, fmt.Sprintf("write file %q of", name))
	if err := validState(name); err != nil {
		return err
	}
	if s.removed.Load() {
		return fs.ErrNotExist
	}
	return replaceFile(s.dir, name, b)
}

// AppendFile writes behind the first bytes of a state file, and cuts off what was there, such
// as what a process that was killed had written. A power cut may lose it.
func (s *Session) AppendFile(name string, after int64, b []byte) (err error) {
	defer s.wrap(&err, fmt.Sprintf("append to file %q of", name))
	if err := validState(name); err != nil {
		return err
	}
	if s.removed.Load() {
		return fs.ErrNotExist
	}
	f, _, err := openFile(s.dir, name, os.O_RDWR, true)
	if err != nil {
		return err
	}
	if err = f.Truncate(after); err == nil {
		_, err = f.WriteAt(b, after)
	}
	return errors.Join(err, f.Close())
}

// OpenFile opens a state file to read parts of it. The caller closes it.
func (s *Session) OpenFile(name string) (f *os.File, err error) {
	defer s.wrap(&err, fmt.Sprintf("open file %q of", name))
	if err := validState(name); err != nil {
		return nil, err
	}
	f, _, err = openFile(s.dir, name, os.O_RDONLY, false)
	return f, err
}

// replaceFile writes a temporary file and renames it. Its name is random, so that two
// writers, which there should not be, cannot mix their bytes. internal/files/atomicfile
// does the same by path; here all access goes through an os.Root.
func replaceFile(d *os.Root, name string, b []byte) error {
	temp := fmt.Sprintf(".%s.%016x.tmp", name, rand.Uint64()) //nolint:gosec // O_EXCL refuses a name that was guessed.
	f, err := d.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
	if err != nil {
		return err
	}
	if err = giveMode(f); err == nil {
		_, err = f.Write(b)
		if err == nil {
			err = syncable(f.Sync())
		}
		err = errors.Join(err, f.Close())
	}
	if err == nil {
		err = d.Rename(temp, name)
	}
	if err != nil {
		err = errors.Join(err, d.Remove(temp))
	}
	return err
}

// Quarantine keeps a copy of each damaged stretch in the session's quarantine folder,
// which stays when the log is removed: see Remove. A stretch that is there already
// is not written again. At most the first MiB of a stretch is kept, and 4 MiB in 256
// files of a session. The caller holds the flusher's lock.
func (s *Session) Quarantine(damage []Damage) (err error) {
	defer s.wrap(&err, "quarantine damage of")
	if len(damage) == 0 {
		return nil
	}
	if s.removed.Load() {
		return fs.ErrNotExist
	}
	log, _, err := openFile(s.dir, logName, os.O_RDONLY, false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	dir, err := openDir(s.dir, quarantineName, true)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	entries, err := list(dir, ".")
	if err != nil {
		return err
	}
	have := make(map[string]bool, len(entries))
	var size int64
	for _, e := range entries {
		fi, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		have[e.Name()] = true
		size += fi.Size()
	}
	for _, d := range damage {
		if d.Length <= 0 || d.Offset < 0 {
			return fmt.Errorf("damage at %d with length %d is no stretch", d.Offset, d.Length)
		}
		b := make([]byte, min(d.Length, quarantineItem))
		if _, err := log.ReadAt(b, d.Offset); err != nil {
			return fmt.Errorf("read %d bytes at %d: %w", len(b), d.Offset, err)
		}
		// The checksum is in the name because offsets begin again at 0 when a session
		// continues after its log was removed.
		name := fmt.Sprintf("%016x-%08x.bin", d.Offset, checksum(b))
		if have[name] || len(have) >= quarantineFiles || size+int64(len(b)) > quarantineBytes {
			continue
		}
		if err := replaceFile(dir, name, b); err != nil {
			return err
		}
		have[name] = true
		size += int64(len(b))
	}
	return nil
}

// Remove deletes the session's log and everything else in its folder, if the log has
// the given size. It reports false, without an error, if the log has grown, is being
// appended to or cannot be locked. The caller holds the flusher's lock and has decided that
// nothing in the log is needed.
//
// A quarantine stays, and with it the folder. Remove(0) of a session without a log
// deletes the quarantine too.
//
// A record appended meanwhile goes into a new log, never into the removed one.
func (s *Session) Remove(expectSize int64) (ok bool, err error) {
	return s.remove(expectSize, true)
}

// RemoveLog is Remove for the log alone: the state files stay, of which no position applies
// to a later log.
func (s *Session) RemoveLog(expectSize int64) (ok bool, err error) {
	return s.remove(expectSize, false)
}

func (s *Session) remove(expectSize int64, state bool) (ok bool, err error) {
	defer s.wrap(&err, "remove")
	if s.removed.Load() {
		return false, fs.ErrNotExist
	}
	log, _, err := openFile(s.dir, logName, appendMode, false)
	if errors.Is(err, fs.ErrNotExist) {
		if expectSize != 0 || !state {
			return false, nil
		}
		if err := s.removeState(); err != nil {
			return false, err
		}
		if err := s.dir.RemoveAll(quarantineName); err != nil {
			return false, err
		}
		return true, s.removeFolder()
	}
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	// The only other error is that the time is over.
	if lockWithin(removeWait, log, true) != nil {
		return false, nil
	}
	defer func() { err = errors.Join(err, unlock(log)) }()
	named, err := isNamed(s.dir, logName, log)
	if err != nil || !named {
		return false, err
	}
	fi, err := log.Stat()
	if err != nil || fi.Size() != expectSize {
		return false, err
	}
	// The log loses its name first. If this process dies before the state files are
	// removed, the position of one does not apply to a later log, as its checksum shows;
	// a log without them would be delivered once more. Where a file keeps its name until
	// all have closed it, an append that waits for the lock would take it for the log
	// that is in use.
	aside := fmt.Sprintf("%016x", rand.Uint64()) + lockSuffix //nolint:gosec // It only has to be new.
	if err := s.dir.Rename(logName, aside); err != nil {
		if errors.Is(err, fs.ErrPermission) && runtime.GOOS == "windows" {
			err = nil // A process has it open in a way that does not allow it.
		}
		return false, err
	}
	if !state {
		return true, s.dir.Remove(aside)
	}
	if err := errors.Join(s.removeState(), s.dir.Remove(aside)); err != nil {
		return false, err
	}
	return true, s.removeFolder()
}

// removeState deletes all files but those that the spool uses.
func (s *Session) removeState() error {
	entries, err := list(s.dir, ".")
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.IsDir() || e.Name() == logName || strings.HasSuffix(e.Name(), lockSuffix) {
			continue
		}
		if err := s.dir.Remove(e.Name()); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// removeFolder deletes the locks' files and the folder. It stays if something else is
// in it, such as the log of an append in the meantime.
func (s *Session) removeFolder() error {
	s.removed.Store(true)
	entries, err := list(s.dir, ".")
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), lockSuffix) {
			return nil
		}
		if err := s.dir.Remove(e.Name()); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if err := s.host.Remove(s.key.Name); err != nil && !errors.Is(err, fs.ErrNotExist) && !notEmpty(err) {
		return err
	}
	return nil
}
