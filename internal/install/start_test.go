package install

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/hookspan/hookspan/internal/testkit/skip"
)

func TestStartSaysWhyAProgramDoesNotStart(t *testing.T) {
	if runtime.GOOS == "windows" {
		skip.Missing(t, "needs a program that is a script")
	}
	t.Setenv("GOMEMLIMIT", "1GB")
	for name, tt := range map[string]struct {
		text string
		mode os.FileMode
		want string
	}{
		"starts":         {"#!/bin/sh\n[ -z \"$GOMEMLIMIT\" ] && [ \"$*\" = --version ]\n", 0o755, ""},
		"gone":           {"", 0, "no such file"},
		"not executable": {"#!/bin/sh\n", 0o600, "it is not executable"},
		"damaged":        {"\x7fELF", 0o755, "it is damaged"},
		"empty":          {"", 0o755, "it is damaged"},
		"fails":          {"#!/bin/sh\nexit 3\n", 0o755, "exit status 3"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "claude-hook")
			if tt.mode != 0 {
				if err := os.WriteFile(path, []byte(tt.text), tt.mode); err != nil {
					t.Fatal(err)
				}
			}
			err := Start(t.Context(), path)
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), path)) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}
