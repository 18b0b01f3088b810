package translate

import (
	"slices"
	"strings"

	"github.com/hookspan/hookspan/internal/jstext"
)

// The lines by which a patch names its files, in the grammar of apply_patch.
const (
	patchAdd    = "*** Add File:"
	patchUpdate = "*** Update File:"
	patchDelete = "*** Delete File:"
	patchMove   = "*** Move to:"
	patchEnd    = "*** End Patch"
	patchFile   = "*** End of File"
)

// span is a range of a patch's lines and its replacement by a hook.
type span struct {
	from, to int
	lines    []string
	changed  bool
}

// applyPatch is one event for each file that is added or deleted and one for
// each hunk of a file that is updated. A file that moves is named by both its
// paths.
func applyPatch(p place, input any, params map[string]any) toolCall {
	source, key := input, ""
	if params != nil {
		source, key = pick(params, "input", "patch")
	}
	patch, ok := source.(string)
	if !ok {
		return toolCall{}
	}
	lines := strings.Split(patch, "\n")
	call := toolCall{perFile: true, operations: p.patchOperations(lines)}
	if len(call.operations) == 0 {
		call.operations = []operation{p.edit("", change{to: patch})}
		return call
	}
	severalBlocks(call.operations)
	call.build = func(values []any) any {
		out := slices.Clone(lines)
		// From the end, so that earlier line numbers stay valid.
		for _, v := range slices.Backward(values) {
			if s, ok := v.(span); ok && s.changed {
				out = slices.Replace(out, s.from, s.to, s.lines...)
			}
		}
		joined := strings.Join(out, "\n")
		if params == nil {
			return joined
		}
		return with(params, key, joined)
	}
	return call
}

func (p place) patchOperations(lines []string) []operation {
	var all []operation
	for i := 0; i < len(lines); {
		head := strings.TrimSuffix(lines[i], "\r")
		i++
		if name, ok := strings.CutPrefix(head, patchAdd); ok {
			end := sectionEnd(lines, i)
			all = append(all, p.added(jstext.Trim(name), lines, i, end))
			i = end
		} else if name, ok := strings.CutPrefix(head, patchDelete); ok {
			all = append(all, p.edit(jstext.Trim(name), change{}))
		} else if name, ok := strings.CutPrefix(head, patchUpdate); ok {
			end := sectionEnd(lines, i)
			all = append(all, p.updated(jstext.Trim(name), lines, i, end)...)
			i = end
		}
	}
	return all
}

// sectionEnd is the line at which the section of a file ends.
func sectionEnd(lines []string, from int) int {
	for i := from; i < len(lines); i++ {
		for _, mark := range [...]string{patchAdd, patchUpdate, patchDelete, patchEnd} {
			if strings.HasPrefix(lines[i], mark) {
				return i
			}
		}
	}
	return len(lines)
}

// added is a new file.
func (p place) added(name string, lines []string, from, to int) operation {
	var content []string
	for _, line := range lines[from:to] {
		content = append(content, strings.TrimPrefix(strings.TrimSuffix(line, "\r"), "+"))
	}
	return operation{tool: toolWrite, input: object{
		{"file_path", p.abs(name)}, {"content", strings.Join(content, "\n")},
	}}.replacing(from, to, "content", "+")
}

// updated is one Edit for each hunk, and one for the path a file moves to.
func (p place) updated(name string, lines []string, from, to int) []operation {
	var all []operation
	target := ""
	if from < to {
		if moved, ok := strings.CutPrefix(lines[from], patchMove); ok {
			target = jstext.Trim(moved)
			from++
		}
	}
	var old, fresh []string
	start := from
	flush := func(end int) {
		if len(old)+len(fresh) > 0 {
			op := p.edit(name, change{strings.Join(old, "\n"), strings.Join(fresh, "\n")})
			all = append(all, op.replacing(start, end, "old_string", "-", "new_string", "+"))
		}
		old, fresh = nil, nil
	}
	for i := from; i < to; i++ {
		line := strings.TrimSuffix(lines[i], "\r")
		switch {
		case strings.HasPrefix(line, "@@"), line == patchFile:
			flush(i)
			start = i + 1
		case strings.HasPrefix(line, "-"):
			old = append(old, line[1:])
		case strings.HasPrefix(line, "+"):
			fresh = append(fresh, line[1:])
		case line == "" && i == to-1:
			// The end of the last line.
		default:
			kept := strings.TrimPrefix(line, " ")
			old, fresh = append(old, kept), append(fresh, kept)
		}
	}
	flush(to)
	if len(all) == 0 {
		all = append(all, p.edit(name, change{}))
	}
	if target != "" {
		var texts []string
		for _, op := range all {
			texts = append(texts, op.input.str("new_string"))
		}
		all = append(all, p.edit(target, change{to: strings.Join(texts, "\n")}))
	}
	return all
}

// replacing lets hooks replace the lines of an operation. pairs are the members that
// hold the lines, each followed by the mark of its lines.
func (op operation) replacing(from, to int, pairs ...string) operation {
	f := form{tool: op.tool, params: []param{{claude: "file_path", kind: constant, required: true}}}
	for i := 0; i < len(pairs); i += 2 {
		f.params = append(f.params, param{claude: pairs[i], required: true})
	}
	op.value = span{from: from, to: to}
	op.back = func(forward object, updated map[string]any) (any, []string, error) {
		changed, _, err := f.back(nil, forward, updated)
		if err != nil {
			return nil, nil, err
		}
		s := span{from: from, to: to, changed: len(changed) > 0}
		for i := 0; i < len(pairs); i += 2 {
			s.lines = append(s.lines, prefixed(pairs[i+1], text(updated[pairs[i]]))...)
		}
		return s, nil, nil
	}
	return op
}

// prefixed gives each line of a text a mark.
func prefixed(mark, s string) []string {
	if s == "" {
		return nil
	}
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = mark + lines[i]
	}
	return lines
}
