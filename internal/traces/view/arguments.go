package view

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/hookspan/hookspan/internal/rawjson"
	"github.com/hookspan/hookspan/internal/termtext"
)

// Arguments are what a tool call was given. Their JSON is read once.
type Arguments struct {
	// Text is as the agent gave it: JSON or another text.
	Text string
	tool string
	// value is the JSON of an object or a list, nil for another text; members are those of an
	// object.
	value   []byte
	members rawjson.Object
	// edits are valid once they were looked for.
	edits  []Edit
	looked bool
}

// NewArguments reads the arguments of a call of a tool.
func NewArguments(tool, text string) *Arguments {
	a := &Arguments{Text: text, tool: tool}
	if value := rawjson.Trim([]byte(text)); len(value) > 0 && (value[0] == '{' || value[0] == '[') && rawjson.Check(value) == nil {
		a.value, a.members = value, rawjson.Members(value)
	}
	return a
}

// Cut reports that the end of a text, or a part of the arguments, was left out.
func (a *Arguments) Cut() bool { return strings.Contains(a.Text, leftOut+`"`) }

// mainParameters are the parameters that describe a tool call best, the best
// first, of the tools of Cline and Claude Code.
var mainParameters = [...]string{
	"command", "commands", "cmd", "url", "pattern", "regex", "query", "queries",
	"file_path", "filePath", "absolutePath", "path", "paths", "files", "notebook_path", "skill", "skill_name",
	"tool_name", "uri", "question", "questions", "description", "prompt", "task", "action", "result", "response", "text",
	"input", "content",
}

// Line returns the files of an edit, else the main parameter, on one safe line.
func (a *Arguments) Line() string {
	if edits := a.Edits(); len(edits) > 0 {
		return paths(edits)
	}
	return a.main()
}

// main returns the main parameter on one safe line.
func (a *Arguments) main() string {
	if a.value == nil {
		return line(a.Text)
	}
	text := mainText(a.value, 0)
	return cmp.Or(paths(patchEdits(text)), line(text))
}

// preview returns the main parameter of arguments of which only one line is shown.
func preview(arguments string) string { return NewArguments("", arguments).main() }

// mainText returns the text in a value that describes it best.
func mainText(value []byte, depth int) string {
	if depth > 4 || len(value) == 0 {
		return ""
	}
	if rawjson.IsString(value) {
		return rawjson.Unquote(value)
	}
	if list, ok := rawjson.Elements(value); ok {
		var parts []string
		for _, e := range list {
			if p := mainText(e, depth+1); p != "" {
				parts = append(parts, p)
			}
		}
		return strings.Join(parts, ", ")
	}
	members := make(map[string][]byte)
	rawjson.EachMember(value, func(name, v []byte) { members[string(name)] = v })
	for _, k := range slices.Concat(mainParameters[:], slices.Sorted(maps.Keys(members))) {
		if p := mainText(members[k], depth+1); p != "" {
			return p
		}
	}
	if members[leftOut] != nil {
		return leftOut
	}
	return ""
}

// leftOut ends a text that was cut. As a member, it counts what was left out of a list or an
// object.
const leftOut = "…"

// Parts returns the arguments as texts: an edit as a diff, the members of another object
// separately.
func (a *Arguments) Parts() (out []Part) {
	edits := a.Edits()
	switch {
	case len(edits) > 0:
		for _, e := range edits {
			out = addPart(out, "file", "", false, e.Path)
			out = addPart(out, "change", "diff", false, strings.Join(e.Lines, "\n"))
		}
	case a.members == nil:
		out = addPart(out, "input", "", false, a.Text)
	default:
		rawjson.EachMember(a.value, func(name, value []byte) {
			out = addPart(out, termtext.Line(string(name)), "", false, memberText(value))
		})
	}
	return out
}

// memberText is a value for people: a string without quotes, a list of things to do, each
// with its state, as one line for each, and other JSON as it is.
func memberText(value []byte) string {
	if rawjson.IsString(value) {
		return rawjson.Unquote(value)
	}
	list, _ := rawjson.Elements(value)
	lines := make([]string, 0, len(list))
	for _, raw := range list {
		o := rawjson.Members(raw)
		if n := o.Text(leftOut); n != "" {
			lines = append(lines, leftOut+" "+n+" more")
			continue
		}
		text, status := cmp.Or(o.Text("content"), o.Text("step"), o.Text("title")), o.Text("status")
		if text == "" || status == "" {
			return string(value)
		}
		mark := "[ ] "
		switch status {
		case "completed", "done":
			mark = "[x] "
		case "in_progress":
			mark = "[-] "
		}
		lines = append(lines, mark+text)
	}
	return cmp.Or(strings.Join(lines, "\n"), string(value))
}
