package claude

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/hookspan/hookspan/internal/testkit/skip"
)

func TestAskVersion(t *testing.T) {
	if runtime.GOOS == "windows" {
		skip.Missing(t, "the program asked is a shell script")
	}
	tests := map[string]struct{ script, want, err string }{
		"answers":    {"#!/bin/sh\n[ \"$1\" = --version ] && echo '2.1.329 (Claude Code)'\n", "2.1.329 (Claude Code)", ""},
		"fails":      {"#!/bin/sh\nexit 3\n", "", "exit status 3"},
		"is not one": {"", "", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if tt.script != "" {
				if err := os.WriteFile(filepath.Join(dir, "claude"), []byte(tt.script), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			t.Setenv("PATH", dir+string(os.PathListSeparator)+"/bin/nothing")
			got, err := askVersion(t.Context())
			if got != tt.want || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%q, %v; want %q, %q", got, err, tt.want, tt.err)
			}
		})
	}
}
