package install

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// byteOrderMark may open a file that was written on Windows.
const byteOrderMark = "\ufeff"

// node is one value of a JSON text, by where it stands.
type node struct {
	// start and end bound the value's own text.
	start, end int
	// items are the elements of an array, or the members of an object.
	items []item
}

// item is an element of an array or a member of an object.
type item struct {
	// start is where the element begins: for a member, its key.
	start int
	// key is the member's key with its escapes undone, and keyEnd where its
	// text ends. An element of an array has none.
	key    string
	keyEnd int
	value  *node
}

// end is where the element ends.
func (i item) end() int { return i.value.end }

// kind names what the value is, for people.
func (n *node) kind(text []byte) string {
	switch text[n.start] {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a string"
	case 't', 'f':
		return "true or false"
	case 'n':
		return "null"
	default:
		return "a number"
	}
}

// is reports that the value opens with this byte.
func (n *node) is(text []byte, open byte) bool { return n != nil && text[n.start] == open }

// member is the last member of that name, the one that JSON.parse keeps, or -1.
func (n *node) member(key string) int {
	for i := len(n.items) - 1; i >= 0; i-- {
		if n.items[i].key == key {
			return i
		}
	}
	return -1
}

// get is the value of a member, or nil.
func (n *node) get(key string) *node {
	if i := n.member(key); i >= 0 {
		return n.items[i].value
	}
	return nil
}

// inner is what stands between the brackets of an object or array.
func (n *node) inner(text []byte) string { return string(text[n.start+1 : n.end-1]) }

// raw is the value's own text.
func (n *node) raw(text []byte) []byte { return text[n.start:n.end] }

// parseJSON finds the values of a JSON text. The error names line and column,
// both counted from 1 and the column in characters.
func parseJSON(text []byte) (*node, error) {
	skip := 0
	if bytes.HasPrefix(text, []byte(byteOrderMark)) {
		skip = len(byteOrderMark)
	}
	var whole json.RawMessage
	if err := json.Unmarshal(text[skip:], &whole); err != nil {
		return nil, syntaxError(text[skip:], err)
	}
	s := scanner{text: text, at: skip}
	s.space()
	return s.value(), nil
}

// syntaxError says where a JSON text stops being one.
func syntaxError(text []byte, err error) error {
	var syntax *json.SyntaxError
	if !errors.As(err, &syntax) {
		return err
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return errors.New("line 1, column 1: the file is empty, want a JSON object")
	}
	at := int(syntax.Offset)
	what := "the file ends too early"
	if at < len(text) || !strings.Contains(syntax.Error(), "unexpected end") {
		at = max(at-1, 0)
		what = syntax.Error()
		found := text[at]
		switch {
		case found == '/':
			what = "found a comment, which JSON does not have"
		case (found == '}' || found == ']') && bytes.HasSuffix(bytes.TrimRight(text[:at], " \t\r\n"), []byte(",")):
			what = fmt.Sprintf("found %q after a comma, want another element or no comma", string(found))
		}
	}
	line, column := position(text, at)
	return fmt.Errorf("line %d, column %d: %s", line, column, what)
}

// position counts lines and characters from 1.
func position(text []byte, at int) (line, column int) {
	before := text[:at]
	return bytes.Count(before, []byte("\n")) + 1, utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1
}

// scanner walks a text that is known to be valid.
type scanner struct {
	text []byte
	at   int
}

func (s *scanner) space() {
	for s.at < len(s.text) && isSpace(s.text[s.at]) {
		s.at++
	}
}

func isSpace(b byte) bool { return b == ' ' || b == '\t' || b == '\r' || b == '\n' }

func (s *scanner) value() *node {
	n := &node{start: s.at}
	switch s.text[s.at] {
	case '{', '[':
		s.container(n, s.text[s.at] == '{')
	case '"':
		s.str()
	default:
		for s.at < len(s.text) && !isSpace(s.text[s.at]) && !strings.ContainsRune(",]}", rune(s.text[s.at])) {
			s.at++
		}
	}
	n.end = s.at
	return n
}

func (s *scanner) container(n *node, object bool) {
	s.at++
	for s.space(); s.text[s.at] != '}' && s.text[s.at] != ']'; s.space() {
		if s.text[s.at] == ',' {
			s.at++
			s.space()
		}
		i := item{start: s.at}
		if object {
			s.str()
			i.keyEnd = s.at
			// The text is valid, so the key is.
			_ = json.Unmarshal(s.text[i.start:i.keyEnd], &i.key)
			s.space()
			s.at++ // the colon
			s.space()
		}
		i.value = s.value()
		n.items = append(n.items, i)
	}
	s.at++
}

func (s *scanner) str() {
	for s.at++; s.text[s.at] != '"'; s.at++ {
		if s.text[s.at] == '\\' {
			s.at++
		}
	}
	s.at++
}

// style is how a JSON text is laid out.
type style struct {
	// newline parts lines. If empty, everything stands on one line.
	newline string
	// indent is one step of indentation.
	indent string
	// colon stands between a key and its value, comma between two elements on
	// one line.
	colon, comma string
}

// detectStyle finds how a text is laid out. An empty object tells nothing; then
// it is the layout in which Claude Code itself writes.
func detectStyle(text []byte, root *node) style {
	st := style{newline: "\n", indent: "  ", colon: ": ", comma: ", "}
	if bytes.Contains(text, []byte("\r\n")) {
		st.newline = "\r\n"
	}
	if len(root.items) == 0 {
		return st
	}
	first := root.items[0]
	if root.is(text, '{') {
		if between := string(text[first.keyEnd:first.value.start]); !strings.Contains(between, "\n") {
			st.colon = between
		}
	}
	if !strings.HasSuffix(st.colon, " ") {
		st.comma = ","
	}
	if !bytes.Contains(root.raw(text), []byte("\n")) {
		st.newline = ""
		if len(root.items) > 1 {
			st.comma = "," + root.lead(text, 1)
		}
		return st
	}
	if step, ok := indentStep(text, root); ok {
		st.indent = step
	}
	return st
}

