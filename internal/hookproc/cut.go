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
}

// readPayload drains r. A payload of up to limit bytes is kept as it is; of a
// larger one the long strings are cut while it streams by, so that memory
// depends on limit alone and the structure stays; over gets all of its bytes, and
// nothing of a smaller one. On a read error the payload is what came before it.
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

// cutter copies JSON text and shortens it to a limit: strings that are too long
// lose their end, and when even so the limit is reached, the rest is left out
// and what is open is closed.
type cutter struct {
	limit int
	out   []byte
	// stack holds the closing byte of each open container.
	stack []byte
	// safe is the length of out at which it can be closed into valid JSON, with
	// depth containers open.
	safe, depth int
	full        bool

	inString bool
	escape   int // bytes of an escape sequence still to come
	tail     int // bytes of a UTF-8 sequence still to come
	unitAt   int // where the last character in out begins
	emitted  int // bytes of this string in out
	dropped  int // bytes of this string left out
	allowed  int // bytes this string may have
}

// cutNote is what a cut string may need beside its text: the note of how much
// is missing and the closing quote.
const cutNote = 48

func newCutter(limit int) *cutter {
	return &cutter{limit: limit, out: make([]byte, 0, limit)}
}

func (c *cutter) write(b []byte) {
	for len(b) > 0 && !c.full {
		switch {
		case !c.inString:
			c.structure(b[0])
			b = b[1:]
		case c.dropped > 0 && c.escape == 0:
			// Of a 100 MB string all but the beginning goes this way.
			n := 0
			for n < len(b) && b[n] != '"' && b[n] != '\\' {
				n++
			}
			c.dropped += n
			if b = b[n:]; len(b) == 0 {
				return
			}
			fallthrough
		default:
			c.text(b[0])
			b = b[1:]
		}
	}
}

// room is what may still be written, leaving space for the closers.
func (c *cutter) room() int { return c.limit - len(c.out) - len(c.stack) - cutNote }

func (c *cutter) structure(ch byte) {
	if c.room() <= 0 {
		c.full = true
		return
	}
	switch ch {
	case '"':
		c.inString, c.emitted, c.dropped, c.tail = true, 0, 0, 0
		// A string may take an eighth of what is left, so that many long ones
		// all keep their beginning.
		c.allowed = max(64, c.room()/8)
		c.out = append(c.out, ch)
		c.unitAt = len(c.out)
	case '{', '[':
		c.stack = append(c.stack, ch+2) // '}' and ']' follow their openers by two
		c.out = append(c.out, ch)
		c.mark(len(c.out))
	case '}', ']':
		if n := len(c.stack); n > 0 {
			c.stack = c.stack[:n-1]
		}
		c.out = append(c.out, ch)
		c.mark(len(c.out))
	case ',':
		c.mark(len(c.out))
		c.out = append(c.out, ch)
	case ' ', '\t', '\r', '\n':
	default:
		c.out = append(c.out, ch)
	}
}

func (c *cutter) mark(n int) { c.safe, c.depth = n, len(c.stack) }

// text takes one byte of a string. A cut never splits a character: neither a
// UTF-8 sequence nor an escape, nor the two escapes of a surrogate pair.
func (c *cutter) text(ch byte) {
	// A stray continuation byte is a character by itself, or a string of
	// nothing else would have no place to cut at.
	starts := c.escape == 0 && (c.tail == 0 || ch&0xC0 != 0x80)
	if starts && ch == '"' {
		c.endString()
		return
	}
	if c.dropped > 0 {
		c.dropped++
	} else if starts {
		if c.emitted >= c.allowed || c.room() <= 0 {
			c.dropped = 1 + c.dropHighSurrogate()
		} else {
			c.unitAt = len(c.out)
		}
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
	if c.dropped == 0 {
		c.out = append(c.out, ch)
		c.emitted++
	}
}

// dropHighSurrogate takes back the first half of a surrogate pair at the end of
// out and returns its size.
func (c *cutter) dropHighSurrogate() int {
	u := c.out[c.unitAt:]
	if len(u) != 6 || u[0] != '\\' || u[2]|0x20 != 'd' || !strings.ContainsRune("89abAB", rune(u[3])) {
		return 0
	}
	c.out = c.out[:c.unitAt]
	return len(u)
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
	if c.dropped > 0 {
		c.out = append(c.out, "… ["...)
		c.out = strconv.AppendInt(c.out, int64(c.dropped), 10)
		c.out = append(c.out, " bytes cut]"...)
	}
	c.out = append(c.out, '"')
}

// finish returns the shortened text.
func (c *cutter) finish() []byte {
	if !c.full {
		return c.out
	}
	c.out = c.out[:c.safe]
	for i := c.depth - 1; i >= 0; i-- {
		c.out = append(c.out, c.stack[i])
	}
	return c.out
}
