package translate

import (
	"maps"
	"strings"

	"github.com/hookspan/hookspan/internal/rawjson"
)

// Cline takes the lists of its tools in many spellings, for models write them
// so. A spelling that is not read here would be a call no hook sees, so these
// functions read all that some version of Cline takes, and where two versions
// differ, what either would do.

// readForm is one file to be read, without the lines.
var readForm = form{tool: toolRead, params: []param{
	{claude: "file_path", cline: pathNames, kind: asPath, required: true},
}}

// read is one file, or some lines of it.
func (p place) read(params map[string]any) element {
	if len(params) == 0 {
		return element{tool: toolRead, value: params}
	}
	el := p.element(readForm, params)
	first, _ := pick(params, "start_line")
	last, _ := pick(params, "end_line")
	start, hasStart := number(first)
	end, hasEnd := number(last)
	if hasStart {
		el.input = append(el.input, field{"offset", start})
	}
	if hasEnd {
		from := int64(1)
		if hasStart {
			from = start
		}
		el.input = append(el.input, field{"limit", max(end-from+1, 0)})
	}
	forward := el.input
	el.back = func(updated map[string]any) (any, []string, error) {
		return readBack(params, forward, updated)
	}
	return el
}

func readBack(params map[string]any, forward object, updated map[string]any) (any, []string, error) {
	f := readForm
	f.harmless = []string{"offset", "limit"}
	out, _, err := f.back(params, forward, updated)
	if err != nil {
		return nil, nil, err
	}
	oldOffset, hadOffset := forward.get("offset")
	oldLimit, hadLimit := forward.get("limit")
	offset, hasOffset := updated["offset"]
	limit, hasLimit := updated["limit"]
	if hadOffset == hasOffset && hadLimit == hasLimit && equal(oldOffset, offset) && equal(oldLimit, limit) {
		return out, nil, nil
	}
	delete(out, "start_line")
	delete(out, "end_line")
	from := int64(1)
	if n, ok := number(offset); ok {
		// Claude counts from 0 as well as from 1 for the first line.
		from = max(n, 1)
		out["start_line"] = from
	}
	if n, ok := number(limit); ok {
		out["end_line"] = from + max(n, 1) - 1
	}
	return out, nil, nil
}

// readFiles is one Read for each file.
func (p place) readFiles(input any) whole {
	var w whole
	for _, entry := range readEntries(input) {
		w.elements = append(w.elements, p.read(entry))
	}
	if len(w.elements) == 0 {
		return shown(toolRead, input)
	}
	rest := without(input, "files", "paths", "file_paths", "start_line", "end_line", pathNames[0], pathNames[1], pathNames[2], pathNames[3])
	w.build = func(values []any) any { return with(rest, "files", values) }
	return w
}

// readEntries are the files of a call, each with its path under the name that
// Cline documents. A range on its own belongs to the file before it.
func readEntries(input any) []map[string]any {
	var entries []map[string]any
	add := func(m map[string]any) {
		v, name := pick(m, pathNames...)
		if name == "" {
			_, from := m["start_line"]
			_, to := m["end_line"]
			if n := len(entries); n > 0 && (from || to) {
				maps.Copy(entries[n-1], m)
			}
			return
		}
		listed, _ := parsed(v).([]any)
		if len(listed) == 0 {
			listed = []any{v}
		}
		for _, one := range listed {
			entry := maps.Clone(m)
			delete(entry, name)
			entry["path"] = text(one)
			entries = append(entries, entry)
		}
	}
	var walk func(v any, depth int)
	walk = func(v any, depth int) {
		switch v := parsed(v).(type) {
		case string:
			if v != "" {
				add(map[string]any{"path": v})
			}
		case []any:
			if depth > 2 {
				return
			}
			for _, one := range v {
				walk(one, depth+1)
			}
		case map[string]any:
			found := false
			for _, key := range [...]string{"files", "paths", "file_paths"} {
				if inner := v[key]; inner != nil && depth <= 2 {
					found = true
					walk(inner, depth+1)
				}
			}
			if _, name := pick(v, pathNames...); name != "" || !found {
				m := without(v, "files", "paths", "file_paths")
				add(m)
			}
		}
	}
	walk(input, 0)
	return entries
}

// commandForm is one command of run_commands that is a shell's text.
var commandForm = form{
	tool: toolBash, fixed: object{{"run_in_background", false}}, harmless: []string{"description", "timeout"},
	indifferent: []string{"description", "timeout", "run_in_background"},
	params:      []param{{claude: "command", cline: []string{"command"}, required: true}},
}

// runCommands is one Bash for each command. They are never joined: a hook that
// looks at how a command begins would miss all but the first.
func (p place) runCommands(input any) whole {
	var w whole
	for _, value := range commandEntries(input) {
		w.elements = append(w.elements, p.command(value))
	}
	if len(w.elements) == 0 {
		return shown(toolBash, input)
	}
	rest := without(input, "commands", "command", "args", "cmd", "shell_command", "script")
	w.build = func(values []any) any { return with(rest, "commands", values) }
	return w
}

// command is one entry: a shell's text, or a program and its arguments.
func (p place) command(value any) element {
	line := text(value)
	var timeout any
	if m, ok := value.(map[string]any); ok {
		program, _ := pick(m, "command", "cmd", "shell_command", "script")
		line = text(program)
		if args, _ := pick(m, "args"); args != nil {
			line = quoteAll(append([]any{line}, listOf(args)...))
		}
		timeout, _ = pick(m, "timeout")
	}
	el := p.element(commandForm, map[string]any{"command": line})
	if timeout != nil {
		el.input = append(el.input[:1:1], append(object{{"timeout", timeout}}, el.input[1:]...)...)
	}
	el.value = value
	forward := el.input
	el.back = func(updated map[string]any) (any, []string, error) {
		out, notes, err := commandForm.back(map[string]any{"command": line}, forward, updated)
		if err != nil {
			return nil, nil, err
		}
		if now := text(out["command"]); now != line {
			return now, notes, nil
		}
		return value, notes, nil
	}
	return el
}

