package view

import "strings"

// patchMark begins a patch for the tool apply_patch, which several agents have:
// sections of files, each with lines that are added, removed or kept.
const patchMark = "*** Begin Patch"

// patchEdits returns the changes of a patch, none of another text. What happens to a
// file as a whole, and where in it a change is, are lines that begin with a space.
func patchEdits(text string) (out []Edit) {
	if !strings.HasPrefix(text, patchMark) {
		return nil
	}
	for i, l := range strings.Split(strings.TrimRight(text, "\r\n"), "\n") {
		what, path, _ := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(l, "*** "), "\r"), ": ")
		header := strings.HasPrefix(l, "*** ")
		switch {
		case i == 0:
		case header && (what == "Add File" || what == "Update File"):
			out = append(out, Edit{Path: path})
		case header && what == "Delete File":
			out = append(out, Edit{Path: path, Lines: []string{" " + l}})
		case len(out) == 0, strings.TrimSpace(l) == "@@", header && what != "Move to":
		default:
			e := &out[len(out)-1]
			if header {
				e.To = path
			}
			if l == "" || !strings.ContainsAny(l[:1], "+- ") {
				l = " " + l
			}
			e.Lines = append(e.Lines, l)
		}
	}
	for i := range out {
		out[i].Lines = shown(out[i].Lines)
	}
	return out
}
