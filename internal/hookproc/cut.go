package hookproc

import (
	"bufio"
	"bytes"
	"math/bits"
	"strconv"
	"unicode/utf8"
)

const (
	// shortText is how many bytes a name, string or number may have to count as
	// short.
	shortText = 1 << 10
	// minRoom is the minimum in bytes for a long string or a container. If there is
	// less room, it is left out.
	minRoom = 64
	// cutNote is what a cut string may need beside its share: the rest of its last
	// character, the note of how much is missing, the last quote.
	cutNote = 48
	// maxDepth is how deep encoding/json reads.
	maxDepth = 10_000
	// delimiters can follow a value or a name.
	delimiters = ",:]} \t\r\n"
)

// cutter copies JSON text and shortens it. A long string loses its end. A list
// that is too large loses its last elements, and an object its last long members;
// but an eighth of an object's room is set aside for short members, since an
// agent may report after a large result which call it belongs to.
//
// What is left out is not checked: the output is JSON if the input is.
type cutter struct {
	in  *bufio.Reader
	out []byte
	// bad reports that the input ended early, or cannot be cut.
	bad bool
}

// value copies the value that begins with b, or leaves it out. The output may grow
// to big, and by a short value to end. lost reports that an element or a member
// was left out.
func (c *cutter) value(b byte, big, end, depth int) (kept, lost bool) {
	if c.short(b, end) {
		return true, false
	}
	room := big - len(c.out)
	switch {
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
		if b == open+2 { // '}' and ']' follow their openers by two
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
		kept, inner := true, false
		if open == '{' {
			if kept = c.short(b, end); !kept {
				c.skip(b)
			}
			c.bad = c.bad || b != '"' || c.token() != ':'
			c.out = append(c.out, ':')
			b = c.token()
		}
		if kept {
			kept, inner = c.value(b, big, end, depth+1)
		} else {
			c.skip(b)
		}
		if !kept {
			c.out = c.out[:before]
		}
		lost = lost || inner || !kept
		if lost && open == '[' {
			c.skip('[') // so that no element is missing between others
			break
		}
	}
	c.out = append(c.out, open+2)
	return lost
}

// short copies the string or number that begins with b, if it is short and the
// output stays below end.
func (c *cutter) short(b byte, end int) bool {
	w, _ := c.in.Peek(min(shortText, max(0, end-len(c.out)-2)))
	n := bytes.IndexAny(w, delimiters)
	if b == '"' {
		n = 0
		for n < len(w) && w[n] != '"' {
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

// text copies a string whose first quote has been read, or its beginning. Its
// share is a part of the room, so that of many long strings each keeps a
// beginning, and a round number, so that a text is cut alike in both ends of a
// tool call, which may be paired by their input alone.
func (c *cutter) text(room, depth int) {
	share := max(room/8, minRoom)
	if depth > 1 {
		share = max(room/4, minRoom)
	}
	share &^= 1<<(bits.Len(uint(share))-4) - 1
	c.out = append(c.out, '"')
	for end := len(c.out) + share; len(c.out) < end; {
		w, _ := c.in.Peek(12)
		if len(w) == 0 || w[0] == '"' {
			break
		}
		n := min(characterLen(w), len(w))
		c.out = append(c.out, w[:n]...)
		_, _ = c.in.Discard(n)
	}
	if n := c.skipText(); n > 0 {
		c.out = append(strconv.AppendInt(append(c.out, "… ["...), int64(n), 10), " bytes cut]"...)
	}
	c.out = append(c.out, '"')
}

// characterLen is the length of a string's first character: a UTF-8 sequence, an
// escape, or the two escapes of a surrogate pair.
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
func (c *cutter) token() byte {
	for {
		if b := c.next(); b != ' ' && b != '\n' && b != '\t' && b != '\r' {
			return b
		}
	}
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

// skipText passes over the rest of a string, and returns its length in bytes.
func (c *cutter) skipText() (n int) {
	for !c.bad {
		_, _ = c.in.Peek(1)
		w, _ := c.in.Peek(c.in.Buffered())
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
			n += 2
			c.next()
		default: // the end of what was buffered
			if !c.bad {
				n++
			}
		}
	}
	return n
}
