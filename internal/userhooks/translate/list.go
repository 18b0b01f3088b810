package translate

import (
	"maps"
	"slices"
	"strings"

	"github.com/hookspan/hookspan/internal/rawjson"
)

// Cline takes the lists of its tools in many spellings, as models write them. An input that
// the SDK's schemas take is read as they do; see taken.go. Another one these functions read
// in every way that some program might: a hook that looks for something in it finds it.

// readFiles reads a call as one Read for each file.
func readFiles(p place, input any, _ map[string]any) toolCall {
	entries, ok := takenFiles(input)
	if !ok {
		entries = readEntries(input)
	}
	return several(input, entries, p.read, "files", append([]string{"paths", "file_paths", "start_line", "end_line"}, pathNames...)...)
}

// read is one file, or some lines of it.
func (p place) read(params map[string]any) operation {
	op := p.operation(readForm, params)
	start, hasStart := number(params["start_line"])
	end, hasEnd := number(params["end_line"])
	if hasStart {
		op.input = append(op.input, field{"offset", start})
	} else {
		start = 1
	}
	if hasEnd {
		op.input = append(op.input, field{"limit", max(end-start+1, 0)})
	}
	op.back = func(forward object, updated map[string]any) (any, []string, error) {
		return readBack(params, forward, updated)
	}
	return op
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

// several is a call with one operation for each entry of a list. The list goes back to
// Cline under key; others are further keys under which Cline takes it, and are removed.
func several[E any](input any, entries []E, read func(E) operation, key string, others ...string) toolCall {
	rest := without(input, append(others, key)...)
	call := toolCall{build: func(values []any) any { return with(rest, key, values) }}
	for _, entry := range entries {
		call.operations = append(call.operations, read(entry))
	}
	return call
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

// commandNames are the names under which Cline takes a command.
var commandNames = []string{"command", "cmd", "shell_command", "script"}

// runCommands reads a call as one Bash for each command. They are never joined: a hook that
// looks at how a command begins would miss all but the first.
func runCommands(p place, input any, _ map[string]any) toolCall {
	entries, ok := takenCommands(input)
	if !ok {
		entries = commandEntries(input)
	}
	return several(input, entries, p.command, "commands", append([]string{"args"}, commandNames...)...)
}

// command is one entry: a shell's text, or a program and its arguments.
func (p place) command(value any) operation {
	line := text(value)
	var timeout any
	if m, ok := value.(map[string]any); ok {
		program, _ := pick(m, commandNames...)
		line = text(program)
		if args := m["args"]; args != nil {
			line = quoteAll(append([]any{line}, listOf(args)...))
		}
		timeout = m["timeout"]
	}
	op := p.operation(commandForm("description", "timeout"), map[string]any{"command": line})
	if timeout != nil {
		op.input = slices.Insert(op.input, 1, field{"timeout", timeout})
	}
	return op.only("command", line, value)
}

// only is for an operation with a single parameter: it goes back to Cline as that
// parameter's text, not as an object. value is how Cline wrote it.
func (op operation) only(name, before string, value any) operation {
	inner := op.back
	op.value = value
	op.back = func(forward object, updated map[string]any) (any, []string, error) {
		out, notes, err := inner(forward, updated)
		if err != nil {
			return nil, nil, err
		}
		params, _ := out.(map[string]any)
		if now := text(params[name]); now != before {
			return now, notes, nil
		}
		return value, notes, nil
	}
	return op
}

// commandEntries are the commands of a call, each as Cline has it.
func commandEntries(input any) []any {
	input = parsed(input)
	params, ok := input.(map[string]any)
	if !ok {
		switch input.(type) {
		case string, []any:
			return entriesOf(listOf(input))
		}
		return nil
	}
	list := parsed(params["commands"])
	if m, ok := list.(map[string]any); ok {
		if inner, ok := m["commands"]; ok {
			list = parsed(inner)
		}
	}
	all := entriesOf(listOf(list))
	if line, name := pick(params, commandNames...); name != "" {
		// With arguments it is a program, without them a shell line. Cline takes an
		// object in the list for a program in both cases, so it becomes a text.
		if params["args"] != nil {
			all = append(all, without(params, "commands"))
		} else if text(line) != "" {
			all = append(all, text(line))
		}
	}
	return all
}

// entriesOf reads the operations of a list of commands. A list within the list is
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
			if _, name := pick(v, commandNames...); name != "" {
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

// searchCodebase reads a call as one Grep for each query.
func searchCodebase(p place, input any, _ map[string]any) toolCall {
	f := form{tool: toolGrep, params: []param{{claude: "pattern", cline: []string{"query"}, required: true}}}
	if p.cwd != "" {
		f.fixed = object{{"path", p.abs(p.cwd)}}
	}
	search := func(q string) operation { return p.operation(f, map[string]any{"query": q}).only("query", q, q) }
	return several(input, queriesOf(input), search, "queries", "query")
}

func queriesOf(input any) []string {
	all, ok := takenQueries(input)
	if ok {
		return all
	}
	add := func(v any) {
		for _, one := range listOf(v) {
			if s := text(one); s != "" {
				all = append(all, s)
			}
		}
	}
	// A query is an expression, which may look like JSON, so a text is never read as
	// a list.
	m, ok := input.(map[string]any)
	if !ok {
		add(input)
		return all
	}
	add(m["queries"])
	add(m["query"])
	return all
}

// fetchWeb reads a call as one WebFetch for each address.
func fetchWeb(p place, input any, m map[string]any) toolCall {
	list := listOf(parsed(input))
	if m != nil {
		list = listOf(parsed(m["requests"]))
		if m["url"] != nil {
			list = append(list, without(m, "requests"))
		}
	}
	requests, ok := takenRequests(m)
	for _, v := range list {
		if ok {
			break
		}
		request, _ := v.(map[string]any)
		if s, ok := v.(string); ok && s != "" {
			request = map[string]any{"url": s}
		}
		if len(request) > 0 {
			requests = append(requests, request)
		}
	}
	fetch := func(request map[string]any) operation { return p.operation(fetchForm, request) }
	return several(input, requests, fetch, "requests", "url", "prompt")
}

// listOf returns a list itself, nil for nil, and a list of one for anything else.
func listOf(v any) []any {
	switch v := v.(type) {
	case nil:
		return nil
	case []any:
		return v
	}
	return []any{v}
}

// without copies an object without some members. Anything else gives an empty object.
func without(v any, keys ...string) map[string]any {
	m, _ := v.(map[string]any)
	out := make(map[string]any, len(m))
	maps.Copy(out, m)
	for _, key := range keys {
		delete(out, key)
	}
	return out
}

// with copies an object and sets a member.
func with(m map[string]any, key string, value any) map[string]any {
	out := without(m)
	out[key] = value
	return out
}

// quoteAll writes a program and its arguments as a line for a POSIX shell.
func quoteAll(words []any) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = quote(text(w))
	}
	return strings.Join(quoted, " ")
}

// quote makes one word of a text for a POSIX shell.
func quote(s string) string {
	special := func(r rune) bool { return !allowedInName(r) && !strings.ContainsRune("@%+=:,./", r) }
	if s != "" && !strings.ContainsFunc(s, special) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
