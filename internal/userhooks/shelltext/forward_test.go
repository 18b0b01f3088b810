package shelltext

import (
	"path/filepath"
	"testing"

	"github.com/hookspan/hookspan/internal/testkit/skip"
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
