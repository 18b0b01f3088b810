package hookfile

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/hookspan/hookspan/internal/testkit/skip"
)

func TestWriteRefusesAChangedFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hooks.json")
	for _, tt := range []struct{ name, before, meanwhile string }{
		{"changed", "{}", `{"a":1}`},
		{"created", "", "{}"},
		{"removed", "{}", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			put := func(text string) {
				_ = os.Remove(path)
				if text == "" {
					return
				}
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			put(tt.before)
			f, err := Open(path, false)
			if err != nil {
				t.Fatal(err)
			}
			put(tt.meanwhile)
			if err := f.Write([]byte("mine")); err == nil || !strings.Contains(err.Error(), "changed since it was read") {
				t.Errorf("got %v, want a refusal", err)
			}
			if got, _ := os.ReadFile(path); string(got) != tt.meanwhile {
				t.Errorf("the file is %q, want %q", got, tt.meanwhile)
			}
		})
	}
}

func TestWriteKeepsTheMode(t *testing.T) {
	if runtime.GOOS == "windows" {
		skip.Elsewhere(t, "modes are those of other systems")
	}
	dir := t.TempDir()
	for _, tt := range []struct {
		name    string
		project bool
		was     os.FileMode
		want    os.FileMode
	}{
		{"the user's, new", false, 0, 0o600},
		{"a project's, new", true, 0, 0o644},
		{"unchanged mode", false, 0o640, 0o640},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(dir, strings.ReplaceAll(tt.name, " ", "-"), ".cline", "hooks.json")
			if tt.was != 0 {
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte("{}"), tt.was); err != nil {
					t.Fatal(err)
				}
				if err := os.Chmod(path, tt.was); err != nil { // past the umask
					t.Fatal(err)
				}
			}
			f, err := Open(path, tt.project)
			if err != nil {
				t.Fatal(err)
			}
			if err := f.Write([]byte(`{"hooks":{}}`)); err != nil {
				t.Fatal(err)
			}
			info, err := os.Stat(path)
			if err != nil || info.Mode().Perm() != tt.want {
				t.Errorf("mode %v, %v; want %v", info.Mode(), err, tt.want)
			}
			entries, err := os.ReadDir(filepath.Dir(path))
			if want := 1 + map[bool]int{true: 1}[tt.was != 0]; err != nil || len(entries) != want {
				t.Errorf("the folder has %v, %v; want %d entries", entries, err, want)
			}
		})
	}
}

func TestOpenRefusesALargeFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hooks.json")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, MaxSize+1); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path, false); err == nil || !strings.Contains(err.Error(), "want at most") {
		t.Errorf("got %v", err)
	}
}
