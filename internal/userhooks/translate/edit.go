package translate

import (
	"slices"
	"strings"

	"github.com/hookspan/hookspan/internal/jstext"
)

// lineParams are parameters of Cline's editor that Claude's Edit does not have.
// They say where the text goes. Hooks see them and may leave them out.
var lineParams = []string{"insert_line", "start_line", "end_line", "start_column", "end_column", "insert_column", "occurrence"}

// newText are the names under which the editor takes its text.
var newText = []string{"new_text", "text", "content", "replacement"}

// editor reads a call as a Write if it sets the whole content of a file, and as an
// Edit if it changes a part.
func editor(p place, _ any, params map[string]any) toolCall {
	if _, name := pick(params, pathNames...); name == "" {
		return toolCall{}
	}
	params, _ = takenEdit(params)
	_, replaces := pick(params, "old_text")
	_, places := pick(params, lineParams[:3]...)
	if replaces == "" && places == "" {
		return one(p.operation(form{tool: toolWrite, params: []param{filePath, {claude: "content", cline: newText, required: true}}}, params))
	}
	f := form{tool: toolEdit, params: []param{filePath}}
	if replaces != "" {
		f.params = append(f.params, param{claude: "old_string", cline: []string{"old_text"}, required: true})
	}
	f.params = append(f.params, param{claude: "new_string", cline: newText, required: true})
	f.fixed, f.indifferent = object{{"replace_all", text(params["replace_all"]) == "true"}}, replaceAll
	for _, name := range lineParams {
		if params[name] != nil {
			f.params = append(f.params, param{claude: name, kind: asIs, sticky: true})
		}
	}
	op := p.operation(f, params)
	if replaces == "" {
		// Claude's Edit always has an old text.
		op.input = slices.Insert(op.input, 1, field{"old_string", ""})
		op.added = append(op.added, field{"old_string", ""})
	}
	return one(op)
}

// replaceAll says how often Claude's Edit replaces. Cline's tools replace once.
var replaceAll = []string{"replace_all"}

// change is one old and one new text.
type change struct{ from, to string }

// edit is a change in Claude's form.
func (p place) edit(file string, c change) operation {
	op := operation{tool: toolEdit, added: object{{"replace_all", false}}, indifferent: replaceAll}
	if file != "" {
		op.input = object{{"file_path", p.abs(file)}}
	}
	op.input = append(op.input, object{{"old_string", c.from}, {"new_string", c.to}, {"replace_all", false}}...)
	return op
}

// writeFile reads a call as a Write, or as the Edits of a diff, which comes first.
func writeFile(p place, input any, params map[string]any) toolCall {
	if text(params["diff"]) == "" {
		if op := p.operation(writeForm, params); len(op.input) > 0 {
			return one(op)
		}
		return toolCall{}
	}
	call := replaceInFile(p, input, params)
	for i := range call.operations {
		call.operations[i].aliases = append([]string{"replace_in_file"}, call.operations[i].aliases...)
	}
	return call
}

// replaceInFile is one Edit for each block of a diff. One MultiEdit would be
// closer, but Claude has no such tool any more and configurations name Edit.
func replaceInFile(p place, _ any, params map[string]any) toolCall {
	if len(params) == 0 {
		return toolCall{}
	}
	name, _ := pick(params, pathNames...)
	diff := text(params["diff"])
	blocks, ok := searchReplace(diff)
	if !ok {
		blocks = []change{{to: diff}}
	}
	call := toolCall{perFile: true}
	for _, b := range blocks {
		call.operations = append(call.operations, p.edit(text(name), b))
	}
	severalBlocks(call.operations)
	return call
}

// severalBlocks adds the alias MultiEdit to the edits of each file that has more
// than one.
func severalBlocks(all []operation) {
	count := make(map[string]int)
	for _, op := range all {
		if op.tool == toolEdit {
			count[op.input.str("file_path")]++
		}
	}
	for i := range all {
		if all[i].tool == toolEdit && count[all[i].input.str("file_path")] > 1 {
			all[i].aliases = []string{aliasMultiEdit}
		}
	}
}

// searchReplace reads a diff of SEARCH/REPLACE blocks. It refuses a diff with text
// outside of the blocks, since it is not known how Cline reads one; hooks then see
// the whole diff.
func searchReplace(diff string) ([]change, bool) {
	const outside, searching, replacing = 0, 1, 2
	var all []change
	var from, to []string
	state := outside
	for line := range strings.Lines(diff) {
		line = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
		switch {
		case state == outside && marks(line, '-', '<', " SEARCH"):
			state, from, to = searching, nil, nil
		case state == searching && marks(line, '=', '=', ""):
			state = replacing
		case state == replacing && marks(line, '+', '>', " REPLACE"):
			state = outside
			all = append(all, change{strings.Join(from, "\n"), strings.Join(to, "\n")})
		case state == searching:
			from = append(from, line)
		case state == replacing:
			to = append(to, line)
		case jstext.Trim(line) != "":
			return nil, false
		}
	}
	return all, state == outside && len(all) > 0
}

// marks reports whether a line is a marker: three or more of one of the two
// characters, then the word, which older models end with ">".
func marks(line string, c, old byte, word string) bool {
	if line == "" || line[0] != c && line[0] != old {
		return false
	}
	rest := strings.TrimLeft(line, line[:1])
	if len(line)-len(rest) < 3 {
		return false
	}
	return rest == word || word != "" && rest == word+">"
}

// oneFile joins the changes of a file into one operation, for the end of the call:
// a formatter runs once per file, and a hook that looks for a text finds it in
// new_string.
func oneFile(all []operation) operation {
	first := all[0]
	if len(all) == 1 || first.tool != toolEdit {
		return first
	}
	var from, to []string
	edits := make([]any, 0, len(all))
	for _, op := range all {
		c := change{op.input.str("old_string"), op.input.str("new_string")}
		from, to = append(from, c.from), append(to, c.to)
		edits = append(edits, object{{"old_string", c.from}, {"new_string", c.to}, {"replace_all", false}})
	}
	out := operation{index: first.index, tool: toolEdit, aliases: first.aliases}
	if name, ok := first.input.get("file_path"); ok {
		out.input = object{{"file_path", name}}
	}
	out.input = append(out.input, object{
		{"old_string", strings.Join(from, "\n")},
		{"new_string", strings.Join(to, "\n")},
		{"replace_all", false},
		{"edits", edits},
	}...)
	return out
}
