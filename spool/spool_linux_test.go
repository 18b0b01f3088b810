package spool

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
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
