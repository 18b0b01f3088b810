//go:build !windows

package regular

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hookspan/hookspan/internal/testkit/skip"
	"golang.org/x/sys/unix"
)

func TestOpenRefusesSpecialFiles(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := errors.Join(unix.Mkfifo(at("pipe"), 0o600), os.Symlink("/dev/zero", at("zero")), os.Symlink("pipe", at("topipe"))); err != nil {
		t.Fatal(err)
	}
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", at("socket"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() //nolint:errcheck // The test has ended.
	for _, tt := range []struct{ name, found, notFollowed string }{
		{"pipe", "a pipe", "a pipe"},
		{"topipe", "a pipe", "a symbolic link"},
		{"zero", "a device", "a symbolic link"},
		{"socket", "a socket", "a socket"},
	} {
		for _, flag := range []int{os.O_RDONLY, os.O_WRONLY, os.O_RDWR | os.O_CREATE} {
			for _, o := range []Options{{Flag: flag}, {Flag: flag, NoLink: true, Max: 100}} {
				want := tt.found
				if o.NoLink {
					want = tt.notFollowed
				}
				f, _, err := Open(at(tt.name), o)
				var e *Error
				if !errors.As(err, &e) || e.Found != want {
					t.Errorf("%s with %+v: %v, %v, want found %q", tt.name, o, f, err, want)
				}
			}
		}
	}
}

// TestOpenNeverWaitsForAnExchangedFile has a file and a pipe take turns under one
// name. Between a look at the name and its opening either can be there.
func TestOpenNeverWaitsForAnExchangedFile(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := errors.Join(unix.Mkfifo(at("b"), 0o600), os.WriteFile(at("a"), []byte("text"), 0o600), os.WriteFile(at("x"), []byte("text"), 0o600)); err != nil {
		t.Fatal(err)
	}
	stop, done := make(chan struct{}), make(chan error, 1)
	go func() {
		for {
			select {
			case <-stop:
				done <- nil
				return
			default:
			}
			// A hard link is renamed, so that there always is something.
			for _, name := range []string{"b", "a"} {
				if err := errors.Join(os.Link(at(name), at("next")), os.Rename(at("next"), at("x"))); err != nil {
					done <- err
					return
				}
			}
		}
	}()
	read, refused := 0, 0
	for range 20_000 {
		data, err := Read(at("x"), Options{Max: 100, NoLink: true})
		var e *Error
		switch {
		case err == nil && string(data) == "text":
			read++
		case errors.As(err, &e) && e.Found == "a pipe":
			refused++
		default:
			t.Fatalf("read %q, %v", data, err)
		}
	}
	close(stop)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if read == 0 || refused == 0 {
		t.Errorf("%d read, %d refused: one of the two never happened", read, refused)
	}
}

func TestPrivateRefusesFilesOfOthers(t *testing.T) {
	for _, tt := range []struct {
		name         string
		folder, mode os.FileMode
		second       bool
		owner        int // -1 for this user
		want         string
	}{
		{"of this user alone", 0o700, 0o600, false, -1, ""},
		{"readable by all", 0o755, 0o644, false, -1, ""},
		{"writable by the group in a folder of this user alone", 0o755, 0o664, false, -1, ""},
		{"in a shared folder", 0o777 | os.ModeSticky, 0o600, false, -1, ""},
		{"writable by the group in a shared folder", 0o777 | os.ModeSticky, 0o660, false, -1, "chmod go-w"},
		{"writable by all in a folder of a group", 0o770, 0o602, false, -1, "chmod go-w"},
		{"with a second name in a shared folder", 0o777, 0o600, true, -1, "2 names"},
		{"with a second name in a folder of this user alone", 0o700, 0o600, true, -1, ""},
		{"of another user", 0o777, 0o666, false, 65534, "a file of user 65534"},
		{"of another user in a folder of this user", 0o700, 0o644, false, 65534, "a file of user 65534"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.owner >= 0 && os.Getuid() != 0 {
				skip.Missing(t, "only root can give a file to another user")
			}
			dir := filepath.Join(t.TempDir(), "folder")
			path := filepath.Join(dir, "file")
			err := errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(path, nil, 0o600), os.Chmod(path, tt.mode), os.Chmod(dir, tt.folder))
			if tt.second {
				err = errors.Join(err, os.Link(path, filepath.Join(dir, "second")))
			}
			if tt.owner >= 0 {
				err = errors.Join(err, os.Chown(path, tt.owner, tt.owner))
			}
			if err != nil {
				t.Fatal(err)
			}
			_, _, err = Open(path, Options{Private: true, NoLink: true, Flag: os.O_RDWR | os.O_APPEND | os.O_CREATE, Perm: 0o600})
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("error %v, want one that says %q", err, tt.want)
			}
		})
	}
}

// TestRootedRefusesWhatOthersCanChange has a file of root's in folders and modes.
func TestRootedRefusesWhatOthersCanChange(t *testing.T) {
	if os.Geteuid() != 0 {
		path := filepath.Join(t.TempDir(), "x")
		_ = os.WriteFile(path, nil, 0o644) //nolint:gosec // A test's.
		if _, err := Read(path, Options{Rooted: true}); err == nil {
			t.Error("a file of this user counts")
		}
		skip.Missing(t, "only root has files of root")
	}
	tests := map[string]struct {
		file, folder fs.FileMode
		owner        int
		ok           bool
	}{
		"of root":                  {0o644, 0o755, 0, true},
		"of root alone":            {0o600, 0o700, 0, true},
		"of another":               {0o644, 0o755, 1000, false},
		"others can write":         {0o646, 0o755, 0, false},
		"the group can write":      {0o664, 0o755, 0, false},
		"the folder can be filled": {0o644, 0o777, 0, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "x")
			for _, err := range []error{os.WriteFile(path, []byte("a"), 0o600), os.Chmod(path, tt.file), os.Chown(path, tt.owner, 0), os.Chmod(dir, tt.folder)} {
				if err != nil {
					t.Fatal(err)
				}
			}
			_, err := Read(path, Options{Rooted: true})
			var refused *Error
			if (err == nil) != tt.ok || err != nil && (!errors.As(err, &refused) || !refused.Untrusted()) {
				t.Errorf("error %v, want ok %v", err, tt.ok)
			}
		})
	}
	t.Run("in a folder that another user can move", func(t *testing.T) {
		above := filepath.Join(t.TempDir(), "home")
		path := filepath.Join(above, "bin", "x")
		for _, err := range []error{os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, nil, 0o600), os.Chown(above, 1000, 0)} { //nolint:gosec // A test's.
			if err != nil {
				t.Fatal(err)
			}
		}
		if _, err := Read(path, Options{Rooted: true}); err == nil {
			t.Error("it counts")
		}
	})
}
