package translate

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/hookspan/hookspan/internal/jstext"
	"github.com/hookspan/hookspan/internal/rawjson"
)

// What the tools of the SDK take, by its schemas: a member of another type, or a further
// spelling, is as if it were not there, and where no form fits, Cline runs nothing.
// Lines are of sdk/packages/core/src/extensions/tools at SDK 0.0.78; the bundle of
// CLI 3.0.65 has the same.
//
//	run_commands       schemas.ts:133-172, helpers.ts:137, definitions.ts:116-180
//	                   commands: list of texts and {command, args}, or one; list of {command, args};
//	                   {command, args}; command; cmd; list of texts; text
//	read_files         schemas.ts:19-106, helpers.ts:71-135
//	                   files: list of {path, start_line, end_line}; {path | file_path | filePath, lines}; list of these;
//	                   list of texts; text; files: list or one of both; file_paths: list or text; paths as files
//	search_codebase    schemas.ts:111-125: queries: list of texts; list of texts; text; queries: text
//	fetch_web_content  schemas.ts:177-189: requests: list of {url, prompt}
//	editor             schemas.ts:194-224, executors/editor.ts: path, old_text, new_text, insert_line;
//	                   insert_line comes before old_text, and a file that does not exist is created
//	apply_patch        schemas.ts:229-244, executors/apply-patch-parser.ts: input; text
//	skills             schemas.ts:249: skill, args
//
// No path of theirs is expanded (executors/editor.ts:resolveFilePath, executors/file-read.ts:214).

func isText(v any) bool { _, ok := v.(string); return ok }

// listed reports a list of which all entries fit.
func listed(v any, fits func(any) bool) ([]any, bool) {
	list, ok := v.([]any)
	if !ok || slices.ContainsFunc(list, func(e any) bool { return !fits(e) }) {
		return nil, false
	}
	return list, true
}

// isProgram reports {command, args}.
func isProgram(v any) bool {
	m, _ := v.(map[string]any)
	command, ok := m["command"].(string)
	args, has := m["args"]
	_, texts := listed(args, isText)
	return ok && command != "" && (!has || texts)
}

// takenCommands are the commands that the SDK runs for an input of run_commands.
func takenCommands(input any) ([]any, bool) {
	entry := func(v any) bool { return isText(v) || isProgram(v) }
	switch v := input.(type) {
	case string:
		return []any{v}, true
	case []any:
		if list, ok := listed(v, isProgram); ok {
			return list, true
		}
		list, ok := listed(v, isText)
		return joinHeredocs(list), ok
	case map[string]any:
		if list, ok := listed(v["commands"], entry); ok {
			return joinHeredocs(list), true
		}
		_, args := v["args"]
		switch {
		case entry(v["commands"]):
			return []any{v["commands"]}, true
		case isProgram(v) && args:
			return []any{map[string]any{"command": v["command"], "args": v["args"]}}, true
		case isText(v["command"]):
			return []any{v["command"]}, true
		}
		return []any{v["cmd"]}, isText(v["cmd"])
	}
	return nil, false
}

// heredocEnd is the line that ends the first here-document of a command, as
// getHeredocDelimiter finds it.
func heredocEnd(command string) string {
	for i := range command {
		rest, begins := strings.CutPrefix(command[i:], "<<")
		if !begins || i > 0 && command[i-1] == '<' {
			continue
		}
		rest, _ = strings.CutPrefix(rest, "-")
		rest = strings.TrimLeftFunc(rest, jstext.IsSpace)
		for _, quote := range [...]string{`"`, "'"} {
			if inner, quoted := strings.CutPrefix(rest, quote); quoted {
				if end, _, closed := strings.Cut(inner, quote); closed && end != "" {
					return end
				}
			}
		}
		word := strings.TrimLeftFunc(rest, func(r rune) bool { return allowedInName(r) || r == '.' || r == '/' })
		if word != rest {
			return rest[:len(rest)-len(word)]
		}
	}
	return ""
}

// joinHeredocs joins the texts of a here-document that a model wrote as several
// commands.
func joinHeredocs(list []any) (out []any) {
	for i := 0; i < len(list); i++ {
		command, ok := list[i].(string)
		out = append(out, list[i])
		if !ok || !strings.Contains(command, "<<") {
			continue
		}
		delimiter := heredocEnd(command)
		for end := i + 1; delimiter != "" && end < len(list) && isText(list[end]); end++ {
			if jstext.Trim(text(list[end])) == delimiter {
				for i < end {
					i++
					command += "\n" + text(list[i])
				}
				out[len(out)-1] = command
				break
			}
		}
	}
	return out
}

// isLine reports a number of a line, as z.coerce.number().int() takes it.
func isLine(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case string:
		s := jstext.Trim(v)
		n, err := strconv.ParseFloat(s, 64)
		if err != nil {
			whole, bad := strconv.ParseInt(strings.TrimLeft(s, "+-"), 0, 64)
			n, err = float64(whole), bad
		}
		return s == "" || err == nil && n == float64(int64(n))
	case bool, []any, map[string]any:
		return false
	}
	n, ok := rawjson.Float([]byte(rawjson.Encode(v)))
	return ok && n == float64(int64(n))
}

