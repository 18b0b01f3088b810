package wire

import (
	"bytes"
	"slices"
	"unicode/utf8"
)

// Canonical writes a JSON value compactly and with sorted keys, keeping every
// number's spelling. Equal values give equal texts; what is not JSON gives "".
func Canonical(raw []byte) string {
	// Nearly all values can be copied piece by piece, without building them and
	// writing them anew.
	c := copier{scanner: scanner{data: raw}, out: make([]byte, 0, len(raw))}
	if c.value(copiedDepth) && c.end() == nil {
		return string(c.out)
	}
	v, ok := Parse(raw)
	if !ok {
		return ""
	}
	return Encode(v)
}

// copiedDepth is how deep a value may nest that is copied.
const copiedDepth = 64

// copier writes the canonical form of a value as far as its pieces are in that
// form already. Its methods report false for anything else: what is no JSON,
// escapes that can be written otherwise, doubled keys.
type copier struct {
	scanner
	out []byte
}

// piece is a member of an object by its places in out.
type piece struct{ key, start, end int }

func (c *copier) value(depth int) bool {
	c.space()
	start := c.pos
	switch c.peek() {
	case '{':
		return depth > 0 && c.object(depth-1)
	case '[':
		return depth > 0 && c.array(depth-1)
	case '"':
		return c.text()
	case 't':
		return c.literal("true") == nil && c.copyFrom(start)
	case 'f':
		return c.literal("false") == nil && c.copyFrom(start)
	case 'n':
		return c.literal("null") == nil && c.copyFrom(start)
	}
	return c.number() == nil && c.copyFrom(start)
}

func (c *copier) copyFrom(start int) bool {
	c.out = append(c.out, c.data[start:c.pos]...)
	return true
}

// text copies a string if encoding/json would write it so.
func (c *copier) text() bool {
	start := c.pos
	if c.str() != nil {
		return false
	}
	s := c.data[start:c.pos]
	ascii := true
	for i := 1; i < len(s); i++ {
		if s[i] >= utf8.RuneSelf {
			ascii = false
		}
		if s[i] == '\\' {
			if i++; s[i] == '/' || s[i] == 'u' {
				return false
			}
		}
	}
	if !ascii && (!utf8.Valid(s) || bytes.Contains(s, []byte("\u2028")) || bytes.Contains(s, []byte("\u2029"))) {
		return false
	}
	return c.copyFrom(start)
}

func (c *copier) array(depth int) bool {
	c.pos++
	c.out = append(c.out, '[')
	c.space()
	if c.peek() == ']' {
		c.pos++
		c.out = append(c.out, ']')
		return true
	}
	for {
		if !c.value(depth) {
			return false
		}
		c.space()
		c.out = append(c.out, c.peek())
		c.pos++
		switch c.out[len(c.out)-1] {
		case ',':
		case ']':
			return true
		default:
			return false
		}
	}
}

func (c *copier) object(depth int) bool {
	c.pos++
	c.out = append(c.out, '{')
	c.space()
	if c.peek() == '}' {
		c.pos++
		c.out = append(c.out, '}')
		return true
	}
	var few [8]piece
	members, begin, sorted := few[:0], len(c.out), true
	for {
		c.space()
		m := piece{start: len(c.out)}
		if c.peek() != '"' || !c.text() {
			return false
		}
		m.key = len(c.out)
		if bytes.IndexByte(c.out[m.start:m.key], '\\') >= 0 || c.colon() != nil {
			return false // escapes sort otherwise than what they stand for
		}
		c.out = append(c.out, ':')
		if !c.value(depth) {
			return false
		}
		m.end = len(c.out)
		if n := len(members); n > 0 {
			sorted = sorted && bytes.Compare(c.keyOf(members[n-1]), c.keyOf(m)) < 0
		}
		members = append(members, m)
		c.space()
		switch c.peek() {
		case ',':
			c.pos++
			c.out = append(c.out, ',')
		case '}':
			c.pos++
			c.out = append(c.out, '}')
			return sorted || c.sort(members, begin)
		default:
			return false
		}
	}
}

// keyOf is a member's key without its quotes: with them, a key would sort behind
// those that it begins.
func (c *copier) keyOf(m piece) []byte { return c.out[m.start+1 : m.key-1] }

// sort puts the members of an object in the order of their keys, unless two have
// the same.
func (c *copier) sort(members []piece, begin int) bool {
	slices.SortFunc(members, func(x, y piece) int { return bytes.Compare(c.keyOf(x), c.keyOf(y)) })
	ordered := make([]byte, 0, len(c.out)-begin)
	for i, m := range members {
		if i > 0 {
			if bytes.Equal(c.keyOf(members[i-1]), c.keyOf(m)) {
				return false
			}
			ordered = append(ordered, ',')
		}
		ordered = append(ordered, c.out[m.start:m.end]...)
	}
	c.out = append(append(c.out[:begin], ordered...), '}')
	return true
}
