package config

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFolders(t *testing.T) {
	tests := []struct {
		name, goos, home string
		environ          []string
		state, config    string
		store            string
		wrong            bool
	}{
		{"Linux", "linux", "/home/u", nil, "/home/u/.local/state/hookspan", "/home/u/.config/hookspan", "/home/u/.local/state/hookspan/traces.db", false},
		{"macOS", "darwin", "/Users/u", nil, "/Users/u/.local/state/hookspan", "/Users/u/.config/hookspan", "/Users/u/.local/state/hookspan/traces.db", false},
		{"XDG", "linux", "/home/u", []string{"XDG_STATE_HOME=/s/", "XDG_CONFIG_HOME=/c"}, "/s/hookspan", "/c/hookspan", "/s/hookspan/traces.db", false},
		{"relative XDG is ignored", "linux", "/home/u", []string{"XDG_STATE_HOME=s", "XDG_CONFIG_HOME=./c"}, "/home/u/.local/state/hookspan", "/home/u/.config/hookspan", "/home/u/.local/state/hookspan/traces.db", false},
		{"home from the environment", "linux", "", []string{"HOME=/h"}, "/h/.local/state/hookspan", "/h/.config/hookspan", "/h/.local/state/hookspan/traces.db", false},
		{"Windows", "windows", `C:\Users\u`, []string{`LocalAppData=D:\L`, `APPDATA=D:\R`}, `D:\L\hookspan`, `D:\R\hookspan`, `D:\L\hookspan\traces.db`, false},
		{"Windows without variables", "windows", `C:\Users\u`, nil, `C:\Users\u\AppData\Local\hookspan`, `C:\Users\u\AppData\Roaming\hookspan`, `C:\Users\u\AppData\Local\hookspan\traces.db`, false},
		{"Windows, home from the environment", "windows", "", []string{`USERPROFILE=C:\Users\u`}, `C:\Users\u\AppData\Local\hookspan`, `C:\Users\u\AppData\Roaming\hookspan`, `C:\Users\u\AppData\Local\hookspan\traces.db`, false},
		{"no home", "linux", "", nil, "", "", "", true},
		{"relative home", "linux", "u", nil, "", "", "", true},
		{"no home, but XDG", "linux", "", []string{"XDG_STATE_HOME=/s", "XDG_CONFIG_HOME=/c"}, "/s/hookspan", "/c/hookspan", "/s/hookspan/traces.db", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, err := Load(Input{Environ: tt.environ, Home: tt.home, GOOS: tt.goos})
			if d := cmp.Diff([]string{tt.state, tt.config, tt.store}, []string{c.StateDir, c.ConfigDir, c.StorePath()}); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			if (err != nil) != tt.wrong {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestIsAbs(t *testing.T) {
	tests := []struct {
		goos, path string
		want       bool
	}{
		{"linux", "/a", true},
		{"linux", "a", false},
		{"linux", "", false},
		{"linux", `C:\a`, false},
		{"windows", `C:\a`, true},
		{"windows", `c:/a`, true},
		{"windows", `\\srv\share`, true},
		{"windows", `C:a`, false},
		{"windows", `\a`, false},
		{"windows", `1:\a`, false},
		{"windows", "/a", false},
		{"windows", "", false},
	}
	for _, tt := range tests {
		if got := isAbs(tt.goos, tt.path); got != tt.want {
			t.Errorf("%s %q: got %t, want %t", tt.goos, tt.path, got, tt.want)
		}
	}
}
