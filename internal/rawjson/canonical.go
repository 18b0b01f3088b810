package rawjson

import (
	"bytes"
	"slices"
	"unicode/utf8"
)

// Canonical returns the canonical form of a value of a checked text: compact,
// with sorted names, each string as encoding/json writes it and each number as it
// was spelled. Equal values have equal forms. A text that has no value, or that
// is cut off, has none.
//
// It is the form in which the two ends of a tool call are compared and from
// which identifiers are made, so it never changes. RFC 8785 is another form: it
// sorts by UTF-16 and rewrites numbers.
func Canonical(raw []byte) string {
	c := canonizer{in: raw, out: make([]byte, 0, len(raw))}
	if c.value(maxWalked) {
		return string(c.out)
	}
	v, ok := Parse(raw)
	if !ok {
		return ""
	}
	return Encode(v)
}

// maxWalked is how deep a value may nest that is not built as a value: sorting
// members at each level moves those below once more.
const maxWalked = 64

// canonizer copies a value piece by piece into its canonical form. Its methods
// report false for a value that nests too deeply or is cut off.
type canonizer struct {
	in  []byte
	pos int
	out []byte
}

// piece is a member of an object by its places in out.
type piece struct{ start, colon, end int }

func (c *canonizer) value(levels int) bool {
	c.pos = skipSpace(c.in, c.pos)
	end := -1
	switch next := c.peek(); {
	case next == '"':
		return c.text()
	case next == '{' || next == '[':
		return levels > 0 && c.container(levels-1, next)
	case next != 0:
		end, _ = valueEnd(c.in, c.pos)
	}
	if end < 0 {
		return false
	}
	c.out = append(c.out, c.in[c.pos:end]...)
	c.pos = end
	return true
}

func (c *canonizer) peek() byte {
	if c.pos < len(c.in) {
		return c.in[c.pos]
	}
	return 0
}

// text writes a string as encoding/json would.
func (c *canonizer) text() bool {
	end := stringEnd(c.in, c.pos)
	if end < 0 {
		return false
	}
	s := c.in[c.pos:end]
	c.pos = end
	if asEncoded(s) {
		c.out = append(c.out, s...)
	} else {
		c.out = append(c.out, Encode(Unquote(s))...)
	}
	return true
}

// asEncoded reports whether encoding/json would write the quoted string s in the
// same way.
func asEncoded(s []byte) bool {
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
	return ascii || utf8.Valid(s) && !bytes.Contains(s, []byte("\u2028")) && !bytes.Contains(s, []byte("\u2029"))
}

// container writes an array or an object, which begins with open.
func (c *canonizer) container(levels int, open byte) bool {
	var few [8]piece
	members, sorted := few[:0], true
	begin := len(c.out)
	c.out = append(c.out, open)
	for c.pos++; ; {
		c.pos = skipSpace(c.in, c.pos)
		switch next := c.peek(); next {
		case 0:
			return false
		case '}', ']':
			c.pos++
			if !sorted {
				c.sort(members, begin)
			}
			c.out = append(c.out, next)
			return true
		case ',':
			c.pos++
			c.out = append(c.out, ',')
			continue
		}
		m := piece{start: len(c.out)}
		if open == '{' {
			if !c.text() {
				return false
			}
			m.colon = len(c.out)
			c.out = append(c.out, ':')
			c.pos = skipSpace(c.in, c.pos) + 1
		}
		if !c.value(levels) {
			return false
		}
		if m.end = len(c.out); open == '{' {
			sorted = sorted && (len(members) == 0 || bytes.Compare(c.name(members[len(members)-1]), c.name(m)) < 0)
			members = append(members, m)
		}
	}
}

// name is a member's name. With its quotes it would sort behind a name that it
// begins, with escapes in another place than the characters that they mean.
func (c *canonizer) name(m piece) []byte { return unquotedName(c.out[m.start:m.colon]) }

// sort puts the members of the object that begins at begin in the order of their
// names. Of equal names it keeps the last.
func (c *canonizer) sort(members []piece, begin int) {
	slices.SortStableFunc(members, func(x, y piece) int { return bytes.Compare(c.name(x), c.name(y)) })
	ordered := make([]byte, 0, len(c.out)-begin)
	for i, m := range members {
		if i+1 < len(members) && bytes.Equal(c.name(m), c.name(members[i+1])) {
			continue
		}
		if len(ordered) > 0 {
			ordered = append(ordered, ',')
		}
		ordered = append(ordered, c.out[m.start:m.end]...)
	}
	c.out = append(c.out[:begin+1], ordered...)
}
