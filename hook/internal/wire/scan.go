package wire

import (
	"bytes"
	"strconv"
)

// MaxDepth is how many levels deep a payload may nest. It equals the limit of
// encoding/json, so that a payload accepted here can be read there.
const MaxDepth = 10_000

// SyntaxError says where bytes stop being the JSON that was expected.
type SyntaxError struct {
	// Offset is the place of the fault in bytes, counted from 0.
	Offset int
	// Found is what stands there, quoted, or "the end".
	Found string
	// Want is what is allowed there.
	Want string
}

// Error names the place, what stands there and what is allowed.
func (e *SyntaxError) Error() string {
	return "byte " + strconv.Itoa(e.Offset) + ": found " + e.Found + ", want " + e.Want
}

// scanner checks JSON text in one pass without building values. encoding/json
// is not used for that because the hook process scans every payload within its
// time budget, and payloads are mostly long strings, which this skips eight
// bytes at a time. Accepted texts are those of json.Valid; a fuzz test holds
// the two together.
type scanner struct {
	data  []byte
	pos   int
	limit int
	// open holds the brackets not yet closed, innermost last. An explicit
	// stack, because a recursive one is the payload's to overflow.
	open []byte
}

// EachMember calls visit for every member of the object that data holds, in
// order. The key is without quotes and unescaped; both slices may alias data.
// It returns a *SyntaxError when data is not one JSON object and white space;
// members before the fault have been visited by then.
func EachMember(data []byte, visit func(key, value []byte)) error {
	s := scanner{data: data, limit: MaxDepth - 1}
	s.space()
	if s.peek() != '{' {
		return s.unexpected("a JSON object")
	}
	s.pos++
	s.space()
	if s.peek() == '}' {
		s.pos++
		return s.end()
	}
	for {
		start := s.pos
		if err := s.key(); err != nil {
			return err
		}
		key := memberKey(data[start:s.pos])
		if err := s.colon(); err != nil {
			return err
		}
		s.space()
		start = s.pos
		if err := s.value(); err != nil {
			return err
		}
		visit(key, data[start:s.pos])
		s.space()
		switch s.peek() {
		case ',':
			s.pos++
			s.space()
		case '}':
			s.pos++
			return s.end()
		default:
			return s.unexpected("',' or '}' after a member")
		}
	}
}

// EachElement is EachMember for an array.
func EachElement(data []byte, visit func(value []byte)) error {
	s := scanner{data: data, limit: MaxDepth - 1}
	s.space()
	if s.peek() != '[' {
		return s.unexpected("a JSON array")
	}
	s.pos++
	s.space()
	if s.peek() == ']' {
		s.pos++
		return s.end()
	}
	for {
		s.space()
		start := s.pos
		if err := s.value(); err != nil {
			return err
		}
		visit(data[start:s.pos])
		s.space()
		switch s.peek() {
		case ',':
			s.pos++
		case ']':
			s.pos++
			return s.end()
		default:
			return s.unexpected("',' or ']' after an element")
		}
	}
}

// ValidWithin reports whether data is one JSON value that nests no deeper than
// limit.
func ValidWithin(data []byte, limit int) bool {
	s := scanner{data: data, limit: limit}
	s.space()
	return s.value() == nil && s.end() == nil
}

// memberKey unquotes a key. Keys with escapes are rare enough to pay for a copy.
func memberKey(quoted []byte) []byte {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return quoted[1 : len(quoted)-1]
	}
	return []byte(Unquote(quoted))
}

// value moves past the value at pos.
func (s *scanner) value() error {
	for {
		s.space()
		var err error
		opened := false
		switch c := s.peek(); c {
		case '{':
			opened, err = s.openObject()
		case '[':
			opened, err = s.openArray()
		case '"':
			err = s.str()
		case 't':
			err = s.literal("true")
		case 'f':
			err = s.literal("false")
		case 'n':
			err = s.literal("null")
		default:
			err = s.number()
		}
		if err != nil {
			return err
		}
		if opened {
			continue
		}
		more, err := s.closeValue()
		if err != nil || !more {
			return err
		}
	}
}

// openObject enters an object up to its first value. It reports false when the
// object is empty, and then has left it.
func (s *scanner) openObject() (bool, error) {
	if err := s.push('{'); err != nil {
		return false, err
	}
	s.space()
	if s.peek() == '}' {
		s.pop()
		return false, nil
	}
	if err := s.key(); err != nil {
		return false, err
	}
	return true, s.colon()
}

// openArray is openObject for an array.
func (s *scanner) openArray() (bool, error) {
	if err := s.push('['); err != nil {
		return false, err
	}
	s.space()
	if s.peek() == ']' {
		s.pop()
		return false, nil
	}
	return true, nil
}

// closeValue moves past what follows a value: closing brackets, then either a
// comma with the next key, reported as more, or the end of the outermost value.
func (s *scanner) closeValue() (more bool, err error) {
	for len(s.open) > 0 {
		s.space()
		object := s.open[len(s.open)-1] == '{'
		switch c := s.peek(); {
		case c == ',':
			s.pos++
			if !object {
				return true, nil
			}
			s.space()
			if err := s.key(); err != nil {
				return false, err
			}
			return true, s.colon()
		case c == '}' && object, c == ']' && !object:
			s.pop()
		case object:
			return false, s.unexpected("',' or '}' after a member")
		default:
			return false, s.unexpected("',' or ']' after an element")
		}
	}
	return false, nil
}

