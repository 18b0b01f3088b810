package deliver

import (
	"strings"
	"testing"
)

// TestFoldersBeyondTheLimitCount has a command of more folders than are looked at, all the same
// but the last.
func TestFoldersBeyondTheLimitCount(t *testing.T) {
	for _, last := range []string{"git -C /b commit -m x", "git -C $d commit -m x", "cd /b && make"} {
		var c gitCall
		c.place("/w", `{"command":"`+strings.Repeat("git -C /a add . && ", maxDirs)+last+`"}`)
		if c.call.Command != "" {
			t.Errorf("%s: the command is said to work in %q only", last, c.dirs)
		}
	}
}
