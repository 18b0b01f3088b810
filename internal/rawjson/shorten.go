package rawjson

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"sort"
	"unicode/utf8"
)

// Limit bounds a JSON text. A number that is zero bounds nothing.
type Limit struct {
	// Max bounds the text, Each the JSON of every string in it that is no name.
	Max, Each int
	// Least is to what strings are cut before anything is left out; if zero, 14.
	Least int
	// Characters reports that the numbers count characters and not bytes.
	Characters bool
}

func (l Limit) size(text []byte) int {
	if l.Characters {
		return utf8.RuneCount(text)
	}
	return len(text)
}

// ellipsis ends a string that was cut. As a name, in an object or, in the place of an element,
// in one that has nothing else, its value is how many members or elements were left out.
const ellipsis = "…"

// Shorten returns a JSON text within a limit, and how many elements and members it leaves out.
// First the longest strings lose their ends. If that is not enough, lists keep their first
// elements, as many of each as fit, and then objects their first members. The order and the
// spelling stay. The result is empty only if no value of the kind fits. A text that is not JSON
// becomes a JSON string.
func Shorten(text string, l Limit) (short string, left int) {
	if text == "" {
		return "", 0
	}
	l.Max, l.Each = cmp.Or(l.Max, math.MaxInt), cmp.Or(l.Each, math.MaxInt)
	raw := []byte(text)
	if !utf8.Valid(raw) {
		raw = bytes.ToValidUTF8(raw, []byte("\ufffd"))
	}
	if Check(raw) != nil {
		raw = AppendString(nil, string(raw))
	}
	if len(raw) <= min(l.Max, l.Each) {
		return string(raw), 0
	}
	raw = Trim(raw)
	most := min(l.Max, len(raw))
	s := shortener{limit: l, all: l.nodes(raw), keep: min(most, l.Each), elements: most, members: most}
	if s.fits() {
		return string(s.out), 0
	}
	keep := s.keep
	s.keep, s.elements = min(keep, cmp.Or(l.Least, 14)), 1
	parts := min(most, len(s.all)) // no list and no object has more
	s.raise(&s.members, 0, parts)
	s.raise(&s.elements, 0, parts)
	s.raise(&s.keep, s.keep, keep)
	if s.fits() {
		return string(s.out), s.left
	}
	if empty := map[byte]string{'{': "{}", '[': "[]", '"': `""`}[raw[0]]; empty != "" && len(empty) <= l.Max {
		return empty, s.all[0].items
	}
	return "", 0
}

// node is a value of a text.
type node struct {
	// name is the JSON of a member's name. text is that of the value, its first bracket if it
	// has others in it.
	name, text []byte
	size       int
	// items is how many elements or members the value has, with those that were left out before.
	items int
	// end is the place of the next node that is not in this one.
	end int
}

// nodes returns the values of a checked text, each before those that are in it.
func (l Limit) nodes(text []byte) (all []node) {
	var open []int // those that have not ended
	var name []byte
	count := func(n int) {
		if len(open) > 0 {
			all[open[len(open)-1]].items += n
		}
	}
	for pos := 0; pos < len(text); {
		end := pos + 1
		switch c := text[pos]; c {
		case ' ', '\t', '\r', '\n', ',', ':':
		case '}', ']':
			last := open[len(open)-1]
			all[last].end, open = len(all), open[:len(open)-1]
			if p := all[last]; p.name == nil && p.end == last+2 && isCount(all[last+1].name) {
				count(p.items)
			} else {
				count(1)
			}
		case '{', '[':
			open = append(open, len(all))
			all = append(all, node{name: name, text: text[pos:end]})
			name = nil
		default:
			end, _ = valueEnd(text, pos)
			if next := skipSpace(text, end); c == '"' && next < len(text) && text[next] == ':' {
				name = text[pos:end]
				break
			}
			n := int64(1)
			if isCount(name) {
				n, _ = Int(text[pos:end])
			}
			count(int(max(1, n)))
			all = append(all, node{name: name, text: text[pos:end], size: l.size(text[pos:end]), end: len(all) + 1})
			name = nil
		}
		pos = end
	}
	return all
}

// isCount reports the name of the count of what was left out.
func isCount(name []byte) bool { return string(name) == `"`+ellipsis+`"` }

// shortener writes a text anew, less of it at each attempt.
type shortener struct {
	limit Limit
	all   []node
	// keep bounds strings, elements and members how many of them stay.
	keep, elements, members int

	out        []byte
	used, left int
}

// raise gives a bound, one of s, the greatest value with which the text fits, or else the least.
func (s *shortener) raise(bound *int, least, most int) {
	*bound = least + sort.Search(most-least, func(n int) bool { *bound = least + n + 1; return !s.fits() })
}

// fits writes the text and reports whether it is within the limit.
func (s *shortener) fits() bool {
	s.out, s.used, s.left = s.out[:0], 0, 0
	s.value(0)
	return s.used <= s.limit.Max
}

func (s *shortener) add(text []byte) {
	s.out = append(s.out, text...)
	s.used += s.limit.size(text)
}

// value writes the value at a place, or so much of it as shows that all is too long.
func (s *shortener) value(at int) {
	p := &s.all[at]
	switch {
	case p.text[0] == '{':
		s.items(at, s.members, `"`+ellipsis+`":%d`, "}")
	case p.text[0] == '[':
		s.items(at, s.elements, `{"`+ellipsis+`":%d}`, "]")
	case p.text[0] == '"' && p.size > s.keep:
		s.add(s.limit.cut(p.text, s.keep))
	default:
		s.add(p.text)
	}
}

func (s *shortener) items(at, most int, count, last string) {
	p := &s.all[at]
	s.add(p.text)
	n := 0
	for next := at + 1; next < p.end && s.used <= s.limit.Max; next = s.all[next].end {
		if n > 0 {
			s.add([]byte(","))
		}
		if n == most {
			s.left += p.items - n
			s.add(fmt.Appendf(nil, count, p.items-n))
			break
		}
		if name := s.all[next].name; name != nil {
			s.add(name)
			s.add([]byte(":"))
		}
		s.value(next)
		n++
	}
	s.add([]byte(last))
}

// cut returns the JSON of the beginning of a string.
func (l Limit) cut(quoted []byte, keep int) []byte {
	room, end := keep-l.size([]byte(`"`+ellipsis+`"`)), 1
	if room < 0 {
		return []byte(`""`)
	}
	for {
		next, size := end+1, 1
		if c := quoted[end]; c == '\\' || c >= utf8.RuneSelf {
			next += characterLen(quoted[end:]) - 1
			size = l.size(quoted[end:next])
		}
		if room -= size; room < 0 {
			return append(bytes.Clone(quoted[:end]), ellipsis+`"`...)
		}
		end = next
	}
}

// characterLen is the length in bytes of the character that a string's JSON begins with: two
// escapes may be one.
func characterLen(text []byte) int {
	switch {
	case text[0] != '\\':
		_, n := utf8.DecodeRune(text)
		return n
	case text[1] != 'u':
		return 2
	case text[2]|0x20 == 'd' && text[3] >= '8' && bytes.HasPrefix(text[6:], []byte(`\u`)):
		return 12
	}
	return 6
}
