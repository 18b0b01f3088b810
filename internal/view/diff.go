package view

import (
	"bytes"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/hookspan/hookspan/internal/termtext"
)

// Edit is a change that a tool call makes to a file.
type Edit struct {
	// Path is the file, unchanged.
	Path string
	// Lines are the lines of a diff, safe to print. Each begins with "+", "-" or a
	// space.
	Lines []string
}

// maxDiff is the size in bytes of a text of which lines are compared.
const maxDiff = 1 << 20

// writers are the tools that replace a whole file with a content.
var writers = []string{"Write", "write_to_file", "create_file", "write_file", "write", "create"}

// Edits returns the changes that a call asks for, none for a call that edits no file.
// The arguments may be JSON that was cut off.
func Edits(tool, arguments string) (out []Edit) {
	// Most calls edit nothing, and decoding takes time.
	if !slices.ContainsFunc(editMarks, func(mark string) bool { return strings.Contains(arguments, mark) }) {
		return nil
	}
	v, _ := repair(arguments)
	m, ok := v.(map[string]any)
	if !ok {
		return nil
	}
	path := textOf(m, "file_path", "filePath", "path", "absolutePath", "notebook_path")
	add := func(before, after string) {
		if lines := diffLines(before, after); len(lines) > 0 {
			out = append(out, Edit{path, lines})
		}
	}
	edits, several := m["edits"].([]any)
	change := textOf(m, "diff")
	switch {
	case several:
		for _, e := range edits {
			if e, ok := e.(map[string]any); ok {
				add(textOf(e, oldNames...), textOf(e, newNames...))
			}
		}
	case hasText(m, oldNames...) || hasText(m, newNames...) && path != "":
		add(textOf(m, oldNames...), textOf(m, newNames...))
	case searchMark(change) != "":
		for _, block := range searchBlocks(change) {
			add(block[0], block[1])
		}
	case slices.Contains(writers, tool):
		add("", textOf(m, "content", "file_text"))
	default:
		return patchEdits(textOf(m, "command", "patchText", "input", "patch"))
	}
	return out
}

// paths joins the files of edits, each once, on one line that is safe for a terminal.
func paths(edits []Edit) string {
	var names []string
	for _, e := range edits {
		if name := line(e.Path); name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

// MayEdit reports whether Edits may find something in a call whose span is encoded in a
// message.
func MayEdit(message []byte) bool {
	return slices.ContainsFunc(editMarks, func(mark string) bool { return bytes.Contains(message, []byte(mark)) })
}

// editMarks begin the members by which an edit is known.
var editMarks = []string{`"old`, `"new`, `"diff"`, `"edits"`, `"content"`, `"file_text"`, patchMark}

var (
	oldNames = []string{"old_string", "old_text", "oldString", "old_str"}
	newNames = []string{"new_string", "new_text", "newString", "new_str"}
)

func hasText(m map[string]any, names ...string) bool {
	return slices.ContainsFunc(names, func(n string) bool { _, ok := m[n].(string); return ok })
}

func textOf(m map[string]any, names ...string) string {
	for _, n := range names {
		if s, ok := m[n].(string); ok {
			return s
		}
	}
	return ""
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
	text := func(s string) []byte {
		if strings.Trim(s, "\r\n") == "" {
			return nil
		}
		return []byte(strings.Join(termtext.Lines(s), "\n") + "\n")
	}
	for i, l := range strings.Split(strings.TrimSuffix(string(diff.Diff("", text(before), "", text(after))), "\n"), "\n") {
		if i < 3 || strings.HasPrefix(l, "@@") {
			continue // the names and the places: the texts are parts of files
		}
		out = append(out, strings.TrimRight(l, " "))
	}
	return out
}
