package cline

import (
	"strings"

	"github.com/hookspan/hookspan/hook"
	"github.com/hookspan/hookspan/internal/jstext"
	"github.com/hookspan/hookspan/internal/rawjson"
)

// rendered is a tool's result as text.
type rendered struct {
	// text is the whole result.
	text string
	// lead is the part that shows whether the call failed.
	lead string
	// failed reports that by the result's structure the call failed; err is its
	// message.
	failed bool
	err    string
	// hidden reports that the host replaced the result by its word for a
	// structure.
	hidden bool
}

// hiddenObject is how JavaScript prints an object as a string.
const hiddenObject = "[object Object]"

// hidden reports whether the host replaced a structure by JavaScript's word for
// one, or a list of structures by a list of that word.
func hidden(s string) bool {
	rest, ok := strings.CutPrefix(s, hiddenObject)
	for ok && rest != "" {
		rest, ok = strings.CutPrefix(rest, ","+hiddenObject)
	}
	return ok
}

// render turns a tool's result into text.
//
// A structure becomes the texts inside it if its shape is known, else compact
// JSON. A string stays as it is, for JSON in it may be what the tool returned;
// only content blocks are looked for, which classic Cline sends as JSON text.
// If hostText is set, the host has turned structures into text, so that the other
// shapes count as well.
func render(raw []byte, hostText bool) rendered {
	switch {
	case raw == nil:
		return rendered{}
	case !rawjson.IsString(raw):
		if out, ok := structure(raw); ok {
			return out
		}
		s := rawjson.Canonical(raw)
		return rendered{text: s, lead: s}
	}
	s := rawjson.Unquote(raw)
	if hidden(s) {
		return rendered{hidden: true}
	}
	plain := rendered{text: s, lead: s}
	if lead := strings.TrimLeft(strings.TrimPrefix(s, "\ufeff"), " \t\r\n"); lead == "" || lead[0] != '[' && lead[0] != '{' {
		return plain
	}
	inner := rawjson.Trim([]byte(s))
	if !rawjson.ValidWithin(inner, maxEmbeddedDepth) {
		return plain
	}
	if hostText {
		if out, ok := structure(inner); ok {
			return out
		}
		return plain
	}
	list, _ := rawjson.Elements(inner)
	if out, ok := blocks(list); ok {
		return out
	}
	return plain
}

// structure reads the shapes that have a text form.
func structure(raw []byte) (rendered, bool) {
	if list, ok := rawjson.Elements(raw); ok {
		if out, ok := blocks(list); ok {
			return out, true
		}
		return operations(list)
	}
	o := rawjson.Members(raw)
	if len(o) == 1 && rawjson.IsString(o.Get("error")) {
		message := o.Text("error")
		if hidden(message) {
			message = ""
		}
		return rendered{text: message, lead: message, failed: true, err: message}, true
	}
	if content, ok := o.Elements("content"); ok {
		// The result of an MCP tool.
		out, ok := blocks(content)
		if bad := o.Is("isError"); ok && bad {
			out.failed, out.err = true, out.text
		}
		return out, ok
	}
	return operations([][]byte{raw})
}

// blocks reads a list of content blocks. Only texts and images count: the elements of
// a tool's own list may also have a "type".
func blocks(list [][]byte) (rendered, bool) {
	if len(list) == 0 {
		return rendered{}, false
	}
	var out rendered
	parts := make([]string, 0, len(list))
	for _, raw := range list {
		o := rawjson.Members(raw)
		switch o.Text("type") {
		case "text":
			if !rawjson.IsString(o.Get("text")) {
				return rendered{}, false
			}
			s := o.Text("text")
			parts = append(parts, s)
			if out.lead == "" && !heading(s) {
				out.lead = s
			}
		case "image":
			parts = append(parts, "[image]")
		default:
			return rendered{}, false
		}
	}
	out.text = hook.Lines(parts...)
	return out, true
}

// heading reports whether a block only announces the result in the next one,
// as in "[read_file for 'a.ts'] Result:".
func heading(s string) bool {
	s = jstext.Trim(s)
	return s == "" || strings.HasPrefix(s, "[") && strings.HasSuffix(s, "Result:") && !strings.Contains(s, "\n")
}

// operations reads the SDK's list of what one call did, such as the files it
// read: each has a query, and a result, an error or both.
func operations(list [][]byte) (rendered, bool) {
	if len(list) == 0 {
		return rendered{}, false
	}
	var out rendered
	var parts, errs []string
	for _, raw := range list {
		o := rawjson.Members(raw)
		result, failure := o.Get("result"), o.Text("error")
		success, said := rawjson.Bool(o.Get("success"))
		if o.Get("query") == nil || result == nil && failure == "" && !said {
			return rendered{}, false
		}
		if hidden(failure) {
			failure = ""
		}
		shown := operationText(result)
		if said && !success || !said && failure != "" {
			out.failed = true
			errs = append(errs, reason(failure, shown))
		}
		if shown == "" {
			shown = failure
		}
		parts = append(parts, shown)
	}
	out.text, out.err = hook.Lines(parts...), hook.Lines(errs...)
	out.lead = out.text
	return out, true
}

// operationText is the text of one operation's result, which is a string, a
// list of content blocks or a structure of the tool's own.
func operationText(result []byte) string {
	switch {
	case result == nil:
		return ""
	case rawjson.IsString(result):
		return rawjson.Unquote(result)
	}
	if list, ok := rawjson.Elements(result); ok {
		if out, ok := blocks(list); ok {
			return out.text
		}
	}
	return rawjson.Canonical(result)
}

// reason joins an operation's error with what it printed before it failed. The
// SDK repeats the error in brackets as the first line of the output.
func reason(failure, printed string) string {
	if failure == "" {
		return printed
	}
	rest := strings.TrimPrefix(printed, "["+failure+"]")
	return hook.Lines(failure, jstext.Trim(rest))
}
