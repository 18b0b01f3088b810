//go:build !windows

package record

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/hookspan/hookspan/internal/testkit/skip"
)

// TestProjectOffChecksTheOwner has a switch of another user's above the folder.
func TestProjectOffChecksTheOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		skip.Missing(t, "needs root, to give files away")
	}
	for name, tt := range map[string]struct {
		file, folder int
		want         bool
	}{
		"the user's":         {0, 0, true},
		"another user's":     {1234, 0, false},
		"the folder's owner": {1234, 1234, true},
		"a third user's":     {1234, 1235, false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, filepath.Join(dir, ".git", "HEAD"), "")
			write(t, filepath.Join(dir, "a", "x"), "")
			write(t, filepath.Join(dir, ".hookspan.env"), "HOOKSPAN_DISABLED=true\n")
			for path, uid := range map[string]int{".hookspan.env": tt.file, "a": tt.folder} {
				if err := os.Chown(filepath.Join(dir, path), uid, uid); err != nil {
					t.Fatal(err)
				}
			}
			if got := ProjectOff(filepath.Join(dir, "a")); got != tt.want {
				t.Errorf("off %t, want %t", got, tt.want)
			}
		})
	}
}
