package jsonedit

import (
	"bytes"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/hookspan/hookspan/internal/rawjson"
)

// ByteOrderMark may open a file that was written on Windows.
const ByteOrderMark = "\ufeff"

// Node is one value of a JSON text, by its place.
type Node struct {
	// Start and End bound the value's own text, in bytes.
	Start, End int
	// Items are the elements of an array, or the members of an object.
	Items []Item
}

// Item is an element of an array or a member of an object.
type Item struct {
	// Start is where the element begins: for a member, its key.
	Start int
	// Key is the member's key with its escapes undone, and KeyEnd where its
	// text ends. An element of an array has none.
	Key    string
	KeyEnd int
	Value  *Node
}

// End is where the element ends.
func (i Item) End() int { return i.Value.End }

// Kind names what the value is, for people: "an object".
func (n *Node) Kind(text []byte) string {
	switch text[n.Start] {
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

// Is reports whether the value begins with this byte. A nil node begins with none.
func (n *Node) Is(text []byte, open byte) bool { return n != nil && text[n.Start] == open }

// Member is the last member of that name, the one that JSON.parse keeps, as an
// index into Items, or -1.
func (n *Node) Member(key string) int {
	for i := len(n.Items) - 1; i >= 0; i-- {
		if n.Items[i].Key == key {
			return i
		}
	}
	return -1
}

// Get is the value of a member, or nil.
func (n *Node) Get(key string) *Node {
	if i := n.Member(key); i >= 0 {
		return n.Items[i].Value
	}
	return nil
}

// Inner is the text between the brackets of an object or array.
func (n *Node) Inner(text []byte) string { return string(text[n.Start+1 : n.End-1]) }

// Raw is the value's own text. It aliases text.
func (n *Node) Raw(text []byte) []byte { return text[n.Start:n.End] }

// SyntaxError says where a text stops being JSON.
type SyntaxError struct {
	// Line and Column count from 1, the column in characters and without a byte
	// order mark.
	Line, Column int
	// Text names what was found there.
	Text string
}

// Error names the place and what was found.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Text)
}

// Parse finds the values of a JSON text. What is not JSON gives a
// *[SyntaxError].
func Parse(text []byte) (*Node, error) {
	body := bytes.TrimPrefix(text, []byte(ByteOrderMark))
	if err := rawjson.Check(body); err != nil {
		return nil, syntaxError(body, err)
	}
	dec := jsontext.NewDecoder(bytes.NewBuffer(body), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	return parser{dec, len(text) - len(body)}.value(), nil
}

// syntaxError says where a JSON text stops being one.
func syntaxError(text []byte, err error) error {
	var syntax *rawjson.SyntaxError
	if !errors.As(err, &syntax) {
		return err
	}
	at, what := syntax.Offset, syntax.Fault
	// A fault may be found at the comma before it.
	next := bytes.TrimLeft(bytes.TrimPrefix(text[at:], []byte(",")), " \t\r\n")
	before := bytes.TrimRight(text[:len(text)-len(next)], " \t\r\n")
	switch {
	case len(bytes.TrimSpace(text)) == 0:
		return &SyntaxError{1, 1, "the file is empty, want a JSON object"}
	case at == len(text):
		what = "the file ends too early"
	case text[at] == '/':
		what = "found a comment, which JSON does not have"
	case len(next) > 0 && (next[0] == '}' || next[0] == ']') && bytes.HasSuffix(before, []byte(",")):
		at = len(text) - len(next)
		what = fmt.Sprintf("found %q after a comma, want another element or no comma", string(next[:1]))
	}
	line, column := Position(text, at)
	return &SyntaxError{line, column, what}
}

// Position counts lines and characters from 1, up to a byte of the text. A byte
// order mark is no character.
func Position(text []byte, at int) (line, column int) {
	before := bytes.TrimPrefix(text[:at], []byte(ByteOrderMark))
	return bytes.Count(before, []byte("\n")) + 1, utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1
}

// parser reads a text that is known to be valid, so it meets no error.
type parser struct {
	dec *jsontext.Decoder
	// skipped is how many bytes of the text precede the decoder's first.
	skipped int
}

func (p parser) value() *Node {
	open := p.dec.PeekKind()
	if open != '{' && open != '[' {
		start, end, _ := p.plain()
		return &Node{Start: start, End: end}
	}
	_, _ = p.dec.ReadToken()
	n := &Node{Start: p.at() - 1}
	for next := p.dec.PeekKind(); next != '}' && next != ']'; next = p.dec.PeekKind() {
		var i Item
		if open == '{' {
			i.Start, i.KeyEnd, i.Key = p.plain()
		}
		if i.Value = p.value(); open == '[' {
			i.Start = i.Value.Start
		}
		n.Items = append(n.Items, i)
	}
	_, _ = p.dec.ReadToken()
	n.End = p.at()
	return n
}

// plain reads a value that has no elements, and its text if it is a string.
func (p parser) plain() (start, end int, text string) {
	raw, _ := p.dec.ReadValue()
	return p.at() - len(raw), p.at(), rawjson.Unquote(raw)
}

func (p parser) at() int { return p.skipped + int(p.dec.InputOffset()) }

// ParseWithComments is [Parse] for a text that may have comments, as in JavaScript,
// wherever white space may be.
func ParseWithComments(text []byte) (*Node, error) { return Parse(WithoutComments(text)) }

// whiteSpace is what JSON allows between its tokens.
const whiteSpace = " \t\r\n"

// WithoutComments returns the text with white space in place of comments, so that all
// else keeps its place. A comment that does not end stays.
func WithoutComments(text []byte) []byte {
	out := text
	for _, c := range commentsIn(text, 0, len(text)) {
		if &out[0] == &text[0] {
			out = bytes.Clone(text)
		}
		for at := c.start; at < c.end; at++ {
			if b := text[at]; b != '\n' && b != '\r' {
				out[at] = ' '
			}
		}
	}
	return out
}

// Comments are the comments of a text, as in JavaScript.
func Comments(text []byte) (out []string) {
	for _, c := range commentsIn(text, 0, len(text)) {
		out = append(out, string(text[c.start:c.end]))
	}
	return out
}

// commentsIn finds the comments of a part of a text that begins outside of strings
// and comments. One that begins with // does not include the end of its line.
func commentsIn(text []byte, start, end int) (out []span) {
	for i := start; i < end; i++ {
		switch {
		case text[i] == '"':
			for i++; i < end && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		case bytes.HasPrefix(text[i:], []byte("//")):
			n := bytes.IndexAny(text[i:], "\r\n")
			if n < 0 {
				n = len(text) - i
			}
			out = append(out, span{i, i + n})
			i += n - 1
		case bytes.HasPrefix(text[i:], []byte("/*")):
			n := bytes.Index(text[i+2:], []byte("*/"))
			if n < 0 {
				return out
			}
			out = append(out, span{i, i + n + 4})
			i += n + 3
		}
	}
	return out
}
