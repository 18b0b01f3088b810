package claude

import (
	"strconv"
	"strings"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/rawjson"
)

// output turns a tool's response into text for people. o has the members of raw, or
// none if it is no object.
//
// The responses of Claude Code's own tools are structures of which a part is shown.
// The tool's name decides, since a tool of an MCP server may use the same members
// for something else. Lists of content blocks become the
// texts inside them, a string stays as it is, and any other value becomes
// compact JSON.
func output(tool string, raw []byte, o rawjson.Object) string {
	if rawjson.IsString(raw) {
		return rawjson.Unquote(raw)
	}
	list, isList := rawjson.Elements(raw)
	if !isList {
		if s, ok := builtin(tool, o); ok {
			return s
		}
		// Agents and some MCP tools wrap their blocks.
		list, _ = o.Elements("content")
	}
	if s, ok := blocks(list); ok {
		return s
	}
	return rawjson.Canonical(raw)
}

// builtin reads the responses of Claude Code's own tools. It returns false for an
// unknown shape.
func builtin(tool string, o rawjson.Object) (string, bool) {
	switch tool {
	case toolBash, toolPowerShell:
		return shell(o)
	case "Read":
		return readFile(o)
	case "Glob", "Grep":
		return found(o)
	case "Edit", "MultiEdit", "Write", "NotebookEdit":
		return edit(o)
	case "WebFetch":
		return stringMember(o, "result")
	}
	return "", false
}

// stringMember is a member that must be a string.
func stringMember(o rawjson.Object, name string) (string, bool) {
	raw := o.Get(name)
	return rawjson.Unquote(raw), rawjson.IsString(raw)
}

// shell is what a command printed. Claude Code puts both of the command's
// streams into stdout; stderr holds notices of the tool itself.
func shell(o rawjson.Object) (string, bool) {
	stdout, ok := stringMember(o, "stdout")
	stderr, also := stringMember(o, "stderr")
	if !ok && !also {
		return "", false
	}
	if o.Is("isImage") {
		stdout = "[image]"
	}
	return hook.Lines(stdout, stderr), true
}

// readFile is a file's text. Files that are no text come in base64.
func readFile(o rawjson.Object) (string, bool) {
	switch kind := o.Text("type"); kind {
	case "text":
		return stringMember(o.Members("file"), "content")
	case "image", "pdf":
		return "[" + kind + "]", true
	}
	return "", false
}

// found is what a search printed, else the files it found.
func found(o rawjson.Object) (string, bool) {
	if content, ok := stringMember(o, "content"); ok && content != "" {
		return content, true
	}
	names, ok := o.Elements("filenames")
	var files []string
	for _, name := range names {
		files = append(files, rawjson.Text(rawjson.Present(name)))
	}
	return hook.Lines(files...), ok
}

// edit is the change that was made to a file, as in a unified diff, else the
// file's name. The response also has the file before and after, which are left
// out: they are long, and the call's input says the same.
func edit(o rawjson.Object) (string, bool) {
	hunks, _ := o.Elements("structuredPatch")
	var parts []string
	for _, raw := range hunks {
		hunk := rawjson.Members(raw)
		lines, _ := hunk.Elements("lines")
		if len(lines) == 0 {
			continue
		}
		parts = append(parts, hunkHeader(hunk))
		for _, line := range lines {
			parts = append(parts, rawjson.Text(line))
		}
	}
	if len(parts) > 0 {
		return strings.Join(parts, "\n"), true
	}
	for _, name := range [...]string{"filePath", "notebook_path"} {
		if file, ok := stringMember(o, name); ok {
			return file, true
		}
	}
	return "", o.Get("originalFile") != nil
}

// hunkHeader is the line that begins a hunk of a unified diff.
func hunkHeader(hunk rawjson.Object) string {
	side := func(sign, start, lines string) string {
		from, _ := rawjson.Int(hunk.Get(start))
		n, _ := rawjson.Int(hunk.Get(lines))
		return sign + strconv.FormatInt(from, 10) + "," + strconv.FormatInt(n, 10)
	}
	return "@@ " + side("-", "oldStart", "oldLines") + " " + side("+", "newStart", "newLines") + " @@"
}

// blocks reads a list of content blocks of Claude's API or of the Model Context
// Protocol. It returns false if an element is no such block: the elements of a
// tool's own list may also have a "type".
func blocks(list [][]byte) (string, bool) {
	if len(list) == 0 {
		return "", false
	}
	parts := make([]string, 0, len(list))
	for _, raw := range list {
		s, ok := block(rawjson.Members(raw))
		if !ok {
			return "", false
		}
		parts = append(parts, s)
	}
	return hook.Lines(parts...), true
}

// block is the text of one content block, or a mark for one that has none.
func block(o rawjson.Object) (string, bool) {
	switch kind := o.Text("type"); kind {
	case "text":
		return stringMember(o, "text")
	case "image", "audio", "document":
		return "[" + kind + "]", true
	case "resource_link":
		return stringMember(o, "uri")
	case "resource":
		inner := o.Members("resource")
		if s, ok := stringMember(inner, "text"); ok {
			return s, true
		}
		return stringMember(inner, "uri")
	}
	return "", false
}
