package store

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// telling are the parameters that say most of a tool call, the most telling
// first; the names are those of the tools of Cline and Claude Code.
var telling = [...]string{
	"command", "commands", "cmd", "url", "pattern", "regex", "query", "queries",
	"file_path", "absolutePath", "path", "paths", "files", "notebook_path", "skill", "skill_name",
	"tool_name", "uri", "question", "questions", "description", "prompt", "task", "action", "result", "response", "text",
	"input", "content",
}

// maxPreview is how much of a text a preview is made of, in bytes: no terminal
// is wider.
const maxPreview = 4096

// preview is the telling part of a tool call's arguments, on one line. The
// arguments may be JSON that was cut short, or no JSON at all.
func preview(arguments string) string {
	if len(arguments) > maxPreview {
		arguments = arguments[:maxPreview]
	}
	v, ok := repair(arguments)
	if !ok {
		return clean(arguments)
	}
	return clean(gist(v, 0))
}

// repair decodes JSON that may lack its end.
func repair(s string) (any, bool) {
	s = strings.TrimSpace(strings.ToValidUTF8(s, ""))
	if s == "" || s[0] != '{' && s[0] != '[' {
		return nil, false
	}
	var v any
	if json.Unmarshal([]byte(s), &v) == nil {
		return v, true
	}
	cut := strings.HasSuffix(s, "…")
	s = strings.TrimSuffix(s, "…")
	open, inString, escape := closers(s)
	tail := open
	if inString {
		// An escape that was cut in two cannot be closed.
		if escape >= 0 {
			s = s[:escape]
		}
		if cut {
			s += "…"
		}
		tail = `"` + open
	}
	for _, t := range []string{tail, ":null" + tail, `":null` + open} {
		if json.Unmarshal([]byte(s+t), &v) == nil {
			return v, true
		}
	}
	// Outside a string, what was cut is a number, a word or a bare comma.
	if i := strings.LastIndexByte(s, ','); i > 0 && !inString {
		open, inString, _ = closers(s[:i])
		if !inString && json.Unmarshal([]byte(s[:i]+open), &v) == nil {
			return v, true
		}
	}
	return nil, false
}

// closers gives the brackets that a piece of JSON leaves open, whether it ends
// inside a string, and where in the string an unfinished escape begins, else -1.
func closers(s string) (open string, inString bool, escape int) {
	var stack []byte
	escape = -1
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case inString && c == '\\':
			size := 2
			if strings.HasPrefix(s[i:], `\u`) {
				size = 6
			}
			if i+size > len(s) {
				escape = i
			}
			i += size - 1
		case c == '"':
			inString = !inString
		case inString:
		case c == '{':
			stack = append(stack, '}')
		case c == '[':
			stack = append(stack, ']')
		case (c == '}' || c == ']') && len(stack) > 0:
			stack = stack[:len(stack)-1]
		}
	}
	slices.Reverse(stack)
	return string(stack), inString, escape
}

// gist is the most telling text in a decoded value.
func gist(v any, depth int) string {
	if depth > 4 {
		return ""
	}
	switch v := v.(type) {
	case string:
		return v
	case []any:
		var parts []string
		for _, e := range v {
			if p := gist(e, depth+1); p != "" {
				parts = append(parts, p)
			}
		}
		return strings.Join(parts, ", ")
	case map[string]any:
		for _, k := range telling {
			if p := gist(v[k], depth+1); p != "" {
				return p
			}
		}
		keys := slices.SortedFunc(maps.Keys(v), cmp.Compare[string])
		for _, k := range keys {
			if p := gist(v[k], depth+1); p != "" {
				return p
			}
		}
	}
	return ""
}
