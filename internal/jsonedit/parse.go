package jsonedit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// ByteOrderMark may open a file that was written on Windows.
const ByteOrderMark = "\ufeff"

// Node is one value of a JSON text, by where it stands.
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

// Is reports that the value opens with this byte. A nil node opens with none.
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

// Inner is what stands between the brackets of an object or array.
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
	skip := 0
	if bytes.HasPrefix(text, []byte(ByteOrderMark)) {
		skip = len(ByteOrderMark)
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
		return &SyntaxError{1, 1, "the file is empty, want a JSON object"}
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
	line, column := Position(text, at)
	return &SyntaxError{line, column, what}
}

// Position counts lines and characters from 1, up to a byte of the text. A byte
// order mark is no character.
func Position(text []byte, at int) (line, column int) {
	before := bytes.TrimPrefix(text[:at], []byte(ByteOrderMark))
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

func (s *scanner) value() *Node {
	n := &Node{Start: s.at}
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
	n.End = s.at
	return n
}

func (s *scanner) container(n *Node, object bool) {
	s.at++
	for s.space(); s.text[s.at] != '}' && s.text[s.at] != ']'; s.space() {
		if s.text[s.at] == ',' {
			s.at++
			s.space()
		}
		i := Item{Start: s.at}
		if object {
			s.str()
			i.KeyEnd = s.at
			// The text is valid, so the key is.
			_ = json.Unmarshal(s.text[i.Start:i.KeyEnd], &i.Key)
			s.space()
			s.at++ // the colon
			s.space()
		}
		i.Value = s.value()
		n.Items = append(n.Items, i)
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
