package regular

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hookspan/hookspan/internal/testkit/skip"
)

func TestReadReturnsRegularFilesOfAllowedSize(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	write := func(name string, n int) string {
		if err := os.WriteFile(at(name), bytes.Repeat([]byte("x"), n), 0o600); err != nil {
			t.Fatal(err)
		}
		return at(name)
	}
	link := func(name, to string) string {
		if err := os.Symlink(to, at(name)); err != nil {
			skip.Missing(t, "symbolic links cannot be made here: %v", err)
		}
		if _, err := os.Stat(to); err == nil {
			if _, err := os.Stat(at(name)); err != nil {
				skip.Missing(t, "symbolic links are not followed here: %v", err) // Wine
			}
		}
		return at(name)
	}
	giant := write("giant", 0)
	if err := os.Truncate(giant, 1<<40); err != nil {
		t.Logf("no file with holes here: %v", err)
		giant = write("giant", 101)
	}
	folder := at("folder")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, path string
		o          Options
		found      string // in the error; empty for none
	}{
		{"empty", write("empty", 0), Options{Max: 100}, ""},
		{"as large as allowed", write("full", 100), Options{Max: 100}, ""},
		{"any size", write("large", 1<<20), Options{}, ""},
		{"one byte more", write("more", 101), Options{Max: 100}, "found 101 bytes, want at most 100"},
		{"mostly a hole", giant, Options{Max: 100}, "bytes, want at most 100"},
		{"a folder", folder, Options{Max: 100}, "found a folder, want a file"},
		{"a link, followed", link("link", at("full")), Options{Max: 100}, ""},
		{"a link, not followed", at("link"), Options{Max: 100, NoLink: true}, "found a symbolic link, want the file itself"},
		{"a link to a folder", link("tofolder", folder), Options{Max: 100}, "found a folder, want a file"},
		{"a link to a large file", link("tomore", at("more")), Options{Max: 100}, "found 101 bytes, want at most 100"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			data, info, err := ReadStat(tt.path, tt.o)
			if tt.found != "" {
				var e *Error
				if !errors.As(err, &e) || e.Path != tt.path || !strings.Contains(err.Error(), tt.found) {
					t.Fatalf("error %v, want one of %s that says %q", err, tt.path, tt.found)
				}
				return
			}
			if err != nil || int64(len(data)) != info.Size() {
				t.Fatalf("%d of %d bytes, error %v", len(data), info.Size(), err)
			}
		})
	}
	for _, o := range []Options{{}, {NoLink: true, Max: 1}} {
		if _, err := Read(at("absent"), o); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("an absent file gives %v with %+v, want fs.ErrNotExist", err, o)
		}
	}
}

func TestOpenCreatesAndRefusesToTruncate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new")
	for range 2 {
		f, _, err := Open(path, Options{Flag: os.O_RDWR | os.O_APPEND | os.O_CREATE, Perm: 0o600, NoLink: true, Private: true})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString("line\n"); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := Read(path, Options{}); err != nil || string(got) != "line\nline\n" {
		t.Fatalf("the file holds %q (%v)", got, err)
	}
	if _, _, err := Open(path, Options{Flag: os.O_RDWR | os.O_TRUNC}); err == nil {
		t.Error("a file is cut before it is checked")
	}
}

func TestReadStopsAtLimitOfGrowingFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(path, []byte("start"), 0o600); err != nil {
		t.Fatal(err)
	}
	w, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		block := bytes.Repeat([]byte("x"), 64<<10)
		for {
			select {
			case <-stop:
				return
			default:
				if _, err := w.Write(block); err != nil {
					return
				}
				if info, err := w.Stat(); err != nil || info.Size() > 64<<20 {
					return
				}
			}
		}
	}()
	for range 50 {
		data, err := Read(path, Options{Max: 1 << 20})
		var e *Error
		if err != nil && !errors.As(err, &e) || len(data) > 1<<20 {
			t.Fatalf("%d bytes, error %v", len(data), err)
		}
	}
	close(stop)
	<-done
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}
