package jsonedit

import (
	"bytes"
	"strings"

	"github.com/hookspan/hookspan/internal/rawjson"
)

// Style is how a JSON text is laid out.
type Style struct {
	// Newline ends a line. If empty, everything is on one line.
	Newline string
	// Indent is one step of indentation.
	Indent string
	// Colon is written between a key and its value, Comma between two elements on
	// one line.
	Colon, Comma string
}

// DetectStyle finds how a text is laid out. For an empty object it is the layout
// in which Claude Code writes.
func DetectStyle(text []byte, root *Node) Style {
	st := Style{Newline: "\n", Indent: "  ", Colon: ": ", Comma: ", "}
	if bytes.Contains(text, []byte("\r\n")) {
		st.Newline = "\r\n"
	}
	if len(root.Items) == 0 {
		return st
	}
	first := root.Items[0]
	if root.Is(text, '{') {
		if between := string(text[first.KeyEnd:first.Value.Start]); !strings.ContainsAny(between, "\n/") {
			st.Colon = between
		}
	}
	if !strings.HasSuffix(st.Colon, " ") {
		st.Comma = ","
	}
	if !bytes.Contains(root.Raw(text), []byte("\n")) {
		st.Newline = ""
		if len(root.Items) > 1 && !strings.Contains(root.lead(text, 1), "/") {
			st.Comma = "," + root.lead(text, 1)
		}
		return st
	}
	if step, ok := indentStep(text, root); ok {
		st.Indent = step
	}
	return st
}

// indentStep is by how much the outermost elements on separate lines are
// indented.
func indentStep(text []byte, n *Node) (string, bool) {
	if len(n.Items) == 0 {
		return "", false
	}
	if indent, ok := n.ownLine(text, 0); ok {
		return strings.CutPrefix(indent, lineIndent(text, n.Start))
	}
	for _, i := range n.Items {
		if step, ok := indentStep(text, i.Value); ok {
			return step, true
		}
	}
	return "", false
}

// lead is what precedes an element, after the bracket or comma: white space and
// comments.
func (n *Node) lead(text []byte, i int) string {
	from := n.Start + 1
	if i > 0 {
		from = n.Items[i-1].End()
		from += bytes.IndexByte(WithoutComments(text[from:n.Items[i].Start]), ',') + 1
	}
	return string(text[from:n.Items[i].Start])
}

// ownLine takes the indentation of an element that begins a line.
func (n *Node) ownLine(text []byte, i int) (indent string, ok bool) {
	return lineIndent(text, n.Items[i].Start), strings.Contains(n.lead(text, i), "\n")
}

// lineIndent is the white space that opens the line at is on.
func lineIndent(text []byte, at int) string {
	line := text[bytes.LastIndexByte(text[:at], '\n')+1 : at]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

// Object, Array and Raw are what Render writes, beside strings, integers and
// truth values.
type (
	// Object is an object; its fields are written in their order.
	Object []Field
	// Field is a member of an Object.
	Field struct {
		Key   string
		Value any
	}
	// Array is an array.
	Array []any
	// Raw is JSON that is written as it is.
	Raw string
)

// Render writes a value in the style, its lines after the first indented by
// indent and more. A value of any other type than those above becomes null.
func (st Style) Render(v any, indent string) string {
	switch v := v.(type) {
	case Object:
		return enclose(st, "{", v, "}", indent)
	case Array:
		return enclose(st, "[", v, "]", indent)
	case Field:
		return Quote(v.Key) + st.Colon + st.Render(v.Value, indent)
	case Raw:
		return string(v)
	case string, int, bool:
		return rawjson.Encode(v)
	default:
		return "null"
	}
}

// enclose writes the elements of an array or the members of an object.
func enclose[T any](st Style, open string, items []T, end, indent string) string {
	if len(items) == 0 {
		return open + end
	}
	parts := make([]string, len(items))
	for i, item := range items {
		parts[i] = st.Render(item, indent+st.Indent)
	}
	if st.Newline == "" {
		return open + strings.Join(parts, st.Comma) + end
	}
	inner := st.Newline + indent + st.Indent
	return open + inner + strings.Join(parts, ","+inner) + st.Newline + indent + end
}

// Quote writes a string as JSON.stringify does.
func Quote(s string) string { return rawjson.Encode(s) }
