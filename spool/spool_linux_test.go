package spool

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	"github.com/hookspan/hookspan/internal/testkit/skip"
	"golang.org/x/sys/unix"
)

// TestAppendDuringARemoval stops an append between its opening of the log
// and its lock, and takes the log away meanwhile.
func TestAppendDuringARemoval(t *testing.T) {
	for name, remove := range map[string]func(log string) error{
		"log alone":         os.Remove,
		"log and folder":    func(log string) error { return os.RemoveAll(filepath.Dir(log)) },
		"log, and new one":  func(log string) error { return replaceLog(log) },
		"host's folder too": func(log string) error { return os.RemoveAll(filepath.Dir(filepath.Dir(log))) },
	} {
		t.Run(name, func(t *testing.T) {
			dir, s, ses := oneRecord(t)
			path, err := filepath.EvalSymlinks(logPath(dir, "cline", "s"))
			if err != nil {
				t.Fatal(err)
			}
			remover, _, err := openFile(ses.dir, logName, appendMode, false)
			if err != nil {
				t.Fatal(err)
			}
			if ok, err := tryLock(remover, true); !ok || err != nil {
				t.Fatalf("lock: %v, %v", ok, err)
			}
			want := Record{Host: "cline", Session: "s", Event: "late", Payload: []byte("2")}
			done := make(chan error, 1)
			go func() { done <- s.Append(&want) }()
			for openings(t, path) < 2 {
				runtime.Gosched()
			}
			if err := remove(path); err != nil {
				t.Fatal(err)
			}
			if err := remover.Close(); err != nil {
				t.Fatal(err)
			}
			if err := <-done; err != nil {
				t.Fatal(err)
			}
			got := records(t, session(t, s, ses.Key()))
			if d := cmp.Diff([]Record{want}, got, same); d != "" {
				t.Errorf("the new log (-want +got):\n%s", d)
			}
		})
	}
}

func replaceLog(log string) error {
	if err := os.Rename(log, log+".old"); err != nil {
		return err
	}
	return os.WriteFile(log, nil, 0o600)
}

// openings counts this process's descriptors of the file.
func openings(t *testing.T, path string) int {
	t.Helper()
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, fd := range fds {
		target, err := os.Readlink("/proc/self/fd/" + fd.Name())
		if err == nil && strings.TrimSuffix(target, " (deleted)") == path {
			n++
		}
	}
	return n
}

// TestOpenNeverWaitsForAnExchangedFolder has the spool's folder and a pipe take
// turns under its name, as in a state folder that others can write to.
func TestOpenNeverWaitsForAnExchangedFolder(t *testing.T) {
	base := t.TempDir()
	dir, pipe := filepath.Join(base, "spool"), filepath.Join(base, "pipe")
	must(t, os.Mkdir(dir, 0o700))
	must(t, syscall.Mkfifo(pipe, 0o600))
	stop, done := make(chan struct{}), make(chan error, 1)
	go func() {
		for {
			select {
			case <-stop:
				done <- nil
				return
			default:
				if err := unix.Renameat2(unix.AT_FDCWD, dir, unix.AT_FDCWD, pipe, unix.RENAME_EXCHANGE); err != nil {
					done <- err
					return
				}
			}
		}
	}()
	opened, refused := 0, 0
	for range 5_000 {
		s, err := Open(dir, Options{})
		if err != nil {
			refused++
			continue
		}
		opened++
		must(t, s.Close())
	}
	close(stop)
	must(t, <-done)
	if opened == 0 || refused == 0 {
		t.Errorf("opened %d times, refused %d times: one of the two never happened", opened, refused)
	}
}

