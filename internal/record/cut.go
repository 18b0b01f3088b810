package record

import (
	"bufio"
	"bytes"
	"fmt"
	"math/bits"
	"unicode/utf8"
)

const (
	shortText  = 1 << 10       // the largest size in bytes of a short name, string or number
	minRoom    = 64            // the room in bytes below which a long value is left out
	cutNote    = 48            // the room for the end of a cut string: a character, a note, a quote
	maxDepth   = 10_000        // how deep encoding/json reads
	delimiters = ",:]} \t\r\n" // they can follow a value or a name
)

// cutter copies JSON text and shortens it. A long string loses its end, a large
// list its last elements, a large object its last long members. An eighth of an
// object's room is kept for short members, since an agent may report after a large
// result which call it belongs to. The output is JSON if the input is.
type cutter struct {
	in  *bufio.Reader
	out []byte
	bad bool // the input ended early, or cannot be cut
}

// value copies the value that begins with b, or leaves it out. The output may grow
// to big, and by a short value to end. lost reports that something was left out.
func (c *cutter) value(b byte, big, end, depth int) (kept, lost bool) {
	if c.short(b, end) {
		return true, false
	}
	switch room := big - len(c.out); {
	case b == '"' && room >= minRoom+cutNote:
		c.text(room-cutNote, depth)
		return true, false
	case (b == '{' || b == '[') && room >= minRoom && depth < maxDepth:
		if depth == 1 || depth == 2 {
			room = max(room/2, minRoom) // of several large members each keeps its beginning
		}
		return true, c.container(b, len(c.out)+room-1, depth)
	}
	c.skip(b)
	return false, true
}

func (c *cutter) container(open byte, end, depth int) (lost bool) {
	big := end
	if room := end - len(c.out); open == '{' {
		big -= max(room/8, min(4<<10, room/4))
	}
	c.out = append(c.out, open)
	for first := true; !c.bad; first = false {
		b := c.token()
		if b == closing(open) {
			break
		}
		if !first {
			c.bad = c.bad || b != ','
			b = c.token()
		}
		before := len(c.out)
		if c.out[before-1] != open {
			c.out = append(c.out, ',')
		}
		longEnd, shortEnd := big, end
		if open == '{' {
			if named, _ := c.value(b, 0, end, depth); !named {
				longEnd, shortEnd = 0, 0 // so that the value is left out, too
			}
			c.bad = c.bad || b != '"' || c.token() != ':'
			c.out = append(c.out, ':')
			b = c.token()
		}
		kept, inner := c.value(b, longEnd, shortEnd, depth+1)
		if !kept {
			c.out = c.out[:before]
		}
		lost = lost || inner
		if lost && open == '[' {
			c.skip('[') // so that no element is missing between others
			break
		}
	}
	c.out = append(c.out, closing(open))
	return lost
}

// closing is the bracket that ends a list or an object.
func closing(open byte) byte {
	if open == '{' {
		return '}'
	}
	return ']'
}

// short copies the string or number that begins with b, if it is short and the
// output stays below end.
func (c *cutter) short(b byte, end int) bool {
	w, _ := c.in.Peek(min(shortText, max(0, end-len(c.out)-2)))
	n := bytes.IndexAny(w, delimiters)
	if b == '"' {
		for n = 0; n < len(w) && w[n] != '"'; {
			n += characterLen(w[n:])
		}
		n++ // the last quote
	}
	if b == '{' || b == '[' || n < 0 || n > len(w) {
		return false
	}
	c.out = append(append(c.out, b), w[:n]...)
	_, _ = c.in.Discard(n)
	return true
}

// text copies a string behind its first quote, or its beginning. Its share is a part
// of the room, since there may be many, and a round number, so that both events of a
// tool call, which may be paired by their input alone, have the same text.
func (c *cutter) text(room, depth int) {
	share := max(room/8, minRoom)
	if depth > 1 {
		share = max(room/4, minRoom)
	}
	share &^= 1<<(bits.Len(uint(share))-4) - 1
	c.out = append(c.out, '"')
	end := len(c.out) + share
	for w, _ := c.in.Peek(12); len(c.out) < end && len(w) > 0 && w[0] != '"'; w, _ = c.in.Peek(12) {
		n := min(characterLen(w), len(w))
		c.out = append(c.out, w[:n]...)
		_, _ = c.in.Discard(n)
	}
	if n := c.skipText(); n > 0 {
		c.out = fmt.Appendf(c.out, "… [%d bytes cut]", n)
	}
	c.out = append(c.out, '"')
}

// characterLen is the length of a string's first character: UTF-8, an escape, or
// the two escapes of a surrogate pair.
func characterLen(w []byte) int {
	switch {
	case w[0] != '\\':
		_, n := utf8.DecodeRune(w)
		return n
	case len(w) < 6 || w[1] != 'u':
		return len(`\n`)
	case len(w) >= 12 && w[2]|0x20 == 'd' && bytes.IndexByte([]byte("89abAB"), w[3]) >= 0 && w[6] == '\\' && w[7] == 'u':
		return len(`\ud83d\ude00`)
	}
	return len(`\u00e9`)
}

// token returns the next byte that is not white space, or 0 at the end.
func (c *cutter) token() (b byte) {
	for b = c.next(); b == ' ' || b == '\n' || b == '\t' || b == '\r'; b = c.next() {
	}
	return b
}

func (c *cutter) next() byte {
	b, err := c.in.ReadByte()
	c.bad = c.bad || err != nil
	return b
}

// skip passes over the rest of the value that begins with b.
func (c *cutter) skip(b byte) {
	for depth := 0; !c.bad; b = c.next() {
		switch b {
		case '"':
			c.skipText()
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		if depth == 0 {
			if w, _ := c.in.Peek(1); len(w) == 0 || bytes.IndexByte([]byte(delimiters), w[0]) >= 0 {
				return
			}
		}
	}
}

// skipText passes over the rest of a string and returns its length in bytes.
func (c *cutter) skipText() (n int) {
	for !c.bad {
		w, _ := c.in.Peek(max(1, c.in.Buffered()))
		i := bytes.IndexAny(w, `"\`)
		if i < 0 {
			i = len(w)
		}
		_, _ = c.in.Discard(i)
		n += i
		switch c.next() {
		case '"':
			return n
		case '\\':
			c.next()
			n++
		}
		n++
	}
	return n
}
