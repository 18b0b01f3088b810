package view

import (
	"strings"

	"github.com/hookspan/hookspan/internal/termtext"
)

// patchMark begins a patch for the tool apply_patch, which several agents have:
// sections of files, each with lines that are added, removed or kept.
const patchMark = "*** Begin Patch"

// patchEdits returns the changes of a patch, none of another text. What happens to a
// file as a whole, and where in it a change is, are lines that begin with a space.
func patchEdits(text string) (out []Edit) {
	if !strings.HasPrefix(text, patchMark) {
		return nil
	}
	for i, l := range termtext.Lines(text) {
		what, path, _ := strings.Cut(strings.TrimPrefix(l, "*** "), ": ")
		header := strings.HasPrefix(l, "*** ")
		switch {
		case i == 0:
		case header && (what == "Add File" || what == "Update File"):
			out = append(out, Edit{Path: path})
		case header && what == "Delete File":
			out = append(out, Edit{path, []string{" " + l}})
		case len(out) == 0, l == "@@", header && what != "Move to":
		default:
			if l == "" || !strings.ContainsAny(l[:1], "+- ") {
				l = " " + l
			}
			e := &out[len(out)-1]
			e.Lines = append(e.Lines, l)
		}
	}
	return out
}