// commandEntries are the commands of a call, each as Cline has it.
func commandEntries(input any) []any {
	switch v := parsed(input).(type) {
	case string:
		if v != "" {
			return []any{v}
		}
	case []any:
		return entriesOf(v)
	case map[string]any:
		var all []any
		switch list := parsed(v["commands"]).(type) {
		case []any:
			all = entriesOf(list)
		case map[string]any:
			if inner, ok := list["commands"]; ok {
				all = entriesOf(listOf(parsed(inner)))
			} else {
				all = entriesOf([]any{list})
			}
		case nil:
		default:
			if text(list) != "" {
				all = []any{text(list)}
			}
		}
		if line, name := pick(v, "command", "cmd", "shell_command", "script"); name != "" {
			// Beside arguments it is a program, on its own a shell's text. As an
			// object in the list it would be a program either way.
			if args, _ := pick(v, "args"); args != nil {
				all = append(all, without(v, "commands"))
			} else if text(line) != "" {
				all = append(all, text(line))
			}
		}
		return all
	}
	return nil
}

// entriesOf reads the elements of a list of commands. A list within the list is
// a program and its arguments.
func entriesOf(list []any) []any {
	var all []any
	for _, v := range list {
		switch v := v.(type) {
		case nil:
		case []any:
			if len(v) > 0 {
				all = append(all, map[string]any{"command": v[0], "args": v[1:]})
			}
		case map[string]any:
			if _, name := pick(v, "command", "cmd", "shell_command", "script"); name != "" {
				all = append(all, v)
			} else if len(v) > 0 {
				all = append(all, rawjson.Encode(v))
			}
		default:
			if text(v) != "" {
				all = append(all, text(v))
			}
		}
	}
	return all
}

// searchCodebase is one Grep for each query.
func (p place) searchCodebase(input any) whole {
	queries := queriesOf(input)
	var w whole
	for _, q := range queries {
		f := form{tool: toolGrep, params: []param{{claude: "pattern", cline: []string{"query"}, required: true}}}
		if p.cwd != "" {
			f.fixed = object{{"path", p.abs(p.cwd)}}
		}
		el := p.element(f, map[string]any{"query": q})
		inner := el.back
		el.value = q
		el.back = func(updated map[string]any) (any, []string, error) {
			out, notes, err := inner(updated)
			if err != nil {
				return nil, nil, err
			}
			m, _ := out.(map[string]any)
			return text(m["query"]), notes, nil
		}
		w.elements = append(w.elements, el)
	}
	if len(w.elements) == 0 {
		return shown(toolGrep, input)
	}
	rest := without(input, "queries", "query")
	w.build = func(values []any) any { return with(rest, "queries", values) }
	return w
}

func queriesOf(input any) []string {
	var all []string
	add := func(v any) {
		for _, one := range listOf(v) {
			if s := text(one); s != "" {
				all = append(all, s)
			}
		}
	}
	// A query is an expression and may look like JSON, as [a-z] does not but
	// ["'] might: only a list that came as one is taken for one.
	m, ok := input.(map[string]any)
	if !ok {
		add(input)
		return all
	}
	add(m["queries"])
	add(m["query"])
	return all
}

// fetchWeb is one WebFetch for each address.
func (p place) fetchWeb(input any) whole {
	list := listOf(parsed(input))
	m, isObject := input.(map[string]any)
	if isObject {
		list = listOf(parsed(m["requests"]))
		if _, name := pick(m, "url"); name != "" {
			list = append(list, without(m, "requests"))
		}
	}
	var w whole
	for _, v := range list {
		request, ok := v.(map[string]any)
		if s, isText := v.(string); isText && s != "" {
			request, ok = map[string]any{"url": s}, true
		}
		if ok && len(request) > 0 {
			w.elements = append(w.elements, p.element(fetchForm, request))
		}
	}
	if len(w.elements) == 0 {
		return shown(toolFetch, input)
	}
	rest := without(input, "requests", "url", "prompt")
	w.build = func(values []any) any { return with(rest, "requests", values) }
	return w
}

// listOf is a list itself, nothing for nothing, and else a list of one.
func listOf(v any) []any {
	switch v := v.(type) {
	case nil:
		return nil
	case []any:
		return v
	}
	return []any{v}
}

// without is an object less some members; what is no object gives none.
func without(v any, keys ...string) map[string]any {
	m, _ := v.(map[string]any)
	out := make(map[string]any, len(m))
	maps.Copy(out, m)
	for _, key := range keys {
		delete(out, key)
	}
	return out
}

// with is an object with one more member.
func with(m map[string]any, key string, value any) map[string]any {
	out := maps.Clone(m)
	if out == nil {
		out = map[string]any{}
	}
	out[key] = value
	return out
}

// quoteAll writes a program and its arguments as a POSIX shell would have to be
// told them.
func quoteAll(words []any) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = quote(text(w))
	}
	return strings.Join(quoted, " ")
}

// quote makes one word of a text for a POSIX shell.
func quote(s string) string {
	plain := s != ""
	for i := 0; i < len(s) && plain; i++ {
		c := s[i]
		plain = isLetter(c) || '0' <= c && c <= '9' || strings.IndexByte("_@%+=:,./-", c) >= 0
	}
	if plain {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
