//go:build unix

package spool

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hookspan/hookspan/internal/testkit/skip"
)

func playUnix(role string, s *Spool) error {
	switch role {
	case "short write":
		// The limit is inside the second record.
		if err := s.Append(numbered("w", 0)); err != nil {
			return err
		}
		limit := syscall.Rlimit{Cur: 3000, Max: 3000}
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
			return err
		}
		err := s.Append(numbered("w", 200))
		if !errors.Is(err, io.ErrShortWrite) {
			return fmt.Errorf("append behind the limit: %w, want a short write", err)
		}
		return nil
	}
	return fmt.Errorf("no role %q", role)
}

func TestShortWriteAffectsNoOtherRecord(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "spool")
	if err := child(t, "short write", dir, "").Run(); err != nil {
		t.Fatal(err)
	}
	s := open(t, dir)
	appendAll(t, s, *numbered("w", 2))
	b, err := os.ReadFile(logPath(dir, "cline", "shared"))
	if err != nil {
		t.Fatal(err)
	}
	got := readAll(t, b)
	if d := diff([]Record{*numbered("w", 0), *numbered("w", 2)}, got.records); d != "" {
		t.Errorf("records (-want +got):\n%s", d)
	}
	first := got.records[0].End
	if d := cmp.Diff([]Damage{{first, 3000 - first, reasonTorn}}, got.damage); d != "" {
		t.Errorf("damage (-want +got):\n%s", d)
	}
}

// must fails the test if a preparation fails.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestUnsafePlacesAreRefused(t *testing.T) {
	id := "s"
	folder := SessionKey("cline", id).String()
	log := folder + "/" + logName
	for name, prepare := range map[string]func(t *testing.T, dir, elsewhere string){
		"spool is a symbolic link": func(t *testing.T, dir, elsewhere string) {
			must(t, os.Symlink(elsewhere, dir))
		},
		"spool is a file": func(t *testing.T, dir, _ string) {
			must(t, os.WriteFile(dir, nil, 0o600))
		},
		"spool is a fifo": func(t *testing.T, dir, _ string) {
			must(t, syscall.Mkfifo(dir, 0o600))
		},
		"spool is writable by the group": func(t *testing.T, dir, _ string) {
			must(t, os.Mkdir(dir, 0o700))
			must(t, os.Chmod(dir, 0o770))
		},
		"spool is writable by all": func(t *testing.T, dir, _ string) {
			must(t, os.Mkdir(dir, 0o700))
			must(t, os.Chmod(dir, 0o707))
		},
		"spool belongs to another": func(t *testing.T, dir, _ string) {
			must(t, os.Mkdir(dir, 0o700))
			giveAway(t, dir)
		},
		"host is a symbolic link": func(t *testing.T, dir, elsewhere string) {
			must(t, os.Mkdir(dir, 0o700))
			must(t, os.Symlink(elsewhere, filepath.Join(dir, "cline")))
		},
		"host is a symbolic link inside": func(t *testing.T, dir, _ string) {
			must(t, os.MkdirAll(filepath.Join(dir, "other"), 0o700))
			must(t, os.Symlink("other", filepath.Join(dir, "cline")))
		},
		"host is a fifo": func(t *testing.T, dir, _ string) {
			must(t, os.Mkdir(dir, 0o700))
			must(t, syscall.Mkfifo(filepath.Join(dir, "cline"), 0o600))
		},
		"session is a symbolic link": func(t *testing.T, dir, elsewhere string) {
			must(t, os.MkdirAll(filepath.Join(dir, "cline"), 0o700))
			must(t, os.Symlink(elsewhere, filepath.Join(dir, folder)))
		},
		"session is a file": func(t *testing.T, dir, _ string) {
			must(t, os.MkdirAll(filepath.Join(dir, "cline"), 0o700))
			must(t, os.WriteFile(filepath.Join(dir, folder), nil, 0o600))
		},
		"session is writable by all": func(t *testing.T, dir, _ string) {
			must(t, os.MkdirAll(filepath.Join(dir, folder), 0o700))
			must(t, os.Chmod(filepath.Join(dir, folder), 0o707))
		},
		"session belongs to another": func(t *testing.T, dir, _ string) {
			must(t, os.MkdirAll(filepath.Join(dir, folder), 0o700))
			giveAway(t, filepath.Join(dir, folder))
		},
		"log is a symbolic link": func(t *testing.T, dir, elsewhere string) {
			must(t, os.MkdirAll(filepath.Join(dir, folder), 0o700))
			must(t, os.Symlink(filepath.Join(elsewhere, "file"), filepath.Join(dir, log)))
		},
		"log is a dangling link inside": func(t *testing.T, dir, _ string) {
			must(t, os.MkdirAll(filepath.Join(dir, folder), 0o700))
			must(t, os.Symlink("planted", filepath.Join(dir, log)))
		},
		"log is a fifo": func(t *testing.T, dir, _ string) {
			must(t, os.MkdirAll(filepath.Join(dir, folder), 0o700))
			must(t, syscall.Mkfifo(filepath.Join(dir, log), 0o600))
		},
		"log is a folder": func(t *testing.T, dir, _ string) {
			must(t, os.MkdirAll(filepath.Join(dir, log), 0o700))
		},
		"log has a second hard link": func(t *testing.T, dir, elsewhere string) {
			must(t, os.MkdirAll(filepath.Join(dir, folder), 0o700))
			must(t, os.Link(filepath.Join(elsewhere, "file"), filepath.Join(dir, log)))
		},
		"log is writable by all": func(t *testing.T, dir, _ string) {
			must(t, os.MkdirAll(filepath.Join(dir, folder), 0o700))
			must(t, os.WriteFile(filepath.Join(dir, log), nil, 0o600))
			must(t, os.Chmod(filepath.Join(dir, log), 0o606))
		},
		"log belongs to another": func(t *testing.T, dir, _ string) {
			must(t, os.MkdirAll(filepath.Join(dir, folder), 0o700))
			must(t, os.WriteFile(filepath.Join(dir, log), nil, 0o600))
			giveAway(t, filepath.Join(dir, log))
		},
	} {
		t.Run(name, func(t *testing.T) {
			parent := t.TempDir()
			dir, elsewhere := filepath.Join(parent, "spool"), filepath.Join(parent, "elsewhere")
			must(t, os.Mkdir(elsewhere, 0o700))
			must(t, os.WriteFile(filepath.Join(elsewhere, "file"), []byte("theirs"), 0o600))
			prepare(t, dir, elsewhere)

			s, err := Open(dir, Options{})
			if err == nil {
				defer s.Close() //nolint:errcheck // Read only.
				err = s.Append(&Record{Host: "cline", Session: id, Payload: []byte("{}")})
				if _, readErr := readSession(s, SessionKey("cline", id)); !errors.Is(readErr, ErrUnsafe) {
					t.Errorf("reading gives %v, want ErrUnsafe", readErr)
				}
				if _, err := s.Sessions(); err != nil {
					t.Errorf("listing gives %v", err)
				}
			}
			if !errors.Is(err, ErrUnsafe) {
				t.Errorf("appending gives %v, want ErrUnsafe", err)
			}
			entries, err := os.ReadDir(elsewhere)
			must(t, err)
			b, err := os.ReadFile(filepath.Join(elsewhere, "file"))
			must(t, err)
			if len(entries) != 1 || string(b) != "theirs" {
				t.Errorf("elsewhere now has %v, file %q", entries, b)
			}
			if _, err := os.Lstat(filepath.Join(dir, folder, "planted")); err == nil {
				t.Error("the link's target was created")
			}
		})
	}
}