// takenFile is one entry of read_files, under the name that Cline documents.
func takenFile(v any) (map[string]any, bool) {
	m, _ := v.(map[string]any)
	for _, name := range [...]string{"path", "file_path", "filePath"} {
		if isText(m[name]) && positive(m["start_line"]) && positive(m["end_line"]) {
			entry := without(m, "file_path", "filePath")
			entry["path"] = m[name]
			return entry, true
		}
	}
	return nil, false
}

// positive reports a number of a line that a file may have.
func positive(v any) bool {
	n, given := number(v)
	return isLine(v) && (v == nil || given && n > 0)
}

// takenFiles are the files that the SDK reads for an input of read_files.
func takenFiles(input any) ([]map[string]any, bool) {
	loose := func(v any) bool { _, ok := takenFile(v); return ok }
	entry := func(v any) bool { return isText(v) || loose(v) }
	strict := func(v any) bool { m, _ := v.(map[string]any); return isText(m["path"]) && loose(v) }
	input = foldRanges(input)
	m, _ := input.(map[string]any)
	if list, ok := listed(m["files"], strict); ok {
		return files(list), true
	}
	if entry(input) {
		return files([]any{input}), true
	}
	for _, form := range [...]struct {
		value any
		fits  func(any) bool
	}{{input, loose}, {input, isText}, {m["files"], entry}, {m["file_paths"], isText}, {m["paths"], entry}} {
		if list, ok := listed(form.value, form.fits); ok {
			return files(list), true
		} else if m != nil && form.fits(form.value) {
			return files([]any{form.value}), true
		}
	}
	return nil, false
}

func files(list []any) (out []map[string]any) {
	for _, v := range list {
		file, ok := takenFile(v)
		if !ok {
			file = map[string]any{"path": v}
		}
		out = append(out, file)
	}
	return out
}

// foldRanges gives lines that are an entry alone to the entry before them.
func foldRanges(input any) any {
	if m, ok := input.(map[string]any); ok {
		for _, name := range [...]string{"files", "paths"} {
			if list, ok := m[name].([]any); ok {
				return with(m, name, foldRanges(list))
			}
		}
	}
	list, ok := input.([]any)
	if !ok {
		return input
	}
	out := make([]any, 0, len(list))
	for _, v := range list {
		lines, isObject := v.(map[string]any)
		if isObject && len(lines) > 0 && len(without(lines, "start_line", "end_line")) == 0 && len(out) > 0 {
			before, isObject := out[len(out)-1].(map[string]any)
			if isText(out[len(out)-1]) {
				before, isObject = map[string]any{"path": out[len(out)-1]}, true
			}
			_, named := before["path"]
			if isObject && named && len(without(before, slices.Collect(maps.Keys(lines))...)) == len(before) {
				merged := without(before)
				maps.Copy(merged, lines)
				out[len(out)-1] = merged
				continue
			}
		}
		out = append(out, v)
	}
	return out
}

// takenQueries are the expressions that the SDK searches for.
func takenQueries(input any) (out []string, ok bool) {
	if m, isObject := input.(map[string]any); isObject {
		input = m["queries"]
	}
	list, ok := listed(input, isText)
	if s, one := input.(string); one {
		list, ok = []any{s}, true
	}
	for _, q := range list {
		out = append(out, text(q))
	}
	return out, ok
}

// takenRequests are the addresses that the SDK fetches.
func takenRequests(m map[string]any) (out []map[string]any, ok bool) {
	list, ok := listed(m["requests"], func(v any) bool {
		r, _ := v.(map[string]any)
		return isText(r["url"]) && isText(r["prompt"]) && len(utf16.Encode([]rune(text(r["prompt"])))) > 1
	})
	for _, v := range list {
		r, _ := v.(map[string]any)
		out = append(out, r)
	}
	return out, ok
}

// takenEdit is an input of editor without what Cline does not take of it.
func takenEdit(m map[string]any) (map[string]any, bool) {
	old := m["old_text"]
	if !isText(m["path"]) || m["path"] == "" || !isText(m["new_text"]) || old != nil && !isText(old) || !isLine(m["insert_line"]) {
		return m, false
	}
	out := without(m, append(pathNames[1:], newText[1:]...)...)
	if m["insert_line"] != nil {
		delete(out, "old_text")
	}
	return out, true
}

// taken reports whether the SDK's tool of that name runs with an input. Of tools that are
// not in the table, it is not known.
func taken(tool string, input any) (ok bool) {
	m, _ := input.(map[string]any)
	switch tool {
	case "run_commands":
		_, ok = takenCommands(input)
	case "read_files":
		_, ok = takenFiles(input)
	case "search_codebase":
		_, ok = takenQueries(input)
	case "fetch_web_content":
		_, ok = takenRequests(m)
	case "editor":
		_, ok = takenEdit(m)
	}
	return ok
}

// unclear names a member of a type that z.coerce.number() makes some number of, or none.
func unclear(tool string, input any) string {
	if tool != "read_files" && tool != "editor" {
		return ""
	}
	switch v := input.(type) {
	case []any:
		for _, e := range v {
			if name := unclear(tool, e); name != "" {
				return name
			}
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			switch v[name].(type) {
			case bool, []any, map[string]any:
				if name == "start_line" || name == "end_line" || name == "insert_line" {
					return name
				}
				if name := unclear(tool, v[name]); name != "" {
					return name
				}
			}
		}
	}
	return ""
}
