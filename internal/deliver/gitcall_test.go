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

// TestFoldersInPiecesAreNotKnown has folders of which only a part is quoted.
func TestFoldersInPiecesAreNotKnown(t *testing.T) {
	for _, dir := range []string{`'/a'/b`, `/a'/b'`, `/a\\ b`} {
		for _, command := range []string{"git -C " + dir + " commit -m x", "cd " + dir + " && git commit -m x"} {
			var c gitCall
			c.place("/w", `{"command":"`+command+`"}`)
			if c.call.Command != "" {
				t.Errorf("%s: the command is said to work in %q only", command, c.dirs)
			}
		}
	}
}
