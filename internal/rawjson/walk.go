package rawjson

import (
	"bytes"
	"iter"
	"strings"
)

// EachMember calls visit for every member of the object in data, in order, with
// its name unquoted; both slices may alias data. It reports whether data is one
// object and nothing else. If not, the members before the fault have been visited.
func EachMember(data []byte, visit func(name, value []byte)) bool {
	return each(data, '{', '}', visit)
}

// EachElement is [EachMember] for an array.
func EachElement(data []byte, visit func(value []byte)) bool {
	return each(data, '[', ']', func(_, value []byte) { visit(value) })
}

// each visits the items between the two brackets. Those of an array have no name.
func each(data []byte, first, last byte, visit func(name, value []byte)) bool {
	at := func(pos int) byte {
		if pos < len(data) {
			return data[pos]
		}
		return 0
	}
	pos := skipSpace(data, 0)
	if at(pos) != first {
		return false
	}
	if pos = skipSpace(data, pos+1); at(pos) == last {
		return skipSpace(data, pos+1) == len(data)
	}
	for {
		var name []byte
		if first == '{' {
			end := stringEnd(data, pos)
			if end < 0 {
				return false
			}
			name = unquotedName(data[pos:end])
			if pos = skipSpace(data, end); at(pos) != ':' {
				return false
			}
			pos = skipSpace(data, pos+1)
		}
		end, _ := valueEnd(data, pos)
		if end < 0 {
			return false
		}
		visit(name, data[pos:end])
		switch pos = skipSpace(data, end); at(pos) {
		case ',':
			pos = skipSpace(data, pos+1)
		case last:
			return skipSpace(data, pos+1) == len(data)
		default:
			return false
		}
	}
}

// Strings yields the texts in data, at every level and unquoted, without the names of
// members. Of members with equal names it yields all.
func Strings(data []byte) iter.Seq[string] {
	return func(yield func(string) bool) {
		for pos := 0; ; {
			start := bytes.IndexByte(data[pos:], '"')
			if start < 0 {
				return
			}
			start += pos
			if pos = stringEnd(data, start); pos < 0 {
				return
			}
			if next := skipSpace(data, pos); next < len(data) && data[next] == ':' {
				continue
			}
			if !yield(Unquote(data[start:pos])) {
				return
			}
		}
	}
}

// Member returns the value of one member of an object, nil where it has none.
func Member(data []byte, name string) (value []byte) {
	if !EachMember(data, func(n, v []byte) {
		if string(n) == name {
			value = v
		}
	}) {
		return nil
	}
	return value
}

// Object is an object's members in the order in which they were written.
type Object []member

type member struct{ name, value []byte }

// Members returns the members of an object, nil for anything else.
func Members(raw []byte) Object { return Object(nil).Read(raw) }

// Read is [Members] in the memory of an object that is no longer needed.
func (o Object) Read(raw []byte) Object {
	if len(raw) == 0 || raw[0] != '{' {
		return nil
	}
	if o = o[:0]; o == nil {
		o = make(Object, 0, 8)
	}
	if !EachMember(raw, func(name, value []byte) { o = append(o, member{name, value}) }) {
		return nil
	}
	return o
}

// Get returns the value of the first of names that is present and not null.
func (o Object) Get(names ...string) []byte {
	for _, name := range names {
		if value := Present(o.Lookup(name)); value != nil {
			return value
		}
	}
	return nil
}

// Text is [Text] of a member.
func (o Object) Text(names ...string) string { return Text(o.Get(names...)) }

// Is reports whether a member is true, quoted or not.
func (o Object) Is(name string) bool { value, _ := Bool(o.Get(name)); return value }

// Members is [Members] of a member.
func (o Object) Members(name string) Object { return Members(o.Get(name)) }

// Elements is [Elements] of a member.
func (o Object) Elements(name string) ([][]byte, bool) { return Elements(o.Get(name)) }

// Lookup returns the value of a member, which may be null.
func (o Object) Lookup(name string) []byte {
	for i := len(o) - 1; i >= 0; i-- {
		if string(o[i].name) == name {
			return o[i].value
		}
	}
	return nil
}

// Elements returns the elements of an array, nil and false for anything else.
func Elements(raw []byte) ([][]byte, bool) {
	var all [][]byte
	if !EachElement(raw, func(value []byte) { all = append(all, value) }) {
		return nil, false
	}
	return all, true
}

// Trim removes a byte order mark and surrounding white space.
func Trim(text []byte) []byte {
	return bytes.Trim(bytes.TrimPrefix(text, []byte("\ufeff")), " \t\r\n")
}

// unquotedName unquotes a member's name. Names with escapes are rare enough to pay
// for a copy.
func unquotedName(quoted []byte) []byte {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return quoted[1 : len(quoted)-1]
	}
	return []byte(Unquote(quoted))
}

func skipSpace(data []byte, pos int) int {
	for pos < len(data) && (data[pos] == ' ' || data[pos] == '\t' || data[pos] == '\n' || data[pos] == '\r') {
		pos++
	}
	return pos
}

// stringEnd returns the position after the string that begins at pos, -1 where
// there is none or it is not closed.
func stringEnd(data []byte, pos int) int {
	if pos >= len(data) || data[pos] != '"' {
		return -1
	}
	for at := pos + 1; at < min(len(data), pos+16) && data[at] != '\\'; at++ { // most are short
		if data[at] == '"' {
			return at + 1
		}
	}
	for from := pos + 1; ; {
		i := bytes.IndexByte(data[from:], '"')
		if i < 0 {
			return -1
		}
		quote := from + i
		escapes := 0
		for at := quote - 1; at > pos && data[at] == '\\'; at-- {
			escapes++
		}
		from = quote + 1
		if escapes%2 == 0 {
			return from
		}
	}
}

// valueEnd returns the position after the value that begins at pos, -1 where
// there is none or it is not closed, and how many levels deep the value nests.
func valueEnd(data []byte, pos int) (end, levels int) {
	if pos >= len(data) {
		return -1, 0
	}
	switch data[pos] {
	case '"':
		return stringEnd(data, pos), 0
	case '{', '[':
		for open := 0; pos >= 0 && pos < len(data); {
			switch data[pos] {
			case '"':
				pos = stringEnd(data, pos)
				continue
			case '{', '[':
				open++
				levels = max(levels, open)
			case '}', ']':
				if open--; open == 0 {
					return pos + 1, levels
				}
			}
			pos++
		}
		return -1, levels
	}
	end = pos
	for end < len(data) && strings.IndexByte(",}] \t\r\n:\"{[", data[end]) < 0 {
		end++
	}
	if end == pos {
		return -1, 0
	}
	return end, 0
}
