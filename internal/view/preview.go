package view

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/hookspan/hookspan/internal/termtext"
)

// mainParameters are the parameters that describe a tool call best, the best
// first, of the tools of Cline and Claude Code.
var mainParameters = [...]string{
	"command", "commands", "cmd", "url", "pattern", "regex", "query", "queries",
	"file_path", "filePath", "absolutePath", "path", "paths", "files", "notebook_path", "skill", "skill_name",
	"tool_name", "uri", "question", "questions", "description", "prompt", "task", "action", "result", "response", "text",
	"input", "content",
}

// preview returns the main parameter of a tool call on one safe line. The
// arguments may be JSON that was cut off, or another text.
func preview(arguments string) string {
	arguments = termtext.HeadBytes(arguments, maxLine)
	if v, ok := repair(arguments); ok {
		text := mainText(v, 0)
		if files := paths(patchEdits(text)); files != "" {
			return files
		}
		return termtext.Line(text)
	}
	return termtext.Line(arguments)
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
	s, cut := strings.CutSuffix(s, "…")
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
	// Outside a string, a number, a word or a bare comma was cut.
	if i := strings.LastIndexByte(s, ','); i > 0 && !inString {
		open, inString, _ = closers(s[:i])
		if !inString && json.Unmarshal([]byte(s[:i]+open), &v) == nil {
			return v, true
		}
	}
	return nil, false
}

// closers returns the brackets that close a piece of JSON, whether it ends inside
// a string, and where in the string an unfinished escape begins, else -1.
func closers(s string) (brackets string, inString bool, escape int) {
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

// mainText returns the text in a decoded value that describes it best.
func mainText(v any, depth int) string {
	if depth > 4 {
		return ""
	}
	switch v := v.(type) {
	case string:
		return v
	case []any:
		var parts []string
		for _, e := range v {
			if p := mainText(e, depth+1); p != "" {
				parts = append(parts, p)
			}
		}
		return strings.Join(parts, ", ")
	case map[string]any:
		for _, k := range slices.Concat(mainParameters[:], slices.Sorted(maps.Keys(v))) {
			if p := mainText(v[k], depth+1); p != "" {
				return p
			}
		}
	}
	return ""
}