// indentStep is by how much the outermost elements on lines of their own are
// indented.
func indentStep(text []byte, n *node) (string, bool) {
	if len(n.items) == 0 {
		return "", false
	}
	if indent, ok := ownLine(n.lead(text, 0)); ok {
		return strings.CutPrefix(indent, lineIndent(text, n.start))
	}
	for _, i := range n.items {
		if step, ok := indentStep(text, i.value); ok {
			return step, true
		}
	}
	return "", false
}

// lead is the white space before an element, after the bracket or comma.
func (n *node) lead(text []byte, i int) string {
	from := n.start + 1
	if i > 0 {
		from = n.items[i-1].end()
		from += bytes.IndexByte(text[from:], ',') + 1
	}
	return string(text[from:n.items[i].start])
}

// ownLine takes the indentation of an element that begins a line.
func ownLine(lead string) (indent string, ok bool) {
	at := strings.LastIndexByte(lead, '\n')
	return lead[at+1:], at >= 0
}

// lineIndent is the white space that opens the line at is on.
func lineIndent(text []byte, at int) string {
	line := text[bytes.LastIndexByte(text[:at], '\n')+1 : at]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

// object, array and rawJSON are what render writes, beside strings, integers
// and truth values.
type (
	object []field
	field  struct {
		key   string
		value any
	}
	array   []any
	rawJSON string
)

// render writes a value in the style, its lines after the first indented by
// indent and more.
func (st style) render(v any, indent string) string {
	switch v := v.(type) {
	case object:
		parts := make([]string, len(v))
		for i, f := range v {
			parts[i] = st.renderMember(f, indent+st.indent)
		}
		return st.enclose("{", parts, "}", indent)
	case array:
		parts := make([]string, len(v))
		for i, e := range v {
			parts[i] = st.render(e, indent+st.indent)
		}
		return st.enclose("[", parts, "]", indent)
	case rawJSON:
		return string(v)
	case string:
		return quoteJSON(v)
	case int:
		return strconv.Itoa(v)
	case bool:
		return strconv.FormatBool(v)
	default:
		return "null"
	}
}

func (st style) renderMember(f field, indent string) string {
	return quoteJSON(f.key) + st.colon + st.render(f.value, indent)
}

func (st style) enclose(open string, parts []string, end, indent string) string {
	switch {
	case len(parts) == 0:
		return open + end
	case st.newline == "":
		return open + strings.Join(parts, st.comma) + end
	}
	inner := st.newline + indent + st.indent
	return open + inner + strings.Join(parts, ","+inner) + st.newline + indent + end
}

// quoteJSON writes a string as JSON.stringify does.
func quoteJSON(s string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	// A string always encodes.
	_ = enc.Encode(s)
	return strings.TrimSuffix(b.String(), "\n")
}

// inline is the style for an element among others on one line.
func (st style) inline() style {
	st.newline, st.indent = "", ""
	return st
}

// add appends an element to an object or array, laid out as those before it.
// elem writes it. Taking the element out with cut gives the text back, unless
// the container was empty: its white space is then gone.
func (st style) add(text []byte, c *node, elem func(st style, indent string) string) []byte {
	if n := len(c.items); n > 0 {
		end := c.items[n-1].end()
		lead := c.lead(text, n-1)
		indent, ok := ownLine(lead)
		if !ok {
			return splice(text, end, end, st.comma+elem(st.inline(), ""))
		}
		return splice(text, end, end, ","+st.newline+indent+elem(st, indent))
	}
	if st.newline == "" {
		return splice(text, c.start+1, c.end-1, elem(st, ""))
	}
	outer := lineIndent(text, c.start)
	indent := outer + st.indent
	return splice(text, c.start+1, c.end-1, st.newline+indent+elem(st, indent)+st.newline+outer)
}

// addMember appends a member to an object.
func (st style) addMember(text []byte, c *node, f field) []byte {
	return st.add(text, c, func(st style, indent string) string { return st.renderMember(f, indent) })
}

// addElement appends an element to an array.
func (st style) addElement(text []byte, c *node, v any) []byte {
	return st.add(text, c, func(st style, indent string) string { return st.render(v, indent) })
}

// put writes a value in another's place. It stays on one line if that did.
func (st style) put(text []byte, n *node, v any) []byte {
	if !bytes.Contains(n.raw(text), []byte("\n")) {
		st = st.inline()
	}
	return splice(text, n.start, n.end, st.render(v, lineIndent(text, n.start)))
}

// cut takes an element out of an object or array.
func cut(text []byte, c *node, i int) []byte {
	switch {
	case len(c.items) == 1:
		return splice(text, c.start+1, c.end-1, "")
	case i == 0:
		return splice(text, c.items[0].start, c.items[1].start, "")
	default:
		return splice(text, c.items[i-1].end(), c.items[i].end(), "")
	}
}

// splice returns the text with a part of it replaced; text itself stays.
func splice(text []byte, start, end int, with string) []byte {
	out := make([]byte, 0, len(text)-(end-start)+len(with))
	out = append(out, text[:start]...)
	out = append(out, with...)
	return append(out, text[end:]...)
}