func readSession(s *Spool, k Key) (*Record, error) {
	ses, err := s.Session(k)
	if err != nil {
		return nil, err
	}
	defer ses.Close() //nolint:errcheck // Read only.
	r, err := ses.Reader(0)
	if err != nil {
		return nil, err
	}
	defer r.Close() //nolint:errcheck // Read only.
	r.Next()
	return r.Record(), r.Err()
}

// giveAway makes the path another user's, which only root can do.
func giveAway(t *testing.T, path string) {
	t.Helper()
	if os.Geteuid() != 0 {
		skip.Missing(t, "needs root: only root can give a file to another user")
	}
	must(t, os.Lchown(path, 65534, 65534))
}

func TestModesDoNotDependOnTheUmask(t *testing.T) {
	for _, mask := range []int{0, 0o022, 0o077, 0o277, 0o777} {
		t.Run(fmt.Sprintf("%03o", mask), func(t *testing.T) {
			parent := t.TempDir()
			dir := filepath.Join(parent, "a", "spool")
			// The mask is the whole process's, so no test here runs in parallel.
			old := syscall.Umask(mask)
			defer syscall.Umask(old)
			s := open(t, dir)
			appendAll(t, s, Record{Host: "cline", Session: "s", Payload: []byte("{}")})
			s.ClaimSweep(epoch, 1)
			ses := session(t, s, SessionKey("cline", "s"))
			unlock, ok, err := ses.TryLock("flush")
			if err != nil || !ok {
				t.Fatalf("lock: %v, %v", ok, err)
			}
			must(t, ses.WriteFile("delivery.json", []byte("{}")))
			must(t, ses.Quarantine([]Damage{{Offset: 0, Length: 3}}))
			must(t, unlock())
			n := 0
			must(t, filepath.WalkDir(filepath.Join(parent, "a"), func(path string, d fs.DirEntry, err error) error {
				if err != nil {
					return err
				}
				fi, err := d.Info()
				if err != nil {
					return err
				}
				want := fs.FileMode(fileMode)
				if d.IsDir() {
					want = dirMode
				}
				if got := fi.Mode().Perm(); got != want {
					t.Errorf("%s has mode %04o, want %04o", path, got, want)
				}
				n++
				return nil
			}))
			if n != 10 {
				t.Errorf("%d files and folders, want 10", n)
			}
		})
	}
}

func TestWrongModesAreFixed(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "spool")
	s := open(t, dir)
	rec := Record{Host: "cline", Session: "s", Payload: []byte("{}")}
	appendAll(t, s, rec)
	log := logPath(dir, "cline", "s")
	folder := filepath.Dir(log)
	must(t, os.Chmod(log, 0o444))
	must(t, os.Chmod(folder, 0o555))
	appendAll(t, s, rec)
	for path, want := range map[string]fs.FileMode{log: fileMode, folder: dirMode} {
		fi, err := os.Stat(path)
		must(t, err)
		if got := fi.Mode().Perm(); got != want {
			t.Errorf("%s has mode %04o, want %04o", path, got, want)
		}
	}
}
