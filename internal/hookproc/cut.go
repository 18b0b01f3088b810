package hookproc

import (
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"
)

// rawHead is how much is kept of an oversized payload that is not JSON.
const rawHead = 64 << 10

// payload is what was read from standard input.
type payload struct {
	data []byte
	// json reports that data is valid JSON.
	json bool
	// cut is the size in bytes before cutting, 0 for a payload kept whole.
	cut int64
	// err is why reading it ended early; nil where it did not.
	err error
}

// readPayload drains r. A payload of up to limit bytes is kept as it is; a
// larger one is shortened by a cutter while it streams by, so that memory
// depends on limit alone; over gets all of its bytes, and nothing of a smaller
// one. On a read error the payload is what came before it.
func readPayload(r io.Reader, limit int, over io.Writer) (payload, error) {
	buf := make([]byte, 0, 8<<10)
	for {
		if len(buf) == cap(buf) {
			buf = append(buf, 0)[:len(buf)]
		}
		n, err := r.Read(buf[len(buf):min(cap(buf), limit+1)])
		buf = buf[:len(buf)+n]
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return payload{data: buf, json: json.Valid(buf)}, err
		}
		if len(buf) > limit {
			break
		}
	}
	c := newCutter(limit)
	c.write(buf)
	_, _ = over.Write(buf)
	head := append([]byte(nil), buf[:min(len(buf), rawHead, limit)]...)
	size := int64(len(buf))
	buf = buf[:cap(buf)]
	for {
		n, err := r.Read(buf)
		size += int64(n)
		c.write(buf[:n])
		_, _ = over.Write(buf[:n])
		if err == nil {
			continue
		}
		if errors.Is(err, io.EOF) {
			err = nil
		}
		if out := c.finish(); json.Valid(out) {
			return payload{data: out, json: true, cut: size}, err
		}
		return payload{data: head, cut: size}, err
	}
}

// cutter copies JSON text and shortens it to a limit. A string that is too long
// loses its end, a list or an object that is too large loses what stands last
// in it, and what follows either goes on as before: a host may tell which call
// a result belongs to, and how long it took, only after the result.
//
// Of valid JSON it makes valid JSON in the same order. Of an object outermost,
// every member that is no list and no object and is shorter than smallString
// is kept, up to an eighth of the limit; see open for how the rest is shared.
type cutter struct {
	out []byte
	// stack holds the closing byte of each open container.
	stack []byte
	// levels holds the bounds by depth. All depths from the last one on share it.
	levels [4]level
	// safe is the length of out at which the open containers can be closed into
	// valid JSON.
	safe int
	// bad says that the text is no JSON that could be cut.
	bad bool

	inString bool
	escape   int // bytes of an escape sequence still to come
	tail     int // bytes of a UTF-8 sequence still to come
	unitAt   int // where the last character in out begins
	emitted  int // bytes of this string in out
	allowed  int // bytes this string may have, 0 where there is no room for long ones
	cutAt    int // where to cut this string if it proves long, -1 as long as it is within its share
	cut      bool
	dropped  int // bytes of this string left out

	skip skipper
}

// cutNote is what a cut string may need beside its text: the note of how much
// is missing and the closing quote.
const cutNote = 48

func newCutter(limit int) *cutter {
	return &cutter{out: make([]byte, 0, limit), levels: [4]level{{limit, limit}}}
}

func (c *cutter) write(b []byte) {
	for len(b) > 0 && !c.bad {
		switch {
		case c.skip.on:
			b = c.skipOn(b)
		case !c.inString:
			c.structure(b[0])
			b = b[1:]
		case c.cut:
			// Of a 100 MB string all but the beginning goes this way.
			n := c.skip.text(b)
			c.dropped += n
			if b = b[n:]; len(b) > 0 {
				c.endString()
				b = b[1:]
			}
		default:
			n := c.plain(b)
			if b = b[n:]; n == 0 && c.text(b[0]) {
				b = b[1:]
			}
		}
	}
}

