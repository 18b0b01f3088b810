package gemini

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/hookspan/hookspan/internal/install"
)

// TestSwitchesAreNamedOnce has one sentence for each of the Gemini CLI's settings
// that keep hooks from running.
func TestSwitchesAreNamedOnce(t *testing.T) {
	home := t.TempDir()
	path := filepath.Join(home, ".gemini", "settings.json")
	tests := map[string]struct{ config, want string }{
		"on":               {`{"enabled":true,"disabled":["mine"]}`, ""},
		"all switched off": {`{"enabled":false}`, `hooks are switched off in Gemini CLI's settings (hooksConfig.enabled in ` + strconv.Quote(path) + `): nothing is recorded`},
		"one switched off": {
			`{"disabled":["/opt/hookspan/bin/claude-hook gemini AfterTool"]}`,
			`a hook of hookspan's is switched off in Gemini CLI's settings (hooksConfig.disabled in ` + strconv.Quote(path) + `; /hooks enable-all there switches it on): nothing is recorded`,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			text := `{"hooksConfig":` + tt.config + `,"hooks":{"AfterTool":[{"hooks":[{"type":"command","command":"/opt/hookspan/bin/claude-hook gemini AfterTool"}]}]}} // mine`
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			r, err := Installer().Status(t.Context(), install.System{GOOS: "linux", Home: home}, install.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(r.Off, "\n"); got != tt.want {
				t.Errorf("off %q\nwant %q", got, tt.want)
			}
		})
	}
}
