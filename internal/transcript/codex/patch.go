package codex

import (
	"path/filepath"
	"strings"

	"github.com/hookspan/hookspan/internal/rawjson"
)

// patch returns the patch that makes changes, in the form in which a model writes it for
// apply_patch: of a call in a script the file has the changes alone. Paths in the session's
// folder are relative to it.
func patch(changes []byte, cwd string) string {
	short := func(path string) string {
		if rest, ok := strings.CutPrefix(filepath.ToSlash(path), strings.TrimSuffix(filepath.ToSlash(cwd), "/")+"/"); ok && cwd != "" {
			return rest
		}
		return path
	}
	var b strings.Builder
	b.WriteString("*** Begin Patch\n")
	rawjson.EachMember(changes, func(name, value []byte) {
		path, change := string(name), rawjson.Members(value)
		switch change.Text("type") {
		case "add":
			b.WriteString("*** Add File: " + short(path) + "\n")
			for line := range strings.Lines(change.Text("content")) {
				b.WriteString("+" + strings.TrimSuffix(line, "\n") + "\n")
			}
		case "delete":
			b.WriteString("*** Delete File: " + short(path) + "\n")
		case "update":
			b.WriteString("*** Update File: " + short(path) + "\n")
			if to := change.Text("move_path"); to != "" {
				b.WriteString("*** Move to: " + short(to) + "\n")
			}
			for line := range strings.Lines(change.Text("unified_diff")) {
				if strings.HasPrefix(line, "@@ ") {
					line = "@@\n" // the line numbers are not the model's
				}
				b.WriteString(strings.TrimSuffix(line, "\n") + "\n")
			}
		}
	})
	b.WriteString("*** End Patch\n")
	return b.String()
}