func (s *scanner) push(bracket byte) error {
	if len(s.open) >= s.limit {
		return &SyntaxError{s.pos, "a value nested too deeply", "at most " + strconv.Itoa(MaxDepth) + " levels"}
	}
	s.open = append(s.open, bracket)
	s.pos++
	return nil
}

func (s *scanner) pop() {
	s.open = s.open[:len(s.open)-1]
	s.pos++
}

// peek returns the byte at pos, or 0 at the end. A zero byte is never legal
// outside a string, so the two need no telling apart.
func (s *scanner) peek() byte {
	if s.pos < len(s.data) {
		return s.data[s.pos]
	}
	return 0
}

func (s *scanner) space() {
	for s.pos < len(s.data) {
		switch s.data[s.pos] {
		case ' ', '\t', '\r', '\n':
			s.pos++
		default:
			return
		}
	}
}

func (s *scanner) end() error {
	s.space()
	if s.pos < len(s.data) {
		return s.unexpected("nothing after the value")
	}
	return nil
}

func (s *scanner) key() error {
	if s.peek() != '"' {
		return s.unexpected("a quoted key")
	}
	return s.str()
}

func (s *scanner) colon() error {
	s.space()
	if s.peek() != ':' {
		return s.unexpected("':' after a key")
	}
	s.pos++
	return nil
}

// The words below repeat one byte eight times, for looking at eight bytes of a
// string at once.
const (
	ones   = 0x0101010101010101
	highs  = 0x80 * ones
	spaces = 0x20 * ones
	quotes = '"' * ones
	slants = '\\' * ones
)

// plain reports that none of the eight bytes of w needs a look of its own: no
// quote, no backslash, no control character.
func plain(w uint64) bool {
	q, b := w^quotes, w^slants
	return ((w-spaces)&^w|(q-ones)&^q|(b-ones)&^b)&highs == 0
}

// str moves past the string whose opening quote is at pos.
func (s *scanner) str() error {
	d, i := s.data, s.pos+1
	for {
		for i+8 <= len(d) {
			b := d[i : i+8 : i+8]
			w := uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24 |
				uint64(b[4])<<32 | uint64(b[5])<<40 | uint64(b[6])<<48 | uint64(b[7])<<56
			if !plain(w) {
				break
			}
			i += 8
		}
		for i < len(d) && d[i] >= 0x20 && d[i] != '"' && d[i] != '\\' {
			i++
		}
		s.pos = i
		switch {
		case i >= len(d):
			return s.unexpected("'\"' at the end of a string")
		case d[i] == '"':
			s.pos++
			return nil
		case d[i] == '\\':
			if err := s.escape(); err != nil {
				return err
			}
			i = s.pos
		default:
			return s.unexpected("no control character inside a string")
		}
	}
}

// escape moves past the escape sequence whose backslash is at pos.
func (s *scanner) escape() error {
	s.pos++
	switch s.peek() {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		s.pos++
		return nil
	case 'u':
		s.pos++
	default:
		return s.unexpected("one of \" \\ / b f n r t u after a backslash")
	}
	for range 4 {
		switch c := s.peek(); {
		case '0' <= c && c <= '9', 'a' <= c && c <= 'f', 'A' <= c && c <= 'F':
			s.pos++
		default:
			return s.unexpected("four hexadecimal digits")
		}
	}
	return nil
}

func (s *scanner) literal(word string) error {
	rest := s.data[s.pos:]
	if len(rest) < len(word) || string(rest[:len(word)]) != word {
		return s.unexpected(word)
	}
	s.pos += len(word)
	return nil
}

func (s *scanner) number() error {
	start := s.pos
	if s.peek() == '-' {
		s.pos++
	}
	switch c := s.peek(); {
	case c == '0':
		s.pos++
	case '1' <= c && c <= '9':
		s.digits()
	case s.pos == start:
		return s.unexpected("a JSON value")
	default:
		return s.unexpected("a digit")
	}
	if s.peek() == '.' {
		s.pos++
		if !s.digits() {
			return s.unexpected("a digit")
		}
	}
	if c := s.peek(); c == 'e' || c == 'E' {
		s.pos++
		if c := s.peek(); c == '+' || c == '-' {
			s.pos++
		}
		if !s.digits() {
			return s.unexpected("a digit")
		}
	}
	return nil
}

// digits moves past decimal digits and reports whether there were any.
func (s *scanner) digits() bool {
	start := s.pos
	for c := s.peek(); '0' <= c && c <= '9'; c = s.peek() {
		s.pos++
	}
	return s.pos > start
}

func (s *scanner) unexpected(want string) error {
	found := "the end"
	if s.pos < len(s.data) {
		found = strconv.Quote(string(s.data[s.pos : s.pos+1]))
	}
	return &SyntaxError{s.pos, found, want}
}