func (c *cutter) structure(ch byte) {
	switch ch {
	case ' ', '\t', '\r', '\n':
	case '}', ']':
		// Its place is kept free from the opening on.
		n := len(c.stack)
		if n == 0 {
			c.bad = true
			return
		}
		c.stack = c.stack[:n-1]
		c.out = append(c.out, ch)
		c.safe = len(c.out)
	case '{', '[':
		if !c.open(ch) {
			c.leaveOut(skipper{depth: 1})
		}
	case '"':
		if !c.fits() {
			c.leaveOut(skipper{inString: true})
			return
		}
		c.inString, c.cut, c.emitted, c.tail, c.cutAt = true, false, 0, 0, -1
		c.allowed = c.share()
		c.out = append(c.out, ch)
		c.unitAt = len(c.out)
	case ',':
		c.safe = len(c.out)
		fallthrough
	default:
		if !c.fits() {
			c.leaveOut(skipper{})
			return
		}
		c.out = append(c.out, ch)
	}
}

// plain copies the characters of a string that text has nothing to decide
// about and returns how many they are.
func (c *cutter) plain(b []byte) int {
	if c.escape > 0 {
		return 0
	}
	most := min(c.allowed-c.emitted, c.room(c.level().big))
	if c.cutAt >= 0 {
		most = min(smallString-c.emitted, c.room(c.level().small))
	}
	n := 0
	for n < min(most, len(b)) && b[n] != '"' && b[n] != '\\' && b[n] < 0x80 {
		n++
	}
	if n > 0 {
		c.out = append(c.out, b[:n]...)
		c.emitted += n
		c.unitAt, c.tail = len(c.out)-1, 0
	}
	return n
}

// text copies one byte of a string and reports whether it did; it does not
// where the string is cut or left out. A cut never splits a character: neither a
// UTF-8 sequence nor an escape, nor the two escapes of a surrogate pair.
func (c *cutter) text(ch byte) bool {
	// A stray continuation byte is a character by itself, or a string of
	// nothing else would have no place to cut at.
	starts := c.escape == 0 && (c.tail == 0 || ch&0xC0 != 0x80)
	if starts && ch == '"' {
		c.endString()
		return true
	}
	if starts {
		if !c.within() {
			return false
		}
		c.unitAt = len(c.out)
	}
	switch {
	case c.escape == 1 && ch == 'u':
		c.escape = 4
	case c.escape > 0:
		c.escape--
	case ch == '\\':
		c.escape = 1
	}
	if starts {
		c.tail = sequenceTail(ch)
	} else if c.tail > 0 {
		c.tail--
	}
	c.out = append(c.out, ch)
	c.emitted++
	return true
}

// within reports whether there is room for the next character of the string. If
// there is none, it cuts the string, or leaves it out.
func (c *cutter) within() bool {
	l := c.level()
	if c.emitted < c.allowed && c.room(l.big) > 0 {
		return true
	}
	if c.cutAt < 0 {
		c.cutAt = len(c.out)
		if c.highSurrogate() {
			c.cutAt = c.unitAt
		}
	}
	switch {
	case l.small > l.big && c.emitted < smallString && c.room(l.small) > 0:
		// It may prove short yet.
		return true
	case c.allowed == 0:
		c.inString = false
		c.leaveOut(skipper{inString: true})
	default:
		c.cut, c.dropped = true, len(c.out)-c.cutAt
		c.out = c.out[:c.cutAt]
	}
	return false
}

// highSurrogate tells whether out ends with the first half of a surrogate pair.
func (c *cutter) highSurrogate() bool {
	u := c.out[c.unitAt:]
	return len(u) == 6 && u[0] == '\\' && u[2]|0x20 == 'd' && strings.ContainsRune("89abAB", rune(u[3]))
}

// sequenceTail is how many bytes follow the first byte of a UTF-8 sequence.
func sequenceTail(first byte) int {
	switch {
	case first >= 0xF0:
		return 3
	case first >= 0xE0:
		return 2
	case first >= 0xC0:
		return 1
	}
	return 0
}

func (c *cutter) endString() {
	c.inString = false
	if c.cut {
		c.out = append(c.out, "… ["...)
		c.out = strconv.AppendInt(c.out, int64(c.dropped), 10)
		c.out = append(c.out, " bytes cut]"...)
	}
	c.out = append(c.out, '"')
}

// finish returns the shortened text, which is JSON if the whole was. Where that
// broke off within something left out, what is open is closed.
func (c *cutter) finish() []byte {
	if c.bad {
		return nil
	}
	if c.skip.on {
		for i := len(c.stack) - 1; i >= 0; i-- {
			c.out = append(c.out, c.stack[i])
		}
	}
	return c.out
}