// refusing runs f on a thread whose uses of a system call fail, as on a file system
// that lacks it. The thread ends with f.
func refusing(t *testing.T, call uint32, errno syscall.Errno, f func()) {
	t.Helper()
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0}, // the call's number
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 1, K: call},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(errno)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	done := make(chan error, 1)
	go func() {
		var err error
		defer func() { done <- err }()
		runtime.LockOSThread() // and never unlocked
		program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
		err = unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
		if err == nil {
			err = unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&program)), 0, 0) //nolint:gosec // As prctl(2) wants it.
		}
		if err == nil {
			f()
		}
	}()
	if err := <-done; err != nil {
		skip.Missing(t, "no filter of system calls can be set here: %v", err)
	}
}

// TestWithoutLocksRecordsAreStored has flock fail as on a file system without locks,
// and as NFS without its lock service does.
func TestWithoutLocksRecordsAreStored(t *testing.T) {
	for _, errno := range []syscall.Errno{unix.ENOSYS, unix.ENOLCK, unix.EOPNOTSUPP, unix.EINVAL, unix.EBADF, unix.EPERM, unix.EIO} {
		t.Run(errno.Error(), func(t *testing.T) {
			_, s, ses := oneRecord(t)
			must(t, s.CheckLocks())
			want := Record{Host: "cline", Session: "s", Event: "late", Payload: []byte("2")}
			refusing(t, unix.SYS_FLOCK, errno, func() {
				if err := s.Append(&want); err != nil {
					t.Errorf("append: %v", err)
				}
				if err := s.CheckLocks(); !errors.Is(err, errno) {
					t.Errorf("the check reports %v", err)
				}
				unlock, ok, err := ses.TryLock("otlp")
				if !ok || err != nil {
					t.Errorf("lock for a delivery: %v, %v", ok, err)
				} else if err := unlock(); err != nil {
					t.Errorf("unlock: %v", err)
				}
				if !s.ClaimSweep(time.Now(), time.Minute) {
					t.Error("no sweep was claimed")
				}
				size, err := ses.Size()
				if err != nil {
					t.Error(err)
				}
				if gone, err := ses.Remove(size); gone || err != nil {
					t.Errorf("removed: %v, %v, want neither", gone, err)
				}
			})
			if got := records(t, ses); len(got) != 2 {
				t.Errorf("%d records, want 2", len(got))
			}
		})
	}
}

// TestLogsAreOpenedForReadingToo is what NFS demands of a file that takes a shared lock,
// and of one that takes an exclusive lock that it can be written to.
func TestLogsAreOpenedForReadingToo(t *testing.T) {
	_, _, ses := oneRecord(t)
	log, _, err := openFile(ses.dir, logName, appendMode, false)
	must(t, err)
	defer log.Close() //nolint:errcheck // Read only.
	if _, err := io.ReadAll(log); err != nil {
		t.Error(err)
	}
}

// TestFoldersThatCannotBeSynced have the sync of all files fail, but for that of the
// log's bytes.
func TestFoldersThatCannotBeSynced(t *testing.T) {
	for errno, fails := range map[syscall.Errno]bool{unix.EINVAL: false, unix.EBADF: false, unix.ENOTSUP: false, unix.ENOSYS: false, unix.EIO: true} {
		t.Run(errno.Error(), func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "spool")
			s, err := Open(dir, Options{Sync: true})
			must(t, err)
			defer s.Close() //nolint:errcheck // It has no effect.
			refusing(t, unix.SYS_FSYNC, errno, func() {
				err := s.Append(&Record{Host: "cline", Session: "s", Payload: []byte("1")})
				if fails != errors.Is(err, ErrNotSynced) || !fails && err != nil {
					t.Errorf("append: %v", err)
				}
				ses := session(t, s, SessionKey("cline", "s"))
				if err := ses.Sync(); fails != errors.Is(err, errno) || !fails && err != nil {
					t.Errorf("sync: %v", err)
				}
				if err := ses.WriteFile("delivery.json", nil); fails != errors.Is(err, errno) || !fails && err != nil {
					t.Errorf("write a state: %v", err)
				}
			})
			if got := records(t, session(t, s, SessionKey("cline", "s"))); len(got) != 1 {
				t.Errorf("%d records, want 1", len(got))
			}
		})
	}
}
