package hookfile

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hookspan/hookspan/internal/skip"
)

func TestForwardCommand(t *testing.T) {
	home := filepath.FromSlash("/home/me")
	for _, tt := range []struct {
		name, goos, program, dir string
		ports                    []int
		want                     string
	}{
		{"below the home folder", "linux", "/usr/bin/cline-hook", "/home/me/events", []int{3043}, "/usr/bin/cline-hook --port 3043 --dir ~/events"},
		{"elsewhere", "linux", "/usr/bin/cline-hook", "/srv/events", []int{1, 2}, "/usr/bin/cline-hook --port 1 --port 2 --dir /srv/events"},
		{"no port", "linux", "cline-hook", "/srv/events", nil, "cline-hook --dir /srv/events"},
		{"words that a shell would split", "linux", "/my programs/cline-hook", "/home/me/my events", nil, "'/my programs/cline-hook' --dir '/home/me/my events'"},
		{"Windows", "windows", `C:\Program Files\cline-hook.exe`, `C:\events`, nil, `"C:\Program Files\cline-hook.exe" --dir "C:\events"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if filepath.Separator != '/' && tt.goos != "windows" {
				skip.Elsewhere(t, "the paths are those of other systems")
			}
			if got := ForwardCommand(tt.goos, home, tt.program, tt.ports, tt.dir); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestForwardEnablesOnceAndDisables(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hooks.json")
	const command = "cline-hook --port 3043"
	on := Forwarding{Count: len(Events()), Events: Events()}
	for _, tt := range []struct {
		name, action string
		want         Forwarding
	}{
		{"no file", "status", Forwarding{}},
		{"nothing to disable", "disable", Forwarding{}},
		{"enabled", "enable", on},
		{"enabled twice", "enable", on},
		{"status", "status", on},
		{"disabled", "disable", Forwarding{Backup: path + ".hookspan-backup"}},
	} {
		got, err := Forward(path, tt.action, command)
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestForwardKeepsABrokenFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hooks.json")
	const broken = `{"hooks": [`
	if err := os.WriteFile(path, []byte(broken), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, action := range []string{"enable", "disable", "status"} {
		if _, err := Forward(path, action, "cline-hook --port 1"); !errors.As(err, new(*UnreadableError)) {
			t.Errorf("%s: got %v, want an unreadable file", action, err)
		}
	}
	if got, _ := os.ReadFile(path); string(got) != broken { //nolint:gosec // The test's own file.
		t.Errorf("the file is %q", got)
	}
}
