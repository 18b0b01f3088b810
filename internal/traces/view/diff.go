package view

import (
	"bytes"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/hookspan/hookspan/internal/rawjson"
	"github.com/hookspan/hookspan/internal/termtext"
)

// Edit is a change that a tool call makes to a file.
type Edit struct {
	// Path is the file, unchanged, To what it is moved to, "" if it is not.
	Path string
	To   string `json:",omitempty"`
	// Lines are the lines of a diff, safe to print. Each begins with "+", "-" or a
	// space.
	Lines []string
}

// emptied is the only line of an edit that leaves a file without a text.
const emptied = " (empty)"

// maxDiff is the size in bytes of a text of which lines are compared.
const maxDiff = 1 << 20

// writers are the tools that replace a whole file with a content.
var writers = []string{"Write", "write_to_file", "create_file", "write_file", "write", "create"}

// Edits returns the changes that the call asks for, none for a call that edits no file.
func (a *Arguments) Edits() []Edit {
	if !a.looked {
		a.edits, a.looked = a.findEdits(), true
	}
	return a.edits
}

func (a *Arguments) findEdits() (out []Edit) {
	m := a.members
	path, _ := textOf(m, "file_path", "filePath", "path", "absolutePath", "notebook_path")
	add := func(before, after string) {
		lines := diffLines(before, after)
		if before == "" && after == "" {
			lines = []string{emptied}
		}
		if len(lines) > 0 {
			out = append(out, Edit{Path: path, Lines: lines})
		}
	}
	replaced := func(m rawjson.Object) (before, after string, old, anew bool) {
		before, old = textOf(m, oldNames...)
		after, anew = textOf(m, newNames...)
		return before, after, old, anew
	}
	edits, several := m.Elements("edits")
	change, _ := textOf(m, "diff")
	before, after, old, anew := replaced(m)
	switch {
	case several:
		for _, e := range edits {
			if before, after, old, anew := replaced(rawjson.Members(e)); old || anew {
				add(before, after)
			}
		}
	case m.Text("edit_mode") == "delete":
		out = append(out, Edit{Path: path, Lines: []string{" *** Delete Cell: " + termtext.Line(m.Text("cell_id"))}})
	case old || anew && path != "":
		add(before, after)
	case searchMark(change) != "":
		for _, block := range searchBlocks(change) {
			add(block[0], block[1])
		}
	case slices.Contains(writers, a.tool):
		if content, ok := textOf(m, "content", "file_text"); ok {
			add("", content)
		}
	default:
		patch, _ := textOf(m, "command", "patchText", "input", "patch")
		return patchEdits(patch)
	}
	return out
}

// paths joins the files of edits, each once, on one line that is safe for a terminal.
func paths(edits []Edit) string {
	var names []string
	for _, e := range edits {
		for _, name := range []string{line(e.Path), line(e.To)} {
			if name != "" && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return strings.Join(names, ", ")
}

// MayEdit reports whether the call whose span is encoded in a message may edit a file.
func MayEdit(message []byte) bool {
	return slices.ContainsFunc(editMarks, func(mark string) bool { return bytes.Contains(message, []byte(mark)) })
}

// editMarks begin the members by which an edit is known.
var editMarks = []string{`"old`, `"new`, `"diff"`, `"edits"`, `"content"`, `"file_text"`, `"edit_mode"`, patchMark}

var (
	oldNames = []string{"old_string", "old_text", "oldString", "old_str"}
	newNames = []string{"new_string", "new_text", "newString", "new_str", "new_source"}
)

// textOf returns the first of the members that is a string.
func textOf(m rawjson.Object, names ...string) (string, bool) {
	for _, n := range names {
		if v := m.Lookup(n); rawjson.IsString(v) {
			return rawjson.Unquote(v), true
		}
	}
	return "", false
}

// searchMark returns the mark that begins a block of Cline's replace_in_file, in the
// form of this or of older versions, or "".
func searchMark(change string) string {
	for _, mark := range []string{"------- SEARCH", "<<<<<<< SEARCH", "[SEARCH]"} {
		if strings.HasPrefix(strings.TrimSpace(change), mark) {
			return mark
		}
	}
	return ""
}

// searchBlocks returns the searched and the new text of each block.
func searchBlocks(change string) (out [][2]string) {
	var block [2]strings.Builder
	side := -1
	end := func() {
		if side >= 0 {
			out = append(out, [2]string{block[0].String(), block[1].String()})
		}
		block, side = [2]strings.Builder{}, -1
	}
	for l := range strings.SplitSeq(change, "\n") {
		switch l = strings.TrimSuffix(l, "\r"); {
		case side < 0 && strings.HasSuffix(l, "SEARCH") && searchMark(l) != "":
			side = 0
		case side == 0 && strings.Trim(l, "=") == "" && len(l) >= 5:
			side = 1
		case side == 1 && (strings.HasSuffix(l, "+ REPLACE") || strings.HasSuffix(l, "> REPLACE")):
			end()
		case side >= 0:
			_, _ = block[side].WriteString(l + "\n")
		}
	}
	end()
	return out
}

// diffLines compares two texts.
func diffLines(before, after string) (out []string) {
	if len(before) > maxDiff || len(after) > maxDiff {
		return []string{"-" + termtext.Plural(len(before), "byte"), "+" + termtext.Plural(len(after), "byte")}
	}
	// A text's last line may lack its end, unless that is what changes.
	end := "\n"
	whole := func(s string) []byte {
		if s == "" || strings.HasSuffix(s, end) {
			return []byte(s)
		}
		return []byte(s + "\n")
	}
	if before != after && bytes.Equal(whole(before), whole(after)) {
		end = "\x00"
	}
	for i, l := range strings.Split(strings.TrimSuffix(string(diff.Diff("", whole(before), "", whole(after))), "\n"), "\n") {
		if i < 3 || strings.HasPrefix(l, "@@") {
			continue // the names and the places: the texts are parts of files
		}
		out = append(out, l)
	}
	return shown(out)
}

// whiteSpace is drawn where nothing else has changed.
var whiteSpace = strings.NewReplacer(" ", "·", "\t", "→", "\r", "␍")

// shown makes the lines of a diff safe to print. White space is drawn in those that are
// removed and added and differ in nothing that is seen.
func shown(lines []string) []string {
	seen, out := make(map[string]bool), make([]string, len(lines))
	for i, l := range lines {
		out[i] = strings.TrimRight(termtext.Value(strings.ReplaceAll(strings.TrimSuffix(l, "\r"), "\t", "    ")), " ")
		seen[out[i]] = true
	}
	for i, l := range out {
		if strings.HasPrefix(l, "+") && seen["-"+l[1:]] || strings.HasPrefix(l, "-") && seen["+"+l[1:]] {
			out[i] = l[:1] + termtext.Value(whiteSpace.Replace(lines[i][1:]))
		}
	}
	return out
}
